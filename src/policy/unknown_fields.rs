//! Fields that a kind does not have. The definitions of Metal3's kinds keep them, for a newer Metal3
//! may know them, so kubectl does not complain about a typo: somebody must.

use std::sync::LazyLock;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

use super::{
    difference::child,
    json::{self, Json, Shape},
    suggest::closest,
};
use crate::api;

/// A field that the kind does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownField {
    /// Where it is, such as `spec.bootMacAddress`.
    pub path: String,
    /// What was probably meant, such as `bootMACAddress`.
    pub suggestion: Option<String>,
}

/// Our kinds, by `apiVersion` and kind. Made once: deriving them takes milliseconds.
static KINDS: LazyLock<Vec<((String, String), Fields)>> = LazyLock::new(|| {
    let of_crd = |crd: CustomResourceDefinition| {
        let (group, kind) = (crd.spec.group, crd.spec.names.kind);
        crd.spec.versions.into_iter().filter_map(move |version| {
            let schema = version.schema?.open_api_v3_schema?;
            Some(((format!("{group}/{}", version.name), kind.clone()), Fields::of(schema)))
        })
    };
    api::definitions().flat_map(of_crd).collect()
});

/// What a schema says of which fields there are: a small part of it, kept in a small part of its memory.
enum Fields {
    /// These and no others, by name.
    Named(Vec<(Box<str>, Self)>),
    /// Any, each of this kind.
    Each(Box<Self>),
    /// A list, each of this kind.
    List(Box<Self>),
    /// Whatever it holds is its own business, as with metadata.
    Any,
}

impl Fields {
    fn of(schema: JSONSchemaProps) -> Self {
        if let Some(properties) = schema.properties {
            let named = properties.into_iter();
            return Self::Named(named.map(|(name, it)| (name.into(), Self::of(it))).collect());
        }
        match (schema.additional_properties, schema.items) {
            (Some(JSONSchemaPropsOrBool::Schema(each)), _) => Self::Each(Box::new(Self::of(*each))),
            (_, Some(JSONSchemaPropsOrArray::Schema(each))) => {
                Self::List(Box::new(Self::of(*each)))
            }
            _ => Self::Any,
        }
    }
}

/// The fields of an object that its kind does not have; none if the kind is not one of ours.
#[must_use]
pub fn unknown_fields<'a>(object: impl Into<Json<'a>>) -> Vec<UnknownField> {
    let object = object.into();
    let text = |key: &str| object.get(key).and_then(Json::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let mut kinds = KINDS.iter();
    let mut found = Vec::new();
    if let Some((_, fields)) = kinds.find(|((of, it), _)| *it == kind && *of == api_version) {
        let written = object.fields().into_iter().flat_map(json::Fields::iter);
        // What was reported, not written, is nobody's typo.
        for (key, value) in written.filter(|(key, _)| *key != "status") {
            field(&Place::Root, key, value, fields, &mut found);
        }
    }
    found
}

/// Where it is, written only when something is found there: almost nothing ever is.
enum Place<'a> {
    Root,
    Field(&'a Self, &'a str),
    Item(&'a Self, usize),
}

impl Place<'_> {
    fn path(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Field(parent, key) => child(&parent.path(), key),
            Self::Item(parent, index) => format!("{}[{index}]", parent.path()),
        }
    }
}

fn walk(place: &Place<'_>, value: Json<'_>, known: &Fields, found: &mut Vec<UnknownField>) {
    match (value.shape(), known) {
        (Shape::Object(entries), Fields::Named(_) | Fields::Each(_)) => {
            for (key, value) in entries.iter() {
                field(place, key, value, known, found);
            }
        }
        (Shape::List(items), Fields::List(known)) => {
            for (index, item) in items.iter().enumerate() {
                walk(&Place::Item(place, index), item, known, found);
            }
        }
        (
            Shape::Object(_)
            | Shape::List(_)
            | Shape::Null
            | Shape::Bool(_)
            | Shape::Number(_)
            | Shape::Text(_),
            _,
        ) => {}
    }
}

fn field(
    parent: &Place<'_>,
    key: &str,
    value: Json<'_>,
    known: &Fields,
    found: &mut Vec<UnknownField>,
) {
    let place = Place::Field(parent, key);
    match known {
        Fields::Named(fields) => match fields.binary_search_by(|(name, _)| (**name).cmp(key)) {
            Ok(index) => walk(&place, value, &fields[index].1, found),
            Err(_)
                if matches!(parent, Place::Root)
                    && ["apiVersion", "kind", "metadata"].contains(&key) => {}
            Err(_) => found.push(UnknownField {
                path: place.path(),
                suggestion: closest(key, fields.iter().map(|(name, _)| &**name)).map(str::to_owned),
            }),
        },
        Fields::Each(known) => walk(&place, value, known, found),
        Fields::List(_) | Fields::Any => {}
    }
}

impl std::fmt::Display for UnknownField {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: there is no such field", self.path)?;
        match &self.suggestion {
            Some(meant) => write!(f, ", did you mean `{meant}`?"),
            None => write!(f, ", it is kept but has no effect"),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn found(spec: &Value) -> Vec<String> {
        let host = json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": "a", "anything": {"goes": 1}}, "spec": spec,
            "status": {"whatever": 1},
        });
        unknown_fields(&host).iter().map(ToString::to_string).collect()
    }

    #[rstest]
    #[case::known(json!({"online": true, "bmc": {"address": "a"}}), &[])]
    #[case::misspelt(
        json!({"bootMacAdress": "a"}),
        &["spec.bootMacAdress: there is no such field, did you mean `bootMACAddress`?"]
    )]
    #[case::far_from_all(
        json!({"colour": "red"}),
        &["spec.colour: there is no such field, it is kept but has no effect"]
    )]
    #[case::deeper(
        json!({"bmc": {"adress": "a"}}),
        &["spec.bmc.adress: there is no such field, did you mean `address`?"]
    )]
    #[case::in_a_list(
        json!({"raid": {"softwareRAIDVolumes": [{"level": "1"}, {"levl": "1"}]}}),
        &["spec.raid.softwareRAIDVolumes[1].levl: there is no such field, did you mean `level`?"]
    )]
    fn fields_are_looked_up(#[case] spec: Value, #[case] want: &[&str]) {
        assert_eq!(found(&spec), want);
    }

    #[test]
    fn the_root_has_its_fields_too() {
        let host = json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "sepc": {}});
        assert_eq!(unknown_fields(&host)[0].suggestion.as_deref(), Some("spec"));
    }

    #[test]
    fn another_kind_is_not_ours_to_judge() {
        assert_eq!(unknown_fields(&json!({"apiVersion": "v1", "kind": "Pod", "sepc": {}})), []);
    }
}
