//! `Node`: what Ironic knows of a machine, as far as it matters here.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::{
    power::PowerState,
    provision_state::ProvisionState,
    redact::mask,
    version::{DISABLE_POWER_OFF, HEALTH, Version},
};

/// A node. Secrets in it are masked, whatever Ironic's policy is.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[allow(missing_docs, reason = "Ironic's own words")]
pub struct Node {
    pub uuid: String,
    #[serde(default)]
    pub name: Option<String>,
    pub provision_state: ProvisionState,
    #[serde(default)]
    pub target_provision_state: Option<String>,
    #[serde(default)]
    pub power_state: Option<PowerState>,
    #[serde(default)]
    pub target_power_state: Option<String>,
    #[serde(default)]
    pub maintenance: bool,
    #[serde(default)]
    pub fault: Option<String>,
    #[serde(default)]
    pub last_error: Option<String>,
    #[serde(default)]
    pub reservation: Option<String>,
    #[serde(default)]
    pub automated_clean: Option<bool>,
    #[serde(default)]
    pub disable_power_off: Option<bool>,
    #[serde(default)]
    pub health: Option<String>,
    #[serde(default)]
    pub instance_uuid: Option<String>,
    #[serde(default)]
    pub inspection_started_at: Option<String>,
    #[serde(default)]
    pub inspection_finished_at: Option<String>,
    #[serde(default)]
    pub provision_updated_at: Option<String>,
    #[serde(default)]
    pub driver: String,
    #[serde(flatten)]
    pub interfaces: Interfaces,
    #[serde(default, deserialize_with = "masked")]
    pub driver_info: Map<String, Value>,
    #[serde(default, deserialize_with = "masked")]
    pub properties: Map<String, Value>,
    #[serde(default, deserialize_with = "masked")]
    pub instance_info: Map<String, Value>,
    #[serde(default, deserialize_with = "masked")]
    pub extra: Map<String, Value>,
    #[serde(default, deserialize_with = "masked")]
    pub target_raid_config: Map<String, Value>,
    #[serde(default, deserialize_with = "masked")]
    pub network_data: Map<String, Value>,
}

/// Which parts of the driver a node uses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[allow(missing_docs, reason = "Ironic's own words")]
pub struct Interfaces {
    #[serde(default)]
    pub bios_interface: Option<String>,
    #[serde(default)]
    pub boot_interface: Option<String>,
    #[serde(default)]
    pub deploy_interface: Option<String>,
    #[serde(default)]
    pub firmware_interface: Option<String>,
    #[serde(default)]
    pub inspect_interface: Option<String>,
    #[serde(default)]
    pub management_interface: Option<String>,
    #[serde(default)]
    pub power_interface: Option<String>,
    #[serde(default)]
    pub raid_interface: Option<String>,
    #[serde(default)]
    pub vendor_interface: Option<String>,
}

/// What every version of the API since [`super::version::OLDEST`] has.
const FIELDS: &str = "uuid,name,provision_state,target_provision_state,power_state,\
    target_power_state,maintenance,fault,last_error,reservation,automated_clean,instance_uuid,\
    inspection_started_at,inspection_finished_at,provision_updated_at,driver,bios_interface,boot_interface,\
    deploy_interface,firmware_interface,inspect_interface,management_interface,power_interface,\
    raid_interface,vendor_interface,driver_info,properties,instance_info,extra,target_raid_config,\
    network_data";

/// As many as Ironic gives in one answer.
pub const PAGE: usize = 1000;

/// The `fields=` of a request for nodes: what we do not read need not be sent.
#[must_use]
pub fn fields(version: Version) -> String {
    let later = [("disable_power_off", DISABLE_POWER_OFF), ("health", HEALTH)];
    let known = later.iter().filter(|(_, since)| version >= *since);
    known.fold(FIELDS.to_owned(), |fields, (field, _)| format!("{fields},{field}"))
}

/// A port: a network card of a node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[allow(missing_docs, reason = "Ironic's own words")]
pub struct Port {
    pub uuid: String,
    pub address: String,
    pub node_uuid: String,
    #[serde(default)]
    pub pxe_enabled: bool,
}

