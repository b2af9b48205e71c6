//! What inspection found in a server. BareMetalHost has it in its status, HardwareData in its spec.

use super::schema::unformatted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// The parts of a server.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HardwareDetails {
    /// Who built the server, and its serial number.
    pub system_vendor: Option<SystemVendor>,
    /// Versions of the firmware that the server runs.
    pub firmware: Option<Firmware>,
    /// Memory in MiB.
    #[schemars(transform = unformatted)]
    pub ram_mebibytes: Option<i64>,
    /// Network interfaces. One with an IPv4 and an IPv6 address is listed twice, once for each.
    pub nics: Option<Vec<Nic>>,
    /// Disks, in the order in which the inspection found them.
    pub storage: Option<Vec<Storage>>,
    /// Processors.
    pub cpu: Option<Cpu>,
    /// Host name that the server had while it was inspected.
    pub hostname: Option<String>,
}

/// Who built the server.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SystemVendor {
    /// Manufacturer of the server.
    pub manufacturer: Option<String>,
    /// Model of the server.
    pub product_name: Option<String>,
    /// Serial number of the server, as on its label.
    pub serial_number: Option<String>,
}

/// Versions of firmware.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Firmware {
    /// The BIOS or UEFI firmware.
    pub bios: Option<Bios>,
}

/// The BIOS or UEFI firmware.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bios {
    /// Release date, as the vendor writes it.
    pub date: Option<String>,
    /// Vendor of the firmware.
    pub vendor: Option<String>,
    /// Version of the firmware.
    pub version: Option<String>,
}

/// A network interface.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Nic {
    /// Name that Linux gave to the interface, such as eth0 or ens1f0.
    pub name: Option<String>,
    /// Vendor and product identifiers.
    pub model: Option<String>,
    /// MAC address.
    #[schemars(regex(pattern = "[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}"))]
    pub mac: Option<String>,
    /// IP address during inspection, IPv4 or IPv6.
    pub ip: Option<String>,
    /// Speed in Gbit/s, 0 if it is not known.
    #[schemars(transform = unformatted)]
    pub speed_gbps: Option<i64>,
    /// VLANs that the switch said it carries on this port.
    pub vlans: Option<Vec<Vlan>>,
    /// VLAN of untagged traffic.
    #[schemars(range(min = 0, max = 4094))]
    pub vlan_id: Option<i32>,
    /// Whether the server booted from this interface.
    pub pxe: Option<bool>,
    /// What the switch at the other end of the cable said about itself.
    pub lldp: Option<Lldp>,
    /// Address on the PCI bus, such as 0000:01:00.0.
    pub pci_address: Option<String>,
}

/// A VLAN.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Vlan {
    /// Number of the VLAN.
    #[schemars(range(min = 0, max = 4094))]
    pub id: Option<i32>,
    /// Name of the VLAN on the switch.
    pub name: Option<String>,
}

/// What a switch says about itself (Link Layer Discovery Protocol).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lldp {
    /// Identifier of the switch, usually its MAC address.
    #[serde(rename = "switchID")]
    pub switch_id: Option<String>,
    /// Port of the switch.
    #[serde(rename = "portID")]
    pub port_id: Option<String>,
    /// Name of the switch.
    pub switch_system_name: Option<String>,
}

/// A disk.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    /// Name of the device. A path below /dev/disk/by-path where there is one, because it stays the
    /// same across boots.
    pub name: Option<String>,
    /// Other names of the device.
    pub alternate_names: Option<Vec<String>>,
    /// Whether the disk spins.
    pub rotational: Option<bool>,
    /// Kind of disk: HDD (spinning), SSD or NVME.
    pub r#type: Option<StorageType>,
    /// Size in bytes.
    pub size_bytes: Option<i64>,
    /// Vendor of the disk.
    pub vendor: Option<String>,
    /// Model of the disk.
    pub model: Option<String>,
    /// Serial number of the disk.
    pub serial_number: Option<String>,
    /// World wide name, unique to this disk.
    pub wwn: Option<String>,
    /// The part of the world wide name that the vendor added.
    pub wwn_vendor_extension: Option<String>,
    /// World wide name together with what the vendor added.
    pub wwn_with_extension: Option<String>,
    /// SCSI address: host, channel, target and LUN, such as 0:0:0:0.
    pub hctl: Option<String>,
}

/// Kind of disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum StorageType {
    /// Spinning.
    Hdd,
    /// Flash, on SATA or SAS.
    Ssd,
    /// Flash, on PCI Express.
    Nvme,
}

/// Processors.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cpu {
    /// Architecture, such as x86_64 or aarch64.
    pub arch: Option<String>,
    /// Model of the processor.
    pub model: Option<String>,
    /// Clock in MHz.
    pub clock_megahertz: Option<f64>,
    /// Features of the processor, named as in Linux' /proc/cpuinfo.
    pub flags: Option<Vec<String>>,
    /// Number of threads that the server can run at once, over all sockets and cores.
    #[schemars(transform = unformatted)]
    pub count: Option<i64>,
}
