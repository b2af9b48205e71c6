//! `BmcAddress`: where a host's baseboard management controller is and how to speak to it, as in
//! `spec.bmc.address`. Reads all that Metal3 reads; `Endpoint` tells whether two mean one machine.

mod endpoint;
mod host;
mod privilege_level;
mod scheme;

use std::{fmt, net::Ipv6Addr, str::FromStr};

use thiserror::Error;

pub use self::{
    endpoint::Endpoint,
    host::{Host, HostError},
    privilege_level::PrivilegeLevel,
    scheme::{Driver, Protocol, Scheme, SchemeError, Transport},
};
use super::text::{Excerpt, UnknownWord, serde_as_text};

/// Longer than any path to a system; what is longer was not meant as an address.
const MAX_LENGTH: usize = 2048;

/// The address of a BMC: `scheme://host:port/path?query`.
///
/// As in Metal3 the scheme may be followed by `:` alone, and without a scheme it is IPMI, so that
/// `10.0.0.7`, `bmc.example:6230` and `[2001:db8::7]` are addresses. An IPv6 address must stand in
/// brackets: without, its end cannot be told from a port. Unlike Metal3 we refuse what could never
/// work: no host, user and password in the address (Metal3 drops them), characters outside URLs,
/// and a privilege level that Ironic does not know. A path after an IPMI host is ignored, as is any
/// other query.
///
/// Prints what was written. Two addresses are equal when they were written the same; whether they
/// lead to one machine is a matter of their [`Endpoint`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BmcAddress {
    text: String,
    scheme: Scheme,
    transport: Option<Transport>,
    host: Host,
    port: Option<u16>,
    /// As written, escapes and all.
    path: String,
    system_id: Option<String>,
    privilege_level: PrivilegeLevel,
}

serde_as_text!(BmcAddress);

/// Why a text is not the address of a BMC. No message repeats anything that could be a password.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AddressError {
    /// Nothing was given.
    #[error("the address is empty, write for example `redfish://10.0.0.7/redfish/v1/Systems/1`")]
    Empty,
    /// Not worth reading.
    #[error("the address has {length} characters, at most {MAX_LENGTH} are read")]
    TooLong {
        /// Of the text, in bytes.
        length: usize,
    },
    /// A user or a password, or something that looks like them.
    #[error(
        "the address contains `@`, user and password belong in the Secret that `credentialsName` \
         names, and in a path `@` is written `%40`"
    )]
    Credentials,
    /// A character that a URL cannot have.
    #[error("{character} cannot stand in an address, in a path it is escaped as a space is, `%20`")]
    Character {
        /// The character.
        character: Excerpt,
    },
    /// A percent sign that begins no escape.
    #[error(
        "a `%` in the address is not followed by two hexadecimal digits, write `%25` for `%` itself"
    )]
    Escape,
    /// Escapes that stand for no text.
    #[error("the path of the address is not UTF-8 when its `%` escapes are undone")]
    NotUtf8,
    /// What is not a kind of BMC.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// What is not a host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// Something other than digits where a port would be. Not repeated: it may be a password.
    #[error("no port follows {before} and its `:`, a port is a number from 1 to 65535")]
    PortNotANumber {
        /// What stands before the colon.
        before: Excerpt,
    },
    /// A number that is no port.
    #[error("{port} is not a port, which is a number from 1 to 65535")]
    PortOutOfRange {
        /// The number.
        port: Excerpt,
    },
    /// What IPMI does not know.
    #[error(transparent)]
    PrivilegeLevel(UnknownWord),
}

impl BmcAddress {
    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The kind of BMC.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// How Ironic drives it.
    #[must_use]
    pub fn driver(&self) -> &'static Driver {
        self.scheme.driver()
    }

    /// Where it is.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The port in effect: the one that was written, or the default.
    #[must_use]
    pub fn port(&self) -> u16 {
        let default = self.transport.map_or(self.driver().default_port, Transport::default_port);
        self.port.unwrap_or(default)
    }

    /// Ironic's `ipmi_priv_level`; only IPMI has one.
    #[must_use]
    pub fn privilege_level(&self) -> Option<PrivilegeLevel> {
        match self.driver().protocol {
            Protocol::Ipmi => Some(self.privilege_level),
            Protocol::Redfish => None,
        }
    }

    /// Ironic's `redfish_address`, such as `https://bmc.example:8443`; only Redfish has one. The
    /// port is there if it was written, as from Metal3, so that a node that Metal3 registered has
    /// nothing to change.
    #[must_use]
    pub fn redfish_address(&self) -> Option<String> {
        let transport = self.transport.unwrap_or(Transport::Https);
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        match self.driver().protocol {
            Protocol::Ipmi => None,
            Protocol::Redfish => Some(format!("{transport}://{}{port}", self.host)),
        }
    }

    /// Ironic's `redfish_system_id`, such as `/redfish/v1/Systems/1`, unless there is only one
    /// system. Without `%` escapes: Ironic puts them in.
    #[must_use]
    pub fn redfish_system_id(&self) -> Option<&str> {
        self.system_id.as_deref()
    }

    /// Which machine it leads to.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::new(self.driver().protocol, &self.host, self.port(), &self.path)
    }
}

