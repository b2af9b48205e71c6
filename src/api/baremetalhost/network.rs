//! The interfaces of a host and the switch ports they are plugged into.

use super::rules;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// The network of one interface.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = rules::name_or_mac_address())]
pub struct NetworkInterface {
    /// Name of the interface, such as eth0, as inspection found it. Either this or macAddress.
    #[schemars(length(max = 64), regex(pattern = "^[a-zA-Z0-9._-]+$"))]
    pub name: Option<String>,
    /// MAC address of the interface, as inspection found it. Either this or name.
    #[schemars(length(max = 64))]
    #[x_kube(validation = rules::mac_address())]
    pub mac_address: Option<String>,
    /// The HostNetworkAttachment that describes the network.
    pub host_network_attachment: HostNetworkAttachmentReference,
    /// The switch port that the interface is plugged into. Only needed where the switch does not
    /// announce itself by LLDP or the host is not inspected. If given, it is believed more than
    /// LLDP, so that a mistake here configures the port of another host.
    pub switch_port: Option<SwitchPort>,
}

/// A HostNetworkAttachment, by name.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostNetworkAttachmentReference {
    /// Name of the HostNetworkAttachment.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Namespace of the HostNetworkAttachment. Left out, it is the namespace of the host.
    #[schemars(length(max = 63))]
    pub namespace: Option<String>,
}

/// A port of a switch.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SwitchPort {
    /// MAC address of the management interface of the switch.
    #[serde(rename = "switchID")]
    #[schemars(regex(pattern = "^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$"))]
    pub switch_id: String,
    /// Name of the port in the configuration of the switch.
    #[serde(rename = "portID")]
    pub port_id: String,
    /// Name of the switch.
    pub switch_system_name: Option<String>,
}
