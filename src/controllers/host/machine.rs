//! `Machine`: what a provisioner is told of a host. Read from the BareMetalHost and its Secrets once,
//! in full, for every operation; a provisioner asks nobody else.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::hidden::Hidden;
use crate::{
    api::{
        baremetalhost::{BootMode, InspectionMode},
        image::{CustomDeploy, Image},
        raid::{Raid, RootDeviceHints},
    },
    domain::{
        automated_cleaning::AutomatedCleaningMode, bmc::BmcAddress, mac::Mac,
        provisioning_state::ProvisioningState,
    },
};

/// Which host it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// Its namespace.
    pub namespace: String,
    /// Its name there.
    pub name: String,
    /// What tells it from an earlier one of that name. It is also the id of what runs on it
    /// (Ironic's `instance_uuid`).
    pub uid: String,
}

/// All that a provisioner may know of a host.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Which host it is.
    pub identity: Identity,
    /// `status.provisioning.ID`: the node it is known to have.
    pub provisioning_id: Option<String>,
    /// What is being done with it, as it is stored.
    pub state: ProvisioningState,
    /// When that began, as it is stored.
    pub since: Option<Timestamp>,
    /// How its BMC is reached. A discovered host has none.
    pub bmc: Option<BmcAccess>,
    /// `spec.bootMACAddress`.
    pub boot_mac: Option<Mac>,
    /// The MAC addresses that inspection found, the boot MAC among them or not.
    pub known_macs: BTreeSet<Mac>,
    /// How its firmware starts it; UEFI where nothing is said.
    pub boot_mode: BootMode,
    /// `spec.architecture`, or what inspection found.
    pub architecture: Option<String>,
    /// How its parts are found out.
    pub inspection_mode: InspectionMode,
    /// Which disk is the root device. Of `spec`, or by the hardware profile where it says nothing.
    pub root_device_hints: Option<RootDeviceHints>,
    /// The volumes to build.
    pub raid: Option<Raid>,
    /// What runs on it, or shall: of `status` while that is provisioned, else of `spec`.
    pub image: Option<Image>,
    /// The same for a deploy step of one's own.
    pub custom_deploy: Option<CustomDeploy>,
    /// What becomes of the disks when it is deprovisioned; as `spec` says now, not as it once said.
    pub automated_cleaning: AutomatedCleaningMode,
    /// Whether it is never to be powered off.
    pub disable_power_off: bool,
    /// Whether it was on when last seen.
    pub powered_on: bool,
    /// Whether something runs on it that it was not given here.
    pub externally_provisioned: bool,
    /// Network configuration of the ramdisk, for networks without DHCP: `network_data` of the node.
    pub preprovisioning_network_data: Option<Hidden<Value>>,
}

/// How a BMC is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BmcAccess {
    /// Where it is.
    pub address: BmcAddress,
    /// Who we are to it.
    pub credentials: Credentials,
    /// Whether any certificate of it is accepted.
    pub disable_certificate_verification: bool,
}

/// A user of a BMC, and which version of which Secret says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The name.
    pub username: Hidden<String>,
    /// The password.
    pub password: Hidden<String>,
}

/// What an image finds at its first boot.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConfigDrive {
    /// For cloud-init or Ignition, as it is in the Secret.
    pub user_data: Option<Hidden<String>>,
    /// OpenStack's `network_data.json`.
    pub network_data: Option<Hidden<Value>>,
    /// OpenStack's `meta_data.json`, with what every host gets.
    pub meta_data: Hidden<Map<String, Value>>,
}
