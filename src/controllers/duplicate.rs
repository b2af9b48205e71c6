//! What is said of an object that has another's key, which only one may have (`crate::uniqueness`).

use strum::{EnumIter, IntoStaticStr};

use super::{
    conditions, events,
    said::{Subject, Voice},
};

/// The condition's type. `False` means that an older object has a key of this one.
pub const CONDITION: &str = "Unique";

/// Why it is marked, and told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, IntoStaticStr)]
pub enum Reason {
    /// An older object has its key.
    Duplicate,
}

/// Several keys may be another's.
const WORDS: &[&str] = &["<key> is already used by <kind and name> [<policy>]"];

impl conditions::Reason for Reason {
    const OF: Subject = Subject::Any;

    fn types(self) -> &'static [&'static str] {
        match self {
            Self::Duplicate => &[CONDITION],
        }
    }

    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Duplicate => WORDS,
        }
    }
}

impl events::Reason for Reason {
    const OF: Voice = Voice::Uniqueness;

    fn is_warning(self) -> bool {
        true
    }

    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Duplicate => WORDS,
        }
    }
}
