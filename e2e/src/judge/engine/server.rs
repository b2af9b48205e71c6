//! What the API server itself does around policies, whether they are its own or a webhook's. It is not ours, but without it
//! nothing that comes after it could be compared.

use super::super::{kinds, recording::Request};
use serde_json::{Value, json};
use std::{collections::HashSet, sync::LazyLock};

/// What is filled in after the mutating policies (see `while_mutating`), as `recording::stable` shows it.
pub(super) fn completed(mut object: Value, request: &Request) -> Value {
    if let ("CREATE", Some(metadata)) =
        (request.operation.as_str(), object["metadata"].as_object_mut())
    {
        metadata.entry("uid").or_insert_with(|| json!("00000000-0000-0000-0000-000000000000"));
        metadata.entry("creationTimestamp").or_insert_with(|| json!("2026-01-01T00:00:00Z"));
        metadata.entry("name").or_insert_with(|| json!(request.name));
    }
    containers(&mut object);
    object
}

/// The defaults of containers, of all of Kubernetes' own the only ones that the cases are about.
fn containers(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let ("containers" | "initContainers", Value::Array(items)) =
                    (name.as_str(), &mut *value)
                {
                    items.iter_mut().filter_map(Value::as_object_mut).for_each(|container| {
                        let image = container.get("image").and_then(Value::as_str);
                        let is_fixed = image.is_some_and(|image| {
                            image.contains(':') && !image.ends_with(":latest")
                        });
                        let pull = if is_fixed { "IfNotPresent" } else { "Always" };
                        let mut fill = |name: &str, value| {
                            container.entry(name).or_insert(value);
                        };
                        fill("imagePullPolicy", json!(pull));
                        fill("resources", json!({}));
                        fill("terminationMessagePath", json!("/dev/termination-log"));
                        fill("terminationMessagePolicy", json!("File"));
                    });
                }
                containers(value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(containers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What is stored of an object that policies have changed.
pub(super) fn stored(mut object: Value, request: &Request) -> Value {
    if let ("status", Some(before)) = (request.sub_resource.as_str(), &request.object) {
        // Whoever writes the status writes nothing else.
        object = Value::Object(
            before
                .as_object()
                .cloned()
                .unwrap_or_default()
                .into_iter()
                .chain(object.get("status").map(|status| ("status".to_owned(), status.clone())))
                .collect(),
        );
    }
    // Metadata is always typed: what is null is not there.
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|_, value| !value.is_null());
    }
    if let Some(schema) = schema(&request.kind)
        && let Some(fields) = object.as_object_mut()
    {
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            if let Some(value) = fields.get_mut(name) {
                prune(value, schema);
            }
        }
    }
    object
}

/// The schema of a kind that is not Kubernetes' own.
fn schema(kind: &Value) -> Option<&'static Value> {
    static KINDS: LazyLock<Vec<Value>> = LazyLock::new(|| kinds().unwrap_or_default());
    let crd = KINDS
        .iter()
        .map(|crd| &crd["spec"])
        .find(|spec| spec["group"] == kind["group"] && spec["names"]["kind"] == kind["kind"])?;
    let version =
        crd["versions"].as_array()?.iter().find(|version| version["name"] == kind["version"])?;
    Some(&version["schema"]["openAPIV3Schema"])
}

/// Takes out what a schema does not know.
fn prune(value: &mut Value, schema: &Value) {
    if schema["x-kubernetes-preserve-unknown-fields"] == true {
        return;
    }
    match value {
        Value::Object(fields) => {
            let (known, others) = (&schema["properties"], &schema["additionalProperties"]);
            fields.retain(|name, _| known.get(name).is_some() || others.is_object());
            for (name, value) in fields {
                prune(value, known.get(name).unwrap_or(others));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| prune(item, &schema["items"])),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The warnings that the API server sends on, whether they are of its own policies or of a webhook: each once, none with
/// control characters, and all of them cut short once they are too long together.
pub(super) fn sent(warnings: impl Iterator<Item = String>) -> Vec<String> {
    const MOST: usize = 4 * 1024;
    const MOST_OF_ONE: usize = 256;
    let cut = |text: &str| text.chars().take(MOST_OF_ONE).collect::<String>();
    let is_fit = |text: &String| !text.chars().any(char::is_control);
    let (mut known, mut texts) = (HashSet::new(), Vec::new());
    let (mut sent, mut written, mut truncating) = (Vec::new(), 0, false);
    for text in warnings {
        if (truncating && written >= MOST) || text.is_empty() || !known.insert(text.clone()) {
            continue;
        }
        texts.push(text.clone());
        let text = if truncating { cut(&text) } else { text };
        if !is_fit(&text) {
            continue;
        }
        let length = text.chars().count();
        if truncating || written + length <= MOST {
            written += length;
            sent.push(text);
        } else {
            truncating = true;
            sent = texts.iter().map(|text| cut(text)).filter(is_fit).collect();
            written = sent.iter().map(|text| text.chars().count()).sum();
        }
    }
    sent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_sent_once_and_without_control_characters() {
        let warnings = ["one", "two\nlines", "one", ""].map(str::to_owned);
        assert_eq!(sent(warnings.into_iter()), ["one"]);
    }

    #[test]
    fn warnings_that_are_too_long_together_are_cut_short() {
        let warnings = (0..20).map(|number| format!("{number:300}"));
        let sent = sent(warnings);
        assert_eq!(sent.len(), 16);
        assert!(sent.iter().all(|text| text.len() == 256));
    }

    #[test]
    fn what_the_schema_does_not_know_is_not_stored() {
        let kind = json!({ "group": "judge.ironward.dev", "version": "v1", "kind": "Widget" });
        let spec = json!({ "size": 1, "unknown": 2, "free": { "any": 3 }, "limits": { "a": "b" } });
        let request = Request { kind, ..Request::default() };
        let stored = stored(json!({ "metadata": { "annotations": null }, "spec": spec }), &request);
        let spec = json!({ "size": 1, "free": { "any": 3 }, "limits": { "a": "b" } });
        assert_eq!(stored, json!({ "metadata": {}, "spec": spec }));
    }
}
