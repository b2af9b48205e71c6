//! Two hosts with one address, stored before anybody guarded them: the younger is never given to the provisioner.

use crate::stage::{Stage, host, in_company, secret};
use ironward_e2e::{
    eventually::eventually, ironward::binary, kubectl::run, process_group::Process,
};
use serde_json::{Value, json};
use std::{process::Command, time::Duration};

#[test]
fn the_younger_of_two_is_not_registered_until_it_is_the_only_one() {
    let _company = in_company();
    let stage = Stage::new(&["--demo-seconds=0"]);
    stage.create_host("old", 1);
    // Their ages are told apart by whole seconds.
    let created = stage.host("old")["metadata"]["creationTimestamp"].clone();
    eventually(Duration::from_secs(30), "a second has passed", || {
        let dry_run = ["create", "--dry-run=server", "--filename", "-", "--output", "json"];
        let made =
            stage.kubectl.expect_with_input(&dry_run, &host("young", 2).to_string()).unwrap();
        let made: Value = serde_json::from_str(&made).unwrap();
        if made["metadata"]["creationTimestamp"] == created {
            Err("the same second")
        } else {
            Ok(())
        }
    })
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
    let watched = an_overview_names_it_and_says_what_to_do(&stage);

    stage.delete("old");
    stage.until_gone("old");
    let registered = stage.until_state("young", "available");
    assert_ne!(registered["status"]["provisioning"]["ID"], "");
    eventually(Duration::from_secs(30), "the overview follows", || {
        let seen = std::fs::read_to_string(watched.log()).unwrap();
        let last = seen.lines().next_back().unwrap_or_default();
        let last: Value = serde_json::from_str(last).map_err(|error| error.to_string())?;
        let states = json!([{"state": "available", "hosts": 1}]);
        if last["states"] == states && last["troubles"] == json!([]) {
            Ok(())
        } else {
            Err(last.to_string())
        }
    })
    .unwrap();
}

/// As a person reads it, as a program does, and as somebody who stays.
fn an_overview_names_it_and_says_what_to_do(stage: &Stage) -> Process {
    let fleet = |flags: &[&str]| {
        let mut command = Command::new(binary().unwrap());
        command.arg("fleet").args(flags).env("KUBECONFIG", stage.plane.admin_kubeconfig());
        command
    };
    let people = run(&mut fleet(&["--all-namespaces"]), "").unwrap().out;
    let first = people.lines().next().unwrap_or_default();
    assert_eq!(first, "2 hosts: 1 new, 1 available", "{people}");
    let line = people.lines().find(|line| line.starts_with("Duplicate")).unwrap_or_default();
    assert!(line.contains("default/young") && line.contains("default/old"), "{people}");
    assert!(line.contains("delete one of the two"), "{people}");

    let programs = run(&mut fleet(&["--output=json", "--namespace=default"]), "").unwrap().out;
    let programs: Value = serde_json::from_str(&programs).unwrap();
    assert_eq!(programs["troubles"][0]["kind"], "Duplicate", "{programs}");
    let nobody = run(&mut fleet(&["--namespace=kube-system"]), "").unwrap().out;
    assert_eq!(nobody, "There are no BareMetalHosts.\n");
    stage.plane.spawn("fleet", fleet(&["--watch", "--output=json"])).unwrap()
}
