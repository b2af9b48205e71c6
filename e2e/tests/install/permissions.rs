//! What the chart permits is enough, and nothing of it could be left out.

use crate::stage::{SELF_SIGNED, beside_metal3, create, in_company, until, wait_until_in_force};
use ironward_e2e::{
    ironward::Ironward,
    kubectl::Kubectl,
    release::{NAME, NAMESPACE, Release, Replica},
};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs};

const DISCOVERY: &str = include_str!("../../../src/api/samples/baremetalhostdiscovery.yaml");

/// Permitted, and seldom asked for: a namespace is looked at if it is so new that the watch has not told of it, and an event is
/// patched if it comes again. What an apply creates is written down as an apply.
const SELDOM: [(&str, &str); 4] = [
    ("get", "namespaces"),
    ("patch", "events"),
    ("create", "mutatingwebhookconfigurations"),
    ("create", "validatingwebhookconfigurations"),
];

/// What the account was refused or granted, as the API server wrote it down: verb, group, resource with subresource, code.
pub type Asked = (String, String, String, u64);

/// All that the chart's account asked of the API server since a line of its log.
pub fn asked(release: &Release<'_>, since: usize) -> BTreeSet<Asked> {
    let log = fs::read_to_string(release.plane.audit_log()).unwrap_or_default();
    let account = format!("system:serviceaccount:{NAMESPACE}:{NAME}");
    log.lines()
        .skip(since)
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|event| event["user"]["username"] == account.as_str())
        .map(|event| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let reference = &event["objectRef"];
            let resource = match reference["subresource"].as_str() {
                Some(sub) => format!("{}/{sub}", text(&reference["resource"])),
                None => text(&reference["resource"]),
            };
            let code = event["responseStatus"]["code"].as_u64().unwrap_or_default();
            (text(&event["verb"]), text(&reference["apiGroup"]), resource, code)
        })
        .collect()
}

pub fn lines(release: &Release<'_>) -> usize {
    fs::read_to_string(release.plane.audit_log()).unwrap_or_default().lines().count()
}

/// Has something of everything happen: duplicates that nobody guarded, a create, a refusal, a policy with params.
fn scene(release: &Release<'_>, round: usize) {
    let kubectl = release.plane.kubectl();
    for registration in ["validatingwebhookconfiguration", "mutatingwebhookconfiguration"] {
        kubectl.expect(&["delete", registration, NAME, "--ignore-not-found"]).unwrap();
    }
    kubectl.expect(&["delete", "bmh", "--all", "--namespace", "default"]).unwrap();
    kubectl.expect(&["delete", "leases", "--all", "--namespace", NAMESPACE]).unwrap();
    for name in ["older", "younger"] {
        assert!(create(release, &format!("{name}-{round}"), 7).success);
    }
}

fn start(release: &Release<'_>) -> Ironward {
    // Claims of what is gone are let go soon.
    let arguments = vec!["--claim-grace-seconds=5".to_owned()];
    release.start(&Replica { arguments, ..Replica::default() }).unwrap()
}

/// Changes what Ironward may do by its role of a kind, with a JSON patch.
pub fn patch_role(kubectl: &Kubectl, kind: &str, patch: &Value) {
    let patch = patch.to_string();
    let patch = ["patch", kind, NAME, "--type", "json", "--patch", &patch];
    kubectl.expect(&patch).unwrap();
}

pub fn kill(replica: &Ironward) {
    replica.process.signal(Signal::KILL).unwrap();
    let _ = replica.process.wait_for_exit(crate::stage::PATIENCE);
}

/// What the scene makes a replica do once it is in force.
fn act(release: &Release<'_>, round: usize) {
    let _ = create(release, &format!("new-{round}"), 100 + round);
    let discovery = DISCOVERY
        .replacen("name: ", &format!("name: r{round}-"), 1)
        .replace("namespace: metal3", "namespace: default");
    let create = ["create", "--dry-run=server", "--filename", "-"];
    let _ = release.plane.kubectl().run_with_input(&create, &discovery);
}

