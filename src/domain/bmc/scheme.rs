//! `Scheme`: the first word of a BMC address, and all that Ironic has to be told because of it.
//! Every question about a kind of BMC is answered from the rows below.

use strum::{Display, EnumIter, EnumString, VariantNames};
use thiserror::Error;

use crate::domain::text::{Excerpt, UnknownWord, vocabulary};

/// A kind of BMC that Metal3 knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display, EnumIter, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case", ascii_case_insensitive)]
#[strum(parse_err_ty = UnknownWord, parse_err_fn = Scheme::unknown)]
#[allow(missing_docs, reason = "Metal3's own words; the rows say what each means")]
pub enum Scheme {
    Ipmi,
    Libvirt,
    Redfish,
    #[strum(serialize = "ilo5-redfish")]
    Ilo5Redfish,
    IdracRedfish,
    #[strum(serialize = "redfish-virtualmedia")]
    RedfishVirtualMedia,
    #[strum(serialize = "ilo5-virtualmedia")]
    Ilo5VirtualMedia,
    #[strum(serialize = "redfish-uefihttp")]
    RedfishUefiHttp,
    #[strum(serialize = "idrac-virtualmedia")]
    IdracVirtualMedia,
}

vocabulary!(Scheme, "a kind of BMC");

/// What is spoken to a BMC. Two addresses can be of one machine only if they have it in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display)]
#[strum(serialize_all = "lowercase")]
pub enum Protocol {
    /// IPMI over LAN.
    Ipmi,
    /// Redfish over HTTP.
    Redfish,
}

/// What carries Redfish: the word after `+` in `redfish+https`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display, EnumString)]
#[strum(serialize_all = "lowercase", ascii_case_insensitive)]
pub enum Transport {
    /// Without TLS, port 80.
    Http,
    /// With TLS, port 443; what an address without a transport means.
    Https,
}

/// How Ironic drives a kind of BMC. An interface that is `None` is left to Ironic's own default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a row of a table: each is a column of its own")]
pub struct Driver {
    /// Ironic's name for it, its hardware type.
    pub name: &'static str,
    /// What is spoken.
    pub protocol: Protocol,
    /// Where it listens unless the address says otherwise; Redfish without TLS is on 80.
    pub default_port: u16,
    /// Ironic's `boot_interface`.
    pub boot_interface: &'static str,
    /// Ironic's `bios_interface`.
    pub bios_interface: Option<&'static str>,
    /// Ironic's `management_interface`.
    pub management_interface: Option<&'static str>,
    /// Ironic's `power_interface`.
    pub power_interface: Option<&'static str>,
    /// Ironic's `vendor_interface`.
    pub vendor_interface: Option<&'static str>,
    /// Ironic's `raid_interface`.
    pub raid_interface: &'static str,
    /// Ironic's `firmware_interface`.
    pub firmware_interface: Option<&'static str>,
    /// Ironic's `inspect_interface` for inspection through the BMC, where that is possible.
    pub inspect_interface: Option<&'static str>,
    /// Whether the agent can be booted from an ISO image, without a network boot.
    pub boots_iso: bool,
    /// Whether a host must be on the provisioning network, where it boots by PXE.
    pub needs_provisioning_network: bool,
    /// Whether the host must be given with its boot MAC address.
    pub needs_boot_mac: bool,
    /// Whether secure boot can be turned on.
    pub has_secure_boot: bool,
}

const IPMI: Driver = Driver {
    name: "ipmi",
    protocol: Protocol::Ipmi,
    default_port: 623,
    boot_interface: "ipxe",
    bios_interface: None,
    management_interface: None,
    power_interface: None,
    vendor_interface: None,
    raid_interface: "no-raid",
    firmware_interface: None,
    inspect_interface: None,
    boots_iso: false,
    needs_provisioning_network: true,
    needs_boot_mac: false,
    has_secure_boot: false,
};

const LIBVIRT: Driver = Driver { needs_boot_mac: true, ..IPMI };

const REDFISH: Driver = Driver {
    name: "redfish",
    protocol: Protocol::Redfish,
    default_port: 443,
    raid_interface: "redfish",
    firmware_interface: Some("redfish"),
    inspect_interface: Some("redfish"),
    has_secure_boot: true,
    ..IPMI
};

const REDFISH_VIRTUAL_MEDIA: Driver = Driver {
    boot_interface: "redfish-virtual-media",
    boots_iso: true,
    needs_provisioning_network: false,
    ..REDFISH
};

const REDFISH_UEFI_HTTP: Driver =
    Driver { boot_interface: "redfish-https", ..REDFISH_VIRTUAL_MEDIA };

