//! The admission request as policies see it, borrowed from the `request` of an AdmissionReview.

use serde_json::{Value, json};
use strum::{Display, EnumString, IntoStaticStr};

use super::json::{Json, Shape, Tree};

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display, EnumString, IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE")]
#[expect(missing_docs, reason = "the variants are Kubernetes' own, documented there")]
pub enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

/// A group, a version, and the name of a kind or of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct Versioned<'a> {
    pub group: &'a str,
    pub version: &'a str,
    pub name: &'a str,
}

/// An admission request.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The kind of the objects in this review, after conversion.
    pub kind: Versioned<'a>,
    /// The resource that the webhook was registered for, after conversion.
    pub resource: Versioned<'a>,
    /// What the user asked for, before conversion.
    pub request_kind: Versioned<'a>,
    /// What the user asked for, before conversion.
    pub request_resource: Versioned<'a>,
    /// Empty for the resource itself.
    pub sub_resource: &'a str,
    /// Empty if the API server is to generate it.
    pub name: &'a str,
    /// Empty for what is cluster-scoped; a Namespace's own name for a Namespace.
    pub namespace: &'a str,
    /// What is being done.
    pub operation: Operation,
    /// The object as it is to be stored; none on deletes.
    pub object: Option<Json<'a>>,
    /// The object as it is stored; none on creates.
    pub old_object: Option<Json<'a>>,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    raw: Json<'a>,
}

/// Why a review cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("request.{field} is missing or not what AdmissionReview v1 says")]
pub struct RequestError {
    field: &'static str,
}

impl<'a> Request<'a> {
    /// Reads the `request` of an AdmissionReview v1.
    pub fn from_json(raw: impl Into<Json<'a>>) -> Result<Self, RequestError> {
        let raw = raw.into();
        let kind = versioned(raw.get("kind"), "kind").ok_or(RequestError { field: "kind" })?;
        let resource =
            versioned(raw.get("resource"), "resource").ok_or(RequestError { field: "resource" })?;
        let operation =
            text(raw, "operation").parse().map_err(|_| RequestError { field: "operation" })?;
        let object = |key: &str| raw.get(key).filter(|object| !object.is_null());
        Ok(Self {
            kind,
            resource,
            request_kind: versioned(raw.get("requestKind"), "kind").unwrap_or(kind),
            request_resource: versioned(raw.get("requestResource"), "resource").unwrap_or(resource),
            sub_resource: text(raw, "subResource"),
            name: text(raw, "name"),
            namespace: text(raw, "namespace"),
            operation,
            object: object("object"),
            old_object: object("oldObject"),
            dry_run: raw.get("dryRun").and_then(Json::as_bool).unwrap_or_default(),
            raw,
        })
    }

    /// The same request for an object that has changed meanwhile.
    #[must_use]
    pub fn with_object(self, object: impl Into<Json<'a>>) -> Self {
        Self { object: Some(object.into()), ..self }
    }

    /// Who asks, as in `userInfo`.
    #[must_use]
    pub fn user_info(&self) -> Option<Json<'a>> {
        self.raw.get("userInfo")
    }

    /// Whether the request is for a Namespace, whose `namespace` is its own name.
    #[must_use]
    pub fn is_for_namespace(&self) -> bool {
        let kind = self.request_kind;
        (kind.group, kind.version, kind.name) == ("", "v1", "Namespace")
    }

    /// Whether the request is for `/scale`, whatever it scales.
    #[must_use]
    pub fn is_for_scale(&self) -> bool {
        let kind = self.kind;
        (kind.group, kind.version, kind.name) == ("autoscaling", "v1", "Scale")
    }

    /// Whether the request is for a policy or a binding, which no policy may lock out.
    #[must_use]
    pub fn is_about_policies(&self) -> bool {
        const POLICIES: [&str; 4] = [
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
        ];
        let resource = self.request_resource;
        resource.group == "admissionregistration.k8s.io" && POLICIES.contains(&resource.name)
    }

    /// The name of the namespace that `namespaceObject` shows, if there is one.
    #[must_use]
    pub fn object_namespace(&self) -> Option<&'a str> {
        (!self.namespace.is_empty() && !self.is_for_namespace()).then_some(self.namespace)
    }

    /// The variable `request`. Its type hides what else is in it: an empty `uid`, and null objects.
    #[must_use]
    pub fn variable(&self, resource: Versioned<'a>) -> Tree<'a> {
        let mut variable = Vec::with_capacity(16);
        let mut set = |key: &'static str, value: Tree<'a>| variable.push((key, value));
        // In the order of their names.
        set("dryRun", Tree::Bool(self.dry_run));
        set("kind", named(self.kind, "kind"));
        if !self.name.is_empty() {
            set("name", self.name.into());
        }
        if !self.namespace.is_empty() {
            set("namespace", self.namespace.into());
        }
        set("object", Tree::Null);
        set("oldObject", Tree::Null);
        set("operation", <&str>::from(self.operation).into());
        set("options", self.raw.get("options").map_or(Tree::Null, Tree::from));
        set("requestKind", named(self.request_kind, "kind"));
        set("requestResource", named(self.request_resource, "resource"));
        if !self.sub_resource.is_empty() {
            set("requestSubResource", self.sub_resource.into());
        }
        set("resource", named(resource, "resource"));
        if !self.sub_resource.is_empty() {
            set("subResource", self.sub_resource.into());
        }
        set("uid", "".into());
        set("userInfo", user_info(self.user_info()));
        Tree::object(variable)
    }
}

