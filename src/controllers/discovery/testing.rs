//! Machines and discoveries for tests.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::observed::{Discovery, Node, Report, Reported, Verdict};
use crate::api::{
    BareMetalHostDiscovery,
    baremetalhostdiscovery::BareMetalHostDiscoverySpec,
    hardware::{HardwareDetails, Nic, SystemVendor},
};

/// A discovery that takes everything, and is due. Those with earlier letters are older.
pub(super) fn discovery(name: &str) -> Discovery {
    let mut object = BareMetalHostDiscovery::new(name, BareMetalHostDiscoverySpec::default());
    let second = name.bytes().next().unwrap_or_default();
    object.metadata.namespace = Some("lab".into());
    object.metadata.uid = Some(format!("uid-{name}"));
    object.metadata.generation = Some(1);
    object.metadata.creation_timestamp = Some(Time(Timestamp::from_second(second.into()).unwrap()));
    Discovery { object, is_due: true, problem: None }
}

/// What a machine with one card reports, selected by everybody.
pub(super) fn reported(mac: &str) -> Reported {
    let nic = Nic { mac: Some(mac.to_owned()), ip: Some("172.22.0.9".into()), ..Nic::default() };
    Reported {
        details: HardwareDetails {
            nics: Some(vec![nic]),
            hostname: Some("web".into()),
            system_vendor: Some(SystemVendor {
                serial_number: Some(format!("SN {mac}")),
                ..SystemVendor::default()
            }),
            ..HardwareDetails::default()
        },
        boot_mac: None,
        boot_mode: None,
        is_auto_discovered: true,
        verdicts: vec![Verdict { is_selected: Ok(true), labels: Vec::new() }; 3],
    }
}

/// A node that enrolled itself, with its report.
pub(super) fn node(uuid: &str, mac: &str) -> Node {
    Node {
        uuid: uuid.into(),
        named_for: None,
        is_free: true,
        ports: BTreeSet::from([mac.parse().unwrap()]),
        reported: BTreeSet::new(),
        judged: BTreeMap::new(),
        report: Report::Read(Box::new(reported(mac))),
    }
}
