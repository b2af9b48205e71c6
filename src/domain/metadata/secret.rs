//! The Secret that holds what was rendered for one machine: `SecretName`, its type and its keys.

use std::{fmt, str::FromStr};

use thiserror::Error;

use crate::domain::{
    kubernetes_name::{MAX_SUBDOMAIN, is_subdomain},
    text::{Excerpt, serde_as_text},
};

/// The type of such a Secret, as Metal3 writes it. The proposal has
/// `infrastructure.cluster.k8s.io`.
pub const SECRET_TYPE: &str = "infrastructure.cluster.x-k8s.io/secret";

/// The key of the metadata: a YAML map of strings.
pub const META_DATA_KEY: &str = "metaData";

/// The key of the network configuration, in a Secret that holds one.
pub const NETWORK_DATA_KEY: &str = "networkData";

/// The key of the user data, in a Secret that holds them.
pub const USER_DATA_KEY: &str = "userData";

/// The key that is read where the proper one is missing.
pub const VALUE_KEY: &str = "value";

const INFIX: &str = "-metadata-";

/// The name `<prefix>-metadata-<index>`. The prefix is the name of the Metal3Machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SecretName {
    prefix: String,
    index: u32,
}

serde_as_text!(SecretName);

/// Why there is no such name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SecretNameError {
    /// Something else.
    #[error("{given} is not the name of a metadata Secret, which is `<machine>-metadata-<index>`")]
    OtherName {
        /// The name.
        given: Excerpt,
    },
    /// With such a prefix it would not be a name.
    #[error(
        "no Secret can be named after {prefix}, with `-metadata-` and an index that is to be at \
         most {MAX_SUBDOMAIN} lower-case letters, digits, `-` and `.`"
    )]
    Prefix {
        /// The prefix.
        prefix: Excerpt,
    },
}

impl SecretName {
    /// Fails if Kubernetes would not take it as a name, which a long prefix makes of it.
    pub fn new(prefix: &str, index: u32) -> Result<Self, SecretNameError> {
        let name = Self { prefix: prefix.to_owned(), index };
        if is_subdomain(prefix) && is_subdomain(&name.to_string()) {
            Ok(name)
        } else {
            Err(SecretNameError::Prefix { prefix: prefix.into() })
        }
    }

    /// The name of the Metal3Machine.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The index of the machine.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }
}

/// The index of a machine from the name of its Secret; other Secrets have none.
#[must_use]
pub fn index_of_secret(name: &str) -> Option<u32> {
    name.parse::<SecretName>().ok().map(|name| name.index)
}

impl FromStr for SecretName {
    type Err = SecretNameError;

    fn from_str(text: &str) -> Result<Self, SecretNameError> {
        let other_name = || SecretNameError::OtherName { given: text.into() };
        let (prefix, index) = text.rsplit_once(INFIX).ok_or_else(other_name)?;
        let name = Self::new(prefix, index.parse().map_err(|_| other_name())?)?;
        // An index has one spelling: `+1` and `01` are other names.
        if name.to_string() == text { Ok(name) } else { Err(other_name()) }
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{INFIX}{}", self.prefix, self.index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing::hostile;
    use proptest::prelude::*;
    use rstest::rstest;

    /// Names of machines, many of which look like names of Secrets.
    fn any_prefix() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?",
            "[a-z]{1,3}(-metadata-[0-9]{1,2}){1,3}",
            "[a-z]{1,3}(-metadata){1,3}",
        ]
    }

    fn any_name() -> impl Strategy<Value = String> {
        (any_prefix(), any::<u32>()).prop_map(|(prefix, index)| format!("{prefix}{INFIX}{index}"))
    }

    #[rstest]
    #[case::of_the_proposal("nodepool-1", 0, "nodepool-1-metadata-0")]
    #[case::prefix_like_a_secret("a-metadata-7", 3, "a-metadata-7-metadata-3")]
    #[case::prefix_with_dots("a.b", 10, "a.b-metadata-10")]
    fn a_name_is_made_and_read_back(#[case] prefix: &str, #[case] index: u32, #[case] text: &str) {
        let name = SecretName::new(prefix, index).unwrap();
        assert_eq!(name.to_string(), text);
        assert_eq!(text.parse(), Ok(name));
        assert_eq!(index_of_secret(text), Some(index));
    }

    #[rstest]
    #[case::no_index("a-metadata-")]
    #[case::no_number("a-metadata-b")]
    #[case::leading_zero("a-metadata-01")]
    #[case::sign("a-metadata-+1")]
    #[case::too_large("a-metadata-4294967296")]
    #[case::no_prefix("-metadata-1")]
    #[case::other_secret("a-networkdata")]
    #[case::proposal_without_infix("machine-1-0")]
    #[case::nothing("")]
    fn other_secrets_have_no_index(#[case] text: &str) {
        assert_eq!(index_of_secret(text), None);
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert_eq!(
            "bmc-secret".parse::<SecretName>().unwrap_err().to_string(),
            "`bmc-secret` is not the name of a metadata Secret, which is \
             `<machine>-metadata-<index>`"
        );
        assert_eq!(
            SecretName::new("A", 0).unwrap_err().to_string(),
            "no Secret can be named after `A`, with `-metadata-` and an index that is to be at \
             most 253 lower-case letters, digits, `-` and `.`"
        );
    }

    #[rstest]
    #[case::last_that_fits(242, true)]
    #[case::one_more(243, false)]
    fn the_name_must_fit_with_its_index(#[case] length: usize, #[case] fits: bool) {
        assert_eq!(SecretName::new(&"a".repeat(length), 9).is_ok(), fits);
        assert!(SecretName::new(&"a".repeat(length), 10).is_err());
    }

    proptest! {
        #[test]
        fn what_is_printed_parses_to_the_same(prefix in any_prefix(), index: u32) {
            let name = SecretName::new(&prefix, index).unwrap();
            let read: SecretName = name.to_string().parse().unwrap();
            prop_assert_eq!(read.prefix(), prefix);
            prop_assert_eq!(read.index(), index);
        }

        #[test]
        fn no_text_panics_and_what_parses_is_printed_the_same(
            text in hostile(any_name())
        ) {
            if let Ok(name) = text.parse::<SecretName>() {
                prop_assert_eq!(name.to_string(), text);
            }
        }
    }
}
