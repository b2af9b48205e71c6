//! Metal3MachineTemplate: what Metal3Machines are made from.

use super::metal3machine::Metal3MachineSpec;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;
use std::collections::BTreeMap;

/// What a Metal3MachineTemplate should be.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Metal3MachineTemplate",
    namespaced,
    category = "cluster-api",
    shortname = "m3mt",
    shortname = "m3machinetemplate",
    shortname = "m3machinetemplates",
    shortname = "metal3mt",
    shortname = "metal3machinetemplate",
    derive = "PartialEq",
    doc = "What Cluster API makes Metal3Machines from, for a KubeadmControlPlane or a \
        MachineDeployment. To roll out a new image, write a new template and refer to it. Only \
        automatedCleaningMode and nodeReuse are meant to be edited in place.",
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since the Metal3MachineTemplate was created"
    ),
    printcolumn(
        name = "Node reuse",
        type_ = "boolean",
        json_path = ".spec.nodeReuse",
        description = "Whether new machines take the hosts of the machines that they replace"
    ),
    printcolumn(
        name = "Cleaning",
        type_ = "string",
        json_path = ".spec.template.spec.automatedCleaningMode",
        description = "What becomes of the data on the disks"
    )
)]
pub struct Metal3MachineTemplateSpec {
    /// The Metal3Machine to make.
    pub template: Metal3MachineTemplateResource,

    /// Whether the hosts of deleted machines are kept for new machines of the same control plane or
    /// MachineDeployment, as in an upgrade, so that data on secondary disks is there again. false
    /// (default) lets any machine take them.
    ///
    /// A host that is released gets the label infrastructure.cluster.x-k8s.io/node-reuse with
    /// cp-<control plane> or md-<MachineDeployment>; new machines take such a host and wait for one
    /// that is still being cleaned. Two more things are needed: a rollout that deletes before it
    /// creates (maxSurge: 0), and automatedCleaningMode disabled, or the data is wiped all the
    /// same.
    #[schemars(extend("default" = false))]
    pub node_reuse: Option<bool>,
}

/// The Metal3Machine to make.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metal3MachineTemplateResource {
    /// Labels and annotations of the Metal3Machine.
    pub metadata: Option<TemplateMetadata>,
    /// Spec of the Metal3Machine. A change of automatedCleaningMode is written to all machines that
    /// were made from this template; other changes only reach new ones.
    pub spec: Metal3MachineSpec,
}

/// Labels and annotations.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
pub struct TemplateMetadata {
    /// Labels of each Metal3Machine that is made from the template.
    pub labels: Option<BTreeMap<String, String>>,
    /// Annotations.
    pub annotations: Option<BTreeMap<String, String>>,
}
