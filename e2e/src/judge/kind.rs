//! The resources that cases speak of.

use anyhow::{Context, Result};
use serde_json::Value;

/// A resource that cases may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The kind.
    pub kind: &'static str,
    /// Its group; empty for Kubernetes' core.
    pub group: &'static str,
    /// The version that is meant when none is said.
    pub version: &'static str,
    /// Its name in paths.
    pub plural: &'static str,
    /// Whether it lives in a namespace.
    pub namespaced: bool,
}

const JUDGE: &str = "judge.ironward.dev";
const ADMISSION: &str = "admissionregistration.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

/// All of them.
pub const KINDS: [Kind; 17] = [
    kind("ConfigMap", "", "configmaps", true),
    kind("Secret", "", "secrets", true),
    kind("Pod", "", "pods", true),
    kind("PodTemplate", "", "podtemplates", true),
    kind("Service", "", "services", true),
    kind("ServiceAccount", "", "serviceaccounts", true),
    kind("Namespace", "", "namespaces", false),
    kind("Node", "", "nodes", false),
    kind("Deployment", "apps", "deployments", true),
    kind("Widget", JUDGE, "widgets", true),
    kind("Gadget", JUDGE, "gadgets", false),
    kind("Role", RBAC, "roles", true),
    kind("RoleBinding", RBAC, "rolebindings", true),
    kind("ClusterRole", RBAC, "clusterroles", false),
    kind("ClusterRoleBinding", RBAC, "clusterrolebindings", false),
    kind("Scale", "autoscaling", "scales", true),
    kind("ValidatingAdmissionPolicyBinding", ADMISSION, "validatingadmissionpolicybindings", false),
];

const fn kind(
    kind: &'static str,
    group: &'static str,
    plural: &'static str,
    namespaced: bool,
) -> Kind {
    Kind { kind, group, version: "v1", plural, namespaced }
}

impl Kind {
    /// The one of this name.
    pub fn named(name: &str) -> Result<Self> {
        let found = KINDS.into_iter().find(|kind| kind.kind == name);
        found.with_context(|| format!("{name} is not among the kinds of case.rs"))
    }

    /// Its `apiVersion` in a version.
    #[must_use]
    pub fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() { version.into() } else { format!("{}/{version}", self.group) }
    }

    /// The path of its collection.
    #[must_use]
    pub fn collection(&self, version: &str, namespace: &str) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        let api = self.api_version(version);
        if self.namespaced {
            format!("{root}/{api}/namespaces/{namespace}/{}", self.plural)
        } else {
            format!("{root}/{api}/{}", self.plural)
        }
    }
}

/// Where an object is created.
pub fn collection_of(object: &Value) -> Result<String> {
    let kind = Kind::named(object["kind"].as_str().unwrap_or_default())?;
    let api = object["apiVersion"].as_str().unwrap_or_default();
    let version = api.rsplit_once('/').map_or(api, |(_, version)| version);
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
    Ok(kind.collection(version, namespace))
}

/// Where a policy or binding is created, as strictly as `kubectl apply` does it.
#[must_use]
pub fn policies_of(document: &Value) -> String {
    let plural = match document["kind"].as_str().unwrap_or_default() {
        "ValidatingAdmissionPolicy" => "validatingadmissionpolicies",
        "ValidatingAdmissionPolicyBinding" => "validatingadmissionpolicybindings",
        "MutatingAdmissionPolicy" => "mutatingadmissionpolicies",
        _ => "mutatingadmissionpolicybindings",
    };
    let version = document["apiVersion"].as_str().unwrap_or_default();
    format!("/apis/{version}/{plural}?fieldValidation=Strict")
}
