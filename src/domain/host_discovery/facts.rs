//! What is known about a discovered host, and which part of it a name is made from.

use std::{borrow::Cow, net::IpAddr};

use strum::{Display, EnumIter, EnumString, VariantNames};

use crate::domain::{
    mac::Mac,
    text::{UnknownWord, vocabulary},
};

/// `hardwareDetails` of a name template: which fact a name is made from.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Display, EnumIter, EnumString, VariantNames,
)]
#[strum(serialize_all = "kebab-case")]
#[strum(parse_err_ty = UnknownWord, parse_err_fn = HardwareDetail::unknown)]
pub enum HardwareDetail {
    /// The name that the host has for itself.
    Hostname,
    /// The IP address of its first network interface.
    Ip,
    /// The serial number of its hardware.
    SerialNumber,
    /// The MAC address that it booted from: the one that is always there and always unique.
    #[default]
    BootMac,
    /// The id of its node in Ironic.
    ProvisioningId,
}

vocabulary!(HardwareDetail, "a hardware detail");

/// What is known about a discovered host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// The name that the host has for itself.
    pub hostname: Option<String>,
    /// The IP address of its first network interface.
    pub ip: Option<IpAddr>,
    /// The serial number of its hardware.
    pub serial_number: Option<String>,
    /// The MAC address that it booted from.
    pub boot_mac: Option<Mac>,
    /// The id of its node in Ironic.
    pub provisioning_id: Option<String>,
}

impl Facts {
    /// A fact as it goes into a name: the proposal replaces `.` in IP and `:` in MAC addresses by
    /// `-`, and so do we with `:` in IPv6. What is empty is not known.
    pub(super) fn get(&self, detail: HardwareDetail) -> Option<Cow<'_, str>> {
        let dashed = |address: String| Cow::Owned(address.replace(['.', ':'], "-"));
        let fact = match detail {
            HardwareDetail::Hostname => self.hostname.as_deref().map(Cow::Borrowed),
            HardwareDetail::Ip => self.ip.map(|ip| dashed(ip.to_string())),
            HardwareDetail::SerialNumber => self.serial_number.as_deref().map(Cow::Borrowed),
            HardwareDetail::BootMac => self.boot_mac.map(|mac| dashed(mac.to_string())),
            HardwareDetail::ProvisioningId => self.provisioning_id.as_deref().map(Cow::Borrowed),
        };
        fact.filter(|fact| !fact.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use strum::IntoEnumIterator;

    #[test]
    fn the_words_are_those_of_the_proposal() {
        let words = ["hostname", "ip", "serial-number", "boot-mac", "provisioning-id"];
        assert_eq!(HardwareDetail::VARIANTS, words);
        for detail in HardwareDetail::iter() {
            assert_eq!(detail.to_string().parse(), Ok(detail));
        }
    }

    #[rstest]
    #[case::hostname(HardwareDetail::Hostname, Some("node.example"))]
    #[case::ip(HardwareDetail::Ip, Some("172-22-0-7"))]
    #[case::empty_is_unknown(HardwareDetail::SerialNumber, None)]
    #[case::boot_mac(HardwareDetail::BootMac, Some("52-54-00-ab-cd-ef"))]
    #[case::unknown(HardwareDetail::ProvisioningId, None)]
    fn a_fact_is_written_for_a_name(
        #[case] detail: HardwareDetail,
        #[case] expected: Option<&str>,
    ) {
        let facts = Facts {
            hostname: Some("node.example".to_owned()),
            ip: Some("172.22.0.7".parse().unwrap()),
            serial_number: Some(String::new()),
            boot_mac: Some("52:54:00:AB:CD:EF".parse().unwrap()),
            provisioning_id: None,
        };
        assert_eq!(facts.get(detail).as_deref(), expected);
    }

    #[test]
    fn an_ipv6_address_has_dashes_too() {
        let facts = Facts { ip: Some("2001:DB8::7".parse().unwrap()), ..Facts::default() };
        assert_eq!(facts.get(HardwareDetail::Ip).as_deref(), Some("2001-db8--7"));
    }
}
