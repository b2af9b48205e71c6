use super::*;
use crate::controllers::remediation::storm::said;
use rstest::rstest;
use serde_json::{Value, json};

fn a_host(change: impl FnOnce(&mut Value)) -> BareMetalHost {
    let mut host = json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": "host-0", "namespace": "lab", "uid": "h-0", "annotations": {}},
        "spec": {
            "online": true,
            "bmc": {"address": "redfish://192.0.2.1/redfish/v1/Systems/1", "credentialsName": "bmc"},
            "consumerRef": {"kind": "Metal3Machine", "name": "worker-x", "namespace": "lab"},
        },
        "status": {
            "operationalStatus": "OK", "errorMessage": "", "poweredOn": true,
            "provisioning": {"state": "provisioned", "ID": ""},
        },
    });
    change(&mut host);
    serde_json::from_value(host).unwrap()
}

#[test]
fn a_host_in_use_can_be_switched() {
    let seen = host(&a_host(|_| {}), "r-0", Some("worker-x"));
    assert!(seen.is_ours && seen.is_online && seen.is_on && !seen.is_held);
    assert_eq!((seen.power, seen.hold, seen.unhealthy), (Power::Controlled, None, None));
    assert!(!host(&a_host(|_| {}), "r-0", Some("worker-y")).is_ours);
    assert!(!host(&a_host(|_| {}), "r-0", None).is_ours);
    let elsewhere = a_host(|host| host["spec"]["consumerRef"]["namespace"] = json!("other"));
    assert!(!host(&elsewhere, "r-0", Some("worker-x")).is_ours);
}

#[rstest]
#[case::ours("reboot.metal3.io/metal3-remediation-r-0", true, None)]
#[case::of_another_remediation("reboot.metal3.io/metal3-remediation-r-1", false, Some("r-1"))]
#[case::once("reboot.metal3.io", false, Some("reboot.metal3.io"))]
#[case::of_a_person("reboot.metal3.io/maintenance", false, Some("maintenance"))]
#[case::nothing("reboot.metal3.iox", false, None)]
fn whose_reboot_it_is(#[case] key: &str, #[case] is_held: bool, #[case] other: Option<&str>) {
    let annotated = a_host(|host| host["metadata"]["annotations"][key] = json!(""));
    let seen = host(&annotated, "r-0", Some("worker-x"));
    assert_eq!(seen.is_held, is_held);
    match (seen.hold, other) {
        (Some(Hold::Reboot(key)), Some(other)) => assert!(key.ends_with(other), "{key}"),
        (hold, other) => assert_eq!((hold, other), (None, None)),
    }
}

#[rstest]
#[case::paused("/metadata/annotations", json!({"baremetalhost.metal3.io/paused": ""}), Some(Hold::Paused))]
#[case::detached("/metadata/annotations", json!({"baremetalhost.metal3.io/detached": ""}), Some(Hold::Detached))]
#[case::provisioning("/status/provisioning/state", json!("provisioning"), Some(Hold::NotProvisioned("provisioning".into())))]
#[case::of_its_own("/status/provisioning/state", json!("externally provisioned"), None)]
fn why_it_is_not_the_time(#[case] at: &str, #[case] value: Value, #[case] expected: Option<Hold>) {
    let changed = a_host(|host| *host.pointer_mut(at).unwrap() = value);
    assert_eq!(host(&changed, "r-0", Some("worker-x")).hold, expected);
}

#[test]
fn both_annotations_take_a_host_out_of_use() {
    for key in ["capm3.metal3.io/unhealthy", "capi.metal3.io/unhealthy"] {
        let marked = a_host(|host| host["metadata"]["annotations"][key] = json!("the fan is loud"));
        let seen = host(&marked, "r-0", Some("worker-x"));
        assert_eq!(seen.unhealthy.as_deref(), Some("the fan is loud"));
    }
}

#[test]
fn power_that_nobody_can_or_may_switch() {
    let bare = a_host(|host| host["spec"]["bmc"] = json!(null));
    assert_eq!(host(&bare, "r-0", None).power, Power::NoBmc);
    let always_on = a_host(|host| host["spec"]["disablePowerOff"] = json!(true));
    assert_eq!(host(&always_on, "r-0", None).power, Power::NeverOff);
}