#[test]
fn what_the_chart_permits_is_enough_and_nothing_of_it_can_be_left_out() {
    let _company = in_company();
    let plane = beside_metal3();
    let release = Release::install(&plane, &[SELF_SIGNED]).unwrap();
    scene(&release, 0);
    let replica = start(&release);
    wait_until_in_force(&release, &replica);
    act(&release, 0);
    let kubectl = release.plane.kubectl().in_namespace("default");
    let condition = "jsonpath={.status.conditions[?(@.type==\"Unique\")].status}";
    until(
        "the younger duplicate is marked",
        || kubectl.expect(&["get", "bmh", "younger-0", "--output", condition]).unwrap(),
        |status| status == "False",
    );
    // Gone, so that the claim on it is let go.
    kubectl.expect(&["delete", "bmh", "new-0"]).unwrap();
    let claims = || release.kubectl().expect(&["get", "leases", "--output", "name"]).unwrap();
    until("its claim is let go", claims, |claims| !claims.contains("02-00-00-00-00-64"));
    // Watches are written down when they end.
    kill(&replica);
    let granted = granted(&release);
    let unused = || {
        let used: BTreeSet<_> = asked(&release, 0).into_iter().map(pair).collect();
        let is_unused = |it: &&(String, String)| {
            !used.contains(*it) && !SELDOM.contains(&(it.0.as_str(), it.1.as_str()))
        };
        granted.iter().filter(is_unused).cloned().collect::<Vec<_>>()
    };
    until("all that is permitted is used", unused, Vec::is_empty);
    let refused: Vec<_> = asked(&release, 0).into_iter().filter(|it| it.3 == 403).collect();
    assert!(refused.is_empty(), "the chart permits too little: {refused:?}");

    let rules = rules(&release);
    let removals = rules.iter().map(|(kind, index, rule)| {
        let change = json!([{"op": "remove", "path": format!("/rules/{index}")}]);
        (*kind, change, rule.clone())
    });
    // An apply that makes an object needs both.
    let without_create =
        rules.iter().filter(|(.., rule)| rule["verbs"] == json!(["get", "create", "patch"]));
    let without_create = without_create.map(|(kind, index, rule)| {
        let path = format!("/rules/{index}/verbs");
        (*kind, json!([{"op": "replace", "path": path, "value": ["get", "patch"]}]), rule.clone())
    });
    let changes: Vec<_> = removals.chain(without_create).collect();
    assert_eq!(changes.len(), rules.len() + 1);
    for (round, (kind, change, rule)) in changes.into_iter().enumerate() {
        without(&release, round + 1, kind, &change, &rule);
    }
}

/// Changes a role, and sees that a replica is refused something that it needs.
fn without(release: &Release<'_>, round: usize, kind: &str, change: &Value, rule: &Value) {
    let kubectl = release.kubectl();
    let patch = |patch: &Value| patch_role(&kubectl, kind, patch);
    scene(release, round);
    let before = kubectl.get(kind, NAME).unwrap();
    patch(change);
    let since = lines(release);
    let replica = start(release);
    let resources: Vec<String> = serde_json::from_value(rule["resources"].clone()).unwrap();
    let look = || {
        act(release, round);
        asked(release, since)
    };
    let is_refused =
        |asked: &BTreeSet<Asked>| asked.iter().any(|it| it.3 == 403 && resources.contains(&it.2));
    until(&format!("something is refused after {change} on {rule}"), look, is_refused);
    kill(&replica);
    patch(&json!([{"op": "replace", "path": "/rules", "value": before["rules"]}]));
}

fn pair((verb, _, resource, _): Asked) -> (String, String) {
    (verb, resource)
}

/// Every rule of the chart, where it is.
fn rules(release: &Release<'_>) -> Vec<(&'static str, usize, Value)> {
    let mut rules = Vec::new();
    for kind in ["clusterrole", "role"] {
        let role = release.kubectl().get(kind, NAME).unwrap();
        for (index, rule) in role["rules"].as_array().unwrap().iter().enumerate() {
            rules.push((kind, index, rule.clone()));
        }
    }
    assert!(rules.len() >= 8, "{rules:?}");
    rules
}

/// Every verb on every resource that the chart permits.
fn granted(release: &Release<'_>) -> BTreeSet<(String, String)> {
    let texts = |value: &Value| serde_json::from_value::<Vec<String>>(value.clone()).unwrap();
    let mut granted = BTreeSet::new();
    for (_, _, rule) in rules(release) {
        for verb in texts(&rule["verbs"]) {
            for resource in texts(&rule["resources"]) {
                granted.insert((verb.clone(), resource));
            }
        }
    }
    granted
}
