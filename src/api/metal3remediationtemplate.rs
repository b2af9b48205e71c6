//! Metal3RemediationTemplate: what a MachineHealthCheck makes Metal3Remediations from.

use super::metal3remediation::{Metal3RemediationSpec, Metal3RemediationStatus};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// What a Metal3RemediationTemplate should be.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, CustomResource, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Metal3RemediationTemplate",
    namespaced,
    status = "Metal3RemediationTemplateStatus",
    category = "cluster-api",
    shortname = "m3rt",
    shortname = "m3remediationtemplate",
    shortname = "m3remediationtemplates",
    shortname = "metal3rt",
    shortname = "metal3remediationtemplate",
    derive = "Default",
    derive = "PartialEq",
    attr = "cfg_attr(all(), serde(default))",
    doc = "What a MachineHealthCheck makes Metal3Remediations from. Name it in the \
        MachineHealthCheck, under spec.remediation.templateRef, and unhealthy nodes are rebooted \
        before their machines are replaced.",
    printcolumn(
        name = "Strategy",
        type_ = "string",
        json_path = ".spec.template.spec.strategy.type",
        description = "What is done"
    ),
    printcolumn(
        name = "Retry limit",
        type_ = "integer",
        json_path = ".spec.template.spec.strategy.retryLimit",
        description = "How often to try"
    ),
    printcolumn(
        name = "Timeout",
        type_ = "integer",
        json_path = ".spec.template.spec.strategy.timeoutSeconds",
        description = "How long to wait for the node after each attempt, in seconds"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since the Metal3RemediationTemplate was created"
    )
)]
pub struct Metal3RemediationTemplateSpec {
    /// The Metal3Remediation to make.
    pub template: Metal3RemediationTemplateResource,
}

/// The Metal3Remediation to make.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Metal3RemediationTemplateResource {
    /// Spec of the Metal3Remediation.
    pub spec: Metal3RemediationSpec,
}

/// Status of a Metal3RemediationTemplate, which nobody fills in.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metal3RemediationTemplateStatus {
    /// Metal3 has this field and does not use it; neither does Ironward.
    pub status: Option<Metal3RemediationStatus>,
}
