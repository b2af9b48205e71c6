//! What `kubectl` tells of our kinds: documentation, short names, columns.

use ironward_e2e::cluster;
use serde_json::Value;

#[test]
fn the_cleaning_mode_explains_what_it_wipes_and_when() {
    let kubectl = cluster::shared().unwrap().kubectl();
    let page = kubectl.expect(&["explain", "bmh.spec.automatedCleaningMode"]).unwrap();
    for words in ["FIELD: automatedCleaningMode <string>", "ENUM:", "metadata", "disabled", "wipe"]
    {
        assert!(page.contains(words), "`{words}` is missing from\n{page}");
    }
}

#[test]
fn every_field_of_every_kind_is_documented() {
    let kubectl = cluster::shared().unwrap().kubectl();
    let mut undocumented = Vec::new();
    let crds: Value =
        serde_json::from_str(&kubectl.expect(&["get", "crd", "-o", "json"]).unwrap()).unwrap();
    let crds = crds["items"].as_array().unwrap();
    assert_eq!(crds.len(), 10);
    for crd in crds {
        for version in crd["spec"]["versions"].as_array().unwrap() {
            let kind = crd["spec"]["names"]["kind"].as_str().unwrap();
            find_undocumented(kind, &version["schema"]["openAPIV3Schema"], &mut undocumented);
        }
    }
    assert!(undocumented.is_empty(), "{}", undocumented.join("\n"));
}

fn find_undocumented(path: &str, schema: &Value, found: &mut Vec<String>) {
    let documented = schema["description"].as_str().is_some_and(|text| text.len() > 10);
    // What Kubernetes itself explains, and what a list or map is made of.
    let exempt = [".apiVersion", ".kind", ".metadata", "[]", "{}"];
    if !documented && !exempt.iter().any(|end| path.ends_with(end)) {
        found.push(path.to_owned());
    }
    for (name, below) in schema["properties"].as_object().into_iter().flatten() {
        find_undocumented(&format!("{path}.{name}"), below, found);
    }
    for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(below) = schema.get(key) {
            find_undocumented(&format!("{path}{mark}"), below, found);
        }
    }
}

#[test]
fn short_names_lead_to_the_kinds() {
    let kubectl = cluster::shared().unwrap().kubectl();
    for (short, kind) in [
        ("bmh", "BareMetalHost"),
        ("bmhost", "BareMetalHost"),
        ("hd", "HardwareData"),
        ("m3c", "Metal3Cluster"),
        ("m3m", "Metal3Machine"),
        ("m3mt", "Metal3MachineTemplate"),
        ("m3r", "Metal3Remediation"),
        ("m3rt", "Metal3RemediationTemplate"),
    ] {
        let page = kubectl.expect(&["explain", short]).unwrap();
        assert!(page.contains(&format!("KIND:       {kind}\n")), "{short}:\n{page}");
    }
}

#[test]
fn a_list_of_hosts_shows_state_power_consumer_and_age() {
    let kubectl = cluster::namespace().unwrap();
    let host = r"
        apiVersion: metal3.io/v1alpha1
        kind: BareMetalHost
        metadata: { name: worker-0 }
        spec: { online: true, consumerRef: { kind: Metal3Machine, name: machine-0 } }";
    kubectl.expect_with_input(&["apply", "--filename", "-"], host).unwrap();
    let status = r#"{ "status": {
        "operationalStatus": "OK", "errorCount": 0, "errorMessage": "", "poweredOn": true,
        "provisioning": { "state": "provisioned", "ID": "4711" } } }"#;
    let patch =
        ["patch", "bmh", "worker-0", "--subresource=status", "--type=merge", "--patch", status];
    kubectl.expect(&patch).unwrap();

    let table = kubectl.expect(&["get", "bmh"]).unwrap();
    let rows: Vec<Vec<&str>> =
        table.lines().map(|line| line.split_whitespace().collect()).collect();
    let row: std::collections::BTreeMap<_, _> = rows[0].iter().zip(&rows[1]).collect();
    for (column, value) in [
        ("STATE", "provisioned"),
        ("POWERED", "true"),
        ("CONSUMER", "machine-0"),
        ("ONLINE", "true"),
    ] {
        assert_eq!(row.get(&column), Some(&&value), "{table}");
    }
    assert_eq!(rows[0].last(), Some(&"AGE"), "{table}");
}

#[test]
fn status_is_a_subresource_that_a_spec_cannot_write() {
    let kubectl = cluster::namespace().unwrap();
    let host = r#"
        apiVersion: metal3.io/v1alpha1
        kind: BareMetalHost
        metadata: { name: worker-0 }
        spec: { online: true }
        status: { operationalStatus: OK, errorCount: 7, errorMessage: "", poweredOn: true,
                  provisioning: { state: available, ID: x } }"#;
    kubectl.expect_with_input(&["apply", "--filename", "-"], host).unwrap();
    assert_eq!(kubectl.get("bmh", "worker-0").unwrap().get("status"), None);
}

#[test]
fn the_labels_that_cluster_api_and_clusterctl_look_for_are_there() {
    let kubectl = cluster::shared().unwrap().kubectl();
    for plural in
        ["metal3clusters", "metal3machines", "metal3machinetemplates", "metal3remediations"]
    {
        let crd = kubectl.get("crd", &format!("{plural}.infrastructure.cluster.x-k8s.io")).unwrap();
        assert_eq!(crd["metadata"]["labels"]["cluster.x-k8s.io/v1beta2"], "v1beta2", "{plural}");
    }
    let hosts = kubectl.get("crd", "baremetalhosts.metal3.io").unwrap();
    let labels = hosts["metadata"]["labels"].as_object().unwrap();
    assert!(labels.contains_key("clusterctl.cluster.x-k8s.io"), "{labels:?}");
    assert!(
        labels.keys().any(|key| key.starts_with("clusterctl.cluster.x-k8s.io/move")),
        "{labels:?}"
    );
}
