//! Two hosts with one address, stored before anybody guarded them: the younger is never given to the provisioner.

use crate::stage::{Stage, host, in_company, secret};
use serde_json::json;

#[test]
fn the_younger_of_two_is_not_registered_until_it_is_the_only_one() {
    let _company = in_company();
    let mut stage = Stage::new(&["--demo-seconds=0"]);
    stage.create_host("old", 1);
    // Their ages are told apart by whole seconds.
    let created = stage.host("old")["metadata"]["creationTimestamp"].clone();
    ironward_e2e::eventually::eventually(
        std::time::Duration::from_secs(30),
        "a second has passed",
        || {
            let dry_run = ["create", "--dry-run=server", "--filename", "-", "--output", "json"];
            let made =
                stage.kubectl.expect_with_input(&dry_run, &host("young", 2).to_string()).unwrap();
            let made: serde_json::Value = serde_json::from_str(&made).unwrap();
            if made["metadata"]["creationTimestamp"] == created {
                Err("the same second")
            } else {
                Ok(())
            }
        },
    )
    .unwrap();
    stage.create(&secret("young-bmc", "calvin"));
    let mut young = host("young", 2);
    young["spec"]["bootMACAddress"] = host("old", 1)["spec"]["bootMACAddress"].clone();
    stage.create(&young);
    stage.start();

    stage.until_state("old", "available");
    let marked = stage.until("young", "marked", |host| {
        let conditions = host["status"]["conditions"].as_array();
        conditions.is_some_and(|all| {
            all.iter().any(|it| it["type"] == "Unique" && it["status"] == "False")
        })
    });
    assert_eq!(marked["status"]["provisioning"], json!({"state": "", "ID": ""}));
    assert_eq!(stage.told("young", "Registered"), 0);

    stage.delete("old");
    stage.until_gone("old");
    let registered = stage.until_state("young", "available");
    assert_ne!(registered["status"]["provisioning"]["ID"], "");
}
