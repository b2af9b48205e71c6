//! RAID volumes, as Ironic builds them: what to build, and by which clean steps.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::root_device;
use crate::api::raid::{HardwareRaidVolume, Raid, RootDeviceHints, SoftwareRaidVolume};

/// The interface by which Ironic builds volumes of Linux.
pub const SOFTWARE_INTERFACE: &str = "agent";
/// The interface of drivers that build none.
pub const NO_INTERFACE: &str = "no-raid";

/// One step of cleaning by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CleanStep {
    /// The interface that has the step.
    pub interface: &'static str,
    /// Its name.
    pub step: &'static str,
}

const DELETE: CleanStep = CleanStep { interface: "raid", step: "delete_configuration" };
const CREATE: CleanStep = CleanStep { interface: "raid", step: "create_configuration" };
const ERASE: CleanStep = CleanStep { interface: "deploy", step: "erase_devices_metadata" };

/// The interface that a node needs for the volumes.
#[must_use]
pub fn interface<'a>(raid: Option<&Raid>, of_driver: &'a str) -> &'a str {
    if raid.is_some_and(is_software) { SOFTWARE_INTERFACE } else { of_driver }
}

fn is_software(raid: &Raid) -> bool {
    let wants = |count: Option<usize>| count.is_some_and(|count| count > 0);
    wants(raid.software_raid_volumes.as_ref().map(Vec::len))
        && !wants(raid.hardware_raid_volumes.as_ref().map(Vec::len))
}

/// What cannot be built with a driver.
#[must_use]
pub fn problem(raid: Option<&Raid>, of_driver: &str) -> Option<String> {
    let raid = raid?;
    let hardware = raid.hardware_raid_volumes.as_ref().is_some_and(|volumes| !volumes.is_empty());
    (hardware && of_driver == NO_INTERFACE).then(|| {
        "hardwareRAIDVolumes are given, but the driver of this BMC cannot build them: use a Redfish \
         BMC address, or softwareRAIDVolumes"
            .to_owned()
    })
}

/// The steps that lead to the volumes; none where they stay as they are.
///
/// Without a value they stay; an empty list removes them all. Old ones are always removed first:
/// `create_configuration` would add to them.
#[must_use]
pub fn clean_steps(raid: Option<&Raid>) -> Vec<CleanStep> {
    let Some(raid) = raid else { return Vec::new() };
    match (&raid.hardware_raid_volumes, &raid.software_raid_volumes) {
        (Some(volumes), _) if !volumes.is_empty() => vec![DELETE, CREATE],
        (_, Some(volumes)) if !volumes.is_empty() => vec![DELETE, ERASE, CREATE],
        (Some(_), _) => vec![DELETE],
        // Volumes of Linux are built from disks that hold nothing else.
        (None, Some(_)) => vec![DELETE, ERASE],
        (None, None) => Vec::new(),
    }
}

/// The body of `PUT /v1/nodes/{node}/states/raid`.
#[must_use]
pub fn target(raid: Option<&Raid>, hints: Option<&RootDeviceHints>) -> Map<String, Value> {
    let hardware = raid.and_then(|raid| raid.hardware_raid_volumes.as_deref()).unwrap_or_default();
    let software = raid.and_then(|raid| raid.software_raid_volumes.as_deref()).unwrap_or_default();
    let mut disks: Vec<Map<String, Value>> = if hardware.is_empty() {
        software.iter().map(software_disk).collect()
    } else {
        hardware.iter().map(hardware_disk).collect()
    };
    // Metal3's default profile names /dev/sda, which is not what a person chose.
    let chosen = disks.iter().any(|disk| disk.contains_key("is_root_volume"));
    if hints.is_none()
        && !chosen
        && let Some(first) = disks.first_mut()
    {
        first.insert("is_root_volume".into(), true.into());
    }
    let mut target = Map::new();
    if !disks.is_empty() {
        target.insert("logical_disks".into(), disks.into());
    }
    target
}

/// 0 or no value is all there is, in Metal3's words.
fn size(gibibytes: Option<i64>) -> Value {
    gibibytes.filter(|size| *size > 0).map_or_else(|| "MAX".into(), Value::from)
}

