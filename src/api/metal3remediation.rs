//! Metal3Remediation: the attempt to bring back an unhealthy node.

use super::conditions;
use super::rules::DURATION;
use crate::domain::remediation::{Phase, StrategyType};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::core::{Message, Rule};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// What a Metal3Remediation should do.
#[skip_serializing_none]
#[derive(
    Debug, Clone, Default, PartialEq, Eq, CustomResource, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Metal3Remediation",
    namespaced,
    status = "Metal3RemediationStatus",
    category = "cluster-api",
    shortname = "m3r",
    shortname = "m3remediation",
    derive = "Default",
    derive = "PartialEq",
    attr = "cfg_attr(all(), serde(default))",
    doc = "The attempt to bring back the unhealthy node of the Machine of the same name: its host \
        is powered off, work on it is moved elsewhere, and it is powered on again, as often as \
        retryLimit says. If the node still does not come back, the machine is given up, so that \
        its owner replaces it, and the host is marked unhealthy.\n\nA MachineHealthCheck creates \
        it from a Metal3RemediationTemplate and deletes it once the node is healthy. Create one \
        by hand, with the name of the Machine, to remediate a single node. The HostHistory of the \
        host keeps what was done after this object is gone.",
    printcolumn(
        name = "Retry limit",
        type_ = "string",
        json_path = ".spec.strategy.retryLimit",
        description = "How often to try"
    ),
    printcolumn(
        name = "Retry count",
        type_ = "string",
        json_path = ".status.retryCount",
        description = "How often it was tried"
    ),
    printcolumn(
        name = "Last Remediated",
        type_ = "string",
        json_path = ".status.lastRemediated",
        description = "When it was last tried"
    ),
    printcolumn(
        name = "Strategy",
        type_ = "string",
        json_path = ".spec.strategy.type",
        description = "What is done"
    ),
    printcolumn(
        name = "Phase",
        type_ = "string",
        json_path = ".status.phase",
        description = "How far it is"
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Remediating")].message"#,
        description = "What is done, or waited for, or why nothing is done",
        priority = 1
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since the Metal3Remediation was created"
    )
)]
pub struct Metal3RemediationSpec {
    /// What to do, how often, and how long to wait for the node.
    pub strategy: Option<RemediationStrategy>,
}

/// What to do, how often, and how long to wait.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = timeout_is_a_duration(),
    validation = timeout_agrees(),
    validation = reboot_limit_agrees(),
)]
pub struct RemediationStrategy {
    /// What to do. There is one way, Reboot: power the host off, keep its workload from running
    /// twice, and power it on.
    #[schemars(extend("default" = "Reboot"))]
    pub r#type: Option<StrategyType>,
    /// How often to try before the machine is given up.
    #[schemars(range(min = 1), extend("default" = 1))]
    pub retry_limit: Option<i32>,
    /// How long to wait for the node after each attempt, in seconds. Servers that test their memory
    /// at boot need more than the default of 600.
    #[schemars(range(min = 100), extend("default" = 600))]
    pub timeout_seconds: Option<i32>,
    /// The old spelling of timeoutSeconds, with a unit, such as 300s or 10m.
    #[schemars(length(max = 64))]
    pub timeout: Option<String>,
    /// The old spelling of retryLimit.
    #[schemars(range(min = 1))]
    pub reboot_limit: Option<i32>,
}

/// How far a remediation is.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3RemediationStatus {
    /// How far it is: Running (the host is being power-cycled), Waiting (for the node to come
    /// back), Deleting machine (it did not, and the owner of the machine was asked to replace it)
    /// or Failed (nothing can be done).
    pub phase: Option<Phase>,
    /// How often it was tried: how often the host was, or is being, power-cycled. Never more than
    /// retryLimit.
    #[schemars(range(min = 1))]
    pub retry_count: Option<i32>,
    /// When the phase Running or Waiting began: when it was last tried.
    pub last_remediated: Option<Time>,
    /// An answer about the remediation: Remediating, which is True while something is done, and
    /// otherwise says what is waited for, or why nothing is done.
    #[serde(default)]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Option<Vec<Condition>>,
}

fn timeout_is_a_duration() -> Rule {
    Rule::new(format!("!has(self.timeout) || self.timeout.matches('{DURATION}')"))
        .message(
            "timeout must be a number with a unit, such as 300s or 10m; better write \
             timeoutSeconds",
        )
        .field_path(".timeout")
}

fn timeout_agrees() -> Rule {
    Rule::new(format!(
        "!has(self.timeout) || !self.timeout.matches('{DURATION}') || \
         duration(self.timeout).getSeconds() == self.timeoutSeconds"
    ))
    .message(Message::Expression(
        "'timeout is the old spelling: write timeoutSeconds: \
         %d'.format([duration(self.timeout).getSeconds()])"
            .to_owned(),
    ))
    .field_path(".timeout")
}

fn reboot_limit_agrees() -> Rule {
    Rule::new("!has(self.rebootLimit) || self.rebootLimit == self.retryLimit")
        .message(Message::Expression(
            "'rebootLimit is the old spelling: write retryLimit: %d'.format([self.rebootLimit])"
                .to_owned(),
        ))
        .field_path(".rebootLimit")
}
