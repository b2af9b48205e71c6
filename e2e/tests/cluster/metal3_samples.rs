//! Metal3's own samples apply as they are, and what comes back has lost nothing.

use ironward_e2e::metal3;
use ironward_e2e::{cluster, kubectl::Kubectl};
use serde_json::{Value, json};
use std::{fs, path::Path};

#[test]
fn the_hosts_of_baremetal_operators_examples_apply_unchanged() {
    let examples = metal3::baremetal_operator().unwrap().join("examples");
    for file in ["example-host.yaml", "worker-0.yaml", "example-host-bad-credentials.yaml"] {
        let kubectl = cluster::namespace().unwrap();
        kubectl.expect(&["apply", "--filename", examples.join(file).to_str().unwrap()]).unwrap();
        for object in documents(&examples.join(file)) {
            nothing_is_lost(&kubectl, &object);
        }
    }
}

/// One of its hosts has no spec at all; one document is a kind of OpenShift's, which is left out.
#[test]
fn the_demo_hosts_apply_unchanged() {
    let kubectl = cluster::namespace().unwrap();
    let mut hosts = 0;
    for object in documents(&metal3::baremetal_operator().unwrap().join("examples/demo-hosts.yaml"))
    {
        if object["apiVersion"] == "machine.openshift.io/v1beta1" {
            continue;
        }
        hosts += usize::from(object["kind"] == "BareMetalHost");
        apply(&kubectl, &object);
        nothing_is_lost(&kubectl, &object);
    }
    assert_eq!(hosts, 9);
}

/// The examples of Metal3's Cluster API provider are clusterctl templates, and still of v1beta1: their variables
/// are filled in, and they are moved to v1beta2 as Metal3's guide says.
#[test]
fn the_infrastructure_examples_apply_in_their_current_version() {
    let examples = metal3::cluster_api_provider_metal3().unwrap().join("examples");
    let kubectl = cluster::namespace().unwrap();
    let mut applied = Vec::new();
    for file in [
        "cluster/cluster.yaml",
        "controlplane/controlplane.yaml",
        "machinedeployment/machinedeployment.yaml",
    ] {
        for object in documents(&examples.join(file)) {
            let kind = object["kind"].as_str().unwrap_or_default().to_owned();
            if !["Metal3Cluster", "Metal3MachineTemplate"].contains(&kind.as_str()) {
                continue;
            }
            let object = in_v1beta2(object);
            apply(&kubectl, &object);
            nothing_is_lost(&kubectl, &object);
            applied.push(kind);
        }
    }
    assert_eq!(applied, ["Metal3Cluster", "Metal3MachineTemplate", "Metal3MachineTemplate"]);
}

#[test]
fn a_field_of_a_newer_metal3_survives_at_every_depth() {
    let kubectl = cluster::namespace().unwrap();
    for object in [
        json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": { "name": "newer" },
            "spec": {
                "online": true,
                "newer": { "deep": [1, 2] },
                "bmc": { "address": "ipmi://192.0.2.1", "credentialsName": "x", "newer": true },
                "image": { "url": "http://192.0.2.1/i", "checksum": "http://192.0.2.1/i.sum", "newer": "x" },
                "raid": { "hardwareRAIDVolumes": [{ "level": "1", "newer": 1 }], "newer": {} },
                "rootDeviceHints": { "model": "m", "newer": "x" },
            },
        }),
        json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3MachineTemplate",
            "metadata": { "name": "newer" },
            "spec": { "newer": 1, "template": { "newer": 2, "spec": {
                "newer": 3,
                "image": { "url": "http://192.0.2.1/i", "checksum": "http://192.0.2.1/i.sum", "newer": 4 },
                "hostSelector": { "matchLabels": { "a": "b" }, "newer": 5 },
            } } },
        }),
        json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Remediation",
            "metadata": { "name": "newer" },
            "spec": { "newer": 1, "strategy": { "type": "Reboot", "newer": [2] } },
        }),
    ] {
        apply(&kubectl, &object);
        nothing_is_lost(&kubectl, &object);
    }
}

fn apply(kubectl: &Kubectl, object: &Value) {
    kubectl.expect_with_input(&["apply", "--filename", "-"], &object.to_string()).unwrap();
}

fn nothing_is_lost(kubectl: &Kubectl, written: &Value) {
    let (kind, name) =
        (written["kind"].as_str().unwrap(), written["metadata"]["name"].as_str().unwrap());
    let stored = kubectl.get(kind, name).unwrap();
    let mut lost = Vec::new();
    find_lost("", written, &stored, &mut lost);
    assert!(lost.is_empty(), "{kind} {name} lost {lost:?}");
}

fn find_lost(path: &str, written: &Value, stored: &Value, lost: &mut Vec<String>) {
    match (written, stored) {
        (Value::Object(written), Value::Object(stored)) => {
            for (key, value) in written {
                let path = format!("{path}.{key}");
                match stored.get(key) {
                    Some(stored) => find_lost(&path, value, stored, lost),
                    None => lost.push(path),
                }
            }
        }
        (Value::Array(written), Value::Array(stored)) if written.len() == stored.len() => {
            for (index, (written, stored)) in written.iter().zip(stored).enumerate() {
                find_lost(&format!("{path}[{index}]"), written, stored, lost);
            }
        }
        (written, stored) if written == stored => {}
        (written, stored) => lost.push(format!("{path}: {written} became {stored}")),
    }
}

fn in_v1beta2(mut object: Value) -> Value {
    object["apiVersion"] = json!("infrastructure.cluster.x-k8s.io/v1beta2");
    // The test's own namespace is used.
    object["metadata"].as_object_mut().unwrap().remove("namespace");
    if let Some(image) =
        object.pointer_mut("/spec/template/spec/image").and_then(Value::as_object_mut)
    {
        let format = image.remove("format").unwrap();
        image.insert("diskFormat".into(), format);
    }
    object
}

fn documents(file: &Path) -> Vec<Value> {
    let mut text = fs::read_to_string(file).unwrap();
    for (variable, value) in [
        ("${CLUSTER_NAME}", "sample"),
        ("${NAMESPACE}", "sample"),
        ("${CLUSTER_APIENDPOINT_HOST}", "192.0.2.100"),
        ("${CLUSTER_APIENDPOINT_PORT}", "6443"),
        ("${IMAGE_CHECKSUM_TYPE}", "sha256"),
        ("${IMAGE_CHECKSUM}", "http://192.0.2.1/image.sha256sum"),
        ("${IMAGE_FORMAT}", "raw"),
        ("${IMAGE_URL}", "http://192.0.2.1/image.raw"),
    ] {
        text = text.replace(variable, value);
    }
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    documents.into_iter().filter(|document| !document.is_null()).collect()
}
