//! Profile `companion` with metadata: Metal3's own kinds are enough, and so is what the chart permits; all of it is needed.

use crate::{
    permissions::{asked, kill},
    stage::{SELF_SIGNED, beside_metal3, in_company, until, wait_until_in_force},
};
use ironward_e2e::release::{Release, Replica};
use serde_json::{Value, json};

/// What the chart permits because of metadata alone.
const FOR_METADATA: [(&str, &str); 18] = [
    ("get", "metal3metadata"),
    ("list", "metal3metadata"),
    ("watch", "metal3metadata"),
    ("patch", "metal3metadata"),
    ("patch", "metal3metadata/status"),
    ("get", "metal3machines"),
    ("list", "metal3machines"),
    ("watch", "metal3machines"),
    ("patch", "metal3machines"),
    ("list", "metal3clusters"),
    ("list", "secrets"),
    ("watch", "secrets"),
    ("create", "secrets"),
    ("patch", "secrets"),
    ("delete", "secrets"),
    ("list", "machines"),
    ("get", "clusters"),
    ("list", "baremetalhosts"),
];

#[test]
fn metadata_are_rendered_beside_metal3_with_what_the_chart_permits() {
    let _company = in_company();
    let plane = beside_metal3();
    let release = Release::install(&plane, &[SELF_SIGNED, "metadata.enabled=true"]).unwrap();
    let replica = release.start(&Replica::default()).unwrap();
    wait_until_in_force(&release, &replica);
    let kubectl = plane.kubectl().in_namespace("default");
    let kind = |kind: &str, metadata: Value, spec: Value| {
        json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": kind,
            "metadata": metadata, "spec": spec,
        })
    };
    let templates = json!({"local-hostname": "worker-{{ getIndex }}", "of": "{{ machineName }}"});
    let metadata = json!({
        "name": "worker-a", "annotations": {"ironward.dev/metadata": "pool"},
        "labels": {"cluster.x-k8s.io/cluster-name": "prod"},
        "ownerReferences": [{
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "worker-1",
            "uid": "6d4b5e6a-0000-4000-8000-000000000001",
        }],
    });
    let image = json!({"url": "http://192.0.2.200/a.qcow2", "checksum": "http://192.0.2.200/SUMS"});
    let objects = json!({"apiVersion": "v1", "kind": "List", "items": [
        kind("Metal3Metadata", json!({"name": "pool"}), json!({"metaData": templates})),
        kind("Metal3Machine", metadata, json!({"image": image})),
    ]});
    kubectl.expect_with_input(&["create", "--filename", "-"], &objects.to_string()).unwrap();
    until(
        "Metal3's field names the Secret",
        || kubectl.get("metal3machine", "worker-a").unwrap()["spec"]["metaData"]["name"].clone(),
        |name| name == "worker-a-metadata-0",
    );
    let content = "go-template={{ .data.metaData | base64decode }}";
    let content = kubectl.expect(&["get", "secret", "worker-a-metadata-0", "--output", content]);
    assert_eq!(content.unwrap(), "local-hostname: worker-0\nof: worker-1\n");
    kubectl.expect(&["delete", "metal3machine", "worker-a"]).unwrap();
    let left = || kubectl.expect(&["get", "secrets", "--output", "name"]).unwrap();
    until("its Secret is gone", left, String::is_empty);
    // Watches are written down when they end.
    kill(&replica);
    let unused = || {
        let used = asked(&release, 0);
        let is_used = |(verb, resource): &(&str, &str)| {
            used.iter().any(|it| it.0 == *verb && it.2 == *resource && it.3 != 403)
        };
        FOR_METADATA.into_iter().filter(|it| !is_used(it)).collect::<Vec<_>>()
    };
    until("all that is permitted is used", unused, Vec::is_empty);
    let refused: Vec<_> = asked(&release, 0).into_iter().filter(|it| it.3 == 403).collect();
    assert!(refused.is_empty(), "the chart permits too little: {refused:?}");
}
