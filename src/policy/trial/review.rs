//! The request that the API server would make of an object that somebody sends it.

use std::{collections::BTreeMap, sync::LazyLock};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use crate::{api, policy::request::Operation};

/// Somebody sends an object.
#[derive(Debug, Clone, Default)]
pub struct Attempt {
    /// As it is to be stored; none on deletes.
    pub object: Option<Value>,
    /// As it is stored; none on creates.
    pub old_object: Option<Value>,
    /// What is done; told from the objects if nobody says.
    pub operation: Option<Operation>,
    /// Who does it.
    pub user: User,
    /// Where an object goes that does not say so itself; `default` if this is empty.
    pub namespace: String,
}

/// Who sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub username: String,
    /// The groups.
    pub groups: Vec<String>,
}

impl Default for User {
    /// A person with no special groups.
    fn default() -> Self {
        Self { username: "alice".to_owned(), groups: vec!["system:authenticated".to_owned()] }
    }
}

/// Why no request can be made of an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AttemptError {
    /// Neither an object nor a stored one.
    #[error("there is no object")]
    NoObject,
    /// What it is cannot be told.
    #[error("the object has no {0}")]
    Missing(&'static str),
}

/// Kinds that live in no namespace; all others do, or do not mind.
const CLUSTER_SCOPED: [&str; 17] = [
    "APIService",
    "CSIDriver",
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "IngressClass",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PriorityClass",
    "StorageClass",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
];

impl Attempt {
    /// The `request` of the AdmissionReview.
    pub fn review(&self) -> Result<Value, AttemptError> {
        let subject =
            self.object.as_ref().or(self.old_object.as_ref()).ok_or(AttemptError::NoObject)?;
        let api_version = text(subject, "apiVersion").ok_or(AttemptError::Missing("apiVersion"))?;
        let kind = text(subject, "kind").ok_or(AttemptError::Missing("kind"))?;
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let namespace = self.namespace_of(subject, kind);
        let placed = |object: Option<&Value>| {
            let mut object = object.cloned()?;
            if !namespace.is_empty() && kind != "Namespace" {
                object["metadata"]["namespace"] = json!(namespace);
            }
            Some(object)
        };
        let operation = self.operation.unwrap_or(match (&self.object, &self.old_object) {
            (Some(_), Some(_)) => Operation::Update,
            (None, Some(_)) => Operation::Delete,
            _ => Operation::Create,
        });
        let resource = json!({
            "group": group, "version": version, "resource": plural(group, kind),
        });
        let kind = json!({"group": group, "version": version, "kind": kind});
        let User { username, groups } = &self.user;
        Ok(json!({
            "uid": "00000000-0000-0000-0000-000000000000",
            "kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource,
            "name": subject["metadata"]["name"].as_str().unwrap_or_default(),
            "namespace": namespace,
            "operation": operation.to_string(),
            "userInfo": {"username": username, "groups": groups},
            "object": placed(self.object.as_ref()),
            "oldObject": placed(self.old_object.as_ref()),
            "dryRun": false,
            "options": {},
        }))
    }

    fn namespace_of(&self, object: &Value, kind: &str) -> String {
        let name = |key: &str| object["metadata"][key].as_str().unwrap_or_default();
        match kind {
            "Namespace" => name("name").to_owned(),
            _ if CLUSTER_SCOPED.contains(&kind) => String::new(),
            _ if !name("namespace").is_empty() => name("namespace").to_owned(),
            _ if self.namespace.is_empty() => "default".to_owned(),
            _ => self.namespace.clone(),
        }
    }
}

/// An object in its namespace, as kubectl sends it there; `namespace` is for one that names none.
#[must_use]
pub fn placed(object: &Value, namespace: &str) -> Value {
    let attempt = Attempt { namespace: namespace.to_owned(), ..Attempt::default() };
    let kind = text(object, "kind").unwrap_or_default();
    let namespace = attempt.namespace_of(object, kind);
    let mut object = object.clone();
    if !namespace.is_empty() && kind != "Namespace" {
        object["metadata"]["namespace"] = json!(namespace);
    }
    object
}

fn text<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// The plural of our kinds, by group and kind. Made once: deriving the definitions takes long.
static OURS: LazyLock<BTreeMap<(String, String), String>> = LazyLock::new(|| {
    let of_crd = |crd: CustomResourceDefinition| {
        ((crd.spec.group, crd.spec.names.kind), crd.spec.names.plural)
    };
    api::crds().into_iter().map(of_crd).collect()
});

/// The plural of a kind of ours.
pub(super) fn of_ours(group: &str, kind: &str) -> Option<&'static str> {
    OURS.get(&(group.to_owned(), kind.to_owned())).map(String::as_str)
}

/// As the definition says, or as English and nearly every definition do.
pub(super) fn plural(group: &str, kind: &str) -> String {
    if let Some(plural) = of_ours(group, kind) {
        return plural.to_owned();
    }
    let word = kind.to_lowercase();
    match word.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if word.ends_with(['s', 'x']) || word.ends_with("ch") => format!("{word}es"),
        _ => format!("{word}s"),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn object(api_version: &str, kind: &str) -> Value {
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}})
    }

    #[rstest]
    #[case::ours("metal3.io/v1alpha1", "BareMetalHostDiscovery", "baremetalhostdiscoveries")]
    #[case::odd("infrastructure.cluster.x-k8s.io/v1beta2", "Metal3Metadata", "metal3metadata")]
    #[case::native("v1", "Pod", "pods")]
    #[case::ends_in_y("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies")]
    #[case::ends_in_ss("networking.k8s.io/v1", "Ingress", "ingresses")]
    #[case::vowel("example.com/v1", "Key", "keys")]
    fn the_resource_is_told_from_the_kind(
        #[case] api_version: &str,
        #[case] kind: &str,
        #[case] want: &str,
    ) {
        let attempt = Attempt { object: Some(object(api_version, kind)), ..Attempt::default() };
        assert_eq!(attempt.review().unwrap()["resource"]["resource"], want);
    }

    #[rstest]
    #[case::create(true, false, "CREATE")]
    #[case::update(true, true, "UPDATE")]
    #[case::delete(false, true, "DELETE")]
    fn the_operation_is_told_from_the_objects(
        #[case] is_sent: bool,
        #[case] is_stored: bool,
        #[case] want: &str,
    ) {
        let host = object("metal3.io/v1alpha1", "BareMetalHost");
        let attempt = Attempt {
            object: is_sent.then(|| host.clone()),
            old_object: is_stored.then_some(host),
            ..Attempt::default()
        };
        assert_eq!(attempt.review().unwrap()["operation"], want);
    }

    #[test]
    fn an_object_gets_its_namespace_as_from_kubectl() {
        let host = object("metal3.io/v1alpha1", "BareMetalHost");
        let attempt = Attempt { object: Some(host), ..Attempt::default() };
        let review = attempt.review().unwrap();
        assert_eq!(review["namespace"], "default");
        assert_eq!(review["object"]["metadata"]["namespace"], "default");
        let node = Attempt { object: Some(object("v1", "Node")), ..Attempt::default() };
        assert_eq!(node.review().unwrap()["namespace"], "");
    }

    #[test]
    fn what_is_no_object_is_refused() {
        let attempt = Attempt { object: Some(json!({"kind": "Pod"})), ..Attempt::default() };
        assert_eq!(attempt.review(), Err(AttemptError::Missing("apiVersion")));
        assert_eq!(Attempt::default().review(), Err(AttemptError::NoObject));
    }
}
