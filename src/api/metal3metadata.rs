//! Metal3Metadata: metadata that differs from node to node.

use super::conditions;
use super::references::NamespacedName;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;
use std::collections::BTreeMap;

/// What a Metal3Metadata should be.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, CustomResource, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Metal3Metadata",
    plural = "metal3metadata",
    namespaced,
    status = "Metal3MetadataStatus",
    category = "cluster-api",
    shortname = "m3md",
    shortname = "m3metadata",
    derive = "PartialEq",
    doc = "Metadata for the first boot that differs from node to node, such as host names \
        worker-0, worker-1, worker-2. Every Metal3Machine whose spec.metaData.configRef names it \
        gets an index of its own, the lowest that is free, and a Secret with the templates \
        rendered for it. Index and Secret stay with the machine until it is deleted; then the \
        next machine gets the index, so that an upgrade re-uses the names.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#,
        description = "Whether the Secrets of all machines are as the templates say"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].reason"#,
        description = "Why it is or is not ready"
    ),
    printcolumn(
        name = "Updated",
        type_ = "date",
        json_path = ".status.lastUpdated",
        description = "Time since a Secret or an index last changed"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since the Metal3Metadata was created"
    )
)]
pub struct Metal3MetadataSpec {
    /// Keys and values of the metadata. A value is a template in the language of Go's
    /// text/template, rendered once for each machine: {{ getIndex }} is the index of the machine,
    /// {{ getIndexWithOffset 10 }} the index plus 10. So local-hostname: worker-np1-{{ getIndex }}
    /// names the nodes worker-np1-0, worker-np1-1 and so on. A change is rendered into all Secrets;
    /// nodes see it when they are next provisioned.
    pub meta_data: BTreeMap<String, String>,
}

/// Who has which index and which Secret. All of it is rebuilt from the Secrets if it is lost.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3MetadataStatus {
    /// The Metal3Machine that has each index. An entry written by hand, for a machine that was
    /// there before, is respected.
    pub indexes: Option<BTreeMap<String, String>>,
    /// The Secret of each Metal3Machine.
    pub secrets: Option<BTreeMap<String, NamespacedName>>,
    /// When an index or a Secret last changed.
    pub last_updated: Option<Time>,
    /// The metadata.generation that was last rendered.
    pub observed_generation: Option<i64>,
    /// Answers about the metadata: Ready, which says for which machine and key a template fails,
    /// and why.
    #[serde(default)]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Option<Vec<Condition>>,
}
