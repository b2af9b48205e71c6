//! BareMetalHostDiscovery: servers that boot become BareMetalHosts.

mod rules;

use super::conditions;
use crate::domain::host_discovery::{self, HardwareDetail};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// What a BareMetalHostDiscovery should do.
#[skip_serializing_none]
#[derive(
    Debug, Clone, Default, PartialEq, Eq, CustomResource, Serialize, Deserialize, KubeSchema,
)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "BareMetalHostDiscovery",
    plural = "baremetalhostdiscoveries",
    namespaced,
    status = "BareMetalHostDiscoveryStatus",
    shortname = "bmhd",
    derive = "PartialEq",
    doc = "Makes BareMetalHosts of servers that boot Ironic's agent without having been \
        registered. For every node that Ironic knows and no BareMetalHost stands for, a host is \
        created in the namespace of this object, with the boot MAC address and the parts that the \
        agent reported, but without a BMC: fill that in to have the host powered and \
        managed.\n\nIronic's own discovery has to be switched on too. A change here has no effect \
        on hosts that were created before, nor has deleting this object.",
    printcolumn(
        name = "Named by",
        type_ = "string",
        json_path = ".spec.resourceNameTemplate.hardwareDetails",
        description = "What hosts are named by"
    ),
    printcolumn(
        name = "Approval",
        type_ = "string",
        json_path = ".spec.approval",
        description = "Whether somebody has to approve new hosts"
    ),
    printcolumn(
        name = "Suspended",
        type_ = "boolean",
        json_path = ".spec.suspend",
        description = "Whether it is switched off"
    ),
    printcolumn(
        name = "Seen",
        type_ = "integer",
        json_path = ".status.seen",
        description = "Nodes that the last poll found"
    ),
    printcolumn(
        name = "Created",
        type_ = "integer",
        json_path = ".status.created",
        description = "Hosts that were created so far"
    ),
    printcolumn(
        name = "Last poll",
        type_ = "date",
        json_path = ".status.lastPoll",
        description = "Time since Ironic was last asked"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#,
        description = "Whether the last poll went well"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since the BareMetalHostDiscovery was created"
    )
)]
pub struct BareMetalHostDiscoverySpec {
    /// How new hosts are named.
    pub resource_name_template: ResourceNameTemplate,

    /// Labels that new hosts get, for example so that the hostSelector of a machine finds them.
    #[schemars(
        length(max = 64),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub labels: Option<Vec<DiscoveryLabel>>,

    /// Which nodes become hosts: a CEL expression that is true for those that do. It may look at
    /// hardware (as in status.hardware of a BareMetalHost), inventory (what the agent reported, in
    /// its own words) and node (what Ironic knows: uuid, name, driver, properties, extra). Left out,
    /// all of them do.
    #[schemars(length(min = 1, max = 4096))]
    pub node_selector: Option<String>,

    /// Only take nodes that enrolled themselves. With false (default) every node without a host is
    /// taken, also one that somebody registered in Ironic by hand.
    #[schemars(extend("default" = false))]
    pub only_auto_discovered: Option<bool>,

    /// Whether somebody has to look at a new host before it is used. With Manual (default) it
    /// carries the annotation ironward.dev/approval: pending, and no machine takes it and nothing
    /// is written to it until that is removed or set to approved. With Automatic it can be taken at once,
    /// which cleans its disks and puts a node of yours on it. Any machine that reaches the
    /// provisioning network can announce itself: use Automatic only where nobody can plug in a
    /// machine that does not belong there.
    #[schemars(extend("default" = "Manual"))]
    pub approval: Option<Approval>,

    /// How often Ironic is asked for new nodes, such as 30s or 5m, at least 10s.
    #[schemars(length(max = 64), extend("default" = "1m"))]
    #[x_kube(
        validation = rules::interval_is_a_duration(),
        validation = rules::interval_is_long_enough(),
    )]
    pub interval: Option<String>,

    /// Switches the discovery off, without deleting it. Hosts that were created stay.
    #[schemars(extend("default" = false))]
    pub suspend: Option<bool>,
}

/// How new hosts are named: prefix, what hardwareDetails says, suffix. What cannot be in a name is
/// replaced by a hyphen, and capital letters become small ones. Of two machines that would get the
/// same name, the second gets a longer one.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = rules::more_than_a_uuid())]
pub struct ResourceNameTemplate {
    /// What the name begins with, such as "rack1-".
    #[schemars(length(max = 63))]
    #[x_kube(validation = rules::prefix_begins_a_name())]
    pub prefix: Option<String>,
    /// What the name ends with, such as "-staging".
    #[schemars(length(max = 63))]
    #[x_kube(validation = rules::suffix_ends_a_name())]
    pub suffix: Option<String>,
    /// What stands between prefix and suffix: hostname (of the server while it was inspected; ask
    /// whether they differ), ip (of the first interface, with hyphens), serial-number (of the
    /// server), boot-mac (MAC address of the interface that it booted from, with hyphens; always
    /// there and always unique) or provisioning-id (UUID of the node in Ironic, which needs a
    /// prefix or suffix).
    pub hardware_details: HardwareDetail,
}

