//! Disks of a host: which one is the root device, and which are joined to a RAID.

use super::schema::unformatted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// How to tell the root device from the other disks. Every hint that is given has to match; of
/// several disks that do, the first is taken.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RootDeviceHints {
    /// Device, such as /dev/sda, or better a link that stays the same across boots, such as
    /// /dev/disk/by-path/pci-0000:01:00.0-scsi-0:2:0:0. It has to match exactly.
    pub device_name: Option<String>,
    /// SCSI address: host, channel, target and LUN, such as 0:0:0:0. It has to match exactly.
    pub hctl: Option<String>,
    /// Model of the disk, or a part of it.
    pub model: Option<String>,
    /// Vendor of the disk, or a part of it.
    pub vendor: Option<String>,
    /// Serial number of the disk. It has to match exactly.
    pub serial_number: Option<String>,
    /// Size in GB that the disk has at least.
    #[schemars(range(min = 0), transform = unformatted)]
    pub min_size_gigabytes: Option<i64>,
    /// World wide name of the disk. It has to match exactly.
    pub wwn: Option<String>,
    /// World wide name together with what the vendor added. It has to match exactly.
    pub wwn_with_extension: Option<String>,
    /// The part of the world wide name that the vendor added. It has to match exactly.
    pub wwn_vendor_extension: Option<String>,
    /// true for a disk that spins, false for one that does not.
    pub rotational: Option<bool>,
}

/// RAID volumes to build from the disks. Either kind excludes the other.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Raid {
    /// Volumes that the RAID controller of the host builds; the BMC driver has to support it, which
    /// ipmi and libvirt do not. Without rootDeviceHints the first volume is the root device. An
    /// empty list removes all volumes; without a value they stay as they are.
    #[serde(rename = "hardwareRAIDVolumes")]
    #[schemars(extend("nullable" = true))]
    pub hardware_raid_volumes: Option<Vec<HardwareRaidVolume>>,
    /// Volumes that Linux builds (md), one or two. The first should have level 1, so that the host
    /// still boots when a disk fails; the second may have any level. Without rootDeviceHints or
    /// rootVolume the first volume is the root device. Software RAID is always rebuilt, which
    /// destroys what is on it.
    #[serde(rename = "softwareRAIDVolumes")]
    #[schemars(length(max = 2), extend("nullable" = true))]
    pub software_raid_volumes: Option<Vec<SoftwareRaidVolume>>,
}

/// A volume that a RAID controller builds.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HardwareRaidVolume {
    /// Size in GiB. 0 or no value takes all there is.
    #[schemars(range(min = 0), transform = unformatted)]
    pub size_gibibytes: Option<i64>,
    /// RAID level: 0 (striped, no redundancy), 1 (mirrored), 2, 5 (one disk may fail), 6 (two disks
    /// may fail), 1+0, 5+0 or 6+0 (striped over the former). Not every controller knows them all.
    pub level: HardwareRaidLevel,
    /// Name of the volume, unique on the host. Without a value one is made up.
    #[schemars(length(max = 64))]
    pub name: Option<String>,
    /// true builds it from disks that spin, false from those that do not. Without a value any will
    /// do.
    pub rotational: Option<bool>,
    /// How many disks to take. Without a value as few as the level needs. If physicalDisks is given
    /// too, it has to be their number.
    #[schemars(range(min = 1), transform = unformatted)]
    pub number_of_physical_disks: Option<i64>,
    /// Name of the RAID controller. Without a value any will do, but physicalDisks need one.
    pub controller: Option<String>,
    /// The disks to take, in the names that the controller has for them.
    pub physical_disks: Option<Vec<String>>,
}

/// A volume that Linux builds.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SoftwareRaidVolume {
    /// Makes this volume the root device. At most one volume can be, it needs level 1, and
    /// rootDeviceHints must not be given.
    #[schemars(extend("default" = false))]
    pub root_volume: Option<bool>,
    /// Size in GiB. 0 or no value takes all there is, which only the last volume can.
    #[schemars(range(min = 0), transform = unformatted)]
    pub size_gibibytes: Option<i64>,
    /// RAID level: 0 (striped, no redundancy), 1 (mirrored) or 1+0 (striped over mirrors).
    pub level: SoftwareRaidLevel,
    /// Hints for the disks to take, one for each, at least two. Without a value all disks are
    /// taken.
    #[schemars(length(min = 2))]
    pub physical_disks: Option<Vec<RootDeviceHints>>,
}

/// Level of a hardware RAID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HardwareRaidLevel {
    /// Striped.
    #[serde(rename = "0")]
    Raid0,
    /// Mirrored.
    #[serde(rename = "1")]
    Raid1,
    /// Striped by bit with Hamming code.
    #[serde(rename = "2")]
    Raid2,
    /// Striped with parity.
    #[serde(rename = "5")]
    Raid5,
    /// Striped with double parity.
    #[serde(rename = "6")]
    Raid6,
    /// Striped over mirrors.
    #[serde(rename = "1+0")]
    Raid10,
    /// Striped over RAID 5.
    #[serde(rename = "5+0")]
    Raid50,
    /// Striped over RAID 6.
    #[serde(rename = "6+0")]
    Raid60,
}

/// Level of a software RAID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SoftwareRaidLevel {
    /// Striped.
    #[serde(rename = "0")]
    Raid0,
    /// Mirrored.
    #[serde(rename = "1")]
    Raid1,
    /// Striped over mirrors.
    #[serde(rename = "1+0")]
    Raid10,
}
