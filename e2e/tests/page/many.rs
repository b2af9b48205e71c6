//! Ten thousand hosts.

use crate::{
    browser::sign_in,
    stage::{Stage, host, status},
};
use futures::{StreamExt, TryStreamExt, stream};
use ironward::api::BareMetalHost;
use ironward_e2e::{
    browser::{self, Browser},
    control_plane::ControlPlane,
};
use kube::{
    Api, Client, Config,
    api::PostParams,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const HOSTS: usize = 10_000;
const AT_ONCE: usize = 32;
const SCROLLS: usize = 5;
/// What there is for a frame at sixty in a second.
const FRAME: Duration = Duration::from_micros(16_667);
/// A task of so many milliseconds is seen as a stutter.
const SEEN: f64 = 200.0;

fn create_all(plane: &ControlPlane) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let kubeconfig = Kubeconfig::read_from(plane.admin_kubeconfig()).unwrap();
        let config =
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let client = Client::try_from(config.unwrap()).unwrap();
        let hosts: Api<BareMetalHost> = Api::namespaced(client, "default");
        let made = stream::iter(0..HOSTS).map(|number| {
            let hosts = &hosts;
            async move {
                let one = host(&format!("host-{number:05}"), number);
                let one: BareMetalHost = serde_json::from_value(one).unwrap();
                hosts.create(&PostParams::default(), &one).await
            }
        });
        made.buffer_unordered(AT_ONCE).try_for_each(|_| async { Ok(()) }).await.unwrap();
    });
}

#[test]
fn ten_thousand_hosts_do_not_make_it_stutter() {
    if browser::is_skipped() {
        return;
    }
    let stage = Stage::start(create_all);
    let mut browser = Browser::start().unwrap();
    browser.resize(1360, 850, false).unwrap();
    let start = Instant::now();
    sign_in(&mut browser, &stage, "");
    browser.wait_for("document.getElementById('count').textContent === '10,000'").unwrap();
    eprintln!("signed in, and 10,000 hosts on the screen, after {:?}", start.elapsed());

    // From top to bottom in two seconds, as fast as anybody scrolls; and what is slow is written down.
    let scroll = "new Promise((resolve) => {
        const list = document.getElementById('list'), slow = [], frames = [], begin = performance.now();
        new PerformanceObserver((seen) => slow.push(...seen.getEntries().map((it) => it.duration))).observe({type: 'longtask'});
        let before = begin, most = 0;
        const step = (now) => {
            frames.push(now - before); before = now;
            most = Math.max(most, list.querySelectorAll('.row').length);
            const part = (now - begin) / 2000;
            list.scrollTop = part * (list.scrollHeight - list.clientHeight);
            if (part < 1) requestAnimationFrame(step);
            else resolve({slow, most, frames: frames.length, median: frames.sort((a, b) => a - b)[frames.length >> 1]});
        };
        requestAnimationFrame(step);
    })";
    // A page that stutters does so each time; a machine that is busy with something else, now and then.
    let is_smooth = (0..SCROLLS).any(|_| {
        let before = browser.busy().unwrap();
        let seen = browser.eval(scroll).unwrap();
        let frames = u32::try_from(seen["frames"].as_u64().unwrap()).unwrap();
        let each = (browser.busy().unwrap() - before) / frames;
        eprintln!("scrolled through 10,000 hosts, {each:?} of work a frame: {seen}");
        assert!(seen["most"].as_u64().unwrap() < 100, "rows that nobody sees: {seen}");
        assert!(each < FRAME, "{each:?} of work is more than there is time for in a frame");
        let is_slow = |it: &Value| it.as_f64().unwrap() > SEEN;
        !seen["slow"].as_array().unwrap().iter().any(is_slow)
    });
    assert!(is_smooth, "it stutters each time");
    browser.wait_for("[...document.querySelectorAll('#list .row')].some(it => it.textContent.startsWith('host-09999'))").unwrap();

    // Among so many, a change is as soon to be seen as among few.
    let search = "document.getElementById('search')";
    browser
        .eval(&format!("{search}.value = 'host-04711', {search}.dispatchEvent(new Event('input'))"))
        .unwrap();
    browser.wait_for("document.querySelectorAll('#list .row').length === 1").unwrap();
    let mut longest = Duration::ZERO;
    for state in ["registering", "inspecting", "available"] {
        stage.set_status("host-04711", &status(state));
        let start = Instant::now();
        browser
            .wait_for(&format!(
                "document.querySelector('#list .row .state').textContent === '{state}'"
            ))
            .unwrap();
        longest = longest.max(start.elapsed());
    }
    eprintln!("the longest until a change among 10,000 was on the screen: {longest:?}");
    assert!(longest < Duration::from_secs(2), "{longest:?}");
    assert_eq!(
        browser.eval("document.querySelector('#states').textContent").unwrap(),
        json!("new9,999available1")
    );
}
