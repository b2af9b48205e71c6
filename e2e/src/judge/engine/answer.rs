//! What our engine answers to a request: the mutating policies first, then the validating ones on what they left.

use super::{
    super::recording::{Answer, Cause, Recording, Refusal, Request},
    facts::asked,
    server, while_mutating,
};
use anyhow::{Context, Result};
use ironward::policy::{self, PolicySet, Schemas, json::Json};
use serde_json::{Value, json};

/// The answer of a set of policies.
pub(super) fn answer(
    set: &PolicySet,
    schemas: &Schemas,
    case: &Recording,
    request: &Request,
) -> Result<Answer> {
    let mut review = review(set, request)?;
    let (name, object) = (review["name"].take(), review["object"].take());
    let is_generated = request.operation == "CREATE"
        && request.object.as_ref().is_some_and(|it| it["metadata"]["generateName"].is_string());
    review["name"] = if is_generated { json!("") } else { name.clone() };
    review["object"] = converted(while_mutating(request), &review);
    let request_seen = policy::Request::from_json(&review)?;
    let mutated = asked(case, request, |facts| set.mutate(&request_seen, facts, schemas))?;
    if let Some(refused) = mutated.as_api_server() {
        return Ok(Answer { refusal: Some(refusal(refused)), ..Answer::default() });
    }
    let mutated = mutated.object.as_ref().map(|object| Json::from(object).to_value());
    let is_changed = mutated.is_some();
    review["name"] = name;
    review["object"] = match mutated {
        Some(mutated) => server::completed(mutated, request),
        None => object,
    };
    let seen = policy::Request::from_json(&review)?;
    let verdict = asked(case, request, |facts| set.validate(&seen, facts))?;
    let refusal = verdict.as_api_server(&seen).map(refusal);
    let object = (is_changed && refusal.is_none())
        .then(|| server::stored(reverted(review["object"].clone(), request), request))
        .filter(|object| Some(object) != request.object.as_ref());
    Ok(Answer {
        refusal,
        warnings: server::sent(verdict.warnings.iter().map(policy::Warning::text)),
        audit_annotations: verdict.api_server_annotations(),
        object,
    })
}

/// The request as a webhook gets it. One whose registration names the rules of the policies is sent the version that
/// they name, if it is not the one that was asked for.
fn review(set: &PolicySet, request: &Request) -> Result<Value> {
    let mut review = serde_json::to_value(request).context("a request is no JSON")?;
    review["uid"] = json!("");
    review["requestKind"] = request.kind.clone();
    review["requestResource"] = request.resource.clone();
    if request.kind["kind"] == "Namespace" {
        // The recordings leave it out, as for all that is in no namespace.
        review["namespace"] = json!(request.name);
    }
    let text = |field: &str| request.resource[field].as_str().unwrap_or_default();
    let (group, version, resource) = (text("group"), text("version"), text("resource"));
    let has = |list: &[String], wanted: &str| list.iter().any(|it| it == "*" || it == wanted);
    let rules: Vec<_> = set
        .rules()
        .flat_map(|rule| &rule.constraints.resource_rules)
        .filter(|rule| has(&rule.api_groups, group) && has(&rule.resources, resource))
        .flat_map(|rule| &rule.api_versions)
        .collect();
    if group == "judge.ironward.dev" && !rules.iter().any(|it| *it == "*" || *it == version) {
        let other = rules.into_iter().find(|version| ["v1", "v1beta1"].contains(&version.as_str()));
        if let Some(other) = other {
            review["kind"]["version"] = json!(other);
            review["resource"]["version"] = json!(other);
        }
    }
    for field in ["object", "oldObject"] {
        let object = review[field].take();
        review[field] = converted(Some(object).filter(Value::is_object), &review);
    }
    Ok(review)
}

/// An object in the version of a review.
fn converted(object: Option<Value>, review: &Value) -> Value {
    let Some(mut object) = object else { return Value::Null };
    if review["kind"] != review["requestKind"] {
        let text = |field: &str| review["kind"][field].as_str().unwrap_or_default();
        object["apiVersion"] = json!(format!("{}/{}", text("group"), text("version")));
    }
    object
}

/// What came out, in the version that was asked for.
fn reverted(mut object: Value, request: &Request) -> Value {
    if let Some(before) = &request.object {
        object["apiVersion"] = before["apiVersion"].clone();
    }
    object
}

fn refusal(refusal: policy::Refusal) -> Refusal {
    let cause = |message| Cause { message, ..Cause::default() };
    Refusal {
        code: refusal.code,
        reason: refusal.reason.to_string(),
        message: refusal.message,
        causes: refusal.causes.into_iter().map(cause).collect(),
    }
}
