//! The page as a person has it: signed in, by keyboard, in the dark and in the light, on a phone. Its pictures in the guide are made here.

use crate::stage::{Corner, Stage, history, host, status};
use ironward_e2e::browser::{self, Browser};
use serde_json::{Value, json};
use std::{
    env, fs,
    path::Path,
    time::{Duration, Instant},
};

/// Signs in as who may look, and goes somewhere.
pub fn sign_in(browser: &mut Browser, stage: &Stage, place: &str) {
    browser.open(&format!("{}/{place}", stage.url)).unwrap();
    browser.eval("document.getElementById('token').focus()").unwrap();
    browser.type_text(&stage.token).unwrap();
    browser.press("Enter").unwrap();
    browser.wait_for("!document.getElementById('app').hidden && document.querySelectorAll('#list .row:not(.loading)').length > 0").unwrap();
}

/// What a page looks like; with `IRONWARD_UPDATE_DOCS=1` it becomes the picture of that name in the guide, if the guide shows it.
fn picture(browser: &mut Browser, name: &str) {
    let picture = browser.screenshot().unwrap();
    assert!(picture.len() > 10_000, "{name} shows nothing");
    let guide = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src"));
    let text = fs::read_to_string(guide.join("page.md")).unwrap();
    // For who wants to see them all.
    fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name), &picture).unwrap();
    if !text.contains(&format!("(images/{name})")) {
        return;
    }
    let folder = guide.join("images");
    if env::var_os("IRONWARD_UPDATE_DOCS").is_some() {
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name), picture).unwrap();
    }
    assert!(folder.join(name).exists(), "make {name} with IRONWARD_UPDATE_DOCS=1");
}

/// Searches for something, as somebody who types.
fn search(browser: &mut Browser, words: &str) {
    let field = "document.getElementById('search')";
    let typed = format!("{field}.value = '{words}', {field}.dispatchEvent(new Event('input'))");
    browser.eval(&typed).unwrap();
}

/// A fleet in which something goes on.
fn fleet(corner: &Corner) {
    let states = [
        ("provisioned", 14),
        ("available", 9),
        ("provisioning", 3),
        ("inspecting", 2),
        ("deprovisioning", 1),
    ];
    let mut number = 0;
    for (state, count) in states {
        for _ in 0..count {
            number += 1;
            let name = format!("rack{}-u{:02}", number / 10 + 1, number % 10 + 1);
            let mut one = host(&name, number);
            if state == "provisioned" {
                let consumer = json!({"name": format!("workers-{number:02}"), "kind": "Metal3Machine", "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2"});
                one["spec"]["consumerRef"] = consumer;
            }
            one["metadata"]["labels"] =
                json!({"rack": format!("r{}", number / 10 + 1), "zone": "b"});
            corner.create(&one);
            corner.set_status(&name, &status(state));
        }
    }
    for (name, number, annotation) in [("rack4-u01", 60, "a DIMM fails"), ("rack4-u02", 61, "")] {
        let mut one = host(name, number);
        one["metadata"]["annotations"] = match annotation {
            "" => {
                json!({"ironward.dev/approval": "pending", "ironward.dev/discovered-by": "default/rack4"})
            }
            why => json!({"capm3.metal3.io/unhealthy": why}),
        };
        corner.create(&one);
        corner.set_status(
            name,
            &status(if annotation.is_empty() { "unmanaged" } else { "available" }),
        );
    }
    let mut failing = status("registering");
    failing["operationalStatus"] = json!("error");
    failing["errorType"] = json!("registration error");
    failing["errorMessage"] = json!(
        "the BMC at 10.0.0.62 refuses the user and password of Secret rack4-u03-bmc (HTTP 401)"
    );
    failing["errorCount"] = json!(7);
    corner.create(&host("rack4-u03", 62));
    corner.set_status("rack4-u03", &failing);
    story(corner);
}

/// A host to which much has happened.
fn story(corner: &Corner) {
    let now = ironward::adapters::clock::now();
    let ago = |minutes: i64| {
        (now - Duration::from_secs(60 * u64::try_from(minutes).unwrap())).to_string()
    };
    let mut status = status("provisioned");
    status["hardware"] = json!({"systemVendor": {"productName": "PowerEdge R650"}, "ramMebibytes": 262_144,
        "cpu": {"count": 64}, "storage": [{"name": "/dev/sda"}, {"name": "/dev/sdb"}]});
    status["provisioning"]["image"] = json!({"url": "http://images.example/ubuntu-24.04.qcow2"});
    status["operationHistory"] = json!({
        "register": {"start": ago(4000), "end": ago(3999)}, "inspect": {"start": ago(3998), "end": ago(3990)},
        "provision": {"start": ago(2000), "end": ago(1988)},
    });
    corner.set_status("rack1-u02", &status);
    let cause = json!({"message": "Node is not ready: KubeletNotReady"});
    let records = json!([
        {"event": "Remediation", "started": ago(700), "finished": ago(690), "action": "Reboot", "attempt": 1, "outcome": "TimedOut", "machine": "workers-01", "cause": cause},
        {"event": "Remediation", "started": ago(690), "finished": ago(686), "action": "Reboot", "attempt": 2, "outcome": "Recovered", "machine": "workers-01", "cause": cause},
    ]);
    corner.create(&history("rack1-u02", &records));
    for (name, address) in [
        ("rack1-u02", "redfsh://10.0.0.1"),
        ("rack9-u01", "ipmi://bad host"),
        ("rack9-u02", "redfsh://10.9.9.2"),
    ] {
        corner.be_refused(name, 1, address);
    }
}

