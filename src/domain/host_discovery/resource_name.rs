//! `ResourceNameTemplate`: how a discovered host is named.

use std::fmt;

use thiserror::Error;

use super::{Facts, HardwareDetail};
use crate::domain::{kubernetes_name::is_subdomain, mac::Mac, text::Excerpt};

/// Longest name of a host. Ironic keeps `<namespace>~<name>` in 255 characters, of which the
/// namespace may need 63, so that not every name that Kubernetes takes will do.
pub const MAX_NAME: usize = 255 - 63 - 1;

/// `resourceNameTemplate` of a BareMetalHostDiscovery: a fact between two literals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceNameTemplate {
    /// What the name begins with; empty if not given.
    pub prefix: String,
    /// What the name ends with; empty if not given.
    pub suffix: String,
    /// What is known about the host that stands between them.
    pub hardware_details: HardwareDetail,
}

/// The name of a host, which both Kubernetes and Ironic accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceName {
    name: String,
    altered: bool,
}

/// Why a host cannot be named as the template says.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameError {
    /// No name can begin with the prefix.
    #[error(
        "no name can begin with the prefix {prefix}, it may have lower-case letters, digits, `-` \
         and `.`, begins with a letter or digit, and has one on both sides of a `.`"
    )]
    Prefix {
        /// The prefix.
        prefix: Excerpt,
    },
    /// No name can end with the suffix.
    #[error(
        "no name can end with the suffix {suffix}, it may have lower-case letters, digits, `-` and \
         `.`, ends with a letter or digit, and has one on both sides of a `.`"
    )]
    Suffix {
        /// The suffix.
        suffix: Excerpt,
    },
    /// The fact is not known.
    #[error(
        "nothing is known about the `{detail}` of the host, from which the template makes its name"
    )]
    Unknown {
        /// Which fact.
        detail: HardwareDetail,
    },
    /// The fact has nothing that a name may have.
    #[error("no letter or digit that a name may have is in the `{detail}` of the host, {fact}")]
    Unusable {
        /// Which fact.
        detail: HardwareDetail,
        /// The fact itself.
        fact: Excerpt,
    },
    /// Ironic would take it for the id of a node.
    #[error(
        "{name} reads as a UUID, which Ironic takes for the id of a node, give the template a \
         prefix or a suffix"
    )]
    Uuid {
        /// The name.
        name: Excerpt,
    },
    /// The id of a node alone.
    #[error(
        "a `provisioning-id` alone is a UUID, which cannot be a name, give the template a prefix \
         or a suffix"
    )]
    BareId,
    /// Longer than a name may be.
    #[error("{name} has {length} characters, the name of a host has at most {MAX_NAME}")]
    TooLong {
        /// How it begins.
        name: Excerpt,
        /// Of all of it.
        length: usize,
    },
}

