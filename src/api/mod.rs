//! The kinds as they are on the wire, and the CustomResourceDefinitions generated from them.

pub mod installed;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

/// The definitions of all kinds.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    Vec::new()
}
