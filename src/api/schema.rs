//! From the derived schema of a kind to the CustomResourceDefinition that the API server gets.
//!
//! What schemars and kube derive is made for Rust; this file makes of it what users of Metal3
//! expect: nothing is nullable, no field of a newer Metal3 is lost, and descriptions read as prose.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;
use kube::core::schema::StructuralSchemaRewriter;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, ReplaceConstValue};
use schemars::{JsonSchema, Schema};
use serde_json::Value;
use std::collections::BTreeMap;

/// The group whose kinds follow Cluster API's contract for infrastructure providers.
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";

/// What becomes of a field that the schema does not know.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum UnknownFields {
    /// It stays: a newer Metal3 may know it.
    Kept,
    /// The API server drops it: the kind is ours, so nobody else knows it either.
    Pruned,
}

/// How `clusterctl move` finds the objects of a kind.
#[derive(Clone, Copy)]
pub(super) enum Move {
    /// By the chain of owners that ends in a Cluster.
    WithOwner,
    /// All of them, owned or not.
    Always,
    /// All of them, and what they own.
    WithDependents,
}

/// The definition of the kind `K`.
pub(super) fn definition<K>(unknown_fields: UnknownFields, moves: Move) -> CustomResourceDefinition
where
    K: CustomResourceExt + JsonSchema,
{
    let mut crd = K::crd();
    crd.metadata.labels = Some(labels(&crd.spec.group, moves));
    for version in &mut crd.spec.versions {
        if let Some(validation) = &mut version.schema {
            validation.open_api_v3_schema = Some(schema::<K>(unknown_fields));
        }
    }
    crd
}

fn labels(group: &str, moves: Move) -> BTreeMap<String, String> {
    let discovery = match moves {
        Move::WithOwner => None,
        Move::Always => Some("clusterctl.cluster.x-k8s.io/move"),
        Move::WithDependents => Some("clusterctl.cluster.x-k8s.io/move-hierarchy"),
    };
    let contract = (group == INFRASTRUCTURE).then_some(("cluster.x-k8s.io/v1beta2", "v1beta2"));
    [("app.kubernetes.io/name", "ironward"), ("clusterctl.cluster.x-k8s.io", "")]
        .into_iter()
        .chain(contract)
        .chain(discovery.map(|label| (label, "")))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn schema<K: JsonSchema>(unknown_fields: UnknownFields) -> JSONSchemaProps {
    let derived = SchemaSettings::openapi3()
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
            settings.transforms.clear();
        })
        .with_transform(RecursiveTransform(forget_null))
        .with_transform(ReplaceConstValue::default())
        .with_transform(StructuralSchemaRewriter)
        .into_generator()
        .into_root_schema_for::<K>();

    let mut root: JSONSchemaProps = serde_json::from_value(derived.to_value())
        .expect("a schema of plain structs, enums and maps is structural");
    root.title = None;
    for part in root.properties.iter_mut().flat_map(BTreeMap::values_mut) {
        // What a missing `spec` reads as in Rust is no default of the API.
        part.default = None;
        if unknown_fields == UnknownFields::Kept {
            walk(part, &keep_unknown_fields);
        }
    }
    walk(&mut root, &reflow_description);
    root
}

/// An `Option` may be left out, which schemars takes for "may be null". Of the two the API server
/// fills only the first with a default, so a null `automatedCleaningMode` would be stored as null.
fn forget_null(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(options)) = object.get_mut("anyOf") {
        options.retain(|option| option["type"] != "null");
        if let [Value::Object(only)] = options.as_mut_slice() {
            let only = std::mem::take(only);
            object.remove("anyOf");
            for (keyword, value) in only {
                // The description of the field says more than that of its type.
                object.entry(keyword).or_insert(value);
            }
        }
    }
}

fn keep_unknown_fields(schema: &mut JSONSchemaProps) {
    if schema.properties.is_some() {
        schema.x_kubernetes_preserve_unknown_fields = Some(true);
    }
}

/// Lines of a doc comment end where the source does; `kubectl explain` wraps paragraphs itself.
fn reflow_description(schema: &mut JSONSchemaProps) {
    if let Some(description) = &mut schema.description {
        let paragraphs: Vec<_> = description
            .split("\n\n")
            .map(|paragraph| paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" "))
            .collect();
        *description = paragraphs.join("\n\n");
    }
}

fn walk(schema: &mut JSONSchemaProps, visit: &impl Fn(&mut JSONSchemaProps)) {
    visit(schema);
    for property in schema.properties.iter_mut().flat_map(BTreeMap::values_mut) {
        walk(property, visit);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(item)) = &mut schema.items {
        walk(item, visit);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(value)) = &mut schema.additional_properties {
        walk(value, visit);
    }
}

