//! From its creation to its deletion, with `kill -9` of Ironward in every state on the way.

use crate::stage::{Stage, image, in_company};
use serde_json::json;

const NAME: &str = "worker-0";

#[test]
fn a_host_outlives_its_controller_in_every_state() {
    let _company = in_company();
    // Slow enough to be seen in each state.
    let mut stage = Stage::new(&["--demo-seconds=8"]);
    stage.start();
    stage.create_host(NAME, 1);

    killed_in(&mut stage, "registering");
    killed_in(&mut stage, "inspecting");
    let available = killed_in(&mut stage, "available");
    assert_eq!(available["metadata"]["finalizers"], json!(["baremetalhost.metal3.io"]));
    let status = &available["status"];
    assert_eq!(status["hardware"]["cpu"]["count"], 64);
    let credentials = &status["goodCredentials"];
    assert_eq!(credentials["credentials"]["name"], format!("{NAME}-bmc"));
    let data = stage.kubectl.get("hardwaredata", NAME).unwrap();
    assert_eq!(data["spec"]["hardware"], status["hardware"]);

    stage.patch(NAME, &image("a"));
    let before = stage.until_state(NAME, "provisioning");
    killed_in(&mut stage, "provisioning");
    let after = stage.until_state(NAME, "provisioned");
    let start = "/status/operationHistory/provision/start";
    assert_eq!(before.pointer(start), after.pointer(start), "it was begun twice");
    assert_eq!(after["status"]["provisioning"]["image"], image("a")["spec"]["image"]);
    assert_eq!(after["status"]["poweredOn"], true);
    killed_in(&mut stage, "provisioned");

    stage.patch(NAME, &json!({"spec": {"image": null}}));
    killed_in(&mut stage, "deprovisioning");
    let free = stage.until_state(NAME, "available");
    assert!(free["status"]["provisioning"]["image"].is_null());

    stage.patch(NAME, &image("b"));
    stage.until_state(NAME, "provisioned");
    stage.delete(NAME);
    // The last it is seen in; what follows is over in a moment.
    killed_in(&mut stage, "deprovisioning");
    stage.until_gone(NAME);

    for (reason, times) in [
        ("Registered", 1),
        ("InspectionComplete", 1),
        ("ProvisioningStarted", 2),
        ("ProvisioningComplete", 2),
        ("DeprovisioningComplete", 2),
        ("ProvisioningError", 0),
    ] {
        // One that was killed between writing and telling tells it not at all; nobody tells it twice.
        assert!(stage.told(NAME, reason) <= times, "{reason}: {}", stage.told(NAME, reason));
    }
    assert!(stage.told(NAME, "ProvisioningStarted") > 0);
}

/// Waits until it is in a state, kills Ironward and starts it again.
fn killed_in(stage: &mut Stage, when: &str) -> serde_json::Value {
    let seen = stage.until_state(NAME, when);
    stage.kill();
    stage.start();
    seen
}