const IDRAC_REDFISH: Driver = Driver {
    name: "idrac",
    bios_interface: Some("idrac-redfish"),
    management_interface: Some("idrac-redfish"),
    power_interface: Some("idrac-redfish"),
    vendor_interface: Some("idrac-redfish"),
    raid_interface: "idrac-redfish",
    ..REDFISH
};

const IDRAC_VIRTUAL_MEDIA: Driver = Driver {
    boot_interface: "idrac-redfish-virtual-media",
    boots_iso: true,
    needs_provisioning_network: false,
    ..IDRAC_REDFISH
};

/// Kinds of BMC that Metal3 had once, and what to write instead.
const REMOVED: &[(&str, &str)] = &[
    ("ibmc", "`redfish`"),
    ("idrac", "`idrac-redfish` or `idrac-virtualmedia`"),
    ("idrac-wsman", "`idrac-redfish` or `idrac-virtualmedia`"),
    ("ilo4", "`redfish` or `ipmi`"),
    ("ilo4-virtualmedia", "`redfish-virtualmedia`"),
    ("ilo5", "`ilo5-redfish` or `ilo5-virtualmedia`"),
    ("irmc", "`redfish`"),
];

/// Why the part before the `:` of an address names no kind of BMC.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SchemeError {
    /// Metal3 has removed it.
    #[error("the {given} driver was removed from Metal3, use {instead}")]
    Removed {
        /// The scheme.
        given: Excerpt,
        /// What can take its place.
        instead: &'static str,
    },
    /// A web address.
    #[error(
        "{given} is not a kind of BMC, write `redfish+{transport}` for Redfish over {transport}"
    )]
    Web {
        /// The scheme.
        given: Excerpt,
        /// What it is in a BMC address.
        transport: Transport,
    },
    /// A transport where there is none to choose, or that is none.
    #[error(
        "{given} is not a kind of BMC, only Redfish is followed by a transport, `+http` or `+https`"
    )]
    Transport {
        /// The scheme.
        given: Excerpt,
    },
    /// Anything else.
    #[error(transparent)]
    Unknown(#[from] UnknownWord),
}

impl Scheme {
    /// The row of the table for it.
    #[must_use]
    pub const fn driver(self) -> &'static Driver {
        match self {
            Self::Ipmi => &IPMI,
            Self::Libvirt => &LIBVIRT,
            Self::Redfish | Self::Ilo5Redfish => &REDFISH,
            Self::IdracRedfish => &IDRAC_REDFISH,
            Self::RedfishVirtualMedia | Self::Ilo5VirtualMedia => &REDFISH_VIRTUAL_MEDIA,
            Self::RedfishUefiHttp => &REDFISH_UEFI_HTTP,
            Self::IdracVirtualMedia => &IDRAC_VIRTUAL_MEDIA,
        }
    }

    /// Reads a scheme with the transport that may follow it, such as `redfish+http`.
    pub(super) fn with_transport(text: &str) -> Result<(Self, Option<Transport>), SchemeError> {
        let (name, transport) = match text.split_once('+') {
            Some((name, transport)) => (name, Some(transport)),
            None => (text, None),
        };
        if let Some((_, instead)) = REMOVED.iter().find(|(old, _)| old.eq_ignore_ascii_case(name)) {
            return Err(SchemeError::Removed { given: name.into(), instead });
        }
        if let Ok(transport) = text.parse() {
            return Err(SchemeError::Web { given: text.into(), transport });
        }
        let scheme: Self = name.parse()?;
        match (scheme.driver().protocol, transport.map(str::parse)) {
            (_, None) => Ok((scheme, None)),
            (Protocol::Redfish, Some(Ok(transport))) => Ok((scheme, Some(transport))),
            (Protocol::Redfish | Protocol::Ipmi, Some(_)) => {
                Err(SchemeError::Transport { given: text.into() })
            }
        }
    }
}

impl Transport {
    /// Where it listens unless the address says otherwise.
    #[must_use]
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use strum::IntoEnumIterator;

