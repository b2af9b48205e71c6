//! Ten thousand hosts.

use crate::{
    browser::sign_in,
    stage::{Corner, Stage, host, status},
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
use serde_json::json;
use std::time::{Duration, Instant};

const HOSTS: usize = 10_000;
const AT_ONCE: usize = 32;
/// From top to bottom in so many steps: each goes past many more rows than there is room for.
const STEPS: u32 = 120;
/// As many rows as a screen has room for, and some before and after.
const ROWS: u64 = 40;
/// Hosts that are asked for at one time.
const BLOCK: usize = 100;
/// Styles and places are worked out once for a frame, and again where new rows have come; a page that stutters does it once a row.
const A_FRAME: f64 = 4.0;

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

    scroll(&mut browser);
    browser.wait_for("[...document.querySelectorAll('#list .row')].some(it => it.textContent.startsWith('host-09999'))").unwrap();

    one_change(&mut browser, &stage.corner());
    assert!(browser.problems.is_empty(), "{:#?}", browser.problems);
}

/// Goes through all of the list, a step a frame. How long that takes is the machine's business, and how much is done for it ours.
fn scroll(browser: &mut Browser) {
    let counted = ["LayoutCount", "RecalcStyleCount", "TaskDuration"];
    let before = counted.map(|it| browser.metric(it).unwrap());
    let seen = browser
        .eval(&format!(
            "new Promise((resolve) => {{
                const list = document.getElementById('list'), fetched = window.fetch;
                let step = 0, rows = 0, nodes = 0, asked = 0;
                window.fetch = (...it) => {{ asked += 1; return fetched(...it); }};
                const next = () => {{
                    rows = Math.max(rows, list.querySelectorAll('.row').length);
                    nodes = Math.max(nodes, document.getElementsByTagName('*').length);
                    list.scrollTop = step / {STEPS} * (list.scrollHeight - list.clientHeight);
                    step += 1;
                    if (step <= {STEPS}) {{ requestAnimationFrame(next); return; }}
                    window.fetch = fetched;
                    resolve({{rows, nodes, asked}});
                }};
                requestAnimationFrame(next);
            }})"
        ))
        .unwrap();
    let after = counted.map(|it| browser.metric(it).unwrap());
    let [layouts, styles, seconds] =
        [0, 1, 2].map(|it| (after[it] - before[it]) / f64::from(STEPS));
    let work = Duration::from_secs_f64(seconds);
    eprintln!(
        "scrolled through {HOSTS} hosts: {seen}; a frame had {layouts:.2} layouts, {styles:.2} rounds of styles, {work:?} of work"
    );
    assert!(seen["rows"].as_u64().unwrap() < ROWS, "rows that nobody sees: {seen}");
    // A block of hosts is asked for once; what is asked for anew while that goes on is little.
    assert!(seen["asked"].as_u64().unwrap() < 2 * (HOSTS / BLOCK) as u64, "{seen}");
    assert!(
        layouts < A_FRAME && styles < A_FRAME,
        "{layouts} layouts and {styles} rounds of styles a frame"
    );
}

/// A change of one host among so many is seen, and touches no other row.
fn one_change(browser: &mut Browser, corner: &Corner) {
    let on_top = "document.getElementById('list').scrollTop = 0";
    browser.eval(on_top).unwrap();
    let row = "document.getElementById('row-3')";
    browser
        .wait_for(&format!("{row} !== null && {row}.textContent.startsWith('host-00003')"))
        .unwrap();
    browser
        .eval(
            "window.touched = new Set(), new MutationObserver((changes) => {
                for (const {target} of changes) {
                    const row = (target.closest ? target : target.parentElement).closest('.row');
                    if (row) touched.add(row.id);
                }
            }).observe(document.getElementById('space'), {subtree: true, childList: true, attributes: true, characterData: true})",
        )
        .unwrap();
    let mut longest = Duration::ZERO;
    for state in ["registering", "inspecting", "available"] {
        corner.set_status("host-00003", &status(state));
        let start = Instant::now();
        browser
            .wait_for(&format!("{row}.querySelector('.state').textContent === '{state}'"))
            .unwrap();
        longest = longest.max(start.elapsed());
    }
    eprintln!("the longest until a change among {HOSTS} was on the screen: {longest:?}");
    assert_eq!(browser.eval("[...touched]").unwrap(), json!(["row-3"]));
    browser
        .wait_for("document.querySelector('#states').textContent === 'new9,999available1'")
        .unwrap();
}
