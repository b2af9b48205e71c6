//! What differs between two objects, field by field, for people to read.

use std::fmt;

use serde_json::Value;

/// A field that is not the same in two objects.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Where it is, such as `spec.bmc.address` or `metadata.annotations[reboot.metal3.io]`.
    pub path: String,
    /// What it was; none if it was not there.
    pub before: Option<Value>,
    /// What it is; none if it is gone.
    pub after: Option<Value>,
}

/// What differs, in the order of the fields.
#[must_use]
pub fn between(before: &Value, after: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    collect("", Some(before), Some(after), &mut found);
    found
}

fn collect(path: &str, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<Difference>) {
    match (before, after) {
        (Some(before), Some(after)) if before == after => {}
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let added = after.keys().filter(|key| !before.contains_key(*key));
            for key in before.keys().chain(added) {
                collect(&child(path, key), before.get(key), after.get(key), found);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) if before.len() == after.len() => {
            for (index, (before, after)) in before.iter().zip(after).enumerate() {
                collect(&format!("{path}[{index}]"), Some(before), Some(after), found);
            }
        }
        // A whole part that was added is shown by its fields.
        (None, Some(Value::Object(after))) if !after.is_empty() => {
            for (key, value) in after {
                collect(&child(path, key), None, Some(value), found);
            }
        }
        (before, after) => found.push(Difference {
            path: path.to_owned(),
            before: before.cloned(),
            after: after.cloned(),
        }),
    }
}

/// The path of a field; a name that is no plain word stands in brackets.
pub(crate) fn child(path: &str, key: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if key.is_empty() || !key.chars().all(is_plain) {
        format!("{path}[{key}]")
    } else if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, before, after } = self;
        match (before, after) {
            (None, Some(after)) => write!(f, "+ {path}: {}", shown(after)),
            (Some(before), None) => write!(f, "- {path}: {}", shown(before)),
            (Some(before), Some(after)) => {
                write!(f, "~ {path}: {} -> {}", shown(before), shown(after))
            }
            (None, None) => write!(f, "  {path}"),
        }
    }
}

/// As YAML in one line: a text that needs no quotes has none.
fn shown(value: &Value) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@+=".contains(c);
    match value {
        Value::String(text)
            if text.starts_with(char::is_alphabetic)
                && text.chars().all(is_plain)
                && !["true", "false", "null", "yes", "no", "on", "off"]
                    .contains(&text.as_str()) =>
        {
            text.clone()
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::nothing(json!({"a": 1}), json!({"a": 1}), &[])]
    #[case::added(json!({}), json!({"spec": {"mode": "metadata"}}), &["+ spec.mode: metadata"])]
    #[case::removed(json!({"a": {"b": 1}}), json!({"a": {}}), &["- a.b: 1"])]
    #[case::changed(json!({"a": "x y"}), json!({"a": "z"}), &["~ a: \"x y\" -> z"])]
    #[case::in_a_list(json!([{"a": 1}]), json!([{"a": 2}]), &["~ [0].a: 1 -> 2"])]
    #[case::a_longer_list(json!({"a": [1]}), json!({"a": [1, 2]}), &["~ a: [1] -> [1,2]"])]
    #[case::a_key(
        json!({"metadata": {}}),
        json!({"metadata": {"annotations": {"a.b/c": "true"}}}),
        &["+ metadata.annotations[a.b/c]: \"true\""]
    )]
    fn differences_are_shown_by_field(
        #[case] before: Value,
        #[case] after: Value,
        #[case] want: &[&str],
    ) {
        let found: Vec<String> = between(&before, &after).iter().map(ToString::to_string).collect();
        assert_eq!(found, want);
    }
}
