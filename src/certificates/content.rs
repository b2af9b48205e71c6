//! What the replicas share: certificates, and whose are trusted.

use std::fmt;

use super::{Authority, Certificate};

/// A key in PEM. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(pub String);

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Key(…)")
    }
}

/// A certificate and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// What the certificate says.
    pub certificate: Certificate,
    /// The certificate and its authority's, in PEM.
    pub chain: String,
    /// Its key.
    pub key: Key,
}

/// All of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content {
    /// The authorities that the API server is told to trust.
    pub trusted: Vec<Authority>,
    /// What replicas serve with; none if there is none that can be used.
    pub current: Option<Pair>,
    /// What they will serve with.
    pub next: Option<Pair>,
}

impl Content {
    /// The authorities, as a `caBundle` has them.
    #[must_use]
    pub fn bundle(&self) -> String {
        self.trusted.iter().map(|authority| authority.pem.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        assert_eq!(format!("{:?}", Key("secret".to_owned())), "Key(…)");
    }
}
