//! Our own engine, asked what the API server was asked.
//!
//! [`verdict`] gets a recording, of which it reads everything but the answers (`acceptance`, `answers`), and says what
//! `ironward::policy` makes of it; [`disagreements`] compares that with the answers.

mod acceptance;
mod answer;
mod facts;
mod server;

use super::recording::{Acceptance, Answer, Recording, Request, differences};
use acceptance::acceptance;
use anyhow::{Context, Result};
use ironward::policy::{Directory, File, PolicySet, Schemas};
use serde::Serialize;
use serde_json::Value;
use std::sync::LazyLock;

/// What an engine says to one case.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Whether it takes the documents, in their order.
    pub acceptances: Vec<Acceptance>,
    /// What it answers to the requests, in their order.
    pub answers: Vec<Answer>,
}

/// What our engine says to a case; an error if it needs to know what nobody asked the API server.
pub fn verdict(case: &Recording) -> Result<Verdict> {
    let acceptances: Vec<_> =
        case.documents.iter().map(|document| acceptance(&document.document)).collect();
    let taken: Vec<&Value> = (case.documents.iter().zip(&acceptances))
        .filter(|(_, acceptance)| acceptance.refusal.is_none())
        .map(|(document, _)| &document.document)
        .collect();
    let set = together(&taken)?;
    let schemas = SCHEMAS.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))?;
    let answers = case
        .requests
        .iter()
        .map(|exchange| answer::answer(&set, schemas, case, &exchange.request))
        .collect::<Result<_>>()?;
    Ok(Verdict { acceptances, answers })
}

static SCHEMAS: LazyLock<Result<Schemas>> = LazyLock::new(|| {
    let native: Vec<Value> = serde_saphyr::from_multiple(include_str!("native.yaml"))
        .context("native.yaml is no YAML")?;
    Ok(Schemas::from_crds(super::kinds()?.iter().chain(&native)))
});

/// All documents that were taken. The API server takes a binding of a policy that is not there, a directory does not.
fn together(taken: &[&Value]) -> Result<PolicySet> {
    let is_bound = |document: &&&Value| {
        let kind = document["kind"].as_str().unwrap_or_default();
        kind.strip_suffix("Binding").is_none_or(|of| {
            taken.iter().any(|policy| {
                policy["kind"] == of && policy["metadata"]["name"] == document["spec"]["policyName"]
            })
        })
    };
    let texts: Vec<_> = taken.iter().filter(is_bound).map(ToString::to_string).collect();
    let content = texts.join("\n---\n");
    let files = [File { name: "case.yaml", content: &content }];
    let directory = Directory { user: &files, ..Directory::default() };
    PolicySet::compile(&directory, &[]).map_err(|problems| {
        let lines: Vec<_> = problems.into_iter().map(|it| it.field + ": " + &it.message).collect();
        anyhow::anyhow!("taken one by one, but not together: {}", lines.join(", "))
    })
}

/// The object as mutating policies see it: on a create the API server gives it uid, time and name only after them.
#[must_use]
pub fn while_mutating(request: &Request) -> Option<Value> {
    let mut object = request.object.clone()?;
    if let ("CREATE", Some(metadata)) =
        (request.operation.as_str(), object["metadata"].as_object_mut())
    {
        metadata.retain(|field, _| field != "uid" && field != "creationTimestamp");
        if metadata.contains_key("generateName") {
            metadata.remove("name");
        }
    }
    Some(object)
}