/// The fields of a namespace that `namespaceObject` shows.
#[must_use]
pub fn namespace_variable(namespace: &Value) -> Value {
    const METADATA: [&str; 12] = [
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "finalizers",
    ];
    let part = |key: &str| namespace.get(key).cloned().unwrap_or_else(|| json!({}));
    let mut metadata = part("metadata");
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.retain(|key, _| METADATA.contains(&key.as_str()));
    }
    json!({"metadata": metadata, "spec": part("spec"), "status": part("status")})
}

fn text<'a>(value: Json<'a>, key: &str) -> &'a str {
    value.get(key).and_then(Json::as_str).unwrap_or_default()
}

fn versioned<'a>(value: Option<Json<'a>>, name: &str) -> Option<Versioned<'a>> {
    let value = value?;
    let versioned = Versioned {
        group: text(value, "group"),
        version: text(value, "version"),
        name: text(value, name),
    };
    (!versioned.name.is_empty()).then_some(versioned)
}

fn named<'a>(versioned: Versioned<'a>, name: &'static str) -> Tree<'a> {
    let Versioned { group, version, name: value } = versioned;
    Tree::object(vec![("group", group.into()), (name, value.into()), ("version", version.into())])
}

/// What is empty is not there.
fn user_info(info: Option<Json<'_>>) -> Tree<'_> {
    let mut shown = Vec::with_capacity(4);
    for key in ["extra", "groups", "uid", "username"] {
        let Some(value) = info.and_then(|info| info.get(key)) else { continue };
        let is_empty = match value.shape() {
            Shape::Null => true,
            Shape::Text(text) => text.is_empty(),
            Shape::List(items) => items.is_empty(),
            Shape::Object(fields) => fields.is_empty(),
            Shape::Bool(_) | Shape::Number(_) => false,
        };
        if !is_empty {
            shown.push((key, Tree::from(value)));
        }
    }
    Tree::object(shown)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A request to create a host, to be changed by the case at hand.
    pub(crate) fn create() -> Value {
        json!({
            "uid": "u",
            "kind": {"group": "metal3.io", "version": "v1alpha1", "kind": "BareMetalHost"},
            "resource": {"group": "metal3.io", "version": "v1alpha1", "resource": "baremetalhosts"},
            "requestKind": {"group": "metal3.io", "version": "v1alpha1", "kind": "BareMetalHost"},
            "requestResource": {"group": "metal3.io", "version": "v1alpha1", "resource": "baremetalhosts"},
            "name": "worker-0",
            "namespace": "metal3",
            "operation": "CREATE",
            "userInfo": {"username": "admin", "groups": ["system:masters"], "extra": {}},
            "object": {"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
                "metadata": {"name": "worker-0", "namespace": "metal3", "labels": {"rack": "1"}},
                "spec": {"online": true}},
            "oldObject": null,
            "dryRun": false,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}
        })
    }

    #[test]
    fn the_variable_has_what_the_api_server_gives_it() {
        let raw = create();
        let request = Request::from_json(&raw).unwrap();
        let variable = Json::from(&request.variable(request.resource)).to_value();
        assert_eq!(
            variable["userInfo"],
            json!({"username": "admin", "groups": ["system:masters"]})
        );
        assert_eq!(variable["object"], Value::Null);
        assert_eq!(variable["uid"], "");
        assert!(variable.get("subResource").is_none());
        assert_eq!(variable["options"]["kind"], "CreateOptions");
    }

    #[test]
    fn a_namespace_is_in_no_namespace() {
        let mut raw = create();
        raw["requestKind"] = json!({"group": "", "version": "v1", "kind": "Namespace"});
        assert_eq!(Request::from_json(&raw).unwrap().object_namespace(), None);
    }

    #[test]
    fn a_review_without_its_kind_is_refused() {
        let error = Request::from_json(&json!({})).unwrap_err();
        assert_eq!(error, RequestError { field: "kind" });
    }

    #[test]
    fn a_namespace_shows_some_of_its_metadata() {
        let shown = namespace_variable(&json!({"metadata": {"name": "a", "managedFields": []}}));
        assert_eq!(shown, json!({"metadata": {"name": "a"}, "spec": {}, "status": {}}));
    }
}
