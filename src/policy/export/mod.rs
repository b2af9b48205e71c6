//! The portable policies as Kubernetes can run them itself. What Kubernetes has no word for,
//! ratcheting, is rewritten into plain CEL.

mod rewrite;

use serde_json::{Map, Value, json};

use super::{
    document::{Document, PORTABLE, Spec, Tier, ValidatingPolicySpec, Variable},
    ratchet,
};

/// The portable set, and what is not in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Exported {
    /// Documents, ready to be applied.
    pub documents: Vec<Value>,
    /// The policies and bindings that only Ironward can run: kind and name.
    pub left_out: Vec<(String, String)>,
}

/// Makes the portable set of documents.
#[must_use]
pub fn export(documents: &[Document]) -> Exported {
    let mut exported = Exported::default();
    for document in documents {
        if document.tier == Tier::Extended {
            let name = document.metadata.name.clone();
            exported.left_out.push((document.kind().to_string(), name));
        } else {
            exported.documents.push(portable(document, only_warns(document, documents)));
        }
    }
    exported
}

/// Whether a policy is bound, and no binding denies: what only warns is not in anyone's way, and is said
/// at every update.
fn only_warns(policy: &Document, documents: &[Document]) -> bool {
    let mut actions = documents.iter().filter_map(|document| match &document.spec {
        Spec::ValidatingBinding(spec) if spec.policy_name == policy.metadata.name => {
            Some(&spec.validation_actions)
        }
        Spec::ValidatingBinding(_)
        | Spec::MutatingBinding(_)
        | Spec::ValidatingPolicy(_)
        | Spec::MutatingPolicy(_)
        | Spec::Unique(_) => None,
    });
    let is_bound = actions.clone().next().is_some();
    is_bound && actions.all(|actions| actions.iter().all(|action| action != "Deny"))
}

fn portable(document: &Document, only_warns: bool) -> Value {
    let mut metadata = document.metadata.clone();
    let ratchets = ratchet::is_wanted(&metadata) && !only_warns;
    metadata.annotations.remove(ratchet::ANNOTATION);
    let spec = match &document.spec {
        Spec::ValidatingPolicy(spec) if ratchets => json!(ratcheting(spec)),
        Spec::ValidatingPolicy(spec) => json!(spec),
        Spec::MutatingPolicy(spec) => json!(spec),
        Spec::ValidatingBinding(spec) | Spec::MutatingBinding(spec) => json!(spec),
        // Only ever of the extended tier, which is left out.
        Spec::Unique(spec) => json!(spec),
    };
    without_blanks(json!({
        "apiVersion": PORTABLE,
        "kind": document.kind().to_string(),
        "metadata": metadata,
        "spec": spec,
    }))
}

/// Each rule holds, or did not hold before: the update made nothing worse.
fn ratcheting(spec: &ValidatingPolicySpec) -> ValidatingPolicySpec {
    let dependent = rewrite::dependent(&spec.variables);
    let before = |expression: &str| rewrite::before(expression, &dependent);
    let copies = spec.variables.iter().filter(|it| dependent.contains(&it.name)).map(|variable| {
        let name = rewrite::name_before(&variable.name);
        Variable { name, expression: before(&variable.expression) }
    });
    let variables = spec.variables.iter().cloned().chain(copies).collect();
    let conditions: Vec<String> = spec
        .match_conditions
        .iter()
        .map(|condition| (before(&condition.expression), &condition.expression))
        // What is about the request alone was met then as it is now.
        .filter(|(before, now)| before != *now)
        .map(|(before, _)| format!(" && ({before}\n)"))
        .collect();
    let validations = spec
        .validations
        .iter()
        .map(|validation| {
            let now = validation.expression.trim_end();
            let then = before(now);
            let mut validation = validation.clone();
            // A comment at the end of an expression must not swallow what follows.
            validation.expression = format!(
                "({now}\n) || (request.operation == 'UPDATE'{} && !({then}\n))",
                conditions.concat()
            );
            validation
        })
        .collect();
    ValidatingPolicySpec { variables, validations, ..spec.clone() }
}

/// Without what means the same as nothing.
fn without_blanks(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(key, value)| (key, without_blanks(value)))
                // An empty selector selects all; without one nothing is selected.
                .filter(|(key, value)| key == "selector" && value.is_object() || !is_blank(value))
                .collect::<Map<_, _>>(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(without_blanks).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests;