/// Where an engine disagrees with the API server, a line each; empty if it does not.
#[must_use]
pub fn disagreements(case: &Recording, verdict: &Verdict) -> Vec<String> {
    let mut found = Vec::new();
    let (documents, requests) = (case.documents.len(), case.requests.len());
    if (verdict.acceptances.len(), verdict.answers.len()) != (documents, requests) {
        found.push(format!(
            "{}: {documents} documents and {requests} requests need a verdict each",
            case.id
        ));
        return found;
    }
    for (number, (document, ours)) in case.documents.iter().zip(&verdict.acceptances).enumerate() {
        let stored = document.acceptance.stored.is_some();
        let ours = Acceptance { stored: ours.stored.clone().filter(|_| stored), ..ours.clone() };
        let lines = differences(&value(&document.acceptance), &value(&ours));
        found.extend(lines.into_iter().map(|line| format!("{} document {number}{line}", case.id)));
    }
    for (number, (exchange, ours)) in case.requests.iter().zip(&verdict.answers).enumerate() {
        // What others refuse, before or after the policies, is not for an engine to say.
        let refusals = exchange.answers.iter().filter_map(|answer| answer.refusal.as_ref());
        let theirs = refusals.into_iter().any(|refusal| !refusal.is_by_policies());
        if !theirs && !exchange.answers.contains(ours) {
            let closest =
                exchange.answers.iter().map(|answer| differences(&value(answer), &value(ours)));
            let lines = closest.min_by_key(Vec::len).unwrap_or_default();
            found.extend(
                lines.into_iter().map(|line| format!("{} request {number}{line}", case.id)),
            );
        }
    }
    found
}

fn value(of: &impl Serialize) -> Value {
    serde_json::to_value(of).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{super::recording::*, *};
    use serde_json::json;

    fn denied(message: &str) -> Answer {
        let message = format!("policy 'a' denied request: {message}");
        let refusal = Refusal { code: 422, message, ..Refusal::default() };
        Answer { refusal: Some(refusal), ..Answer::default() }
    }

    fn case() -> Recording {
        let acceptance = Acceptance::default();
        Recording {
            id: "a".into(),
            name: "x".into(),
            given: vec![],
            access: vec![],
            documents: vec![Document { document: json!({}), acceptance }],
            requests: vec![Exchange {
                request: Request::default(),
                without_policies: None,
                answers: vec![denied("one"), denied("two")],
            }],
        }
    }

    #[test]
    fn what_others_refuse_is_not_compared() {
        let refusal =
            |message: &str| Refusal { code: 422, message: message.into(), ..Refusal::default() };
        for (message, compared) in [("spec.size is wrong", 0), ("policy 'a' denied request: no", 1)]
        {
            let mut case = case();
            let refusal = Some(refusal(message));
            case.requests[0].answers = vec![Answer { refusal, ..Answer::default() }];
            let answers = vec![Answer::default()];
            let verdict = Verdict { acceptances: vec![Acceptance::default()], answers };
            assert_eq!(disagreements(&case, &verdict).len(), compared, "{message}");
        }
    }

    #[test]
    fn mutating_policies_do_not_see_what_is_made_up_later() {
        let object = json!({ "metadata": { "generateName": "a-", "name": "a-xxxxx", "uid": "0" } });
        let request =
            Request { operation: "CREATE".into(), object: Some(object), ..Request::default() };
        let seen = json!({ "metadata": { "generateName": "a-" } });
        assert_eq!(while_mutating(&request), Some(seen));
    }

    #[test]
    fn each_of_several_possible_answers_agrees() {
        for message in ["one", "two"] {
            let verdict = Verdict {
                acceptances: vec![Acceptance::default()],
                answers: vec![denied(message)],
            };
            assert_eq!(disagreements(&case(), &verdict), [""; 0]);
        }
    }

    #[test]
    fn another_message_and_another_acceptance_are_told() {
        let warnings = vec!["hm".into()];
        let acceptances = vec![Acceptance { warnings, ..Acceptance::default() }];
        let verdict = Verdict { acceptances, answers: vec![denied("three")] };
        let expected = [
            r#"a document 0.warnings: recorded null, now ["hm"]"#,
            r#"a request 0.refusal.message: recorded "policy 'a' denied request: one", now "policy 'a' denied request: three""#,
        ];
        assert_eq!(disagreements(&case(), &verdict), expected);
    }

    #[test]
    fn a_verdict_on_less_than_everything_is_a_disagreement() {
        let verdict = Verdict { acceptances: vec![], answers: vec![] };
        assert_eq!(disagreements(&case(), &verdict).len(), 1);
    }
}
