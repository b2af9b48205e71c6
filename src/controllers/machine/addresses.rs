//! The addresses of a machine: those that inspection found on its host.

use crate::api::{
    BareMetalHost,
    metal3machine::{MachineAddress, MachineAddressType},
};

/// As many as fit into a status.
const MOST: usize = 32;

pub(super) fn of(host: &BareMetalHost) -> Option<Vec<MachineAddress>> {
    let hardware = host.status.as_ref()?.hardware.as_ref()?;
    let mut all: Vec<MachineAddress> = Vec::new();
    let nics = hardware.nics.iter().flatten().filter_map(|nic| nic.ip.clone());
    let names = hardware.hostname.iter();
    let ips = nics.map(|ip| (MachineAddressType::InternalIp, ip));
    let names = names.flat_map(|name| {
        [MachineAddressType::Hostname, MachineAddressType::InternalDns]
            .map(|kind| (kind, name.clone()))
    });
    for (r#type, address) in names.chain(ips).filter(|(_, address)| !address.is_empty()) {
        let address = MachineAddress { r#type, address };
        if !all.contains(&address) {
            all.push(address);
        }
    }
    all.truncate(MOST);
    Some(all).filter(|all| !all.is_empty())
}
