//! How one object names another.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// A Secret, by name.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct SecretReference {
    /// Name of the Secret.
    pub name: Option<String>,
    /// Namespace of the Secret. It can be left out: Secrets are only read in the namespace of the
    /// object that names them.
    pub namespace: Option<String>,
}

/// An object of Metal3, by name.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct Metal3ObjectReference {
    /// Name of the object.
    #[schemars(length(min = 1, max = 253))]
    pub name: Option<String>,
    /// Namespace of the object. Left out, it is the namespace of the object that names it.
    #[schemars(length(min = 1, max = 253))]
    pub namespace: Option<String>,
}

/// An object that must be named.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct NamespacedName {
    /// Name of the object.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Namespace of the object. Left out, it is the namespace of the object that names it.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
}
