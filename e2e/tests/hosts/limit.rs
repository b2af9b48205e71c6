//! The provisioning limit, looked at while hosts compete for it and while Ironward is killed.

use crate::stage::{Stage, in_company};
use ironward_e2e::{eventually::eventually, haunt::Victim};
use serde_json::Value;
use std::time::Duration;

const HOSTS: u8 = 6;
const LIMIT: usize = 2;

#[test]
fn no_more_hosts_are_busy_than_may_be() {
    let _company = in_company();
    let stage = Stage::new(&["--demo-seconds=3", "--provisioning-limit=2"]);
    stage.start();
    for number in 1..=HOSTS {
        stage.create_host(&format!("worker-{number}"), number);
    }
    let mut was_delayed = false;
    let mut look = |stage: &Stage, enough: usize| {
        let what = format!("{enough} hosts are available");
        eventually(Duration::from_mins(3), &what, || {
            let hosts = states(stage);
            let busy = hosts.iter().filter(|it| it.as_str() == "inspecting OK").count();
            assert!(busy <= LIMIT, "{hosts:?}");
            was_delayed |= hosts.iter().any(|it| it.as_str() == "inspecting delayed");
            let done = hosts.iter().filter(|it| it.starts_with("available")).count();
            if done >= enough { Ok(()) } else { Err(format!("{hosts:?}")) }
        })
        .unwrap();
    };
    look(&stage, 1);
    until_counted(
        &stage,
        &["metal3_delayed__provisioning_total{namespace=\"default\",host=\"worker-"],
    );
    stage.kill().unwrap();
    stage.start();
    look(&stage, HOSTS.into());
    assert!(was_delayed, "nobody had to wait");
    until_counted(
        &stage,
        &[
            "ironward_host_count{state=\"available\",operational_status=\"OK\"} 6",
            "metal3_provisioning_state_change_total{prev_state=\"preparing\",new_state=\"available\"}",
            "metal3_operation_inspect_duration_seconds_count{namespace=\"default\"}",
            "metal3_reconcile_total{namespace=\"default\"}",
        ],
    );
}

/// Waits until it is in what Prometheus would be told, under Metal3's names.
fn until_counted(stage: &Stage, counted: &[&str]) {
    eventually(Duration::from_mins(1), "it is counted", || {
        let metrics = stage.metrics();
        let missing: Vec<_> = counted.iter().filter(|it| !metrics.contains(**it)).collect();
        if missing.is_empty() { Ok(()) } else { Err(format!("{missing:?}\n{metrics}")) }
    })
    .unwrap();
}

fn states(stage: &Stage) -> Vec<String> {
    let hosts = stage.kubectl.expect(&["get", "bmh", "--output", "json"]).unwrap();
    let hosts: Value = serde_json::from_str(&hosts).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let described = |host: &Value| {
        let status = &host["status"];
        format!("{} {}", text(&status["provisioning"]["state"]), text(&status["operationalStatus"]))
    };
    hosts["items"].as_array().unwrap().iter().map(described).collect()
}
