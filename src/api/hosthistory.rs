//! HostHistory: what happened to a host, after everything that took part is gone.
//!
//! It has no status: `clusterctl move` and backups leave that behind, and a history that is lost
//! with the first move is none. The fields stand at the root, as in an Event.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// What happened to a host.
#[skip_serializing_none]
#[derive(
    Debug, Clone, Default, PartialEq, Eq, CustomResource, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "ironward.dev",
    version = "v1alpha1",
    kind = "HostHistory",
    plural = "hosthistories",
    namespaced,
    no_spec,
    shortname = "hh",
    derive = "PartialEq",
    doc = "What happened to the BareMetalHost of the same name: every attempt to remediate it, \
        with its cause and outcome, and when it was taken out of use. Metal3Remediations and \
        Machines are deleted when they are done; this stays, so that a host that fails again and \
        again is seen. It is written by the controller. Deleting it starts a new one.",
    printcolumn(
        name = "Remediations",
        type_ = "integer",
        json_path = ".counts.remediations",
        description = "How often the host was remediated"
    ),
    printcolumn(
        name = "Recovered",
        type_ = "integer",
        json_path = ".counts.recovered",
        description = "How often that brought the node back"
    ),
    printcolumn(
        name = "Replaced",
        type_ = "integer",
        json_path = ".counts.replaced",
        description = "How often the machine was given up instead"
    ),
    printcolumn(
        name = "Last",
        type_ = "date",
        json_path = ".lastRemediation.started",
        description = "Time since the last attempt began"
    ),
    printcolumn(
        name = "Outcome",
        type_ = "string",
        json_path = ".lastRemediation.outcome",
        description = "What came of the last attempt"
    ),
    printcolumn(
        name = "Machine",
        type_ = "string",
        json_path = ".lastRemediation.machine",
        description = "The machine that ran on the host then",
        priority = 1
    ),
    printcolumn(
        name = "Cause",
        type_ = "string",
        json_path = ".lastRemediation.cause.message",
        description = "Why the last attempt was made",
        priority = 1
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since the history began"
    )
)]
pub struct HostHistoryFields {
    /// The host that this is the history of.
    pub host_ref: HostReference,
    /// How often things happened since the history began, also those that are no longer among the
    /// records.
    pub counts: Option<HistoryCounts>,
    /// The latest attempt to remediate the host.
    pub last_remediation: Option<HistoryRecord>,
    /// What happened, oldest first. Only the latest are kept.
    #[schemars(length(max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub records: Option<Vec<HistoryRecord>>,
}

/// A host, so that it is recognised after it was deleted and registered again.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct HostReference {
    /// Name of the BareMetalHost, in the same namespace.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// UID of the BareMetalHost that the latest record is about.
    #[schemars(length(max = 64))]
    pub uid: Option<String>,
    /// MAC address that the host boots from.
    #[serde(rename = "bootMACAddress")]
    #[schemars(length(max = 64))]
    pub boot_mac_address: Option<String>,
}

/// How often things happened to a host.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryCounts {
    /// How often the host was remediated; each may have taken several attempts.
    #[schemars(range(min = 0))]
    pub remediations: Option<i32>,
    /// How many attempts there were.
    #[schemars(range(min = 0))]
    pub attempts: Option<i32>,
    /// How many remediations brought the node back.
    #[schemars(range(min = 0))]
    pub recovered: Option<i32>,
    /// How many remediations ended with the machine being replaced.
    #[schemars(range(min = 0))]
    pub replaced: Option<i32>,
    /// How many remediations could not be carried out.
    #[schemars(range(min = 0))]
    pub failed: Option<i32>,
}

/// Something that happened to a host.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryRecord {
    /// What happened: Remediation (one attempt to bring the node back), Cordoned (the host was
    /// taken out of use) or Uncordoned (it may be used again).
    pub event: HistoryEvent,
    /// When it began.
    pub started: Time,
    /// When it ended. Missing while it goes on.
    pub finished: Option<Time>,
    /// Why it was done: the condition that a MachineHealthCheck saw, or what a person wrote.
    pub cause: Option<HistoryCause>,
    /// What was done, such as Reboot.
    #[schemars(length(max = 64))]
    pub action: Option<String>,
    /// What came of a Remediation: Recovered (the node came back), TimedOut (it did not, and
    /// another attempt follows), Replaced (it did not, and the machine was given up), Failed (it
    /// could not be carried out) or Cancelled (it was called off). Missing while it goes on.
    pub outcome: Option<RemediationOutcome>,
    /// Which attempt of the same remediation this was, from 1.
    #[schemars(range(min = 1))]
    pub attempt: Option<i32>,
    /// UID of the Metal3Remediation.
    #[serde(rename = "remediationUID")]
    #[schemars(length(max = 64))]
    pub remediation_uid: Option<String>,
    /// The Machine that ran on the host.
    #[schemars(length(max = 253))]
    pub machine: Option<String>,
    /// The Cluster of that Machine.
    #[schemars(length(max = 253))]
    pub cluster: Option<String>,
    /// Anything else, in words.
    #[schemars(length(max = 1024))]
    pub message: Option<String>,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HistoryEvent {
    /// One attempt to bring the node back.
    Remediation,
    /// Taken out of use.
    Cordoned,
    /// Back in use.
    Uncordoned,
}

/// Why something was done.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryCause {
    /// Type of the condition, such as Ready or HealthCheckSucceeded.
    #[schemars(length(max = 316))]
    pub condition: Option<String>,
    /// Reason of the condition, in one CamelCase word.
    #[schemars(length(max = 256))]
    pub reason: Option<String>,
    /// The same in words.
    #[schemars(length(max = 1024))]
    pub message: Option<String>,
}

/// What came of a remediation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RemediationOutcome {
    /// The node came back.
    Recovered,
    /// The node did not come back, and another attempt follows.
    TimedOut,
    /// The node did not come back, and the machine was given up.
    Replaced,
    /// It could not be carried out.
    Failed,
    /// It was called off.
    Cancelled,
}