impl Node {
    /// Whether Ironic is at work on it: a state that moves, or power that changes.
    #[must_use]
    pub fn is_moving(&self) -> bool {
        self.provision_state.is_moving() || self.target_power_state.is_some()
    }

    /// Whether inspection has ended since it last began.
    #[must_use]
    pub fn is_inspected(&self) -> bool {
        // Both are ISO 8601 in UTC, so that they are ordered as texts.
        match (&self.inspection_started_at, &self.inspection_finished_at) {
            (Some(started), Some(finished)) => finished >= started,
            (None, finished) => finished.is_some(),
            (Some(_), None) => false,
        }
    }

    /// Why it is as it is, if it says so.
    #[must_use]
    pub fn complaint(&self) -> Option<&str> {
        self.last_error.as_deref().filter(|error| !error.trim().is_empty())
    }
}

/// The name of a host's node: Metal3's, so that nodes that it has registered are found.
#[must_use]
pub fn node_name(namespace: &str, host: &str) -> String {
    format!("{namespace}~{host}")
}

/// The namespace and name of the host that a node is named for.
#[must_use]
pub fn host_of(node_name: &str) -> Option<(&str, &str)> {
    node_name.split_once('~').filter(|(namespace, host)| !namespace.is_empty() && !host.is_empty())
}

fn masked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    let mut fields = Option::<Map<String, Value>>::deserialize(deserializer)?.unwrap_or_default();
    mask(&mut fields);
    Ok(fields)
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// A node in a state.
    pub(crate) fn node(state: ProvisionState) -> Node {
        serde_json::from_value(json!({
            "uuid": "1be26c0b-03f2-4d2e-ae87-c02d7f33c781",
            "name": "default~worker-0",
            "provision_state": state,
            "automated_clean": true,
            "driver": "redfish",
        }))
        .unwrap()
    }

    #[test]
    fn a_node_is_read_with_its_secrets_masked() {
        let node: Node = serde_json::from_value(json!({
            "uuid": "u", "name": null, "provision_state": "clean wait", "power_state": "power on",
            "target_power_state": null, "maintenance": true, "fault": "clean failure",
            "boot_interface": "ipxe", "driver": "redfish", "extra": {"unread": 1},
            "driver_info": {"redfish_password": "leaked", "redfish_address": "https://b"},
            "properties": null,
        }))
        .unwrap();
        assert_eq!(node.provision_state, ProvisionState::CleanWait);
        assert_eq!(node.power_state, Some(PowerState::On));
        assert_eq!(node.interfaces.boot_interface.as_deref(), Some("ipxe"));
        assert!(node.is_moving());
        assert!(!format!("{node:?}").contains("leaked"), "{node:?}");
    }

    #[test]
    fn an_inspection_that_ended_before_the_last_began_does_not_count() {
        let mut node = node(ProvisionState::Manageable);
        assert!(!node.is_inspected());
        node.inspection_started_at = Some("2026-11-16T10:00:00+00:00".into());
        node.inspection_finished_at = Some("2026-11-16T09:00:00+00:00".into());
        assert!(!node.is_inspected());
        node.inspection_finished_at = Some("2026-11-16T10:05:00+00:00".into());
        assert!(node.is_inspected());
    }

    #[test]
    fn later_fields_are_asked_of_later_versions_only() {
        assert!(!fields(super::super::version::OLDEST).contains("disable_power_off"));
        assert!(fields(DISABLE_POWER_OFF).ends_with(",disable_power_off"));
        assert!(fields(HEALTH).ends_with(",health"));
    }

    #[test]
    fn a_node_is_named_for_its_host_and_back() {
        assert_eq!(node_name("default", "worker-0"), "default~worker-0");
        assert_eq!(host_of("default~worker-0"), Some(("default", "worker-0")));
        assert_eq!(host_of("disc-SER0002"), None);
        assert_eq!(host_of("~worker"), None);
    }
}
