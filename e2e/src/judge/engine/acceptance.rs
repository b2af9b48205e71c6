//! Whether our engine takes a document, in the words in which the API server answers a create.

use super::super::recording::{Acceptance, Cause, Refusal};
use ironward::policy::{Document, File, PolicySet, Problem, Spec};
use serde_json::Value;

/// What the engine says to one document, for itself.
pub(super) fn acceptance(document: &Value) -> Acceptance {
    let content = document.to_string();
    let file = File { name: "case.json", content: &content };
    match PolicySet::check(file, &[]) {
        Ok(documents) => {
            Acceptance { stored: documents.first().map(stored), ..Acceptance::default() }
        }
        Err(problems) => {
            Acceptance { refusal: Some(refusal(document, &problems)), ..Acceptance::default() }
        }
    }
}

/// The API server answers with the first of these that there is: it serves no such kind, the JSON is of another type, it
/// has unknown fields, its values are wrong.
fn refusal(document: &Value, problems: &[Problem]) -> Refusal {
    let messages = |start: &str| -> Vec<&str> {
        problems
            .iter()
            .map(|problem| problem.message.as_str())
            .filter(|message| message.starts_with(start))
            .collect()
    };
    let text = |field: &str| document[field].as_str().unwrap_or_default();
    let (kind, version) = (text("kind"), text("apiVersion"));
    if !messages("no kind ").is_empty() {
        let message = "the server could not find the requested resource".into();
        return Refusal { code: 404, reason: "NotFound".into(), message, causes: vec![] };
    }
    let (mistyped, unknown) = (messages("json: "), messages("unknown field "));
    let undecodable = match (mistyped.first(), unknown.is_empty()) {
        (Some(first), _) => Some((*first).to_owned()),
        (None, false) => Some(format!("strict decoding error: {}", unknown.join(", "))),
        (None, true) => None,
    };
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    if let Some(why) = undecodable {
        let message = format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}");
        return Refusal { code: 400, reason: "BadRequest".into(), message, causes: vec![] };
    }
    let lines: Vec<_> =
        problems.iter().map(|problem| format!("{}: {}", problem.field, problem.message)).collect();
    let all = match lines.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    let name = document["metadata"]["name"].as_str().unwrap_or_default();
    Refusal {
        code: 422,
        reason: "Invalid".into(),
        message: format!("{kind}.{group} {name:?} is invalid: {all}"),
        causes: problems.iter().map(cause).collect(),
    }
}

/// The word for a kind of mistake goes by the beginning of its text.
fn cause(problem: &Problem) -> Cause {
    const REASONS: [(&str, &str); 7] = [
        ("Required value", "FieldValueRequired"),
        ("Invalid value", "FieldValueInvalid"),
        ("Unsupported value", "FieldValueNotSupported"),
        ("Duplicate value", "FieldValueDuplicate"),
        ("Forbidden", "FieldValueForbidden"),
        ("Too long", "FieldValueTooLong"),
        ("Too many", "FieldValueTooMany"),
    ];
    let reason = REASONS.iter().find(|(start, _)| problem.message.starts_with(start));
    Cause {
        reason: reason.map(|(_, reason)| (*reason).to_owned()).unwrap_or_default(),
        message: problem.message.clone(),
        field: problem.field.clone(),
    }
}

/// The `spec` with its defaults, as JSON has it: without what is empty.
fn stored(document: &Document) -> Value {
    let spec = match &document.spec {
        Spec::ValidatingPolicy(spec) => serde_json::to_value(spec),
        Spec::MutatingPolicy(spec) => serde_json::to_value(spec),
        Spec::Unique(spec) => serde_json::to_value(spec),
        Spec::ValidatingBinding(spec) | Spec::MutatingBinding(spec) => serde_json::to_value(spec),
    };
    let mut spec = spec.unwrap_or_default();
    without_empty(&mut spec);
    spec
}

fn without_empty(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(without_empty);
            fields.retain(|name, value| match value {
                Value::Null => false,
                Value::String(text) => !text.is_empty(),
                Value::Array(items) => !items.is_empty(),
                // An empty selector says that everything is selected.
                Value::Object(fields) => name != "matchLabels" || !fields.is_empty(),
                Value::Bool(_) | Value::Number(_) => true,
            });
        }
        Value::Array(items) => items.iter_mut().for_each(without_empty),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
