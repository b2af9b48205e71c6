//! What is read from a report, none of which can be relied on: anybody who reaches the network can report anything.

use std::collections::BTreeSet;

use super::observed::Reported;
use crate::domain::{host_discovery::Facts, mac::Mac};

/// The first octet of what PXELINUX and its heirs call `BOOTIF`: the kind of the hardware, before the address.
const ETHERNET: &str = "01-";

/// The addresses of all cards that have one.
#[must_use]
pub fn addresses(reported: &Reported) -> BTreeSet<Mac> {
    all(reported).collect()
}

/// The card that it boots from: the one that it says it booted from, else the first.
#[must_use]
pub fn boot_mac(reported: &Reported) -> Option<Mac> {
    let nics = reported.details.nics.iter().flatten();
    let mut booted =
        nics.filter(|nic| nic.pxe == Some(true)).filter_map(|nic| address(nic.mac.as_deref()));
    let said = address(reported.boot_mac.as_deref());
    // What it does not have, it has not booted from.
    let said = said.filter(|mac| all(reported).any(|it| it == *mac));
    said.or_else(|| booted.next()).or_else(|| all(reported).next())
}

/// What its name can be made from.
#[must_use]
pub fn facts(reported: &Reported, uuid: &str) -> Facts {
    let details = &reported.details;
    let mut nics = details.nics.iter().flatten();
    let vendor = details.system_vendor.as_ref();
    Facts {
        hostname: details.hostname.clone(),
        ip: nics.find_map(|nic| nic.ip.as_ref()?.parse().ok()),
        serial_number: vendor.and_then(|vendor| vendor.serial_number.clone()),
        boot_mac: boot_mac(reported),
        provisioning_id: Some(uuid.to_owned()),
    }
}

fn all(reported: &Reported) -> impl Iterator<Item = Mac> {
    let nics = reported.details.nics.iter().flatten();
    nics.filter_map(|nic| address(nic.mac.as_deref()))
}

/// One that a card can have.
fn address(text: Option<&str>) -> Option<Mac> {
    let text = text?.trim();
    let text = text.strip_prefix(ETHERNET).filter(|rest| rest.len() == 17).unwrap_or(text);
    text.parse::<Mac>().ok().filter(|mac| mac.check_unicast().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        api::hardware::{HardwareDetails, Nic},
        controllers::discovery::testing::reported,
    };
    use rstest::rstest;

    fn nic(mac: &str, pxe: bool) -> Nic {
        Nic { mac: Some(mac.to_owned()), pxe: pxe.then_some(true), ..Nic::default() }
    }

    #[rstest]
    #[case::the_first(None, false, Some("52:54:00:00:00:01"))]
    #[case::the_one_it_says(Some("52-54-00-00-00-02"), false, Some("52:54:00:00:00:02"))]
    #[case::as_pxelinux_writes_it(Some("01-52-54-00-00-00-02"), false, Some("52:54:00:00:00:02"))]
    #[case::one_that_it_does_not_have(Some("52:54:00:00:00:99"), false, Some("52:54:00:00:00:01"))]
    #[case::nonsense(Some("eth0"), false, Some("52:54:00:00:00:01"))]
    #[case::the_one_that_ironic_found(None, true, Some("52:54:00:00:00:02"))]
    fn the_boot_mac_is_found(
        #[case] said: Option<&str>,
        #[case] pxe: bool,
        #[case] expected: Option<&str>,
    ) {
        let mut machine = reported("52:54:00:00:00:01");
        machine.boot_mac = said.map(str::to_owned);
        machine.details.nics =
            Some(vec![nic("52:54:00:00:00:01", false), nic("52:54:00:00:00:02", pxe)]);
        assert_eq!(boot_mac(&machine).map(|mac| mac.to_string()).as_deref(), expected);
    }

    #[test]
    fn what_no_card_can_have_is_no_address() {
        let mut machine = reported("52:54:00:00:00:01");
        let nics = ["ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00", "../../etc", ""];
        machine.details.nics = Some(nics.iter().map(|mac| nic(mac, true)).collect());
        assert_eq!((boot_mac(&machine), addresses(&machine)), (None, BTreeSet::new()));
        machine.details = HardwareDetails::default();
        assert_eq!(boot_mac(&machine), None);
    }
}
