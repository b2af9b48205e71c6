//! Which disk is the root device, in Ironic's operators.

use serde_json::{Map, Value};

use crate::api::raid::RootDeviceHints;

/// Ironic's hints for Metal3's. `None` if there is none, so that Ironic chooses.
///
/// A text without an operator would be compared as `s==` as well, but read for operators first: a
/// serial number may begin with one.
#[must_use]
pub fn hints(given: &RootDeviceHints) -> Option<Map<String, Value>> {
    let exactly = |text: &String| format!("s== {text}");
    let contains = |text: &String| format!("<in> {text}");
    let by_path = |name: &&String| name.starts_with("/dev/disk/by-path/");
    let name = given.device_name.as_ref();
    let rotational = given.rotational.map(|spins| spins.to_string());
    let size = given.min_size_gigabytes.map(|gigabytes| format!(">= {gigabytes}"));
    let hints = [
        ("by_path", name.filter(by_path).map(exactly)),
        ("name", name.filter(|name| !by_path(name)).map(exactly)),
        ("hctl", given.hctl.as_ref().map(exactly)),
        ("model", given.model.as_ref().map(contains)),
        ("vendor", given.vendor.as_ref().map(contains)),
        ("serial", given.serial_number.as_ref().map(exactly)),
        ("size", size),
        ("wwn", given.wwn.as_ref().map(exactly)),
        ("wwn_with_extension", given.wwn_with_extension.as_ref().map(exactly)),
        ("wwn_vendor_extension", given.wwn_vendor_extension.as_ref().map(exactly)),
        ("rotational", rotational),
    ];
    let given = hints.into_iter().filter_map(|(name, hint)| Some((name.into(), hint?.into())));
    let given: Map<String, Value> = given.collect();
    (!given.is_empty()).then_some(given)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_hint_has_ironics_operator() {
        let given: RootDeviceHints = serde_json::from_value(json!({
            "deviceName": "/dev/sda", "hctl": "0:0:0:0", "model": "PERC", "vendor": "DELL",
            "serialNumber": "S1", "minSizeGigabytes": 100, "wwn": "0x5000", "wwnWithExtension": "0x50001",
            "wwnVendorExtension": "0x1", "rotational": false,
        }))
        .unwrap();
        assert_eq!(
            Value::Object(hints(&given).unwrap()),
            json!({
                "name": "s== /dev/sda", "hctl": "s== 0:0:0:0", "model": "<in> PERC",
                "vendor": "<in> DELL", "serial": "s== S1", "size": ">= 100", "wwn": "s== 0x5000",
                "wwn_with_extension": "s== 0x50001", "wwn_vendor_extension": "s== 0x1",
                "rotational": "false",
            })
        );
    }

    #[test]
    fn a_link_that_stays_is_matched_as_one() {
        let path = "/dev/disk/by-path/pci-0000:01:00.0-scsi-0:2:0:0".to_owned();
        let given =
            RootDeviceHints { device_name: Some(path.clone()), ..RootDeviceHints::default() };
        let hints = hints(&given).unwrap();
        assert_eq!(Value::Object(hints), json!({"by_path": format!("s== {path}")}));
    }

    #[test]
    fn no_hint_is_no_hint() {
        assert_eq!(hints(&RootDeviceHints::default()), None);
    }
}
