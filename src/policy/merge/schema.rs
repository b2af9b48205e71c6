//! The schema that a merge follows: which lists are sets or maps, what is atomic, which fields there
//! are. Converted from a CRD's OpenAPI schema as the API server converts it.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, LazyLock},
};

use serde_json::{Map, Value, json};

use crate::policy::defaults;

/// The types of one or more kinds.
#[derive(Debug, Clone, Default)]
pub struct Schemas {
    named: HashMap<String, Arc<Atom>>,
    kinds: HashMap<(String, String, String), KindSchema>,
}

/// What is known of a kind.
#[derive(Debug, Clone)]
pub(crate) struct KindSchema {
    pub(super) root: TypeRef,
    /// The part of its OpenAPI schema that defaults come from.
    pub(crate) defaults: Arc<Value>,
}

/// What a value may be. A type that nothing is said about may be anything.
#[derive(Debug, Clone, Default)]
pub(super) struct Atom {
    pub scalar: Option<Scalar>,
    pub list: Option<ListType>,
    pub map: Option<MapType>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    Numeric,
    Text,
    Boolean,
    Untyped,
}

#[derive(Debug, Clone)]
pub(super) struct ListType {
    pub element: TypeRef,
    pub relation: ListRelation,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ListRelation {
    Atomic,
    Set,
    Keyed(Vec<String>),
}

#[derive(Debug, Clone)]
pub(super) struct MapType {
    pub fields: BTreeMap<String, Field>,
    /// Of keys that are no fields; none if there may be no such keys.
    pub element: Option<TypeRef>,
    pub atomic: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Field {
    pub of: TypeRef,
    pub default: Option<Value>,
}

#[derive(Debug, Clone)]
pub(super) enum TypeRef {
    Inline(Arc<Atom>),
    Named {
        name: String,
        atomic: Option<bool>,
    },
    /// Anything, as a whole.
    Untyped,
    /// Anything: objects are merged, lists taken whole.
    Deduced,
}

static UNTYPED: LazyLock<Arc<Atom>> = LazyLock::new(|| Arc::new(anything(true, &TypeRef::Untyped)));
static DEDUCED: LazyLock<Arc<Atom>> =
    LazyLock::new(|| Arc::new(anything(false, &TypeRef::Deduced)));

fn anything(atomic: bool, element: &TypeRef) -> Atom {
    Atom {
        scalar: Some(Scalar::Untyped),
        list: Some(ListType { element: TypeRef::Untyped, relation: ListRelation::Atomic }),
        map: Some(MapType { fields: BTreeMap::new(), element: Some(element.clone()), atomic }),
    }
}

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

impl Schemas {
    /// The schemas of every version of the given CRDs, each as JSON. What is no CRD is left out.
    #[must_use]
    pub fn from_crds<'a>(crds: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut schemas = Self::default();
        for crd in crds {
            schemas.set(crd);
        }
        schemas
    }

    /// Those of one CRD instead of what was known of its kind.
    pub fn set(&mut self, crd: &Value) {
        let text = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let (Some(group), Some(kind)) = (text("/spec/group"), text("/spec/names/kind")) else {
            return;
        };
        self.named
            .entry(OBJECT_META.to_owned())
            .or_insert_with(|| Arc::new(Converter::default().atom(&object_meta())));
        self.remove(&group, &kind);
        let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
        for version in versions.into_iter().flatten() {
            let Some(name) = version.get("name").and_then(Value::as_str) else { continue };
            let openapi = version.pointer("/schema/openAPIV3Schema").cloned();
            let openapi = openapi.unwrap_or_else(
                || json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            );
            let defaults = Arc::new(defaults::of(&openapi));
            let root = Converter::default().reference(&published(openapi));
            let key = (group.clone(), name.to_owned(), kind.clone());
            self.kinds.insert(key, KindSchema { root, defaults });
        }
    }

    /// Forgets a kind; whether it was known.
    pub fn remove(&mut self, group: &str, kind: &str) -> bool {
        let before = self.kinds.len();
        self.kinds.retain(|(of, _, known), _| (of.as_str(), known.as_str()) != (group, kind));
        self.kinds.len() < before
    }

    pub(crate) fn kind(&self, group: &str, version: &str, kind: &str) -> Option<&KindSchema> {
        self.kinds.get(&(group.to_owned(), version.to_owned(), kind.to_owned()))
    }

    pub(super) fn resolve(&self, of: &TypeRef) -> Option<Arc<Atom>> {
        match of {
            TypeRef::Inline(atom) => Some(Arc::clone(atom)),
            TypeRef::Untyped => Some(Arc::clone(&UNTYPED)),
            TypeRef::Deduced => Some(Arc::clone(&DEDUCED)),
            TypeRef::Named { name, atomic } => {
                let atom = self.named.get(name)?;
                let Some(atomic) = *atomic else { return Some(Arc::clone(atom)) };
                let map = MapType { atomic, ..atom.map.clone()? };
                Some(Arc::new(Atom { map: Some(map), ..Atom::default() }))
            }
        }
    }
}

/// A CRD's schema as the API server publishes it: with the fields that every object has.
fn published(mut schema: Value) -> Value {
    if let Some(object) = schema.as_object_mut() {
        with_object_fields(object);
        embed(object);
    }
    schema
}

fn with_object_fields(schema: &mut Map<String, Value>) {
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    properties["apiVersion"] = json!({"type": "string"});
    properties["kind"] = json!({"type": "string"});
    properties["metadata"] = json!({"$ref": format!("#/components/schemas/{OBJECT_META}")});
}

/// Objects inside objects have the fields of objects too.
fn embed(schema: &mut Map<String, Value>) {
    let children = schema
        .get_mut("properties")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flat_map(|properties| properties.values_mut());
    for child in children.filter_map(Value::as_object_mut) {
        embed(child);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(child) = schema.get_mut(key).and_then(Value::as_object_mut) {
            embed(child);
        }
    }
    if schema.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true)) {
        with_object_fields(schema);
    }
}

