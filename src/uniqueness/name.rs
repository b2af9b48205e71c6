//! The name of the Lease that claims a key: readable, legal, and another for every policy and key.

use crate::domain::kubernetes_name::hash;

/// Enough that nobody can look for two keys that share a name: a claim taken over by the holder of
/// another key would leave its own unguarded.
const HASH_DIGITS: usize = 32;

/// Longest readable part, so that two of them and the hash fit into a name.
const LONGEST_PART: usize = 100;

/// `<policy>.<key as far as a name can show it>.<hash of both>`.
#[must_use]
pub fn lease_name(policy: &str, key: &str) -> String {
    // No name of a policy has a line break, so that the two cannot be split otherwise.
    let hash = hash(&format!("{policy}\n{key}"), HASH_DIGITS);
    format!("{}.{}.{hash}", readable(policy, true), readable(key, false))
}

/// Whether a Lease of that name is a claim. By its name and not by its labels, which anybody can take
/// off: a claim that is overlooked would never be repaired.
#[must_use]
pub fn is_lease_name(name: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.rsplit_once('.').is_some_and(|(readable, hash)| {
        readable.contains('.') && hash.len() == HASH_DIGITS && hash.bytes().all(is_digit)
    })
}

/// What of a text can stand in a name: lower case, and one dash for all else.
fn readable(text: &str, keeps_dots: bool) -> String {
    let mut part = String::new();
    for character in text.chars().map(|c| c.to_ascii_lowercase()) {
        let ends_a_word = part.is_empty() || part.ends_with(['-', '.']);
        match character {
            'a'..='z' | '0'..='9' => part.push(character),
            '.' if keeps_dots && !ends_a_word => part.push('.'),
            _ if !ends_a_word => part.push('-'),
            _ => {}
        }
        if part.len() == LONGEST_PART {
            break;
        }
    }
    match part.trim_end_matches(['-', '.']) {
        "" => "key".to_owned(),
        legal => legal.replace("-.", "."),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::domain::kubernetes_name::is_subdomain;

    #[rstest]
    #[case::mac("unique-boot-mac", "52:54:00:12:34:56", "unique-boot-mac.52-54-00-12-34-56.")]
    #[case::endpoint(
        "unique-bmc-endpoint",
        "redfish://bmc.Example:443/redfish/v1/Systems/1",
        "unique-bmc-endpoint.redfish-bmc-example-443-redfish-v1-systems-1."
    )]
    #[case::nothing_readable("p", "äö", "p.key.")]
    #[case::dotted_policy("a.b", "c", "a.b.c.")]
    fn the_name_tells_policy_and_key(
        #[case] policy: &str,
        #[case] key: &str,
        #[case] expected: &str,
    ) {
        let name = lease_name(policy, key);
        assert!(name.starts_with(expected), "{name}");
        assert!(is_lease_name(&name), "{name}");
    }

    #[rstest]
    #[case::leadership("ironward")]
    #[case::dotted("ironward.controllers")]
    #[case::no_key("p.0123456789abcdef0123456789abcdef")]
    #[case::not_hexadecimal("p.k.0123456789abcdef0123456789abcdeg")]
    fn other_leases_are_no_claims(#[case] name: &str) {
        assert!(!is_lease_name(name));
    }

    #[test]
    fn keys_that_look_alike_have_other_names() {
        assert_ne!(lease_name("p", "a:b"), lease_name("p", "a-b"));
        assert_ne!(lease_name("p", "a.b"), lease_name("p.a", "b"));
    }

    proptest! {
        #[test]
        fn any_policy_and_key_make_a_legal_name(
            policy in "[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?", key in any::<String>(),
        ) {
            prop_assume!(is_subdomain(&policy));
            let name = lease_name(&policy, &key);
            prop_assert!(is_subdomain(&name), "{}", name);
            prop_assert!(is_lease_name(&name), "{}", name);
        }

        #[test]
        fn long_keys_make_legal_names(key in "[a-z:/]{90,300}") {
            prop_assert!(is_subdomain(&lease_name(&"p-".repeat(126), &key)));
        }

        #[test]
        fn another_key_has_another_name(one in any::<String>(), other in any::<String>()) {
            prop_assert_eq!(one == other, lease_name("p", &one) == lease_name("p", &other));
        }
    }
}
