//! The rules of conduct: what is never in the way, and how a refusal reads.

use crate::stage::{HOST, PATIENCE, shared};
use ironward_e2e::kubectl::Kubectl;

const APPLY: [&str; 3] = ["apply", "--filename", "-"];

/// Stores such a host, by whom nobody judges when it is changed.
fn store_invalid(unjudged: &Kubectl) {
    unjudged.expect_with_input(&["create", "--filename", "-"], HOST).unwrap();
    unjudged.expect_with_input(&["replace", "--filename", "-"], &stored_invalid()).unwrap();
}

/// A host as it may have been stored before there were rules.
fn stored_invalid() -> String {
    HOST.replace("redfish://192.168.111.1", "gopher://192.168.111.1").replace(
        "metadata: {name: worker-0}",
        "metadata: {name: worker-0, finalizers: [a.example/b]}",
    )
}

#[test]
fn all_findings_come_in_one_answer_one_line_each() {
    let kubectl = shared().namespace();
    let bad = HOST.replace("redfish://192.168.111.1", "gopher://192.168.111.1").replace(
        "worker-0}",
        "worker-0, annotations: {reboot.metal3.io: '{\"mode\":\"harder\"}'}}",
    );
    let answer = kubectl.run_with_input(&APPLY, &bad).unwrap();
    assert!(!answer.success);
    let lines: Vec<_> = answer.err.lines().collect();
    assert_eq!(lines[0], "The BareMetalHost \"worker-0\" is invalid: ", "{}", answer.err);
    assert!(
        lines[1..].iter().any(|line| line.starts_with("* spec.bmc.address: ")),
        "{}",
        answer.err
    );
    assert!(
        lines[1..]
            .iter()
            .any(|line| line.starts_with("* metadata.annotations[reboot.metal3.io]: ")),
        "{}",
        answer.err
    );
}

#[test]
fn what_is_stored_and_invalid_can_still_be_edited_finalized_and_deleted() {
    let stage = shared();
    let kubectl = stage.namespace();
    store_invalid(&stage.unjudged(&kubectl));

    let edited = kubectl
        .run(&[
            "patch",
            "bmh",
            "worker-0",
            "--type=merge",
            "--patch",
            r#"{"spec":{"online":false}}"#,
        ])
        .unwrap();
    assert!(edited.success, "{}", edited.err);
    assert!(edited.err.contains("Warning: spec.bmc.address"), "{}", edited.err);

    let worse = r#"{"spec":{"bmc":{"address":"telnet://192.168.111.1"}}}"#;
    let worse =
        kubectl.run(&["patch", "bmh", "worker-0", "--type=merge", "--patch", worse]).unwrap();
    assert!(!worse.success, "another bad address is no old mistake: {}", worse.out);

    kubectl.expect(&["delete", "bmh", "worker-0", "--wait=false"]).unwrap();
    let freed = r#"{"metadata":{"finalizers":null}}"#;
    kubectl.expect(&["patch", "bmh", "worker-0", "--type=merge", "--patch", freed]).unwrap();
    assert!(!kubectl.succeeds(&["get", "bmh", "worker-0"]));
}

#[test]
fn status_is_never_judged() {
    let stage = shared();
    let kubectl = stage.namespace();
    store_invalid(&stage.unjudged(&kubectl));
    let status = r#"{"status":{"operationalStatus":"OK","errorMessage":"","poweredOn":false,"provisioning":{"state":"registering","ID":"","image":{"url":""}}}}"#;
    let patch =
        ["patch", "bmh", "worker-0", "--subresource=status", "--type=merge", "--patch", status];
    let answer = kubectl.run(&patch).unwrap();
    assert!(answer.success && answer.err.is_empty(), "{}", answer.err);
}

#[test]
fn a_dry_run_is_answered_in_full_and_leaves_nothing() {
    let kubectl = shared().namespace();
    let dry = ["apply", "--dry-run=server", "--output", "json", "--filename", "-"];
    let shown = kubectl.expect_with_input(&dry, HOST).unwrap();
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["spec"]["automatedCleaningMode"], "metadata");
    assert!(!kubectl.succeeds(&["get", "bmh", "worker-0"]));
    let bad = HOST.replace("redfish://192.168.111.1", "gopher://192.168.111.1");
    assert!(!kubectl.run_with_input(&dry, &bad).unwrap().success);
}

#[test]
fn our_own_writes_are_not_refused_but_for_hosts_that_we_create() {
    let stage = shared();
    let kubectl = stage.unjudged(&stage.namespace());
    // Discovery makes them of what strangers report.
    let create = ["create", "--filename", "-"];
    let created = kubectl.run_with_input(&create, &stored_invalid()).unwrap();
    assert!(created.err.contains("[host-bmc-address]"), "{}", created.err);
    store_invalid(&kubectl);
}

#[test]
fn the_registrations_are_not_written_again_and_again() {
    let stage = shared();
    let generations = || {
        let kubectl = stage.plane.kubectl();
        ["validatingwebhookconfiguration", "mutatingwebhookconfiguration"]
            .map(|kind| kubectl.get(kind, "ironward").unwrap()["metadata"]["generation"].clone())
    };
    let before = generations();
    // Deleted, it comes back: then a round has passed.
    stage.plane.kubectl().expect(&["delete", "mutatingwebhookconfiguration", "ironward"]).unwrap();
    stage
        .ironward
        .process
        .wait_until(PATIENCE, || {
            stage.plane.kubectl().succeeds(&["get", "mutatingwebhookconfiguration", "ironward"])
        })
        .unwrap();
    assert_eq!(generations(), before);
}
