//! What people ask for by annotations, fields and Secrets, and what they get.

use crate::stage::{Stage, host, image, in_company, secret};
use serde_json::{Value, json};

#[test]
fn what_is_asked_for_is_done() {
    let _company = in_company();
    let stage = Stage::new(&["--demo-seconds=1"]);
    stage.start();
    stage.create_host("running", 1);
    stage.patch("running", &image("a"));

    a_secret_that_is_missing_or_wrong_is_named(&stage);
    a_host_without_a_bmc_is_not_managed(&stage);
    what_fails_is_shown_and_counted(&stage);
    stage.until_state("running", "provisioned");
    a_paused_host_is_left_alone(&stage);
    a_reboot_is_off_and_on_again(&stage);
    a_host_stays_off_while_somebody_wants_it(&stage);
    a_detached_host_is_kept_and_taken_back(&stage);
}

fn is_well(host: &Value) -> bool {
    host["status"]["operationalStatus"] == "OK" && host["status"]["errorMessage"] == ""
}

fn a_secret_that_is_missing_or_wrong_is_named(stage: &Stage) {
    stage.create(&host("keyless", 2));
    let error = |host: &Value| {
        let status = &host["status"];
        format!(
            "{}: {}",
            status["errorType"].as_str().unwrap_or_default(),
            status["errorMessage"].as_str().unwrap_or_default()
        )
    };
    let told = "registration error: there is no Secret keyless-bmc in the namespace of the host";
    stage.until("keyless", told, |host| error(host).starts_with(told));
    assert!(stage.told("keyless", "BMCCredentialError") > 0);

    let mut incomplete = secret("keyless-bmc", "calvin");
    incomplete["stringData"] = json!({"username": "root"});
    stage.create(&incomplete);
    let told = "registration error: Secret keyless-bmc has no password";
    let host = stage.until("keyless", told, |host| error(host) == told);
    assert_eq!(host["status"]["provisioning"]["state"], "registering");

    // It is told of the correction: nothing else wakes it.
    let patch = json!({"stringData": {"password": "calvin"}}).to_string();
    stage.kubectl.expect(&["patch", "secret", "keyless-bmc", "--patch", &patch]).unwrap();
    let host = stage.until_state("keyless", "available");
    assert!(is_well(&host), "{:#}", host["status"]);
    assert!(host["status"]["errorType"].is_null());
}

fn a_host_without_a_bmc_is_not_managed(stage: &Stage) {
    let mut bare = host("bare", 3);
    bare["spec"].as_object_mut().unwrap().remove("bmc");
    stage.create(&bare);
    let host = stage.until_state("bare", "unmanaged");
    assert_eq!(host["status"]["operationalStatus"], "discovered");
    stage.create(&secret("bare-bmc", "calvin"));
    stage.patch("bare", &json!({"spec": {"bmc": crate::stage::host("bare", 3)["spec"]["bmc"]}}));
    stage.until_state("bare", "available");
}

fn what_fails_is_shown_and_counted(stage: &Stage) {
    stage.create_host("rack-7-fails-inspection", 4);
    let host = stage.until("rack-7-fails-inspection", "its error", |host| {
        host["status"]["errorType"] == "inspection error"
    });
    assert_eq!(host["status"]["errorCount"], 1);
    assert_eq!(host["status"]["operationalStatus"], "error");
    let ready =
        host["status"]["conditions"].as_array().unwrap().iter().find(|it| it["type"] == "Ready");
    assert_eq!(ready.unwrap()["reason"], "Error");
    assert_eq!(stage.told("rack-7-fails-inspection", "InspectionError"), 1);
    stage.delete("rack-7-fails-inspection");
    stage.until_gone("rack-7-fails-inspection");
}

fn a_paused_host_is_left_alone(stage: &Stage) {
    stage.annotate("running", "baremetalhost.metal3.io/paused=");
    let before = stage.host("running");
    stage.annotate("running", "reboot.metal3.io=");
    // Something that is done meanwhile shows that there was time.
    stage.create_host("meanwhile", 5);
    stage.until_state("meanwhile", "available");
    assert_eq!(stage.host("running")["status"], before["status"]);
    stage.annotate("running", "baremetalhost.metal3.io/paused-");
    stage.until("running", "the reboot is done", |host| {
        annotation(host, "reboot.metal3.io").is_none()
    });
}

fn annotation<'a>(host: &'a Value, key: &str) -> Option<&'a str> {
    host["metadata"]["annotations"].get(key)?.as_str()
}

fn a_reboot_is_off_and_on_again(stage: &Stage) {
    stage.until("running", "on", |host| host["status"]["poweredOn"] == true);
    let (off, on) = (stage.told("running", "PowerOff"), stage.told("running", "PowerOn"));
    stage.annotate("running", r#"reboot.metal3.io={"mode":"hard"}"#);
    stage.until("running", "rebooted", |host| {
        annotation(host, "reboot.metal3.io").is_none() && host["status"]["poweredOn"] == true
    });
    ironward_e2e::eventually::eventually(
        std::time::Duration::from_secs(30),
        "both are told",
        || {
            let told = (stage.told("running", "PowerOff"), stage.told("running", "PowerOn"));
            if told == (off + 1, on + 1) { Ok(()) } else { Err(format!("{told:?}")) }
        },
    )
    .unwrap();
}

fn a_host_stays_off_while_somebody_wants_it(stage: &Stage) {
    stage.annotate("running", "reboot.metal3.io/fencing=");
    stage.until("running", "off", |host| host["status"]["poweredOn"] == false);
    let host = stage.host("running");
    assert!(annotation(&host, "reboot.metal3.io/fencing").is_some());
    stage.annotate("running", "reboot.metal3.io/fencing-");
    stage.until("running", "on", |host| host["status"]["poweredOn"] == true);
}

fn a_detached_host_is_kept_and_taken_back(stage: &Stage) {
    stage.annotate("running", "baremetalhost.metal3.io/detached=");
    let host = stage
        .until("running", "detached", |host| host["status"]["operationalStatus"] == "detached");
    assert_eq!(host["status"]["provisioning"]["state"], "provisioned");
    assert_eq!(host["status"]["provisioning"]["ID"], "");
    stage.annotate("running", "baremetalhost.metal3.io/detached-");
    let host = stage.until("running", "taken back", is_well);
    assert_eq!(host["status"]["provisioning"]["state"], "provisioned");
    assert_ne!(host["status"]["provisioning"]["ID"], "");
    assert_eq!(stage.told("running", "ProvisioningStarted"), 1);
}
