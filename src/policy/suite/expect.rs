//! What a case expects.

use regex::Regex;
use serde_json::Value;

/// What is to come of a case. What is not said is not looked at, but for the verdict.
#[derive(Debug, Clone, Default)]
pub struct Expectation {
    /// In a word; if nobody says, what the messages and warnings make it.
    pub verdict: Option<Word>,
    /// What refuses it: all of it, in any order.
    pub messages: Option<Vec<Pattern>>,
    /// What only warns: all of it, in any order.
    pub warnings: Option<Vec<Pattern>>,
    /// A part of the object as it is stored, with null for what must not be there.
    pub object: Option<Value>,
    /// All that mutation changes, as a merge patch.
    pub patch: Option<Value>,
}

/// A verdict in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display, strum::EnumString)]
pub enum Word {
    /// It is stored, and nothing is said.
    Allow,
    /// It is stored, and something is said.
    Warn,
    /// It is refused.
    Deny,
}

/// A text, or `/a regular expression/` that is found in it.
#[derive(Debug, Clone)]
pub enum Pattern {
    /// This text.
    Exact(String),
    /// A text in which this is found.
    Found(Regex),
}

impl Expectation {
    /// The verdict that is expected.
    #[must_use]
    pub fn word(&self) -> Word {
        let says =
            |patterns: &Option<Vec<Pattern>>| patterns.as_ref().is_some_and(|it| !it.is_empty());
        self.verdict.unwrap_or_else(|| {
            if says(&self.messages) {
                Word::Deny
            } else if says(&self.warnings) {
                Word::Warn
            } else {
                Word::Allow
            }
        })
    }
}

impl Pattern {
    /// Reads `/…/` as a regular expression, and everything else as it is.
    pub fn new(text: &str) -> Result<Self, String> {
        match text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            Some(expression) if !expression.is_empty() => Regex::new(expression)
                .map(Self::Found)
                .map_err(|error| format!("is no regular expression: {error}")),
            _ => Ok(Self::Exact(text.to_owned())),
        }
    }

    pub(super) fn fits(&self, text: &str) -> bool {
        match self {
            Self::Exact(wanted) => wanted == text,
            Self::Found(expression) => expression.is_match(text),
        }
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exact(text) => f.write_str(text),
            Self::Found(expression) => write!(f, "/{expression}/"),
        }
    }
}