impl FromStr for BmcAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        check_text(text)?;
        let (scheme, transport, rest) = split_scheme(text)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = split_port(authority)?;
        Ok(Self {
            text: text.to_owned(),
            scheme,
            transport,
            host,
            port,
            path: path.to_owned(),
            system_id: system_id(scheme, path)?,
            privilege_level: privilege_level(scheme, query)?,
        })
    }
}

impl fmt::Display for BmcAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// That it is of bounded length and made of what URLs are made of. Comes first, and `@` before all
/// else that looks at the text, so that no later message can repeat a password.
fn check_text(text: &str) -> Result<(), AddressError> {
    if text.is_empty() {
        return Err(AddressError::Empty);
    }
    if text.len() > MAX_LENGTH {
        return Err(AddressError::TooLong { length: text.len() });
    }
    if text.contains('@') {
        return Err(AddressError::Credentials);
    }
    let is_legal = |c: char| c.is_ascii_alphanumeric() || "-._~:/?[]!$&'()*+,;=%".contains(c);
    if let Some(illegal) = text.chars().find(|c| !is_legal(*c)) {
        return Err(AddressError::Character { character: illegal.to_string().as_str().into() });
    }
    let is_escape =
        |part: &str| part.len() >= 2 && part.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    if text.split('%').skip(1).all(is_escape) { Ok(()) } else { Err(AddressError::Escape) }
}

/// The scheme, and what comes after it. `scheme:host` is told from `host:port` by the scheme's
/// being one.
fn split_scheme(text: &str) -> Result<(Scheme, Option<Transport>, &str), AddressError> {
    let Some((before, after)) = text.split_once(':') else {
        return Ok((Scheme::Ipmi, None, text));
    };
    match (Scheme::with_transport(before), after.strip_prefix("//")) {
        (Ok((scheme, transport)), rest) => Ok((scheme, transport, rest.unwrap_or(after))),
        (Err(SchemeError::Unknown(_)), None) => Ok((Scheme::Ipmi, None, text)),
        (Err(error), _) => Err(error.into()),
    }
}

/// The host, and the port if there is one. An empty port is none, as in any URL.
fn split_port(authority: &str) -> Result<(Host, Option<u16>), AddressError> {
    if authority.to_ascii_lowercase().contains("%40") {
        return Err(AddressError::Credentials);
    }
    let end = if authority.parse::<Ipv6Addr>().is_ok() {
        None
    } else if authority.starts_with('[') {
        authority.find("]:").map(|at| at + 1)
    } else {
        authority.find(':')
    };
    let (host, port) = authority.split_at(end.unwrap_or(authority.len()));
    let port = port.strip_prefix(':').unwrap_or(port);
    if !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(AddressError::PortNotANumber { before: host.into() });
    }
    let host = host.parse()?;
    match port.parse() {
        _ if port.is_empty() => Ok((host, None)),
        Ok(number) if number > 0 => Ok((host, Some(number))),
        Ok(_) | Err(_) => Err(AddressError::PortOutOfRange { port: port.into() }),
    }
}

fn system_id(scheme: Scheme, path: &str) -> Result<Option<String>, AddressError> {
    let path = decoded(path)?;
    let names_a_system = !matches!(path.trim_matches('/'), "" | "redfish/v1");
    match scheme.driver().protocol {
        Protocol::Redfish if names_a_system => Ok(Some(path)),
        Protocol::Redfish | Protocol::Ipmi => Ok(None),
    }
}

/// With every escape undone. That each is one was checked before.
fn decoded(path: &str) -> Result<String, AddressError> {
    let mut parts = path.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).ok_or(AddressError::Escape)?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| AddressError::Escape)?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).map_err(|_| AddressError::NotUtf8)
}

