//! What must hold for every kind, whatever its fields.

use super::{
    BareMetalHost, BareMetalHostDiscovery, HardwareData, HostHistory, Metal3Cluster, Metal3Machine,
    Metal3MachineTemplate, Metal3Metadata, Metal3Remediation, Metal3RemediationTemplate, crds,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use rstest::rstest;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::LazyLock;

static CRDS: LazyLock<Vec<CustomResourceDefinition>> = LazyLock::new(crds);

/// The kinds that Metal3 does not have.
const OURS: [&str; 3] = ["BareMetalHostDiscovery", "HostHistory", "Metal3Metadata"];

/// The samples of a kind together have every field that the kind has.
fn samples(kind: &str) -> Vec<Value> {
    let text = match kind {
        "BareMetalHost" => include_str!("samples/baremetalhost.yaml"),
        "BareMetalHostDiscovery" => include_str!("samples/baremetalhostdiscovery.yaml"),
        "HardwareData" => include_str!("samples/hardwaredata.yaml"),
        "HostHistory" => include_str!("samples/hosthistory.yaml"),
        "Metal3Cluster" => include_str!("samples/metal3cluster.yaml"),
        "Metal3Machine" => include_str!("samples/metal3machine.yaml"),
        "Metal3MachineTemplate" => include_str!("samples/metal3machinetemplate.yaml"),
        "Metal3Metadata" => include_str!("samples/metal3metadata.yaml"),
        "Metal3Remediation" => include_str!("samples/metal3remediation.yaml"),
        "Metal3RemediationTemplate" => include_str!("samples/metal3remediationtemplate.yaml"),
        _ => panic!("{kind} has no samples"),
    };
    serde_saphyr::from_multiple(text).unwrap()
}

fn round_trip<K: DeserializeOwned + Serialize>(object: &Value) -> Value {
    let typed: K = serde_json::from_value(object.clone()).unwrap();
    serde_json::to_value(typed).unwrap()
}

#[rstest]
#[case("BareMetalHost", round_trip::<BareMetalHost>)]
#[case("BareMetalHostDiscovery", round_trip::<BareMetalHostDiscovery>)]
#[case("HardwareData", round_trip::<HardwareData>)]
#[case("HostHistory", round_trip::<HostHistory>)]
#[case("Metal3Cluster", round_trip::<Metal3Cluster>)]
#[case("Metal3Machine", round_trip::<Metal3Machine>)]
#[case("Metal3MachineTemplate", round_trip::<Metal3MachineTemplate>)]
#[case("Metal3Metadata", round_trip::<Metal3Metadata>)]
#[case("Metal3Remediation", round_trip::<Metal3Remediation>)]
#[case("Metal3RemediationTemplate", round_trip::<Metal3RemediationTemplate>)]
fn what_is_read_is_written_back_unchanged(
    #[case] kind: &str,
    #[case] round_trip: fn(&Value) -> Value,
) {
    for sample in samples(kind) {
        assert_eq!(round_trip(&sample), sample);
    }
}

#[test]
fn the_samples_have_every_field_of_the_schema() {
    for crd in CRDS.iter() {
        let kind = &crd.spec.names.kind;
        let mut written = BTreeSet::new();
        for sample in samples(kind) {
            paths_of_value(&sample, "", &mut written);
        }
        let missing: Vec<_> = fields(crd)
            .into_iter()
            .map(|(path, _)| path)
            .filter(|path| !written.contains(path))
            .collect();
        assert_eq!(missing, [""; 0], "{kind}");
    }
}

#[rstest]
#[case(round_trip::<BareMetalHost>, "metal3.io/v1alpha1", "BareMetalHost")]
#[case(round_trip::<HardwareData>, "metal3.io/v1alpha1", "HardwareData")]
#[case(round_trip::<Metal3Cluster>, INFRASTRUCTURE, "Metal3Cluster")]
#[case(round_trip::<Metal3Machine>, INFRASTRUCTURE, "Metal3Machine")]
#[case(round_trip::<Metal3Remediation>, INFRASTRUCTURE, "Metal3Remediation")]
#[case(round_trip::<Metal3RemediationTemplate>, INFRASTRUCTURE, "Metal3RemediationTemplate")]
fn an_object_without_spec_can_be_read_where_metal3_allows_it(
    #[case] round_trip: fn(&Value) -> Value,
    #[case] api_version: &str,
    #[case] kind: &str,
) {
    let bare = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "bare"}});

    assert_eq!(round_trip(&bare)["metadata"], bare["metadata"]);

    let schema = schema(CRDS.iter().find(|crd| crd.spec.names.kind == kind).unwrap());
    assert_eq!(schema.required, None);
    let properties = schema.properties.as_ref().unwrap();
    assert!(properties.values().all(|part| part.default.is_none()), "{kind} has a default");
}

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io/v1beta2";

#[test]
fn names_are_what_the_api_server_and_clusterctl_derive() {
    for crd in CRDS.iter() {
        let names = &crd.spec.names;
        let name = format!("{}.{}", names.plural, crd.spec.group);
        assert_eq!(crd.metadata.name, Some(name));
        let lower = names.kind.to_lowercase();
        let plural = match lower.strip_suffix('y') {
            Some(stem) => format!("{stem}ies"),
            None if lower.ends_with("data") => lower.clone(),
            None => format!("{lower}s"),
        };
        assert_eq!(names.plural, plural);
        assert_eq!(names.singular.as_deref(), Some(lower.as_str()));
    }
}

