//! What can be said about a BareMetalHost without looking at anything else.
//!
//! Metal3's webhook refuses the same. It lets one thing through that is refused here, for Ironic to
//! refuse later: a `bootMACAddress` of more than six pairs.
//!
//! Lists are reached by `has`, not by `?`: the API server cannot bound the length of a list behind
//! an optional, and finds the rule too costly.

use crate::api::image::Rules;
use crate::api::rules::MAC_ADDRESS;
use kube::core::{Reason, Rule};

pub(super) const IMAGE: Rules = Rules { image: "self", format: "format", unless: "" };

pub(super) fn name_is_not_a_uuid() -> Rule {
    // A name cannot change: with `oldSelf` a host that got such a name elsewhere can still be
    // updated and deleted.
    Rule::new(
        "oldSelf.hasValue() || \
         !self.metadata.name.matches('^([0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$')",
    )
    .optional_old_self(true)
    .message(
        "metadata.name must not be a UUID, because Ironic would take it for the identifier of a \
         node: add a prefix, such as host-",
    )
}

pub(super) fn online_unless_it_may_be_powered_off() -> Rule {
    Rule::new("self.online || !self.?disablePowerOff.orValue(false)")
        .message(
            "a host that must not be powered off cannot be offline: write online: true, or remove \
             disablePowerOff",
        )
        .field_path(".online")
}

pub(super) fn boot_mac_address_without_inspection() -> Rule {
    Rule::new(
        "has(self.bootMACAddress) || self.?inspectionMode.orValue('') != 'disabled' || \
         self.?bmc.address.orValue('') == ''",
    )
    .message(
        "without inspection nobody finds out which interface the host boots from: write \
         bootMACAddress, or remove inspectionMode: disabled",
    )
    .field_path(".bootMACAddress")
    .reason(Reason::FieldValueRequired)
}

pub(super) fn one_root_device() -> Rule {
    Rule::new(
        "!has(self.rootDeviceHints) || !has(self.raid) || !has(self.raid.softwareRAIDVolumes) || \
         !self.raid.softwareRAIDVolumes.exists(v, has(v.rootVolume) && v.rootVolume)",
    )
    .message(
        "the root device is given twice: remove rootDeviceHints, or rootVolume from \
         raid.softwareRAIDVolumes",
    )
    .field_path(".rootDeviceHints")
}

pub(super) fn boot_mac_address() -> Rule {
    Rule::new(format!("self.matches('{MAC_ADDRESS}')")).message(
        "bootMACAddress must be six pairs of hexadecimal digits separated by colons, such as \
         00:1a:74:74:e5:cb",
    )
}

pub(super) fn device_name() -> Rule {
    Rule::new(
        "self.?deviceName.orValue('') == '' || \
         self.deviceName.matches('^/dev/(disk/by-path/)?[^/]+$')",
    )
    .message("deviceName must be a device in /dev/ or /dev/disk/by-path/, such as /dev/sda")
    .field_path(".deviceName")
}

pub(super) fn one_kind_of_raid() -> Rule {
    Rule::new(
        "!has(self.hardwareRAIDVolumes) || self.hardwareRAIDVolumes.size() == 0 || \
         !has(self.softwareRAIDVolumes) || self.softwareRAIDVolumes.size() == 0",
    )
    .message(
        "a host has either hardware or software RAID: remove hardwareRAIDVolumes or \
         softwareRAIDVolumes",
    )
}

pub(super) fn controller_of_physical_disks() -> Rule {
    Rule::new(
        "!has(self.hardwareRAIDVolumes) || self.hardwareRAIDVolumes.all(v, !has(v.physicalDisks) \
         || v.physicalDisks.size() == 0 || has(v.controller) && v.controller != '')",
    )
    .message(
        "a volume with physicalDisks needs the controller that the disks are connected to: write \
         controller, or remove physicalDisks",
    )
    .field_path(".hardwareRAIDVolumes")
}

pub(super) fn number_of_physical_disks() -> Rule {
    Rule::new(
        "!has(self.hardwareRAIDVolumes) || self.hardwareRAIDVolumes.all(v, !has(v.physicalDisks) \
         || v.physicalDisks.size() == 0 || !has(v.numberOfPhysicalDisks) || \
         v.numberOfPhysicalDisks == v.physicalDisks.size())",
    )
    .message(
        "numberOfPhysicalDisks is not the number of physicalDisks: remove numberOfPhysicalDisks, \
         or correct one of them",
    )
    .field_path(".hardwareRAIDVolumes")
}

pub(super) fn one_root_volume() -> Rule {
    Rule::new(
        "!has(self.softwareRAIDVolumes) || self.softwareRAIDVolumes.filter(v, has(v.rootVolume) && \
         v.rootVolume).size() <= 1",
    )
    .message("only one volume can be the root device: remove rootVolume from the others")
    .field_path(".softwareRAIDVolumes")
}

pub(super) fn root_volume_is_mirrored() -> Rule {
    Rule::new(
        "!has(self.softwareRAIDVolumes) || self.softwareRAIDVolumes.all(v, !has(v.rootVolume) || \
         !v.rootVolume || v.level == '1')",
    )
    .message(
        "the volume with rootVolume must have level \"1\", so that the host still boots when a \
         disk fails",
    )
    .field_path(".softwareRAIDVolumes")
}

pub(super) fn each_interface_once(selector: &str) -> Rule {
    Rule::new(format!(
        "self.all(i, !has(i.{selector}) || self.exists_one(j, has(j.{selector}) && \
         j.{selector}.lowerAscii() == i.{selector}.lowerAscii()))"
    ))
    .message(format!("two interfaces have the same {selector}: keep one of them").as_str())
}

pub(super) fn name_or_mac_address() -> Rule {
    Rule::new("has(self.name) != has(self.macAddress)")
        .message("an interface is told by its name or by its macAddress: write exactly one of them")
}

pub(super) fn mac_address() -> Rule {
    Rule::new(format!("self.matches('{MAC_ADDRESS}')")).message(
        "macAddress must be six pairs of hexadecimal digits separated by colons, such as \
         00:1a:74:74:e5:cb",
    )
}
