//! The facts that our engine asks for, from what a recording was given.

use super::super::{
    kind::KINDS,
    recording::{Recording, Request},
};
use anyhow::{Context, Result, bail};
use ironward::policy::{
    Facts, KnownFacts, LabelSelector, ParamKind, ParamQuery, Question, Scope, Which,
    cel::authorizer::{Decision, Question as Authorization, Subject},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use kube::core::{Selector, SelectorExt};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Repeats an evaluation until it has no more questions.
pub(super) fn asked<T>(
    case: &Recording,
    request: &Request,
    evaluate: impl Fn(&dyn Facts) -> Result<T, Vec<Question>>,
) -> Result<T> {
    let mut known = KnownFacts::default();
    for _ in 0..100 {
        match evaluate(&known) {
            Ok(answer) => return Ok(answer),
            Err(questions) => {
                for question in questions {
                    learn(&mut known, case, request, question)?;
                }
            }
        }
    }
    bail!("the questions have no end")
}

fn learn(
    known: &mut KnownFacts,
    case: &Recording,
    request: &Request,
    question: Question,
) -> Result<()> {
    match question {
        Question::Namespace(name) => {
            let is_it = |object: &&Value| {
                object["kind"] == "Namespace" && object["metadata"]["name"] == name.as_str()
            };
            let found = case.given.iter().chain(&request.old_object).find(is_it).cloned();
            known.namespaces.insert(name, found);
        }
        Question::ParamScope(kind) => {
            let scope = scope(&kind);
            known.param_scopes.insert(kind, scope);
        }
        Question::Params(query) => {
            let found = params(case, &query)?;
            known.params.insert(*query, found);
        }
        Question::Authorization(question) => {
            let decision = decision(case, request, &question)?;
            known.authorizations.insert(*question, decision);
        }
    }
    Ok(())
}

fn scope(kind: &ParamKind) -> Option<Scope> {
    let (group, version) = kind.api_version.split_once('/').unwrap_or(("", &kind.api_version));
    let found = KINDS.iter().find(|known| {
        (known.kind, known.group, known.version) == (kind.kind.as_str(), group, version)
    })?;
    Some(if found.namespaced { Scope::Namespaced } else { Scope::Cluster })
}

fn params(case: &Recording, query: &ParamQuery) -> Result<Vec<Value>> {
    let mut found = Vec::new();
    for object in &case.given {
        let metadata = &object["metadata"];
        let is_of_kind = object["apiVersion"] == query.kind.api_version.as_str()
            && object["kind"] == query.kind.kind.as_str();
        let is_there = metadata["namespace"].as_str() == query.namespace.as_deref();
        let is_meant = match &query.which {
            Which::Named(name) => metadata["name"] == name.as_str(),
            Which::Selected(selector) => selects(selector, &metadata["labels"])?,
        };
        if is_of_kind && is_there && is_meant {
            found.push(object.clone());
        }
    }
    Ok(found)
}

fn selects(selector: &LabelSelector, labels: &Value) -> Result<bool> {
    let selector: meta::LabelSelector = serde_json::from_value(serde_json::to_value(selector)?)?;
    let labels: Option<BTreeMap<String, String>> = serde_json::from_value(labels.clone())?;
    Ok(Selector::try_from(selector)?.matches(&labels.unwrap_or_default()))
}

/// What was recorded of the same question; one that the authorizer was not asked is a mistake of ours.
fn decision(case: &Recording, request: &Request, question: &Authorization) -> Result<Decision> {
    let asked = review(request, question);
    // To them the authorizer says yes before it looks at any rule, and gives no reason.
    let of_masters = |groups: &Value| {
        groups.as_array().is_some_and(|groups| groups.iter().any(|it| it == "system:masters"))
    };
    if of_masters(&asked["groups"]) {
        return Ok(Decision { allowed: true, denied: false, reason: String::new(), error: None });
    }
    // What is empty need not be there.
    let same_attributes = |theirs: &Value, ours: &Value| {
        let mut ours = ours.as_object().into_iter().flatten();
        ours.all(|(name, value)| theirs[name].as_str().unwrap_or_default() == value)
    };
    let same = |spec: &Value| {
        asked.as_object().into_iter().flatten().all(|(field, value)| {
            spec[field] == *value || (value.is_object() && same_attributes(&spec[field], value))
        })
    };
    let access = case.access.iter().find(|access| same(&access.spec));
    let status = &access.with_context(|| format!("nobody recorded {asked}"))?.status;
    let flag = |name: &str| status[name].as_bool().unwrap_or_default();
    Ok(Decision {
        allowed: flag("allowed"),
        denied: flag("denied"),
        reason: status["reason"].as_str().unwrap_or_default().to_owned(),
        error: status["evaluationError"].as_str().map(str::to_owned),
    })
}

/// `spec` of the SubjectAccessReview, what is empty included.
fn review(request: &Request, question: &Authorization) -> Value {
    let (Authorization::Path { subject, .. } | Authorization::Resource { subject, .. }) = question;
    let (user, groups) = match subject {
        Subject::Requester => {
            (request.user_info.username.clone(), request.user_info.groups.clone())
        }
        Subject::ServiceAccount { namespace, name } => (
            format!("system:serviceaccount:{namespace}:{name}"),
            vec![
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{namespace}"),
                "system:authenticated".to_owned(),
            ],
        ),
    };
    match question {
        Authorization::Path { path, verb, .. } => json!({
            "user": user, "groups": groups, "nonResourceAttributes": { "path": path, "verb": verb },
        }),
        Authorization::Resource { resource, verb, .. } => json!({
            "user": user, "groups": groups,
            "resourceAttributes": {
                "group": resource.group, "resource": resource.resource, "verb": verb,
                "subresource": resource.subresource, "namespace": resource.namespace,
                "name": resource.name,
            },
        }),
    }
}