#[test]
fn no_two_kinds_share_a_short_name() {
    let mut seen = BTreeSet::new();
    for name in CRDS.iter().flat_map(|crd| crd.spec.names.short_names.as_ref().unwrap()) {
        assert!(seen.insert(name), "{name}");
    }
}

#[test]
fn columns_show_fields_that_exist() {
    for crd in CRDS.iter() {
        let known: Vec<_> = fields(crd).into_iter().map(|(path, _)| path).collect();
        for column in crd.spec.versions[0].additional_printer_columns.iter().flatten() {
            let path = column.json_path.replace(r#"[?(@.type=="Ready")]"#, "[]");
            let path = path.replace(r#"[?(@.type=="Remediating")]"#, "[]");
            assert!(
                path.starts_with(".metadata.") || known.contains(&path),
                "{} of {}",
                column.json_path,
                crd.spec.names.kind
            );
        }
    }
}

#[test]
fn null_is_a_value_only_where_metal3_says_so() {
    for crd in CRDS.iter() {
        for (path, field) in fields(crd) {
            let expected = path.ends_with("RAIDVolumes")
                || path.starts_with(".status.operationHistory.") && path.matches('.').count() == 4;
            assert_eq!(field.nullable == Some(true), expected, "{path}");
        }
    }
}

#[test]
fn numbers_have_a_width_that_kubernetes_knows() {
    for crd in CRDS.iter() {
        for (path, field) in fields(crd) {
            if let Some(format) = &field.format {
                let known = ["int32", "int64", "double", "date-time", "uri"];
                assert!(known.contains(&format.as_str()), "{path} has format {format}");
            }
        }
    }
}

#[test]
fn every_field_is_explained() {
    for crd in CRDS.iter() {
        for (path, field) in fields(crd) {
            let is_item = path.ends_with("[]") || path.ends_with("{}");
            assert!(is_item || field.description.is_some(), "{path} of {}", crd.spec.names.kind);
        }
        let description = schema(crd).description.as_ref().unwrap();
        assert!(!description.contains("Auto-generated"), "{}", crd.spec.names.kind);
    }
}

#[test]
fn metal3s_kinds_keep_what_we_do_not_know_and_ours_do_not() {
    for crd in CRDS.iter() {
        let kept = !OURS.contains(&crd.spec.names.kind.as_str());
        for (path, field) in fields(crd).into_iter().filter(|(_, field)| field.properties.is_some())
        {
            assert_eq!(field.x_kubernetes_preserve_unknown_fields == Some(true), kept, "{path}");
        }
    }
}

#[test]
fn every_rule_speaks_to_people_and_points_at_a_field() {
    for crd in CRDS.iter() {
        let fields = fields(crd);
        let root = (String::new(), schema(crd));
        for (path, field) in fields.iter().chain([&root]) {
            for rule in field.x_kubernetes_validations.iter().flatten() {
                let message = rule.message.as_ref().or(rule.message_expression.as_ref()).unwrap();
                assert!(!message.contains('\n'), "{path}: {message}");
                if let Some(target) = &rule.field_path {
                    let target = format!("{path}{target}");
                    assert!(fields.iter().any(|(path, _)| *path == target), "{target}");
                }
            }
        }
    }
}

#[test]
fn no_rule_judges_what_a_controller_reports() {
    for crd in CRDS.iter() {
        for (path, field) in fields(crd).into_iter().filter(|(path, _)| path.starts_with(".status"))
        {
            assert_eq!(field.x_kubernetes_validations, None, "{path} of {}", crd.spec.names.kind);
        }
    }
}

fn schema(crd: &CustomResourceDefinition) -> &JSONSchemaProps {
    let validation = crd.spec.versions[0].schema.as_ref().unwrap();
    validation.open_api_v3_schema.as_ref().unwrap()
}

/// Every field below the root of a kind, by its path.
fn fields(crd: &CustomResourceDefinition) -> Vec<(String, &JSONSchemaProps)> {
    let mut all = Vec::new();
    fields_of_schema(schema(crd), "", &mut all);
    all
}

fn fields_of_schema<'a>(
    schema: &'a JSONSchemaProps,
    path: &str,
    all: &mut Vec<(String, &'a JSONSchemaProps)>,
) {
    let properties = schema.properties.iter().flatten();
    let mut below: Vec<_> =
        properties.map(|(name, field)| (format!("{path}.{name}"), field)).collect();
    if let Some(JSONSchemaPropsOrArray::Schema(item)) = &schema.items {
        below.push((format!("{path}[]"), item));
    }
    if let Some(JSONSchemaPropsOrBool::Schema(value)) = &schema.additional_properties {
        below.push((format!("{path}{{}}"), value));
    }
    for (path, field) in below {
        fields_of_schema(field, &path, all);
        all.push((path, field));
    }
}

/// The paths of a value, where the keys of an object count as fields and as keys of a map.
fn paths_of_value(value: &Value, path: &str, paths: &mut BTreeSet<String>) {
    paths.insert(path.to_owned());
    match value {
        Value::Array(items) => {
            for item in items {
                paths_of_value(item, &format!("{path}[]"), paths);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                paths_of_value(value, &format!("{path}.{name}"), paths);
                paths_of_value(value, &format!("{path}{{}}"), paths);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