/// For an integer to which Metal3 gives no width.
pub(super) fn unformatted(schema: &mut Schema) {
    schema.remove("format");
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::{CustomResource, KubeSchema};
    use schemars::json_schema;
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    /// A kind.
    #[derive(Debug, Clone, CustomResource, Serialize, Deserialize, KubeSchema)]
    #[kube(
        group = "example.com",
        version = "v1",
        kind = "Rack",
        status = "RackStatus",
        doc = "A rack."
    )]
    struct RackSpec {
        /// How it is cooled,
        /// in short.
        ///
        /// More below.
        #[schemars(extend("default" = "air"))]
        cooling: Option<Cooling>,
        /// Units.
        #[schemars(range(min = 1), transform = unformatted)]
        units: Option<i64>,
        shelf: Shelf,
        shelves: Vec<Shelf>,
        by_name: BTreeMap<String, Shelf>,
    }

    /// The description of the type.
    #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Cooling {
        /// With documentation, schemars makes one schema per variant.
        Air,
        /// Water.
        Water,
    }

    /// A shelf.
    #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
    struct Shelf {
        load: Option<i64>,
    }

    /// What was seen.
    #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
    struct RackStatus {
        shelf: Option<Shelf>,
    }

    fn rack(unknown_fields: UnknownFields) -> Value {
        serde_json::to_value(schema::<Rack>(unknown_fields)).unwrap()
    }

    #[test]
    fn an_optional_enum_is_a_plain_enum_described_by_its_field() {
        assert_eq!(
            rack(UnknownFields::Pruned)["properties"]["spec"]["properties"]["cooling"],
            json!({
                "default": "air",
                "description": "How it is cooled, in short.\n\nMore below.",
                "enum": ["air", "water"],
                "type": "string",
            })
        );
    }

    #[test]
    fn an_optional_number_is_a_plain_number() {
        assert_eq!(
            rack(UnknownFields::Pruned)["properties"]["spec"]["properties"]["units"],
            json!({"description": "Units.", "minimum": 1.0, "type": "integer"})
        );
    }

    #[test]
    fn nothing_is_nullable_unless_it_says_so() {
        let mut nullable = json_schema!({"type": ["array", "null"], "nullable": true});
        forget_null(&mut nullable);
        assert_eq!(nullable, json_schema!({"type": "array", "nullable": true}));
        assert!(!rack(UnknownFields::Kept).to_string().contains("null"));
    }

    #[test]
    fn unknown_fields_are_kept_at_every_level_below_the_root() {
        let rack = rack(UnknownFields::Kept);
        let kept = |pointer| {
            rack.pointer(pointer).unwrap()["x-kubernetes-preserve-unknown-fields"] == true
        };
        assert!(!kept(""));
        assert!(kept("/properties/spec"));
        assert!(kept("/properties/spec/properties/shelf"));
        assert!(kept("/properties/spec/properties/shelves/items"));
        assert!(kept("/properties/spec/properties/by_name/additionalProperties"));
        assert!(kept("/properties/status/properties/shelf"));
        // Nothing is unknown in a map.
        assert!(!kept("/properties/spec/properties/by_name"));
    }

    #[test]
    fn unknown_fields_are_pruned_from_a_kind_of_ours() {
        assert!(!rack(UnknownFields::Pruned).to_string().contains("preserve-unknown-fields"));
    }

    #[test]
    fn the_kind_is_described_by_its_own_words() {
        assert_eq!(rack(UnknownFields::Pruned)["description"], "A rack.");
        assert_eq!(rack(UnknownFields::Pruned)["title"], Value::Null);
    }

    #[test]
    fn clusterctl_and_cluster_api_find_what_they_need() {
        let names = |group, moves| labels(group, moves).into_keys().collect::<Vec<_>>();
        let ours = ["app.kubernetes.io/name", "clusterctl.cluster.x-k8s.io"];
        assert_eq!(names("metal3.io", Move::WithOwner), ours);
        assert!(
            names("metal3.io", Move::Always).contains(&"clusterctl.cluster.x-k8s.io/move".into())
        );
        assert!(
            names("metal3.io", Move::WithDependents)
                .contains(&"clusterctl.cluster.x-k8s.io/move-hierarchy".into())
        );
        assert_eq!(
            labels(INFRASTRUCTURE, Move::WithOwner).get("cluster.x-k8s.io/v1beta2"),
            Some(&"v1beta2".to_owned())
        );
    }
}
