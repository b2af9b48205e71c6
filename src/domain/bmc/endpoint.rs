//! `Endpoint`: the identity that all spellings of one BMC address share.

use std::{fmt, str::FromStr};

use super::{AddressError, BmcAddress, Host, Protocol};
use crate::domain::text::serde_as_text;

/// Which machine an address leads to: the protocol, the host in its canonical form, the port in
/// effect and, behind a Redfish service, the system. Kind of boot, vendor, transport, case, default
/// port, superfluous slashes and escapes make no difference.
///
/// What it prints is itself an address of that machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    protocol: Protocol,
    host: Host,
    port: u16,
    /// Empty, or a path that begins with a slash.
    system: String,
}

serde_as_text!(Endpoint);

impl Endpoint {
    pub(super) fn new(protocol: Protocol, host: &Host, port: u16, path: &str) -> Self {
        let system = match protocol {
            Protocol::Ipmi => String::new(),
            Protocol::Redfish => system(path),
        };
        Self { protocol, host: host.canonical(), port, system }
    }
}

impl FromStr for Endpoint {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        Ok(text.parse::<BmcAddress>()?.endpoint())
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}{}", self.protocol, self.host, self.port, self.system)
    }
}

/// The system that a path names, in one spelling. The root of the service names none: that is the
/// only system there.
fn system(path: &str) -> String {
    let mut segments: Vec<String> = Vec::new();
    for segment in path.split('/').map(unescaped) {
        match segment.as_str() {
            "" | "." => {}
            ".." => drop(segments.pop()),
            _ => segments.push(segment),
        }
    }
    if segments == ["redfish", "v1"] {
        segments.clear();
    }
    segments.iter().flat_map(|segment| ["/", segment]).collect()
}

/// Escapes of characters that need none are taken off; those that remain are in upper case.
fn unescaped(segment: &str) -> String {
    let mut parts = segment.split('%');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        match u8::from_str_radix(digits, 16).map(char::from) {
            Ok(c) if c.is_ascii_alphanumeric() || "-._~".contains(c) => plain.push(c),
            Ok(_) | Err(_) => plain.extend(["%", &digits.to_ascii_uppercase()]),
        }
        plain.push_str(rest);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::bmc::tests::any_address;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case::redfish(
        "redfish://bmc.example/redfish/v1/Systems/1",
        "redfish://bmc.example:443/redfish/v1/Systems/1"
    )]
    #[case::virtual_media("redfish-virtualmedia://bmc/a", "redfish://bmc:443/a")]
    #[case::vendor("idrac-redfish://bmc/a", "redfish://bmc:443/a")]
    #[case::https_is_the_default("ilo5-redfish+https://bmc/a", "redfish://bmc:443/a")]
    #[case::http_has_another_port("redfish+http://bmc/a", "redfish://bmc:80/a")]
    #[case::the_same_port_is_the_same_service("redfish+http://bmc:8000/a", "redfish://bmc:8000/a")]
    #[case::case_of_scheme_and_host("REDFISH://BMC/Aa", "redfish://bmc:443/Aa")]
    #[case::final_dot("redfish://bmc./a", "redfish://bmc:443/a")]
    #[case::trailing_slash_is_ignored("redfish://bmc/a/", "redfish://bmc:443/a")]
    #[case::double_slashes_are_ignored("redfish://bmc//a///b", "redfish://bmc:443/a/b")]
    #[case::dot_segments("redfish://bmc/x/.././%2e/a", "redfish://bmc:443/a")]
    #[case::needless_escapes("redfish://bmc/%61%2D%7e", "redfish://bmc:443/a-~")]
    #[case::needed_escapes_in_one_case("redfish://bmc/a%2fb", "redfish://bmc:443/a%2Fb")]
    #[case::an_escaped_escape_stays("redfish://bmc/%2561", "redfish://bmc:443/%2561")]
    #[case::no_path("redfish://bmc", "redfish://bmc:443")]
    #[case::only_a_slash("redfish://bmc/", "redfish://bmc:443")]
    #[case::root_of_the_service("redfish://bmc/redfish/v1", "redfish://bmc:443")]
    #[case::root_with_slash("redfish://bmc/redfish/v1/", "redfish://bmc:443")]
    #[case::query_is_ignored("redfish://bmc/a?b=c", "redfish://bmc:443/a")]
    #[case::ipv6("redfish://[FE80:0::1]/a", "redfish://[fe80::1]:443/a")]
    #[case::ipmi("ipmi://10.0.0.7", "ipmi://10.0.0.7:623")]
    #[case::bare_host("10.0.0.7", "ipmi://10.0.0.7:623")]
    #[case::libvirt_is_ipmi("libvirt://10.0.0.7:6230/?a=b", "ipmi://10.0.0.7:6230")]
    #[case::ipmi_has_no_systems("ipmi://10.0.0.7/a", "ipmi://10.0.0.7:623")]
    #[case::ipv4_in_ipv6("ipmi://[::ffff:10.0.0.7]", "ipmi://10.0.0.7:623")]
    fn spellings_of_one_machine_are_equal(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), expected);
    }

    #[rstest]
    #[case::two_systems_of_one_bmc("redfish://bmc/a", "redfish://bmc/b")]
    #[case::a_system_and_the_only_one("redfish://bmc/a", "redfish://bmc")]
    #[case::case_of_the_path("redfish://bmc/a", "redfish://bmc/A")]
    #[case::an_escaped_slash("redfish://bmc/a%2Fb", "redfish://bmc/a/b")]
    #[case::two_ports("redfish://bmc:8000/a", "redfish://bmc:8001/a")]
    #[case::two_hosts("redfish://bmc1/a", "redfish://bmc2/a")]
    #[case::two_protocols("redfish://bmc:623", "ipmi://bmc")]
    fn different_machines_differ(#[case] one: &str, #[case] other: &str) {
        assert_ne!(one.parse::<Endpoint>().unwrap(), other.parse::<Endpoint>().unwrap());
    }

    #[test]
    fn json_has_it_as_text() {
        let endpoint: Endpoint = "bmc".parse().unwrap();
        assert_eq!(serde_json::to_string(&endpoint).unwrap(), r#""ipmi://bmc:623""#);
        assert_eq!(serde_json::from_str::<Endpoint>(r#""BMC""#).unwrap(), endpoint);
    }

    proptest! {
        #[test]
        fn the_canonical_form_is_its_own_canonical_form(text in any_address()) {
            let endpoint: Endpoint = text.parse().unwrap();
            prop_assert_eq!(endpoint.to_string().parse(), Ok(endpoint));
        }

        #[test]
        fn equality_and_text_agree(one in any_address(), other in any_address()) {
            let (one, other): (Endpoint, Endpoint) = (one.parse().unwrap(), other.parse().unwrap());
            prop_assert_eq!(one == other, one.to_string() == other.to_string());
        }
    }
}