/// What the wire says, as the rules for names take it.
impl From<&ResourceNameTemplate> for host_discovery::ResourceNameTemplate {
    fn from(template: &ResourceNameTemplate) -> Self {
        Self {
            prefix: template.prefix.clone().unwrap_or_default(),
            suffix: template.suffix.clone().unwrap_or_default(),
            hardware_details: template.hardware_details,
        }
    }
}

/// A label of new hosts.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = rules::value_or_expression())]
pub struct DiscoveryLabel {
    /// Name of the label, such as topology.example.com/rack.
    #[schemars(length(min = 1, max = 317))]
    #[x_kube(validation = rules::label_name())]
    pub name: String,
    /// Value of the label. Either this or expression.
    #[schemars(length(max = 63))]
    #[x_kube(validation = rules::label_value())]
    pub value: Option<String>,
    /// CEL expression that yields the value, over what nodeSelector may look at. Either this or
    /// value. Where it fails, or yields what cannot be the value of a label, the host is created
    /// without the label, and status.refusals says so.
    #[schemars(length(min = 1, max = 4096))]
    pub expression: Option<String>,
}

/// Whether somebody has to look at a new host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Approval {
    /// Nobody.
    Automatic,
    /// Somebody.
    #[default]
    Manual,
}

/// How the discovery goes.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BareMetalHostDiscoveryStatus {
    /// When Ironic was last asked.
    pub last_poll: Option<Time>,
    /// The metadata.generation that was in force then.
    pub observed_generation: Option<i64>,
    /// How many nodes Ironic had at the last poll.
    #[schemars(range(min = 0))]
    pub seen: Option<i32>,
    /// How many hosts were created since this object was.
    #[schemars(range(min = 0))]
    pub created: Option<i32>,
    /// How many nodes did not become hosts at the last poll, by reason.
    #[schemars(
        length(max = 16),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["reason"])
    )]
    pub skipped: Option<Vec<Skipped>>,
    /// The latest nodes that could not become hosts as they were meant to: not at all, not under the
    /// name of the template, or not with every label. Newest first.
    #[schemars(length(max = 20), extend("x-kubernetes-list-type" = "atomic"))]
    pub refusals: Option<Vec<Refusal>>,
    /// Answers about the discovery: Ready.
    #[serde(default)]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Option<Vec<Condition>>,
}

/// Nodes that did not become hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// Why: HasHost (a BareMetalHost stands for it already), NamedForHost (its name in Ironic is
    /// that of a host that is not here: another cluster may have it), InUse (Ironic works on it, or
    /// something runs on it), NoReport (no agent has reported what is in it), NotSelected
    /// (nodeSelector is not true for it), NotAutoDiscovered (somebody registered it by hand),
    /// TakenByAnother (an older BareMetalHostDiscovery makes hosts of it), Forgotten (its host was
    /// deleted for good) or Refused (see refusals).
    pub reason: SkipReason,
    /// How many nodes were skipped for this reason in the last poll.
    #[schemars(range(min = 0))]
    pub count: i32,
}

/// Why a node did not become a host.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum SkipReason {
    /// A BareMetalHost stands for it.
    HasHost,
    /// Its name is that of a host that is not here.
    NamedForHost,
    /// It is being worked on, or something runs on it.
    InUse,
    /// Nobody has reported what is in it.
    NoReport,
    /// The selector leaves it out.
    NotSelected,
    /// It did not enrol itself.
    NotAutoDiscovered,
    /// An older discovery takes it.
    TakenByAnother,
    /// Its host was deleted for good.
    Forgotten,
    /// It could not be made a host.
    Refused,
}

/// A node that could not become a host as it was meant to.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// When that was first found out.
    pub time: Time,
    /// UUID of the node in Ironic.
    #[schemars(length(max = 64))]
    pub node: String,
    /// The name that the host has or would have got.
    #[schemars(length(max = 253))]
    pub host: Option<String>,
    /// Why, in one CamelCase word.
    #[schemars(length(max = 64))]
    pub reason: String,
    /// Why, in words, and what to do.
    #[schemars(length(max = 1024))]
    pub message: String,
}