impl ResourceNameTemplate {
    /// All that is wrong with the template itself, whatever the host: what admission refuses.
    #[must_use]
    pub fn problems(&self) -> Vec<NameError> {
        let prefix = !is_subdomain(&format!("{}x", self.prefix));
        let suffix = !is_subdomain(&format!("x{}", self.suffix));
        let is_bare = self.prefix.is_empty() && self.suffix.is_empty();
        let bare_id = is_bare && self.hardware_details == HardwareDetail::ProvisioningId;
        [
            prefix.then(|| NameError::Prefix { prefix: self.prefix.as_str().into() }),
            suffix.then(|| NameError::Suffix { suffix: self.suffix.as_str().into() }),
            bare_id.then_some(NameError::BareId),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The name of a host of which this is known.
    pub fn render(&self, facts: &Facts) -> Result<ResourceName, NameError> {
        if let Some(problem) = self.problems().into_iter().next() {
            return Err(problem);
        }
        let detail = self.hardware_details;
        let fact = facts.get(detail).ok_or(NameError::Unknown { detail })?.to_ascii_lowercase();
        let part = legal_part(&fact);
        if part.is_empty() {
            return Err(NameError::Unusable { detail, fact: fact.as_str().into() });
        }
        let name = format!("{}{part}{}", self.prefix, self.suffix);
        if name.len() > MAX_NAME {
            return Err(NameError::TooLong { name: name.as_str().into(), length: name.len() });
        }
        if is_like_uuid(&name) {
            return Err(NameError::Uuid { name: name.as_str().into() });
        }
        Ok(ResourceName { name, altered: part != fact })
    }
}

impl ResourceName {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// A longer name for a machine whose name another machine has: the same each time, and another for every machine, by the MAC
    /// address that it boots from.
    pub fn apart(&self, boot_mac: Mac) -> Result<Self, NameError> {
        let end = format!("-{}", boot_mac.to_string().replace(':', "-"));
        let kept = self.name.get(..MAX_NAME - end.len()).unwrap_or(&self.name);
        let kept = kept.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let name = format!("{kept}{end}");
        if is_like_uuid(&name) {
            return Err(NameError::Uuid { name: name.as_str().into() });
        }
        Ok(Self { name, altered: self.altered })
    }

    /// Whether the fact had more to it than letter case that a name cannot show. Then another host
    /// may have another fact and yet the same name, and it takes a look at the hosts there are to
    /// know that this one is new.
    #[must_use]
    pub fn is_altered(&self) -> bool {
        self.altered
    }
}

impl fmt::Display for ResourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// What of a fact can be part of a name: each run of characters that cannot is one `-`, and what
/// then stands next to a `.` or at an end and is not a letter or digit is left out.
fn legal_part(fact: &str) -> String {
    let is_legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let legal_label = |label: &str| {
        let runs: Vec<&str> = label.split(|c| !is_legal(c)).filter(|run| !run.is_empty()).collect();
        runs.join("-").trim_matches('-').to_owned()
    };
    let labels: Vec<String> =
        fact.split('.').map(legal_label).filter(|label| !label.is_empty()).collect();
    labels.join(".")
}

/// As Ironic sees it, which does not care where the dashes are.
fn is_like_uuid(name: &str) -> bool {
    let is_digit_or_dash = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    name.bytes().all(is_digit_or_dash) && name.bytes().filter(|byte| *byte != b'-').count() == 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing::hostile;
    use proptest::prelude::*;
    use rstest::rstest;

    const UUID: &str = "0d7f4a9c-6c2e-4d0a-9d53-0f6a9a3f7a11";

    fn template(prefix: &str, detail: &str, suffix: &str) -> ResourceNameTemplate {
        ResourceNameTemplate {
            prefix: prefix.to_owned(),
            suffix: suffix.to_owned(),
            hardware_details: detail.parse().unwrap(),
        }
    }

    fn facts() -> Facts {
        Facts {
            hostname: Some("the-host-name".to_owned()),
            ip: Some("172.22.0.7".parse().unwrap()),
            serial_number: Some("CZ3051XK7M".to_owned()),
            boot_mac: Some("52:54:00:ab:cd:ef".parse().unwrap()),
            provisioning_id: Some(UUID.to_owned()),
        }
    }

    fn with_serial(serial: &str) -> Facts {
        Facts { serial_number: Some(serial.to_owned()), ..Facts::default() }
    }

    #[rstest]
    #[case::of_the_proposal(
        template("string-literal1-", "hostname", "-string-literal2"),
        "string-literal1-the-host-name-string-literal2"
    )]
    #[case::no_literals(template("", "hostname", ""), "the-host-name")]
    #[case::ip(template("", "ip", ""), "172-22-0-7")]
    #[case::serial_in_lower_case(template("", "serial-number", ""), "cz3051xk7m")]
    #[case::boot_mac(template("rack1.", "boot-mac", ".example"), "rack1.52-54-00-ab-cd-ef.example")]
    #[case::provisioning_id(
        template("host-", "provisioning-id", ""),
        "host-0d7f4a9c-6c2e-4d0a-9d53-0f6a9a3f7a11"
    )]
    fn a_name_is_a_fact_between_literals(
        #[case] template: ResourceNameTemplate,
        #[case] expected: &str,
    ) {
        let name = template.render(&facts()).unwrap();
        assert_eq!(name.as_str(), expected);
        assert!(!name.is_altered());
    }

    #[rstest]
    #[case::case_alone_does_not_count("ABC", "abc", false)]
    #[case::dots_and_dashes_stay("a-b.c--d", "a-b.c--d", false)]
    #[case::underscore("a_b", "a-b", true)]
    #[case::a_run_of_spaces("a   b", "a-b", true)]
    #[case::at_the_ends(" /a/ ", "a", true)]
    #[case::dash_at_the_ends("-a-", "a", true)]
    #[case::around_a_dot("a-._b", "a.b", true)]
    #[case::two_dots("a..b", "a.b", true)]
    #[case::not_ascii("grün", "gr-n", true)]
    #[case::a_kelvin_sign_is_not_a_k("a\u{212a}", "a", true)]
    fn what_no_name_may_have_is_replaced_visibly(
        #[case] serial: &str,
        #[case] expected: &str,
        #[case] altered: bool,
    ) {
        let name = template("", "serial-number", "").render(&with_serial(serial)).unwrap();
        assert_eq!(name.to_string(), expected);
        assert_eq!(name.is_altered(), altered);
    }

    #[rstest]
    #[case::unknown(
        template("", "boot-mac", ""),
        "nothing is known about the `boot-mac` of the host, from which the template makes its name"
    )]
    #[case::nothing_usable(
        template("a", "serial-number", ""),
        "no letter or digit that a name may have is in the `serial-number` of the host, `-- _`"
    )]
    #[case::capitals_in_the_prefix(
        template("Rack-", "hostname", ""),
        "no name can begin with the prefix `Rack-`, it may have lower-case letters, digits, `-` \
         and `.`, begins with a letter or digit, and has one on both sides of a `.`"
    )]
    #[case::dash_at_the_end(
        template("", "hostname", "-"),
        "no name can end with the suffix `-`, it may have lower-case letters, digits, `-` and \
         `.`, ends with a letter or digit, and has one on both sides of a `.`"
    )]
    #[case::bare_id(
        template("", "provisioning-id", ""),
        "a `provisioning-id` alone is a UUID, which cannot be a name, give the template a prefix \
         or a suffix"
    )]
    #[case::hostname_is_a_uuid(
        template("", "hostname", ""),
        "`0123456789abcdef0123456789abcdef` reads as a UUID, which Ironic takes for the id of a \
         node, give the template a prefix or a suffix"
    )]
    fn why_there_is_no_name_is_said(
        #[case] template: ResourceNameTemplate,
        #[case] expected: &str,
    ) {
        let facts = Facts {
            hostname: Some("0123456789ABCDEF0123456789ABCDEF".to_owned()),
            ..with_serial("-- _")
        };
        assert_eq!(template.render(&facts).unwrap_err().to_string(), expected);
    }

    #[test]
    fn all_that_is_wrong_with_a_template_is_said_at_once() {
        let template = template("-", "provisioning-id", "_");
        let expected =
            [NameError::Prefix { prefix: "-".into() }, NameError::Suffix { suffix: "_".into() }];
        assert_eq!(template.problems(), expected);
    }

    #[rstest]
    #[case::dashes_as_usual(UUID, true)]
    #[case::no_dashes("0123456789abcdef0123456789abcdef", true)]
    #[case::one_digit_more("0123456789abcdef0123456789abcdef0", false)]
    #[case::another_letter("g123456789abcdef0123456789abcdef", false)]
    fn a_uuid_is_what_ironic_takes_for_one(#[case] name: &str, #[case] expected: bool) {
        assert_eq!(is_like_uuid(name), expected);
    }

    #[rstest]
    #[case::longest(MAX_NAME, true)]
    #[case::one_more(MAX_NAME + 1, false)]
    fn a_name_must_fit_into_ironic(#[case] length: usize, #[case] fits: bool) {
        let serial = with_serial(&"x".repeat(length));
        assert_eq!(template("", "serial-number", "").render(&serial).is_ok(), fits);
    }

    #[rstest]
    #[case::short("web", Some("web-52-54-00-ab-cd-ef"))]
    #[case::would_read_as_a_uuid("0123456789abcdef0123", None)]
    fn two_machines_with_one_name_are_told_apart(
        #[case] serial: &str,
        #[case] expected: Option<&str>,
    ) {
        let name = template("", "serial-number", "").render(&with_serial(serial)).unwrap();
        let apart = name.apart("52:54:00:ab:cd:ef".parse().unwrap()).ok();
        assert_eq!(apart.as_ref().map(ResourceName::as_str), expected);
    }

    proptest! {
        #[test]
        fn a_name_that_is_told_apart_is_a_valid_name(serial in "[a-z0-9.-]{1,191}", mac: [u8; 6]) {
            let octets: Vec<String> = mac.iter().map(|octet| format!("{octet:02x}")).collect();
            let mac: Mac = octets.join(":").parse().unwrap();
            if let Ok(name) = template("", "serial-number", "").render(&with_serial(&serial))
                && let Ok(apart) = name.apart(mac)
            {
                prop_assert!(is_subdomain(apart.as_str()), "{}", apart);
                prop_assert!(apart.as_str().len() <= MAX_NAME && apart.as_str() != name.as_str());
            }
        }

        #[test]
        fn any_fact_makes_a_valid_name_or_an_error(
            serial in hostile("[A-Z0-9]{1,12}"),
            prefix in "(|[a-z0-9]{1,4}[.-])",
            suffix in "(|[.-][a-z0-9]{1,4})",
        ) {
            let template = template(&prefix, "serial-number", &suffix);
            if let Ok(name) = template.render(&with_serial(&serial)) {
                prop_assert!(is_subdomain(name.as_str()), "{}", name);
                prop_assert!(name.as_str().len() <= MAX_NAME && !is_like_uuid(name.as_str()));
            }
        }

        #[test]
        fn no_literal_panics_or_makes_an_invalid_name(
            prefix in hostile("[a-z0-9.-]{0,8}"),
            suffix in hostile("[a-z0-9.-]{0,8}"),
        ) {
            let template = template(&prefix, "hostname", &suffix);
            match template.render(&facts()) {
                Ok(name) => prop_assert!(is_subdomain(name.as_str()), "{}", name),
                Err(NameError::TooLong { .. }) => {}
                Err(error) => prop_assert!(template.problems().contains(&error)),
            }
        }

        #[test]
        fn two_serials_never_become_one_name_silently(
            one in "[a-cA-C ._-]{1,4}", other in "[a-cA-C ._-]{1,4}",
        ) {
            let template = template("", "serial-number", "");
            let names = [&one, &other].map(|serial| template.render(&with_serial(serial)));
            if let [Ok(first), Ok(second)] = names && first.as_str() == second.as_str() {
                let is_altered = first.is_altered() || second.is_altered();
                prop_assert!(is_altered || one.eq_ignore_ascii_case(&other));
            }
        }

        #[test]
        fn the_legal_part_of_a_legal_part_is_itself(fact in any::<String>()) {
            let part = legal_part(&fact.to_ascii_lowercase());
            prop_assert_eq!(legal_part(&part), part.clone());
        }
    }
}
