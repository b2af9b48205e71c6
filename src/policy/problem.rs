//! What is wrong with a policy file, and where. Texts are the API server's, so that what is known
//! of its messages holds here too.

use std::fmt::Write as _;

use super::{path::FieldPath, yaml::Place};

/// One thing that is wrong with a policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file's name.
    pub file: String,
    /// Where in the file.
    pub place: Place,
    /// The path of the field, as the API server writes it; empty if the text itself is wrong.
    pub field: String,
    /// What is wrong, in the API server's words where it has some.
    pub message: String,
    /// The line of the file that the place is in.
    pub excerpt: String,
    /// What was probably meant.
    pub suggestion: Option<String>,
}

impl Problem {
    /// One that no file is to blame for.
    pub(crate) fn of_all_files(message: String) -> Self {
        Self {
            file: String::new(),
            place: Place { line: 1, column: 1, offset: 0 },
            field: String::new(),
            message,
            excerpt: String::new(),
            suggestion: None,
        }
    }
}

/// A problem of a document whose file is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldError {
    pub path: FieldPath,
    pub message: String,
    /// For an expression: which character of the field's text is at fault.
    pub inside: Option<usize>,
    pub suggestion: Option<String>,
}

impl FieldError {
    fn new(path: &FieldPath, message: String) -> Self {
        Self { path: path.clone(), message, inside: None, suggestion: None }
    }

    pub(crate) fn required(path: &FieldPath, detail: &str) -> Self {
        Self::new(path, with_detail("Required value".to_owned(), detail))
    }

    pub(crate) fn forbidden(path: &FieldPath, detail: &str) -> Self {
        Self::new(path, with_detail("Forbidden".to_owned(), detail))
    }

    pub(crate) fn invalid(path: &FieldPath, value: &str, detail: &str) -> Self {
        Self::new(path, with_detail(format!("Invalid value: {}", quoted(value)), detail))
    }

    /// For values that are printed as JSON.
    pub(crate) fn invalid_json(path: &FieldPath, value: &serde_json::Value, detail: &str) -> Self {
        Self::new(path, with_detail(format!("Invalid value: {}", go_json(value)), detail))
    }

    pub(crate) fn duplicate(path: &FieldPath, value: &str) -> Self {
        Self::new(path, format!("Duplicate value: {}", quoted(value)))
    }

    /// Duplicate of a type that Go prints as JSON: a named string type.
    pub(crate) fn not_supported(path: &FieldPath, value: &str, supported: &[&str]) -> Self {
        let listed: Vec<_> = supported.iter().map(|value| quoted(value)).collect();
        let message = format!(
            "Unsupported value: {}: supported values: {}",
            quoted(value),
            listed.join(", ")
        );
        Self {
            suggestion: super::suggest::closest(value, supported.iter().copied())
                .map(|meant| format!("did you mean {meant:?}?")),
            ..Self::new(path, message)
        }
    }

    pub(crate) fn too_many(path: &FieldPath, count: usize, most: usize) -> Self {
        Self::new(path, format!("Too many: {count}: must have at most {most} items"))
    }

    pub(crate) fn too_long(path: &FieldPath, most: usize) -> Self {
        Self::new(path, format!("Too long: may not be more than {most} bytes"))
    }

    pub(crate) fn plain(path: &FieldPath, message: impl Into<String>) -> Self {
        Self::new(path, message.into())
    }
}

fn with_detail(body: String, detail: &str) -> String {
    if detail.is_empty() { body } else { format!("{body}: {detail}") }
}

/// A string as Go's `%q` prints it.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            control if control < ' ' || control == '\u{7f}' => {
                let _ = write!(out, "\\x{:02x}", u32::from(control));
            }
            control if control.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// JSON as Go's encoder prints it: `<`, `>` and `&` escaped.
pub(crate) fn go_json(value: &serde_json::Value) -> String {
    value
        .to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::required(FieldError::required(&FieldPath::new("a"), ""), "Required value")]
    #[case::required_detail(FieldError::required(&FieldPath::new("a"), "why"), "Required value: why")]
    #[case::invalid(FieldError::invalid(&FieldPath::new("a"), "x\ny", "bad"),
        "Invalid value: \"x\\ny\": bad")]
    #[case::invalid_list(FieldError::invalid_json(&FieldPath::new("a"), &json!(["*", "<"]), "bad"),
        "Invalid value: [\"*\",\"\\u003c\"]: bad")]
    #[case::unsupported(FieldError::not_supported(&FieldPath::new("a"), "fail", &["Fail", "Ignore"]),
        "Unsupported value: \"fail\": supported values: \"Fail\", \"Ignore\"")]
    fn texts_are_the_api_servers(#[case] error: FieldError, #[case] want: &str) {
        assert_eq!(error.message, want);
    }

    #[test]
    fn a_near_miss_is_suggested() {
        let error = FieldError::not_supported(&FieldPath::new("a"), "fail", &["Fail", "Ignore"]);
        assert_eq!(error.suggestion.as_deref(), Some("did you mean \"Fail\"?"));
    }
}
