//! Values that are text on the wire: read by `FromStr`, written by `Display`, and how foreign text
//! is quoted in a message. Says nothing about what the text means.

use std::fmt;

use thiserror::Error;

/// Longest piece of foreign text that a message repeats.
const EXCERPT: usize = 64;

/// Foreign text in a message: in backticks, unprintable characters escaped, cut when long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt(String);

impl From<&str> for Excerpt {
    fn from(text: &str) -> Self {
        let mut kept: String = text.chars().take(EXCERPT).collect();
        if kept.len() < text.len() {
            kept.push('…');
        }
        Self(kept.escape_debug().to_string())
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.0)
    }
}

/// A word that a closed vocabulary does not have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{given} is not {kind}, which is {}", alternatives(.choices))]
pub struct UnknownWord {
    /// What the word should have been, with its article.
    pub(crate) kind: &'static str,
    /// The word.
    pub(crate) given: Excerpt,
    /// Every word that would have been right.
    pub(crate) choices: &'static [&'static str],
}

fn alternatives(choices: &[&str]) -> String {
    let quoted: Vec<String> = choices.iter().map(|choice| format!("`{choice}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} or {last}", rest.join(", ")),
    }
}

/// Serializes by `Display` and deserializes by `FromStr`.
macro_rules! serde_as_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

/// What an enum needs beside strum's derives to be a closed vocabulary on the wire: serde as text,
/// a JSON schema that lists exactly the words we write, and `unknown`, the error of `FromStr`.
macro_rules! vocabulary {
    ($type:ty, $kind:literal) => {
        $crate::domain::text::serde_as_text!($type);

        impl $type {
            fn unknown(given: &str) -> $crate::domain::text::UnknownWord {
                $crate::domain::text::UnknownWord {
                    kind: $kind,
                    given: given.into(),
                    choices: <Self as strum::VariantNames>::VARIANTS,
                }
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "enum": <Self as strum::VariantNames>::VARIANTS,
                })
            }
        }
    };
}

pub(crate) use {serde_as_text, vocabulary};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case::plain_text_is_kept("a b", "`a b`")]
    #[case::nothing_is_visible("", "``")]
    #[case::control_characters_are_escaped("a\n\u{202e}b", "`a\\n\\u{202e}b`")]
    fn an_excerpt_quotes_its_text(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(Excerpt::from(text).to_string(), expected);
    }

    #[test]
    fn an_excerpt_of_long_text_ends_in_an_ellipsis() {
        let shown = Excerpt::from("x".repeat(EXCERPT + 1).as_str()).to_string();
        assert_eq!(shown, format!("`{}…`", "x".repeat(EXCERPT)));
    }

    #[rstest]
    #[case::one(&["a"], "`x` is not a letter, which is `a`")]
    #[case::two(&["a", "b"], "`x` is not a letter, which is `a` or `b`")]
    #[case::more(&["a", "b", "c"], "`x` is not a letter, which is `a`, `b` or `c`")]
    fn an_unknown_word_is_told_the_right_ones(
        #[case] choices: &'static [&'static str],
        #[case] expected: &str,
    ) {
        let unknown = UnknownWord { kind: "a letter", given: "x".into(), choices };
        assert_eq!(unknown.to_string(), expected);
    }

    proptest! {
        #[test]
        fn an_excerpt_is_bounded_and_printable(text in any::<String>()) {
            let shown = Excerpt::from(text.as_str()).to_string();
            let longest_escape = "\\u{10ffff}".len();
            prop_assert!(shown.chars().count() <= EXCERPT * longest_escape + 3);
            prop_assert!(!shown.chars().any(char::is_control));
        }
    }
}
