//! What is said to users by the engine itself, not by a policy: for the guide, which explains each.

use strum::{EnumIter, IntoStaticStr};

use crate::domain::words;

/// What the engine says itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, IntoStaticStr)]
pub enum Spoken {
    /// Rules do not hold: the frame around what they say.
    Invalid,
    /// A rule could not be evaluated.
    NotEvaluated,
    /// A change could not be made.
    NotCarriedOut,
    /// A rule does not hold, and its policy has no words for it.
    FailedExpression,
    /// A key is another's, and its policy has no words for it.
    AlreadyUsed,
    /// A key may be about to be another's.
    ClaimedMomentsAgo,
    /// A field is not one of the kind's.
    NoSuchField,
    /// The cluster did not answer in time.
    NotLookedUp,
    /// Something of the cluster could not be read or written.
    NotNow,
    /// An object is too large to be judged.
    TooLarge,
}

impl Spoken {
    /// The words, with a `<placeholder>` for what varies.
    #[must_use]
    pub fn words(self) -> &'static [&'static str] {
        match self {
            Self::Invalid => &["<kind and name> is invalid: <findings>"],
            Self::NotEvaluated => &["policy <policy> could not be evaluated: <why>"],
            Self::NotCarriedOut => &["policy <policy> could not be carried out: <why>"],
            Self::FailedExpression => &["failed expression: <expression>"],
            Self::AlreadyUsed => &[
                "<key> is already used by <kind and name>: only one object may have it; change it here or there",
                "<message of the policy>: <key> is already used by <kind and name>",
            ],
            Self::ClaimedMomentsAgo => &[
                "<key> was claimed moments ago by <object>, which is not stored: if that never is, <key> is free in <seconds> s; try again then",
            ],
            Self::NoSuchField => &[
                "<field>: <kind> has no such field; did you mean <field>?",
                "<field>: <kind> has no such field; it is kept, and nothing reads it",
            ],
            Self::NotLookedUp => &[
                "ironward could not look up what its policies ask about the cluster within <time>; try again",
            ],
            Self::NotNow => &["<why>; try again"],
            Self::TooLarge => &["the body has <number> bytes; <number> are the most that are read"],
        }
    }

    /// Says it.
    #[must_use]
    pub fn said(self, text: String) -> String {
        debug_assert!(words::fit_any(self.words(), &text), "{self:?}: not listed: {text}");
        text
    }
}
