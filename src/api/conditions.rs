//! Conditions, and the ones that Cluster API still carries for its v1beta1 contract.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// The schema of a list of conditions, with the limits that Kubernetes gives to each field.
pub(super) fn schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "description": "One question about the object, with its answer.",
            "type": "object",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "type": {
                    "description": "The question, in CamelCase, such as Ready.",
                    "type": "string",
                    "maxLength": 316,
                    "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                },
                "status": {
                    "description": "The answer: True, False or Unknown.",
                    "type": "string",
                    "enum": ["True", "False", "Unknown"],
                },
                "reason": {
                    "description": "Why, in one CamelCase word that programs can rely on.",
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                },
                "message": {
                    "description": "The same for people, with what can be done about it.",
                    "type": "string",
                    "maxLength": 32768,
                },
                "lastTransitionTime": {
                    "description": "When the status last changed.",
                    "type": "string",
                    "format": "date-time",
                },
                "observedGeneration": {
                    "description": "The metadata.generation that the answer was given for.",
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0,
                },
            },
        },
        "maxItems": 32,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    })
}

/// What Cluster API's v1beta1 contract had at the top of the status. Older versions of Cluster API
/// read it.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeprecatedStatus {
    /// The fields of the v1beta1 contract.
    pub v1beta1: Option<V1Beta1Status>,
}

/// The fields of Cluster API's v1beta1 contract.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct V1Beta1Status {
    /// Conditions in the form that Cluster API had before it took over the one of Kubernetes.
    pub conditions: Option<Vec<V1Beta1Condition>>,
    /// Why the object can never become ready, in one word. Only set for what does not heal by
    /// itself, and no longer acted on by current versions of Cluster API.
    pub failure_reason: Option<String>,
    /// The same for people.
    pub failure_message: Option<String>,
}

/// A condition in the form of Cluster API's v1beta1 contract.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct V1Beta1Condition {
    /// The question, in CamelCase.
    #[schemars(length(min = 1, max = 256))]
    pub r#type: String,
    /// The answer: True, False or Unknown.
    pub status: String,
    /// How bad it is, when the status is False: Error, Warning or Info.
    #[schemars(length(max = 32))]
    pub severity: Option<String>,
    /// When the status last changed.
    pub last_transition_time: Time,
    /// Why the answer is what it is, in one CamelCase word.
    #[schemars(length(min = 1, max = 256))]
    pub reason: Option<String>,
    /// The same for people.
    #[schemars(length(min = 1, max = 10240))]
    pub message: Option<String>,
}
