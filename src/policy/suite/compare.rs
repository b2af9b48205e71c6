//! What came of a case against what was expected, in lines for people.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::expect::{Expectation, Pattern, Word};
use crate::policy::{difference, trial::Tried};

/// Everything that is not as expected.
pub(super) fn failures(expect: &Expectation, sent: &Value, tried: &Tried) -> Vec<String> {
    let mut failures = Vec::new();
    for unknown in &tried.unknown {
        failures.push(format!(
            "policy {} could not be decided: {}; say it with namespace, params or authorized",
            unknown.policy, unknown.question
        ));
    }
    let (word, want) = (word(tried), expect.word());
    let denials: Vec<&str> = tried.denials().map(|(_, message)| message).collect();
    let warnings: Vec<&str> = tried.warnings().map(|(_, message)| message).collect();
    if word != want {
        let mut text = format!("verdict: expected {want}, got {word}");
        let said = tried.denials().map(|said| ("denied", said));
        for (what, (policy, message)) in said.chain(tried.warnings().map(|said| ("warned", said))) {
            let _ = write!(text, "\n  {what} by {policy}: {message}");
        }
        failures.push(text);
    }
    failures.extend(messages("messages", expect.messages.as_deref(), &denials));
    failures.extend(messages("warnings", expect.warnings.as_deref(), &warnings));
    let stored = tried.object.as_ref().unwrap_or(&Value::Null);
    if let Some(part) = &expect.object {
        let mut lines = Vec::new();
        partial("", part, Some(stored), &mut lines);
        if !lines.is_empty() {
            failures.push(format!("object:\n{}", lines.join("\n")));
        }
    }
    if let Some(patch) = &expect.patch {
        let mut wanted = sent.clone();
        json_patch::merge(&mut wanted, patch);
        let lines: Vec<String> = difference::between(&wanted, stored)
            .iter()
            .map(|it| {
                format!(
                    "  {}: expected {}, got {}",
                    it.path,
                    or_nothing(it.before.as_ref()),
                    or_nothing(it.after.as_ref())
                )
            })
            .collect();
        if !lines.is_empty() {
            failures.push(format!("patch:\n{}", lines.join("\n")));
        }
    }
    failures
}

fn word(tried: &Tried) -> Word {
    if !tried.allows() {
        Word::Deny
    } else if tried.verdict.warnings.is_empty() {
        Word::Allow
    } else {
        Word::Warn
    }
}

/// Each expected message is said once, and nothing else is.
fn messages(what: &str, expected: Option<&[Pattern]>, said: &[&str]) -> Option<String> {
    let mut left: Vec<&str> = said.to_vec();
    let mut lines = Vec::new();
    for pattern in expected? {
        match left.iter().position(|text| pattern.fits(text)) {
            Some(at) => drop(left.remove(at)),
            None => lines.push(format!("  - {pattern}")),
        }
    }
    lines.extend(left.into_iter().map(|text| format!("  + {text}")));
    (!lines.is_empty())
        .then(|| format!("{what} (- expected, + said instead):\n{}", lines.join("\n")))
}

/// Every field of the part is in the object; what is null there is not.
fn partial(path: &str, part: &Value, object: Option<&Value>, lines: &mut Vec<String>) {
    match (part, object) {
        (Value::Null, None | Some(Value::Null)) => {}
        (Value::Object(fields), Some(Value::Object(object))) => {
            each(path, fields, |key| object.get(key), lines);
        }
        (Value::Object(fields), None) => each(path, fields, |_| None, lines),
        (expected, Some(found)) if expected == found => {}
        (expected, found) => {
            let expected = (!expected.is_null()).then_some(expected);
            lines.push(format!(
                "  {path}: expected {}, got {}",
                or_nothing(expected),
                or_nothing(found)
            ));
        }
    }
}

fn each<'a>(
    path: &str,
    fields: &Map<String, Value>,
    object: impl Fn(&str) -> Option<&'a Value>,
    lines: &mut Vec<String>,
) {
    for (key, part) in fields {
        partial(&difference::child(path, key), part, object(key), lines);
    }
}

fn or_nothing(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), Value::to_string)
}