    /// Metal3's table as its documentation prints it, so that a slip in `..` above shows.
    #[rstest]
    #[case::ipmi("ipmi", "ipmi ipxe - - no-raid - - pxe")]
    #[case::libvirt("libvirt", "ipmi ipxe - - no-raid - - pxe mac")]
    #[case::redfish("redfish", "redfish ipxe - - redfish redfish redfish pxe secure")]
    #[case::ilo5_redfish("ilo5-redfish", "redfish ipxe - - redfish redfish redfish pxe secure")]
    #[case::idrac_redfish(
        "idrac-redfish",
        "idrac ipxe idrac-redfish idrac-redfish idrac-redfish redfish redfish pxe secure"
    )]
    #[case::redfish_virtualmedia(
        "redfish-virtualmedia",
        "redfish redfish-virtual-media - - redfish redfish redfish iso secure"
    )]
    #[case::ilo5_virtualmedia(
        "ilo5-virtualmedia",
        "redfish redfish-virtual-media - - redfish redfish redfish iso secure"
    )]
    #[case::redfish_uefihttp(
        "redfish-uefihttp",
        "redfish redfish-https - - redfish redfish redfish iso secure"
    )]
    #[case::idrac_virtualmedia(
        "idrac-virtualmedia",
        "idrac idrac-redfish-virtual-media idrac-redfish idrac-redfish idrac-redfish redfish \
         redfish iso secure"
    )]
    fn the_rows_are_those_of_metal3(#[case] scheme: Scheme, #[case] expected: &str) {
        let driver = scheme.driver();
        assert_eq!(driver.management_interface, driver.power_interface);
        assert_eq!(driver.management_interface, driver.vendor_interface);
        let mut row = vec![
            driver.name,
            driver.boot_interface,
            driver.bios_interface.unwrap_or("-"),
            driver.management_interface.unwrap_or("-"),
            driver.raid_interface,
            driver.firmware_interface.unwrap_or("-"),
            driver.inspect_interface.unwrap_or("-"),
        ];
        row.extend(driver.needs_provisioning_network.then_some("pxe"));
        row.extend(driver.boots_iso.then_some("iso"));
        row.extend(driver.needs_boot_mac.then_some("mac"));
        row.extend(driver.has_secure_boot.then_some("secure"));
        assert_eq!(row.join(" "), expected);
    }

    #[test]
    fn the_default_port_follows_the_protocol() {
        for scheme in Scheme::iter() {
            let expected = match scheme.driver().protocol {
                Protocol::Ipmi => 623,
                Protocol::Redfish => 443,
            };
            assert_eq!(scheme.driver().default_port, expected, "{scheme}");
        }
    }

    #[test]
    fn every_scheme_is_read_as_it_is_written_in_any_case() {
        for scheme in Scheme::iter() {
            assert_eq!(scheme.to_string().parse(), Ok(scheme));
            assert_eq!(scheme.to_string().to_uppercase().parse(), Ok(scheme));
        }
    }

    #[rstest]
    #[case::redfish_alone("redfish", Scheme::Redfish, None)]
    #[case::redfish_over_http("redfish+http", Scheme::Redfish, Some(Transport::Http))]
    #[case::case_is_ignored(
        "IDRAC-VirtualMedia+HTTPS",
        Scheme::IdracVirtualMedia,
        Some(Transport::Https)
    )]
    fn a_transport_may_follow_redfish(
        #[case] text: &str,
        #[case] scheme: Scheme,
        #[case] transport: Option<Transport>,
    ) {
        assert_eq!(Scheme::with_transport(text), Ok((scheme, transport)));
    }

    #[rstest]
    #[case::ilo4("ilo4", "the `ilo4` driver was removed from Metal3, use `redfish` or `ipmi`")]
    #[case::ilo4_virtualmedia(
        "ilo4-virtualmedia",
        "the `ilo4-virtualmedia` driver was removed from Metal3, use `redfish-virtualmedia`"
    )]
    #[case::ilo5(
        "ilo5",
        "the `ilo5` driver was removed from Metal3, use `ilo5-redfish` or `ilo5-virtualmedia`"
    )]
    #[case::irmc("irmc", "the `irmc` driver was removed from Metal3, use `redfish`")]
    #[case::idrac_in_capitals_over_https(
        "iDRAC+https",
        "the `iDRAC` driver was removed from Metal3, use `idrac-redfish` or `idrac-virtualmedia`"
    )]
    #[case::web_address(
        "https",
        "`https` is not a kind of BMC, write `redfish+https` for Redfish over https"
    )]
    #[case::transport_of_ipmi(
        "ipmi+https",
        "`ipmi+https` is not a kind of BMC, only Redfish is followed by a transport, `+http` or \
         `+https`"
    )]
    #[case::no_transport(
        "redfish+ftp",
        "`redfish+ftp` is not a kind of BMC, only Redfish is followed by a transport, `+http` or \
         `+https`"
    )]
    #[case::misspelt(
        "redfsh",
        "`redfsh` is not a kind of BMC, which is `ipmi`, `libvirt`, `redfish`, `ilo5-redfish`, \
         `idrac-redfish`, `redfish-virtualmedia`, `ilo5-virtualmedia`, `redfish-uefihttp` or \
         `idrac-virtualmedia`"
    )]
    fn what_to_write_instead_is_said(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(Scheme::with_transport(text).unwrap_err().to_string(), expected);
    }
}