fn hardware_disk(volume: &HardwareRaidVolume) -> Map<String, Value> {
    let mut disk = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            disk.insert(name.into(), value);
        }
    };
    put("size_gb", Some(size(volume.size_gibibytes)));
    put("raid_level", Some(json!(volume.level)));
    put("volume_name", volume.name.clone().map(Value::from));
    put("disk_type", volume.rotational.map(|spins| if spins { "hdd" } else { "ssd" }.into()));
    put("number_of_physical_disks", volume.number_of_physical_disks.map(Value::from));
    put("controller", volume.controller.clone().map(Value::from));
    put("physical_disks", volume.physical_disks.clone().map(Value::from));
    disk
}

fn software_disk(volume: &SoftwareRaidVolume) -> Map<String, Value> {
    let mut disk = Map::new();
    disk.insert("size_gb".into(), size(volume.size_gibibytes));
    disk.insert("raid_level".into(), json!(volume.level));
    disk.insert("controller".into(), "software".into());
    if let Some(disks) = &volume.physical_disks {
        let hints = disks.iter().map(|hints| root_device::hints(hints).unwrap_or_default());
        disk.insert("physical_disks".into(), hints.map(Value::Object).collect());
    }
    if volume.root_volume == Some(true) {
        disk.insert("is_root_volume".into(), true.into());
    }
    disk
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn raid(text: Value) -> Raid {
        serde_json::from_value(text).unwrap()
    }

    #[rstest]
    #[case::nothing_said(json!({}), &[])]
    #[case::hardware(json!({"hardwareRAIDVolumes": [{"level": "1"}]}), &["delete_configuration", "create_configuration"])]
    #[case::no_hardware_any_more(json!({"hardwareRAIDVolumes": []}), &["delete_configuration"])]
    #[case::software(json!({"softwareRAIDVolumes": [{"level": "1"}]}), &["delete_configuration", "erase_devices_metadata", "create_configuration"])]
    #[case::no_software_any_more(json!({"softwareRAIDVolumes": []}), &["delete_configuration", "erase_devices_metadata"])]
    fn old_volumes_go_before_new_ones_come(#[case] given: Value, #[case] expected: &[&str]) {
        let steps = clean_steps(Some(&raid(given)));
        assert_eq!(steps.iter().map(|step| step.step).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_first_volume_is_the_root_device_unless_somebody_chose() {
        let mirror = raid(
            json!({"hardwareRAIDVolumes": [{"level": "1", "name": "os", "rotational": false}]}),
        );
        let disk = json!({"size_gb": "MAX", "raid_level": "1", "volume_name": "os", "disk_type": "ssd", "is_root_volume": true});
        assert_eq!(Value::Object(target(Some(&mirror), None)), json!({"logical_disks": [disk]}));
        let hints = RootDeviceHints::default();
        let chosen = Value::Object(target(Some(&mirror), Some(&hints)));
        assert_eq!(chosen.pointer("/logical_disks/0/is_root_volume"), None);

        let second = raid(json!({"softwareRAIDVolumes": [
            {"level": "1", "sizeGibibytes": 50},
            {"level": "1", "rootVolume": true, "physicalDisks": [{"serialNumber": "a"}, {"serialNumber": "b"}]},
        ]}));
        assert_eq!(
            Value::Object(target(Some(&second), None)),
            json!({"logical_disks": [
                {"size_gb": 50, "raid_level": "1", "controller": "software"},
                {"size_gb": "MAX", "raid_level": "1", "controller": "software", "is_root_volume": true,
                 "physical_disks": [{"serial": "s== a"}, {"serial": "s== b"}]},
            ]})
        );
    }

    #[test]
    fn software_volumes_are_built_by_the_ramdisk_whatever_the_driver() {
        let software = raid(json!({"softwareRAIDVolumes": [{"level": "1"}]}));
        assert_eq!(interface(Some(&software), NO_INTERFACE), SOFTWARE_INTERFACE);
        assert_eq!(problem(Some(&software), NO_INTERFACE), None);
        let hardware = raid(json!({"hardwareRAIDVolumes": [{"level": "1"}]}));
        assert_eq!(interface(Some(&hardware), "redfish"), "redfish");
        assert_eq!(problem(Some(&hardware), "redfish"), None);
        assert!(problem(Some(&hardware), NO_INTERFACE).unwrap().contains("softwareRAIDVolumes"));
    }
}
