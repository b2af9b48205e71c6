//! Our kinds against Metal3's own definitions, as the API server has the one and Metal3 publishes the other:
//! nothing that Metal3's users know is missing, is of another type, or asks for more.

use ironward_e2e::cluster;
use ironward_e2e::metal3;
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::PathBuf};

#[test]
fn baremetalhost_is_metal3s() {
    agrees_with_metal3("baremetalhosts.metal3.io", "v1alpha1");
}

#[test]
fn hardwaredata_is_metal3s() {
    agrees_with_metal3("hardwaredata.metal3.io", "v1alpha1");
}

#[test]
fn the_infrastructure_kinds_are_metal3s() {
    for plural in [
        "metal3clusters",
        "metal3machines",
        "metal3machinetemplates",
        "metal3remediations",
        "metal3remediationtemplates",
    ] {
        agrees_with_metal3(&format!("{plural}.infrastructure.cluster.x-k8s.io"), "v1beta2");
    }
}

fn agrees_with_metal3(name: &str, version: &str) {
    let ours = cluster::shared().unwrap().kubectl().get("crd", name).unwrap();
    let theirs = metal3_definition(name);
    let mut found = Vec::new();

    for part in ["/spec/scope", "/spec/names/kind", "/spec/names/plural", "/spec/names/listKind"] {
        if ours.pointer(part) != theirs.pointer(part) {
            found.push(format!("{part} differs: {:?}", ours.pointer(part)));
        }
    }
    for part in ["/spec/names/shortNames", "/spec/names/categories"] {
        contains(part, &strings(ours.pointer(part)), &strings(theirs.pointer(part)), &mut found);
    }
    let (ours, theirs) = (version_of(&ours, version), version_of(&theirs, version));
    if ours.get("subresources").is_some() != theirs["subresources"].get("status").is_some() {
        found.push(format!("the status subresource differs: {:?}", ours.get("subresources")));
    }
    contains("columns", &columns(&ours), &columns(&theirs), &mut found);
    let schema = "/schema/openAPIV3Schema";
    compare("", ours.pointer(schema).unwrap(), theirs.pointer(schema).unwrap(), &mut found);

    assert!(found.is_empty(), "{name} differs from Metal3's:\n{}", found.join("\n"));
}

/// Where we differ from Metal3 on purpose.
const DIFFERENCES: [(&str, &str); 5] = [
    // Metal3 sets these by a webhook; in the schema they hold without one.
    (".spec.cloudProviderEnabled", "default"),
    (".spec.controlPlaneEndpoint.port", "default"),
    (".strategy.type", "default"),
    // Two writers fill in different halves of it, which an atomic map would not survive.
    (".spec.metaData", "x-kubernetes-map-type"),
    // A limit on what a controller reports loses the report.
    (".status.deprecated.v1beta1.failureMessage", "maxLength"),
];

/// Fields that Metal3's schema requires and ours does not: a rule with a better message asks for the one, and
/// the other has no meaning with some operators.
const NOT_REQUIRED: [&str; 2] = ["checksum", "values"];

/// Compares a property and all below it.
fn compare(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    for key in [
        "type",
        "default",
        "format",
        "nullable",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-map-type",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "minProperties",
    ] {
        // A minimum of nothing is none.
        let their = theirs.get(key).filter(|value| !(key.starts_with("min") && *value == 0));
        let our = ours.get(key);
        // A bound that Metal3 does not have keeps a rule of ours affordable; it is looked at by eye.
        let is_bound = key.starts_with("min") || key.starts_with("max");
        let on_purpose = DIFFERENCES.iter().any(|(end, what)| path.ends_with(end) && *what == key);
        if our != their && !(is_bound && their.is_none()) && !on_purpose {
            found.push(format!("{path}: {key} is {our:?}, Metal3 has {their:?}"));
        }
    }
    contains(
        &format!("{path}: enum"),
        &strings(ours.get("enum")),
        &strings(theirs.get("enum")),
        found,
    );
    if ours.get("enum").is_some() && theirs.get("enum").is_none() {
        found.push(format!("{path}: Metal3 takes any value"));
    }
    // What has a default is always there, required or not.
    let required = |schema: &Value| -> BTreeSet<String> {
        let names = strings(schema.get("required")).into_iter();
        names
            .filter(|name| schema["properties"][name].get("default").is_none())
            .filter(|name| !NOT_REQUIRED.contains(&name.as_str()))
            .collect()
    };
    let (our_required, their_required) = (required(ours), required(theirs));
    if our_required != their_required {
        found
            .push(format!("{path}: requires {our_required:?}, Metal3 requires {their_required:?}"));
    }
    if ours.get("description").is_none() && theirs.get("description").is_some() {
        found.push(format!("{path}: is not documented"));
    }
    for (name, their) in theirs.get("properties").and_then(Value::as_object).into_iter().flatten() {
        // The API server adds these to every kind.
        if path.is_empty() && ["apiVersion", "kind", "metadata"].contains(&name.as_str()) {
            continue;
        }
        match ours["properties"].get(name) {
            Some(our) => compare(&format!("{path}.{name}"), our, their, found),
            None => found.push(format!("{path}.{name} is missing")),
        }
    }
    for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        match (ours.get(key), theirs.get(key)) {
            (Some(our), Some(their)) => compare(&format!("{path}{mark}"), our, their, found),
            (None, Some(_)) => found.push(format!("{path}{mark} is missing")),
            (_, None) => {}
        }
    }
}

fn contains(
    what: &str,
    ours: &BTreeSet<String>,
    theirs: &BTreeSet<String>,
    found: &mut Vec<String>,
) {
    let missing: Vec<_> = theirs.difference(ours).collect();
    if !missing.is_empty() {
        found.push(format!("{what}: {missing:?} missing"));
    }
}

fn columns(version: &Value) -> BTreeSet<String> {
    let columns = version["additionalPrinterColumns"].as_array().into_iter().flatten();
    columns.map(|column| format!("{} = {}", column["name"], column["jsonPath"])).collect()
}

fn version_of(definition: &Value, version: &str) -> Value {
    let versions = definition["spec"]["versions"].as_array().unwrap();
    versions.iter().find(|candidate| candidate["name"] == version).unwrap().clone()
}

fn strings(value: Option<&Value>) -> BTreeSet<String> {
    let values = value.and_then(Value::as_array).into_iter().flatten();
    values
        .map(|value| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned))
        .collect()
}

fn metal3_definition(name: &str) -> Value {
    let (plural, group) = name.split_once('.').unwrap();
    let folder: PathBuf = match group {
        "metal3.io" => metal3::baremetal_operator().unwrap().join("config/base/crds/bases"),
        _ => metal3::cluster_api_provider_metal3().unwrap().join("config/crd/bases"),
    };
    let text = fs::read_to_string(folder.join(format!("{group}_{plural}.yaml"))).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}
