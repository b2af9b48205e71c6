//! What a ramdisk or a BMC reported of a machine, in Metal3's words.

use serde::Deserialize;
use serde_json::Value;

use crate::api::{
    baremetalhost::BootMode,
    hardware::{
        Bios, Cpu, Firmware, HardwareDetails, Lldp, Nic, Storage, StorageType, SystemVendor, Vlan,
    },
};

/// The answer to `GET /v1/nodes/{node}/inventory`. Whatever is missing or odd in it is left out:
/// ramdisks of all ages report.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Inventory {
    #[serde(default)]
    inventory: Value,
    #[serde(default)]
    plugin_data: Value,
}

impl Inventory {
    /// Its parts.
    #[must_use]
    pub fn details(&self) -> HardwareDetails {
        let found = &self.inventory;
        let vendor = &found["system_vendor"];
        let nics = list(&found["interfaces"]).iter().flat_map(|card| self.nics(card)).collect();
        HardwareDetails {
            system_vendor: Some(SystemVendor {
                manufacturer: text(&vendor["manufacturer"]),
                product_name: text(&vendor["product_name"]),
                serial_number: text(&vendor["serial_number"]),
            }),
            firmware: Some(Firmware { bios: Some(bios(&vendor["firmware"])) }),
            ram_mebibytes: found["memory"]["physical_mb"].as_i64(),
            nics: Some(nics),
            storage: Some(list(&found["disks"]).iter().map(disk).collect()),
            cpu: Some(cpu(&found["cpu"])),
            hostname: text(&found["hostname"]),
        }
    }

    /// What was reported, word for word.
    #[must_use]
    pub fn reported(&self) -> &Value {
        &self.inventory
    }

    /// Whether Ironic made the node because of this report.
    #[must_use]
    pub fn is_auto_discovered(&self) -> bool {
        self.plugin_data["auto_discovered"].as_bool() == Some(true)
    }

    /// The address of the card that it booted from, as it says.
    #[must_use]
    pub fn boot_mac(&self) -> Option<String> {
        let said = [&self.inventory["boot"]["pxe_interface"], &self.plugin_data["boot_interface"]];
        said.into_iter().find_map(text)
    }

    /// How its firmware started it, where that is not what is taken for granted.
    #[must_use]
    pub fn boot_mode(&self) -> Option<BootMode> {
        let said = self.inventory["boot"]["current_boot_mode"].as_str();
        (said == Some("bios")).then_some(BootMode::Legacy)
    }