fn privilege_level(scheme: Scheme, query: &str) -> Result<PrivilegeLevel, AddressError> {
    let mut fields = url::form_urlencoded::parse(query.as_bytes());
    match (scheme.driver().protocol, fields.find(|(key, _)| key == "privilegelevel")) {
        (Protocol::Ipmi, Some((_, level))) => level.parse().map_err(AddressError::PrivilegeLevel),
        (Protocol::Ipmi, None) | (Protocol::Redfish, _) => Ok(PrivilegeLevel::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing::hostile;
    use proptest::prelude::*;
    use rstest::rstest;
    use strum::VariantNames;

    /// Addresses of every kind.
    pub(super) fn any_address() -> impl Strategy<Value = String> {
        let redfish = prop_oneof![
            Just("redfish"),
            Just("ilo5-redfish"),
            Just("idrac-redfish"),
            Just("redfish-virtualmedia"),
            Just("ilo5-virtualmedia"),
            Just("redfish-uefihttp"),
            Just("idrac-virtualmedia"),
            Just("Redfish")
        ];
        let transport = prop_oneof![Just(""), Just("+http"), Just("+https"), Just("+HTTP")];
        let scheme = prop_oneof![
            (redfish, transport, prop_oneof![Just("://"), Just(":")])
                .prop_map(|(scheme, transport, end)| format!("{scheme}{transport}{end}")),
            prop_oneof![Just(""), Just("ipmi://"), Just("ipmi:"), Just("libvirt://")]
                .prop_map(str::to_owned),
        ];
        let host = prop_oneof![
            any::<std::net::Ipv4Addr>().prop_map(|address| address.to_string()),
            any::<Ipv6Addr>().prop_map(|address| format!("[{address}]")),
            "(b|B)mc[0-9]{0,2}(\\.example)?\\.?",
        ];
        let port = prop_oneof![
            Just(String::new()),
            Just(":".to_owned()),
            (1..=u16::MAX).prop_map(|port| format!(":{port}"))
        ];
        let path = "(/redfish/v1/?|(/a(/([a-zA-Z0-9._~:-]|%2[0-9a-fA-F]|%[4-5][0-9]){0,4}){0,4})?)";
        let query = "(\\?|\\?privilegelevel=(USER|operator)|\\?a=b)?";
        (scheme, host, port, path, query).prop_map(|(scheme, host, port, path, query)| {
            format!("{scheme}{host}{port}{path}{query}")
        })
    }

    #[rstest]
    #[case::libvirt(
        "libvirt://192.168.122.1:6233/?abc=def",
        Scheme::Libvirt,
        "192.168.122.1",
        6233
    )]
    #[case::bare_address("192.168.122.1", Scheme::Ipmi, "192.168.122.1", 623)]
    #[case::bare_name("my.favoritebmc.com", Scheme::Ipmi, "my.favoritebmc.com", 623)]
    #[case::bare_address_and_port("192.168.122.1:6233", Scheme::Ipmi, "192.168.122.1", 6233)]
    #[case::bare_name_and_port("bmc.example:6233", Scheme::Ipmi, "bmc.example", 6233)]
    #[case::bare_ipv6_and_port("[fe80::8a76]:6233", Scheme::Ipmi, "[fe80::8a76]", 6233)]
    #[case::bare_ipv6("[fe80::8a76]", Scheme::Ipmi, "[fe80::8a76]", 623)]
    #[case::ipmi("ipmi://192.168.122.1:6233", Scheme::Ipmi, "192.168.122.1", 6233)]
    #[case::no_slashes("ipmi:192.168.122.1", Scheme::Ipmi, "192.168.122.1", 623)]
    #[case::no_slashes_and_port("ipmi:192.168.122.1:6233", Scheme::Ipmi, "192.168.122.1", 6233)]
    #[case::redfish("redfish://192.168.122.1/foo", Scheme::Redfish, "192.168.122.1", 443)]
    #[case::redfish_without_slashes("redfish:192.168.122.1", Scheme::Redfish, "192.168.122.1", 443)]
    #[case::redfish_over_http("redfish+http://bmc/foo", Scheme::Redfish, "bmc", 80)]
    #[case::redfish_over_https("redfish+https://bmc/foo", Scheme::Redfish, "bmc", 443)]
    #[case::redfish_ipv6("redfish://[fe80::8a76]/foo", Scheme::Redfish, "[fe80::8a76]", 443)]
    #[case::empty_port_is_the_default("redfish://bmc:/foo", Scheme::Redfish, "bmc", 443)]
    #[case::host_as_written("redfish://BMC.Example./", Scheme::Redfish, "BMC.Example.", 443)]
    #[case::query_without_path("ipmi://bmc?a=b/c:d", Scheme::Ipmi, "bmc", 623)]
    fn what_metal3_reads_is_read(
        #[case] text: &str,
        #[case] scheme: Scheme,
        #[case] host: &str,
        #[case] port: u16,
    ) {
        let address: BmcAddress = text.parse().unwrap();
        assert_eq!(address.scheme(), scheme);
        assert_eq!(address.host().to_string(), host);
        assert_eq!(address.port(), port);
        assert_eq!(address.as_str(), text);
    }

    #[rstest]
    #[case::system(
        "redfish://192.168.122.1/redfish/v1/foo/bar",
        "https://192.168.122.1",
        Some("/redfish/v1/foo/bar")
    )]
    #[case::http("redfish+http://bmc/foo", "http://bmc", Some("/foo"))]
    #[case::https("redfish+https://bmc/foo", "https://bmc", Some("/foo"))]
    #[case::port("redfish://bmc:8080/foo", "https://bmc:8080", Some("/foo"))]
    #[case::ipv6_and_port("redfish://[fe80::1]:8080/foo", "https://[fe80::1]:8080", Some("/foo"))]
    #[case::no_path("redfish://bmc", "https://bmc", None)]
    #[case::only_a_slash("redfish+https://bmc/", "https://bmc", None)]
    #[case::root_of_the_service("redfish-virtualmedia://bmc/redfish/v1/", "https://bmc", None)]
    #[case::escapes_are_undone("redfish://bmc/a%20b%2Fc", "https://bmc", Some("/a b/c"))]
    fn ironic_gets_what_metal3_gives_it(
        #[case] text: &str,
        #[case] redfish_address: &str,
        #[case] system_id: Option<&str>,
    ) {
        let address: BmcAddress = text.parse().unwrap();
        assert_eq!(address.redfish_address().as_deref(), Some(redfish_address));
        assert_eq!(address.redfish_system_id(), system_id);
        assert_eq!(address.privilege_level(), None);
    }

    #[rstest]
    #[case::default("ipmi://bmc", PrivilegeLevel::Administrator)]
    #[case::given("ipmi://bmc?privilegelevel=OPERATOR", PrivilegeLevel::Operator)]
    #[case::escaped_after_others("bmc/?a=b&privilegelevel=%55SER", PrivilegeLevel::User)]
    #[case::the_first_counts(
        "libvirt://bmc?privilegelevel=USER&privilegelevel=OPERATOR",
        PrivilegeLevel::User
    )]
    fn ipmi_has_a_privilege_level(#[case] text: &str, #[case] level: PrivilegeLevel) {
        let address: BmcAddress = text.parse().unwrap();
        assert_eq!(address.privilege_level(), Some(level));
        assert_eq!(address.redfish_address(), None);
        assert_eq!(address.redfish_system_id(), None);
    }

    #[rstest]
    #[case::nothing(
        "",
        "the address is empty, write for example `redfish://10.0.0.7/redfish/v1/Systems/1`"
    )]
    #[case::removed_driver(
        "irmc://bmc",
        "the `irmc` driver was removed from Metal3, use `redfish`"
    )]
    #[case::removed_driver_without_slashes(
        "irmc:bmc",
        "the `irmc` driver was removed from Metal3, use `redfish`"
    )]
    #[case::web_address(
        "https://bmc/redfish/v1/Systems/1",
        "`https` is not a kind of BMC, write `redfish+https` for Redfish over https"
    )]
    #[case::no_host(
        "redfish:///redfish/v1/Systems/1",
        "the address has no host, write an IP address or a DNS name after the scheme"
    )]
    #[case::bare_ipv6(
        "fe80::1",
        "the IPv6 address `fe80::1` must stand in brackets, as in `[fe80::1]`"
    )]
    #[case::bare_ipv6_that_begins_like_a_scheme(
        "redfish://abcd::1/a",
        "the IPv6 address `abcd::1` must stand in brackets, as in `[abcd::1]`"
    )]
    #[case::bad_ipv6(
        "[fe80::8xff]:6223",
        "`[fe80::8xff]` is not an IPv6 address in brackets, such as `[2001:db8::7]`"
    )]
    #[case::text_after_brackets(
        "[fe80::1]6223",
        "`[fe80::1]6223` is not an IPv6 address in brackets, such as `[2001:db8::7]`"
    )]
    #[case::misspelt_scheme_without_slashes(
        "redfsh:bmc",
        "no port follows `redfsh` and its `:`, a port is a number from 1 to 65535"
    )]
    #[case::port_zero("bmc:0", "`0` is not a port, which is a number from 1 to 65535")]
    #[case::port_too_large(
        "ipmi://bmc:70000",
        "`70000` is not a port, which is a number from 1 to 65535"
    )]
    #[case::signed_port(
        "ipmi://bmc:+623",
        "no port follows `bmc` and its `:`, a port is a number from 1 to 65535"
    )]
    #[case::space(
        "redfish://bmc/a b",
        "` ` cannot stand in an address, in a path it is escaped as a space is, `%20`"
    )]
    #[case::not_ascii(
        "redfish://bmc/ä",
        "`ä` cannot stand in an address, in a path it is escaped as a space is, `%20`"
    )]
    #[case::fragment(
        "redfish://bmc/a#b",
        "`#` cannot stand in an address, in a path it is escaped as a space is, `%20`"
    )]
    #[case::broken_escape(
        "redfish://bmc/100%/a",
        "a `%` in the address is not followed by two hexadecimal digits, write `%25` for `%` itself"
    )]
    #[case::binary_path(
        "redfish://bmc/%ff",
        "the path of the address is not UTF-8 when its `%` escapes are undone"
    )]
    #[case::privilege_level(
        "ipmi://bmc?privilegelevel=root",
        "`root` is not an IPMI privilege level, which is `ADMINISTRATOR`, `OPERATOR`, `USER` or \
         `CALLBACK`"
    )]
    fn what_is_wrong_is_said(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(text.parse::<BmcAddress>().unwrap_err().to_string(), expected);
    }

    #[test]
    fn endless_text_is_refused_unread() {
        let text = format!("redfish://bmc/{}", "a".repeat(3000));
        assert_eq!(text.parse::<BmcAddress>(), Err(AddressError::TooLong { length: 3014 }));
    }

    #[rstest]
    #[case::as_urls_have_it("redfish://root:hunter2@bmc/a")]
    #[case::without_a_scheme("root:hunter2@bmc")]
    #[case::without_a_host("redfish://root:hunter2@")]
    #[case::with_a_slash_in_it("redfish://root:hunter2/x@bmc/a")]
    #[case::with_a_space_in_it("redfish://root:hunter2 x@bmc/a")]
    #[case::with_an_escaped_at_sign("redfish://root:hunter2%40bmc/a")]
    #[case::after_a_bad_scheme("https://root:hunter2@bmc/a")]
    fn credentials_are_refused_as_such(#[case] text: &str) {
        assert_eq!(text.parse::<BmcAddress>(), Err(AddressError::Credentials));
    }

    #[rstest]
    #[case::where_a_port_would_be("redfish://root:hunter2/a")]
    #[case::with_a_colon_in_it("redfish://root:hunter2:x/a")]
    fn what_may_be_a_password_is_not_repeated(#[case] text: &str) {
        let error = text.parse::<BmcAddress>().unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }

    #[test]
    fn json_has_it_as_text() {
        let json = r#""redfish://bmc/a""#;
        let address: BmcAddress = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&address).unwrap(), json);
    }

    #[test]
    fn an_address_of_every_scheme_is_read() {
        for scheme in Scheme::VARIANTS {
            let address: BmcAddress = format!("{scheme}://bmc").parse().unwrap();
            assert_eq!(address.scheme().to_string(), *scheme);
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_parses_to_the_same(text in any_address()) {
            let address: BmcAddress = text.parse().unwrap();
            prop_assert_eq!(&address.to_string(), &text);
            prop_assert_eq!(address.to_string().parse(), Ok(address));
        }

        #[test]
        fn no_text_panics_and_what_parses_has_a_stable_endpoint(text in hostile(any_address())) {
            if let Ok(address) = text.parse::<BmcAddress>() {
                let endpoint = address.endpoint();
                prop_assert_eq!(endpoint.to_string().parse(), Ok(endpoint));
            }
        }

        #[test]
        fn no_password_is_repeated(
            scheme in "(redfish|ipmi|https|x)?(://|:|//)?",
            password in "hunter2[!-~]{0,8}",
            host in "[ -~]{0,12}",
        ) {
            let text = format!("{scheme}root:{password}@{host}");
            let error = text.parse::<BmcAddress>().unwrap_err();
            prop_assert!(!format!("{error} {error:?}").contains("hunter2"), "{:?}", error);
        }
    }
}