#[derive(Clone, Copy, Default)]
struct Converter {
    preserves_unknown: bool,
}

impl Converter {
    fn reference(self, schema: &Value) -> TypeRef {
        let direct = schema.get("$ref").and_then(Value::as_str);
        let wrapped = || match schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
            Some([only]) => only.get("$ref").and_then(Value::as_str),
            _ => None,
        };
        match direct.or_else(wrapped) {
            Some(reference) => TypeRef::Named {
                name: reference.rsplit('/').next().unwrap_or_default().to_owned(),
                atomic: map_type(schema),
            },
            None => TypeRef::Inline(Arc::new(self.atom(schema))),
        }
    }

    fn atom(mut self, schema: &Value) -> Atom {
        if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true)) {
            self.preserves_unknown = true;
        }
        let scalar = |scalar| Atom { scalar: Some(scalar), ..Atom::default() };
        let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
        match schema.get("type").and_then(Value::as_str).unwrap_or_default() {
            "object" => Atom { map: Some(self.map(schema)), ..Atom::default() },
            "array" => Atom { list: Some(self.list(schema)), ..Atom::default() },
            "integer" | "number" => scalar(Scalar::Numeric),
            "boolean" => scalar(Scalar::Boolean),
            "string" if matches!(format, "" | "byte") => scalar(Scalar::Text),
            "string" => scalar(Scalar::Untyped),
            _ => Atom {
                scalar: Some(Scalar::Untyped),
                list: Some(self.list(schema)),
                map: Some(self.map(schema)),
            },
        }
    }

    fn map(self, schema: &Value) -> MapType {
        let properties = schema.get("properties").and_then(Value::as_object);
        let fields = properties
            .into_iter()
            .flatten()
            .map(|(name, member)| {
                let default = member.get("default").cloned();
                (name.clone(), Field { of: self.reference(member), default })
            })
            .collect::<BTreeMap<_, _>>();
        let element = match schema.get("additionalProperties") {
            // Nothing said of an object: anything goes.
            None if self.preserves_unknown || fields.is_empty() => Some(TypeRef::Deduced),
            None | Some(Value::Bool(false)) => None,
            Some(Value::Bool(true)) => Some(TypeRef::Deduced),
            Some(element) => Some(self.reference(element)),
        };
        MapType { fields, element, atomic: map_type(schema).unwrap_or_default() }
    }

    fn list(self, schema: &Value) -> ListType {
        let element = schema.get("items").map_or(TypeRef::Untyped, |items| self.reference(items));
        let text = |key: &str| schema.get(key).and_then(Value::as_str);
        let keys = || {
            let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
            keys.into_iter().flatten().filter_map(|key| key.as_str().map(str::to_owned)).collect()
        };
        let relation = match (text("x-kubernetes-list-type"), text("x-kubernetes-patch-strategy")) {
            (Some("set"), _) => ListRelation::Set,
            (Some("map"), _) => ListRelation::Keyed(keys()),
            (None, Some("merge" | "merge,retainKeys")) => {
                match text("x-kubernetes-patch-merge-key") {
                    Some(key) => ListRelation::Keyed(vec![key.to_owned()]),
                    None => ListRelation::Set,
                }
            }
            _ => ListRelation::Atomic,
        };
        ListType { element, relation }
    }
}

fn map_type(schema: &Value) -> Option<bool> {
    match schema.get("x-kubernetes-map-type").and_then(Value::as_str) {
        Some("atomic") => Some(true),
        Some("granular") => Some(false),
        _ => None,
    }
}

/// ObjectMeta of Kubernetes 1.36, as `/openapi/v3` publishes it.
fn object_meta() -> Value {
    let text = json!({"type": "string"});
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let time = json!({"type": "string", "format": "date-time"});
    json!({"type": "object", "properties": {
        "annotations": texts, "labels": texts,
        "creationTimestamp": time, "deletionTimestamp": time,
        "deletionGracePeriodSeconds": {"type": "integer"}, "generation": {"type": "integer"},
        "finalizers": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
        "generateName": text, "name": text, "namespace": text, "resourceVersion": text,
        "selfLink": text, "uid": text,
        "managedFields": {"type": "array", "x-kubernetes-list-type": "atomic",
            "items": {"type": "object", "properties": {"apiVersion": text, "fieldsType": text,
                "fieldsV1": {"type": "object"}, "manager": text, "operation": text,
                "subresource": text, "time": time}}},
        "ownerReferences": {"type": "array", "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["uid"],
            "items": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
                "apiVersion": text, "blockOwnerDeletion": {"type": "boolean"},
                "controller": {"type": "boolean"}, "kind": text, "name": text,
                // The key of the list; Go has an empty string where the user has nothing.
                "uid": {"type": "string", "default": ""}}}}
    }})
}