    /// A card with two addresses is listed twice, as in Metal3.
    fn nics(&self, card: &Value) -> Vec<Nic> {
        let name = text(&card["name"]).unwrap_or_default();
        let lldp = &self.plugin_data["parsed_lldp"][&name];
        let names = [&card["vendor"], &card["product"]].map(|part| text(part).unwrap_or_default());
        let nic = Nic {
            model: Some(names.join(" ").trim().to_owned()).filter(|model| !model.is_empty()),
            mac: text(&card["mac_address"]).filter(|mac| is_mac(mac)),
            speed_gbps: card["speed_mbps"].as_i64().map(|mbps| mbps / 1000),
            vlans: vlans(lldp),
            vlan_id: vlan_id(&lldp["switch_port_untagged_vlan_id"]),
            pxe: self.plugin_data["all_interfaces"][&name]["pxe_enabled"].as_bool(),
            lldp: switch(lldp),
            pci_address: text(&card["pci_address"]),
            name: Some(name).filter(|name| !name.is_empty()),
            ip: None,
        };
        let addresses = [text(&card["ipv4_address"]), text(&card["ipv6_address"])];
        let addresses: Vec<_> = addresses.into_iter().flatten().collect();
        if addresses.is_empty() {
            return vec![nic];
        }
        addresses.into_iter().map(|ip| Nic { ip: Some(ip), ..nic.clone() }).collect()
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// What the API server takes for an address: six octets, or more, for InfiniBand has twenty. It would not store all the rest
/// because of one that is none.
fn is_mac(text: &str) -> bool {
    let octets: Vec<&str> = text.split(':').collect();
    let is_octet =
        |octet: &&str| octet.len() == 2 && octet.bytes().all(|it| it.is_ascii_hexdigit());
    octets.len() >= 6 && octets.iter().all(is_octet)
}

fn vlan_id(value: &Value) -> Option<i32> {
    let id = value.as_i64().and_then(|number| number.try_into().ok());
    id.filter(|id| (0..=4094).contains(id))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn bios(firmware: &Value) -> Bios {
    Bios {
        date: text(&firmware["build_date"]),
        vendor: text(&firmware["vendor"]),
        version: text(&firmware["version"]),
    }
}

fn cpu(found: &Value) -> Cpu {
    let mut flags: Vec<_> = list(&found["flags"]).iter().filter_map(text).collect();
    flags.sort_unstable();
    // Ramdisks report it as text, BMCs as a number.
    let clock = &found["frequency"];
    let clock = clock.as_f64().or_else(|| clock.as_str()?.trim().parse().ok());
    Cpu {
        arch: text(&found["architecture"]),
        model: text(&found["model_name"]),
        clock_megahertz: clock.map(f64::round),
        flags: Some(flags),
        count: found["count"].as_i64(),
    }
}

fn disk(found: &Value) -> Storage {
    let name = text(&found["name"]);
    let by_path = text(&found["by_path"]);
    let rotational = found["rotational"].as_bool();
    let is_nvme = name.as_deref().is_some_and(|name| name.starts_with("/dev/nvme"));
    let names: Vec<_> = name.iter().chain(&by_path).cloned().collect();
    Storage {
        alternate_names: Some(names),
        r#type: rotational.map(|spins| match (spins, is_nvme) {
            (true, _) => StorageType::Hdd,
            (false, true) => StorageType::Nvme,
            (false, false) => StorageType::Ssd,
        }),
        name: by_path.or(name),
        rotational,
        size_bytes: found["size"].as_i64(),
        vendor: text(&found["vendor"]),
        model: text(&found["model"]),
        serial_number: text(&found["serial"]),
        wwn: text(&found["wwn"]),
        wwn_vendor_extension: text(&found["wwn_vendor_extension"]),
        wwn_with_extension: text(&found["wwn_with_extension"]),
        hctl: text(&found["hctl"]),
    }
}

fn vlans(lldp: &Value) -> Option<Vec<Vlan>> {
    let vlan = |found: &Value| Vlan { id: vlan_id(&found["id"]), name: text(&found["name"]) };
    lldp["switch_port_vlans"].as_array().map(|vlans| vlans.iter().map(vlan).collect())
}

fn switch(lldp: &Value) -> Option<Lldp> {
    let said = Lldp {
        switch_id: text(&lldp["switch_chassis_id"]),
        port_id: text(&lldp["switch_port_id"]),
        switch_system_name: text(&lldp["switch_system_name"]),
    };
    (said != Lldp::default()).then_some(said)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_becomes_metal3s_details() {
        let report: Inventory = serde_json::from_value(json!({
            "inventory": {
                "interfaces": [
                    {"name": "eno1", "mac_address": "52:54:00:00:00:01", "ipv4_address": "172.22.0.9",
                     "ipv6_address": "fd00::9", "vendor": "0x8086", "product": "0x1533",
                     "speed_mbps": 25000, "pci_address": "0000:01:00.0"},
                    {"name": "eno2", "mac_address": "52:54:00:00:00:02", "ipv4_address": null},
                ],
                "cpu": {"model_name": "Xeon", "frequency": "2100.4", "count": 8, "architecture": "x86_64",
                        "flags": ["vmx", "aes"]},
                "disks": [
                    {"name": "/dev/nvme0n1", "size": 1000, "rotational": false, "serial": "S1"},
                    {"name": "/dev/sda", "size": 2000, "rotational": true, "by_path": "/dev/disk/by-path/p"},
                ],
                "memory": {"total": 1, "physical_mb": 32768},
                "system_vendor": {"manufacturer": "Dell Inc.", "product_name": "R640", "serial_number": "ABC",
                                  "firmware": {"vendor": "Dell", "version": "2.1", "build_date": "01/01/2026"}},
                "hostname": "worker-0",
            },
            "plugin_data": {
                "all_interfaces": {"eno1": {"pxe_enabled": true}},
                "parsed_lldp": {"eno1": {"switch_chassis_id": "11:22:33:44:55:66", "switch_port_id": "xe-0/0/1",
                                         "switch_port_untagged_vlan_id": 101, "switch_port_vlans": [{"id": 101, "name": "v101"}]}},
            },
        }))
        .unwrap();
        let details = serde_json::to_value(report.details()).unwrap();
        let eno1 = |ip: &str| {
            json!({
                "name": "eno1", "model": "0x8086 0x1533", "mac": "52:54:00:00:00:01", "ip": ip, "speedGbps": 25,
                "pxe": true, "pciAddress": "0000:01:00.0", "vlanId": 101, "vlans": [{"id": 101, "name": "v101"}],
                "lldp": {"switchID": "11:22:33:44:55:66", "portID": "xe-0/0/1"},
            })
        };
        assert_eq!(
            details,
            json!({
                "systemVendor": {"manufacturer": "Dell Inc.", "productName": "R640", "serialNumber": "ABC"},
                "firmware": {"bios": {"vendor": "Dell", "version": "2.1", "date": "01/01/2026"}},
                "ramMebibytes": 32768,
                "nics": [eno1("172.22.0.9"), eno1("fd00::9"), {"name": "eno2", "mac": "52:54:00:00:00:02"}],
                "storage": [
                    {"name": "/dev/nvme0n1", "alternateNames": ["/dev/nvme0n1"], "rotational": false, "type": "NVME",
                     "sizeBytes": 1000, "serialNumber": "S1"},
                    {"name": "/dev/disk/by-path/p", "alternateNames": ["/dev/sda", "/dev/disk/by-path/p"],
                     "rotational": true, "type": "HDD", "sizeBytes": 2000},
                ],
                "cpu": {"arch": "x86_64", "model": "Xeon", "clockMegahertz": 2100.0, "count": 8, "flags": ["aes", "vmx"]},
                "hostname": "worker-0",
            })
        );
    }

    proptest! {
        #[test]
        fn no_report_is_too_odd(field in "(interfaces|disks|cpu|memory|system_vendor|hostname)", text in any::<String>()) {
            for odd in [json!(text), json!([text]), json!([[1]]), json!({"name": 7, "count": -1}), Value::Null] {
                let report: Inventory = serde_json::from_value(json!({"inventory": {&field: odd}})).unwrap();
                let _ = report.details();
            }
        }
    }
}
