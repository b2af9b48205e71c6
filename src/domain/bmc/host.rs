//! `Host`: where a BMC is, as an IP address or a DNS name.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
    str::FromStr,
};

use thiserror::Error;

use crate::domain::text::Excerpt;

/// Where a BMC is. An IPv6 address stands in brackets, as in a URL.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// An address, version 4 or 6.
    Ip(IpAddr),
    /// A DNS name as it was written.
    Name(String),
}

/// Why a text is not where a BMC could be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HostError {
    /// Nothing was given.
    #[error("the address has no host, write an IP address or a DNS name after the scheme")]
    Missing,
    /// An IPv6 address without brackets, in which the last colon might as well begin a port.
    #[error("the IPv6 address `{address}` must stand in brackets, as in `[{address}]`")]
    Unbracketed {
        /// The address.
        address: Ipv6Addr,
    },
    /// Brackets around something else.
    #[error("{given} is not an IPv6 address in brackets, such as `[2001:db8::7]`")]
    NotIpv6 {
        /// With what brackets it has.
        given: Excerpt,
    },
    /// An interface that is known by another name on each machine.
    #[error(
        "{given} has a zone, which names an interface of one machine only, leave out `%` and all \
         after it"
    )]
    Zone {
        /// The address with its zone.
        given: Excerpt,
    },
    /// Numbers with dots, but not four up to 255.
    #[error(
        "{given} is not an IPv4 address, which is four numbers from 0 to 255 without leading zeros"
    )]
    NotIpv4 {
        /// The numbers.
        given: Excerpt,
    },
    /// Neither an address nor a name.
    #[error(
        "{given} is neither an IP address nor a DNS name, which is up to 253 letters, digits, `-` \
         and `.`, with a letter or digit at both ends of each part of up to 63 between dots"
    )]
    NotAName {
        /// The text.
        given: Excerpt,
    },
}

impl Host {
    /// The one spelling of all that mean the same place: names in lower case without the final dot,
    /// and IPv4 addresses that were dressed up as IPv6 as what they are.
    #[must_use]
    pub(super) fn canonical(&self) -> Self {
        match self {
            Self::Ip(address) => Self::Ip(address.to_canonical()),
            Self::Name(name) => Self::Name(without_final_dot(name).to_ascii_lowercase()),
        }
    }
}

impl FromStr for Host {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        if text.is_empty() {
            return Err(HostError::Missing);
        }
        if text.starts_with('[') {
            let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            return match inner.map(|inner| (inner.contains('%'), inner.parse::<Ipv6Addr>())) {
                Some((_, Ok(address))) => Ok(Self::Ip(address.into())),
                Some((true, Err(_))) => Err(HostError::Zone { given: text.into() }),
                Some((false, Err(_))) | None => Err(HostError::NotIpv6 { given: text.into() }),
            };
        }
        match text.parse() {
            Ok(IpAddr::V4(address)) => Ok(Self::Ip(address.into())),
            Ok(IpAddr::V6(address)) => Err(HostError::Unbracketed { address }),
            Err(_) if ends_in_number(text) => Err(HostError::NotIpv4 { given: text.into() }),
            Err(_) if is_name(text) => Ok(Self::Name(text.to_owned())),
            Err(_) => Err(HostError::NotAName { given: text.into() }),
        }
    }
}

fn without_final_dot(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

/// No top-level domain is a number, so what ends in one was meant as an IPv4 address.
fn ends_in_number(text: &str) -> bool {
    let last = without_final_dot(text).rsplit('.').next().unwrap_or_default();
    !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_name(text: &str) -> bool {
    let name = without_final_dot(text);
    let is_part = |part: &str| {
        (1..=63).contains(&part.len())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(is_part)
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Ip(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing::hostile;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case::ipv4("192.168.122.1", "192.168.122.1")]
    #[case::ipv6_is_compressed("[2001:DB8:0:0::7]", "[2001:db8::7]")]
    #[case::ipv4_in_ipv6("[::ffff:10.0.0.7]", "10.0.0.7")]
    #[case::name("bmc", "bmc")]
    #[case::name_in_capitals("BMC-7.Example", "bmc-7.example")]
    #[case::final_dot_of_a_name("bmc.example.", "bmc.example")]
    #[case::parts_may_begin_with_digits("7.rack.3com", "7.rack.3com")]
    fn a_host_has_one_canonical_form(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(text.parse::<Host>().unwrap().canonical().to_string(), expected);
    }

    #[rstest]
    #[case::nothing("", HostError::Missing)]
    #[case::bare_ipv6("fe80::1", HostError::Unbracketed { address: "fe80::1".parse().unwrap() })]
    #[case::bad_ipv6("[fe80::8xff]", HostError::NotIpv6 { given: "[fe80::8xff]".into() })]
    #[case::ipv4_in_brackets("[10.0.0.7]", HostError::NotIpv6 { given: "[10.0.0.7]".into() })]
    #[case::open_bracket("[fe80::1", HostError::NotIpv6 { given: "[fe80::1".into() })]
    #[case::zone("[fe80::1%25eth0]", HostError::Zone { given: "[fe80::1%25eth0]".into() })]
    #[case::too_large_number("10.0.0.256", HostError::NotIpv4 { given: "10.0.0.256".into() })]
    #[case::leading_zero("10.0.0.010", HostError::NotIpv4 { given: "10.0.0.010".into() })]
    #[case::just_a_number("623", HostError::NotIpv4 { given: "623".into() })]
    #[case::underscore("my_bmc", HostError::NotAName { given: "my_bmc".into() })]
    #[case::dash_at_the_end_of_a_part(
        "my-.example",
        HostError::NotAName { given: "my-.example".into() }
    )]
    #[case::two_dots("a..b", HostError::NotAName { given: "a..b".into() })]
    #[case::only_a_dot(".", HostError::NotAName { given: ".".into() })]
    #[case::not_ascii("bücher.example", HostError::NotAName { given: "bücher.example".into() })]
    fn what_is_wrong_with_a_host_is_said(#[case] text: &str, #[case] expected: HostError) {
        assert_eq!(text.parse::<Host>(), Err(expected));
    }

    #[test]
    fn lengths_are_those_of_dns() {
        assert!(is_name(&"a".repeat(63)));
        assert!(!is_name(&"a".repeat(64)));
        assert!(is_name(&format!("{}a.", "ab.".repeat(84))));
        assert!(!is_name(&format!("{}abc", "ab.".repeat(84))));
    }

    proptest! {
        #[test]
        fn what_is_printed_parses_to_the_same(
            text in prop_oneof![
                any::<std::net::Ipv4Addr>().prop_map(|address| address.to_string()),
                any::<Ipv6Addr>().prop_map(|address| format!("[{address}]")),
                "[a-zA-Z][a-zA-Z0-9]{0,9}(\\.[a-z]{1,9}){0,3}\\.?",
            ]
        ) {
            let host: Host = text.parse().unwrap();
            prop_assert_eq!(host.to_string().parse(), Ok(host.clone()));
            prop_assert_eq!(host.canonical().canonical(), host.canonical());
        }

        #[test]
        fn no_text_panics(text in hostile("(\\[[0-9a-f:]{2,20}\\]|[a-z0-9.-]{1,20})")) {
            if let Ok(host) = text.parse::<Host>() {
                prop_assert_eq!(host.to_string().parse(), Ok(host));
            }
        }
    }
}
