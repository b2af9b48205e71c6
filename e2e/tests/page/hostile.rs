//! Nothing that a machine or a user can write becomes more than text.

use crate::{
    browser::sign_in,
    stage::{history, host, shared, status},
};
use ironward_e2e::browser::{self, Browser};
use serde_json::{Value, json};

/// What people write who mean ill.
const NASTY: [&str; 6] = [
    "<script>window.hit = 1</script>",
    "<img src=x onerror=\"window.hit = 2\">",
    "\"><svg onload=window.hit=3>",
    "javascript:window.hit=4",
    "</script><script>window.hit = 5</script>",
    "{{constructor.constructor('window.hit=6')()}}\u{202e}",
];

#[test]
fn what_is_nasty_is_shown_as_it_is_written() {
    if browser::is_skipped() {
        return;
    }
    let (stage, corner) = shared();
    let all = NASTY.join(" ");
    let mut nasty = host("worker-0", 1);
    nasty["metadata"]["annotations"] = json!({
        "capm3.metal3.io/unhealthy": all, "ironward.dev/approval": "pending", "ironward.dev/discovered-by": all,
    });
    nasty["metadata"]["labels"] = json!({"nasty": "x"});
    nasty["spec"]["consumerRef"] = json!({"name": all, "kind": "Metal3Machine", "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2"});
    corner.create(&nasty);
    let mut bad = status(&all);
    bad["operationalStatus"] = json!("error");
    bad["errorType"] = json!("registration error");
    bad["errorMessage"] = json!(all);
    bad["lastUpdated"] = json!("2026-01-01T00:00:00Z");
    bad["hardware"] = json!({"systemVendor": {"productName": all}, "ramMebibytes": 4096});
    bad["provisioning"]["image"] = json!({"url": all});
    corner.set_status("worker-0", &bad);
    let record = json!([{"event": "Remediation", "started": "2026-01-01T00:00:00Z", "action": "Reboot", "machine": all,
        "cause": {"message": all}, "message": all}]);
    corner.create(&history("worker-0", &record));
    corner.be_refused("worker-1", 2, &format!("nonsense://{all}"));

    let mut browser = Browser::start().unwrap();
    sign_in(&mut browser, stage, &format!("#/host/{}/worker-0", corner.namespace));
    browser.wait_for("document.querySelectorAll('.timeline li').length > 1").unwrap();
    let shown = browser.eval("document.body.innerText").unwrap();
    let shown = shown.as_str().unwrap().replace(char::is_whitespace, "");
    for words in NASTY {
        assert!(
            shown.contains(&words.replace(char::is_whitespace, "")),
            "{words} is not shown:\n{shown}"
        );
    }
    browser.eval("location.hash = '#/'").unwrap();
    browser.wait_for("document.querySelectorAll('#latest li').length > 0 && document.querySelectorAll('#waiting-list li').length > 0").unwrap();
    assert_eq!(browser.eval("window.hit === undefined").unwrap(), Value::Bool(true));
    let made = "document.querySelectorAll('script').length + document.querySelectorAll('img, svg, iframe').length";
    assert_eq!(browser.eval(made).unwrap(), json!(1), "markup was made of text");
    let links =
        "[...document.querySelectorAll('a')].every(it => it.getAttribute('href').startsWith('#/'))";
    assert_eq!(browser.eval(links).unwrap(), Value::Bool(true));
    // An address that somebody was sent is only an address.
    for place in ["#/host/%E0/x", "#/host/<img src=x onerror=window.hit=7>/x", "#/host/a/b/c"] {
        browser.eval(&format!("location.hash = '{place}'")).unwrap();
    }
    browser.eval("location.hash = '#/'").unwrap();
    assert_eq!(
        browser.eval("window.hit === undefined && !document.querySelector('img')").unwrap(),
        Value::Bool(true)
    );
    assert!(browser.problems.is_empty(), "{:#?}", browser.problems);
    // The browser itself would not let it through, either.
    let inner = "try { document.body.innerHTML = '<b>x</b>'; 'made' } catch (error) { 'refused' }";
    assert_eq!(browser.eval(inner).unwrap(), json!("refused"));
}