#[test]
fn a_verdict_is_read_where_cluster_api_writes_it_and_where_it_did() {
    let now = json!({"status": {
        "nodeRef": {"name": "node-0"},
        "conditions": [{
            "type": "HealthCheckSucceeded", "status": "False", "reason": "UnhealthyNode",
            "message": "Ready is Unknown", "lastTransitionTime": "2026-01-01T00:00:00Z",
        }],
    }});
    let before = json!({"status": {"deprecated": {"v1beta1": {"conditions": [{
        "type": "HealthCheckSucceeded", "status": "False", "reason": "UnhealthyNode",
        "message": "Ready is Unknown", "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}}}});
    for fields in [now, before] {
        let mut object = fields;
        object["metadata"] = json!({"name": "x"});
        object["spec"] = json!({});
        let seen = machine(&serde_json::from_value(object).unwrap());
        let verdict = seen.verdict.unwrap();
        assert_eq!((verdict.is_healthy, verdict.reason.as_str()), (false, "UnhealthyNode"));
        assert!(!seen.is_owner_asked);
    }
}

#[test]
fn a_machine_that_was_made_since_is_another() {
    let named = |uid: &str| ObjectMeta { uid: Some(uid.into()), ..ObjectMeta::default() };
    let mut remediation = ObjectMeta::default();
    assert!(is_owner(&remediation, &named("m-0")), "made by hand, it names nobody");
    remediation.owner_references = serde_json::from_value(json!([
        {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "x", "uid": "m-0"},
    ]))
    .unwrap();
    assert!(is_owner(&remediation, &named("m-0")));
    assert!(!is_owner(&remediation, &named("m-1")));
}

#[test]
fn a_health_check_says_which_machines_and_how_many() {
    let check = |trigger: Value| -> MachineHealthCheck {
        serde_json::from_value(json!({"metadata": {"name": "x"}, "spec": {
            "clusterName": "lab", "selector": {"matchLabels": {"pool": "a"}},
            "remediation": {
                "triggerIf": trigger,
                "templateRef": {"kind": "Metal3RemediationTemplate", "name": "reboot", "apiVersion": "x/v1"},
            },
        }}))
        .unwrap()
    };
    let limit = |check: &MachineHealthCheck| {
        said(&check.spec.remediation.trigger_if).map(|limit| limit.of(100))
    };
    let number = check(json!({"unhealthyLessThanOrEqualTo": 3}));
    let labels = BTreeMap::from([("pool".to_owned(), "a".to_owned())]);
    assert!(is_checked(&number, "lab", &labels) && has_our_template(&number));
    assert!(!is_checked(&number, "other", &labels));
    assert!(!is_checked(&number, "lab", &BTreeMap::new()));
    assert_eq!(limit(&number), Some(3));
    assert_eq!(limit(&check(json!({"unhealthyLessThanOrEqualTo": "40%"}))), Some(40));
    assert_eq!(limit(&check(json!({"unhealthyInRange": "[3-5]"}))), Some(5));
    assert_eq!(limit(&check(json!({}))), None);
}

#[test]
fn what_a_node_was_is_kept_and_read_again() {
    let object: core::Node = serde_json::from_value(json!({
        "metadata": {"name": "node-0", "uid": "n-0", "labels": {"role": "worker"}},
        "spec": {"taints": [{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]},
        "status": {"conditions": [{
            "type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-01-01T00:00:00Z",
            "lastHeartbeatTime": "2025-12-31T00:00:00Z",
        }]},
    }))
    .unwrap();
    let seen = node(&object, 1, 2);
    assert!(seen.is_tainted && !seen.is_ready && seen.since > seen.heartbeat);
    let annotations = BTreeMap::from([(
        NODE_LABELS_BACKUP.to_owned(),
        serde_json::to_string(&seen.kept.labels).unwrap(),
    )]);
    let metadata = ObjectMeta { annotations: Some(annotations), ..ObjectMeta::default() };
    assert_eq!(backup(&metadata), Some(seen.kept));
    assert_eq!(backup(&ObjectMeta::default()), None);
}