#[test]
fn a_person_signs_in_and_finds_what_they_look_for() {
    if browser::is_skipped() {
        return;
    }
    let stage = Stage::start(|_| {});
    let corner = stage.corner();
    fleet(&corner);
    let mut browser = Browser::start().unwrap();
    browser.resize(1360, 850, false).unwrap();
    browser.prefer("light").unwrap();
    browser.open(&stage.url).unwrap();
    picture(&mut browser, "page-sign-in.png");
    browser.eval("document.getElementById('token').focus()").unwrap();
    browser.type_text("nonsense").unwrap();
    browser.press("Enter").unwrap();
    browser.wait_for("!document.getElementById('refusal').hidden").unwrap();
    assert_eq!(browser.eval("document.getElementById('app').hidden").unwrap(), Value::Bool(true));

    sign_in(&mut browser, &stage, "");
    browser.wait_for("document.querySelectorAll('#latest li').length >= 3").unwrap();
    browser.wait_for("document.getElementById('live').className === 'live on'").unwrap();
    let first = "document.querySelector('#list .row .name').firstChild.textContent";
    let on_top = "[...document.querySelectorAll('#list .row')].find(it => it.getAttribute('aria-posinset') === '1').querySelector('.name').firstChild.textContent";
    assert_eq!(browser.eval(on_top).unwrap(), json!("rack4-u03"), "what fails is first");
    // What the stage tried before it began is counted apart.
    let counts =
        browser.eval("document.getElementById('by-policy').innerText.split('\\n')").unwrap();
    assert_eq!(
        counts,
        json!(["host-bmc-address", "+ 1 dry run", "3", "host-bmc-address-fixed", "1"])
    );
    picture(&mut browser, "page-fleet-light.png");
    browser.prefer("dark").unwrap();
    picture(&mut browser, "page-fleet-dark.png");

    // A change is seen.
    search(&mut browser, "rack2-u05");
    browser.wait_for("document.querySelectorAll('#list .row').length === 1").unwrap();
    let mut longest = Duration::ZERO;
    for state in ["deprovisioning", "available", "provisioned"] {
        corner.set_status("rack2-u05", &status(state));
        let start = Instant::now();
        let shown =
            format!("document.querySelector('#list .row .state').textContent === '{state}'");
        browser.wait_for(&shown).unwrap();
        longest = longest.max(start.elapsed());
    }
    eprintln!("the longest until a change was on the screen: {longest:?}");

    // By keyboard alone.
    browser.eval("document.activeElement.blur()").unwrap();
    browser.press("/").unwrap();
    assert_eq!(browser.eval("document.activeElement.id").unwrap(), json!("search"));
    browser.eval("document.activeElement.select()").unwrap();
    browser.type_text("rack1-u02").unwrap();
    browser
        .wait_for(&format!(
            "document.querySelectorAll('#list .row').length === 1 && {first} === 'rack1-u02'"
        ))
        .unwrap();
    browser.press("ArrowDown").unwrap();
    browser.press("Enter").unwrap();
    browser.wait_for("document.querySelectorAll('.timeline li').length >= 7").unwrap();
    let story = browser.eval("document.querySelector('.timeline').innerText").unwrap();
    for words in ["the node came back", "refused", "provisioned", "created"] {
        assert!(story.as_str().unwrap().to_lowercase().contains(words), "{words}: {story}");
    }
    // All of the story, beside its neighbours.
    browser.resize(1360, 1400, false).unwrap();
    search(&mut browser, "rack1");
    browser.wait_for("document.querySelectorAll('#list .row:not(.loading)').length > 3").unwrap();
    picture(&mut browser, "page-host-dark.png");
    browser.prefer("light").unwrap();
    picture(&mut browser, "page-host-light.png");
    browser.press("Escape").unwrap();
    browser.wait_for("document.getElementById('host').hidden").unwrap();

    // On a phone nothing is cut off.
    browser.resize(390, 844, true).unwrap();
    browser.eval("document.activeElement.blur()").unwrap();
    search(&mut browser, "");
    browser.wait_for(&format!("{on_top} === 'rack4-u03'")).unwrap();
    assert_eq!(
        browser.eval("document.documentElement.scrollWidth <= innerWidth").unwrap(),
        Value::Bool(true)
    );
    let is_inside = "[...document.querySelectorAll('button:not(#app [hidden] *), .chip, input')].filter(it => it.offsetParent).every(it => { const box = it.getBoundingClientRect(); return box.left >= 0 && box.right <= innerWidth; })";
    assert_eq!(browser.eval(is_inside).unwrap(), Value::Bool(true));
    picture(&mut browser, "page-phone.png");
    browser.prefer("dark").unwrap();
    browser.eval("location.hash = '#/host/default/rack1-u02'").unwrap();
    browser.wait_for("document.querySelectorAll('.timeline li').length >= 7").unwrap();
    assert_eq!(browser.eval(is_inside).unwrap(), Value::Bool(true));
    picture(&mut browser, "page-phone-host-dark.png");

    browser.eval("document.getElementById('sign-out').click()").unwrap();
    let left = browser.eval("document.querySelectorAll('#list .row').length").unwrap();
    assert_eq!((left, browser.eval("sessionStorage.length").unwrap()), (json!(0), json!(0)));
    assert!(browser.problems.is_empty(), "{:#?}", browser.problems);
}
