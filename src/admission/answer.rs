//! What the policies say, as an answer that kubectl prints well: one line per finding, each with its field
//! and its policy. That a rule was broken and that a rule could not be evaluated are different answers.

use std::collections::BTreeMap;

use super::review::{Details, Patch, Response, Review, Status, StatusCause};
use crate::policy::{
    AuditFailure, Cause, Denial, Mutated, MutationDenial, Reason, Request, Spoken, Verdict, finding,
};

/// The answer of `/validate`.
pub(super) fn validated(review: &Review<'_>, request: &Request<'_>, verdict: &Verdict) -> Response {
    let warnings = verdict.warnings.iter().map(|it| named(&it.message, &it.policy)).collect();
    Response {
        allowed: verdict.denials.is_empty(),
        status: refusal(request, &verdict.denials),
        warnings: distinct(warnings),
        audit_annotations: annotations(verdict),
        ..Response::allowed(review)
    }
}

/// The answer of `/mutate`.
pub(super) fn mutated(
    review: &Review<'_>,
    request: &Request<'_>,
    mutated: &Mutated<'_>,
) -> Response {
    let allowed = Response::allowed(review);
    if mutated.denials.is_empty() {
        let patch = mutated.patch(request);
        return Response { patch: (!patch.0.is_empty()).then_some(Patch(patch)), ..allowed };
    }
    let texts = mutated.denials.iter().map(|MutationDenial { policy, message, .. }| {
        Spoken::NotCarriedOut.said(format!("policy {policy} could not be carried out: {message}"))
    });
    let status = failure(distinct(texts.collect()).join("; "));
    Response { allowed: false, status: Some(status), ..allowed }
}

fn refusal(request: &Request<'_>, denials: &[Denial]) -> Option<Status> {
    let (broken, failed): (Vec<_>, Vec<_>) =
        denials.iter().partition(|denial| denial.cause == Cause::Rule);
    let could_not = |denial: &&Denial| {
        let (policy, why) = (&denial.policy, &denial.message);
        Spoken::NotEvaluated.said(format!("policy {policy} could not be evaluated: {why}"))
    };
    let Some(first) = broken.first() else {
        let texts: Vec<_> = failed.iter().map(could_not).collect();
        return (!texts.is_empty()).then(|| failure(distinct(texts).join("; ")));
    };
    let mut causes: Vec<_> = broken.iter().map(|denial| broken_rule(denial)).collect();
    causes.extend(failed.iter().map(|denial| StatusCause {
        reason: "InternalError",
        field: denial.policy.clone(),
        message: format!("could not be evaluated: {}", denial.message),
    }));
    let causes = distinct(causes);
    // kubectl prints one line per cause only if the reason is Invalid.
    let reason = broken.iter().map(|denial| denial.reason).find(|it| *it == Reason::Invalid);
    let reason = reason.unwrap_or(first.reason);
    Some(Status {
        status: "Failure",
        message: message(request, &causes),
        reason: reason.to_string(),
        code: reason.code(),
        details: Some(Details {
            name: request.name.to_owned(),
            group: request.kind.group.to_owned(),
            kind: request.kind.name.to_owned(),
            causes,
        }),
    })
}

/// As the API server words what its own validation finds.
fn message(request: &Request<'_>, causes: &[StatusCause]) -> String {
    let texts: Vec<_> =
        causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
    let kind = request.kind.name;
    let subject = match request.name {
        "" => format!("this {kind}"),
        name => format!("{kind} {name:?}"),
    };
    Spoken::Invalid.said(match texts.as_slice() {
        [one] => format!("{subject} is invalid: {one}"),
        several => format!("{subject} is invalid: [{}]", several.join(", ")),
    })
}

fn broken_rule(Denial { policy, message, .. }: &Denial) -> StatusCause {
    let (field, message) = match finding::split(message) {
        (Some(field), text) => (field.to_owned(), format!("{text} [{policy}]")),
        // kubectl puts the field in front of every line: without one, what was broken is the policy.
        (None, text) => (policy.clone(), text.to_owned()),
    };
    StatusCause { reason: "FieldValueInvalid", message, field }
}

/// Not the user's fault, and not said as if it were.
fn failure(message: String) -> Status {
    let reason = Reason::InternalError;
    Status {
        status: "Failure",
        message,
        reason: reason.to_string(),
        code: reason.code(),
        details: None,
    }
}

fn named(message: &str, policy: &str) -> String {
    format!("{message} [{policy}]")
}

/// Several bindings of one policy find the same thing; it is said once.
fn distinct<T: PartialEq>(items: Vec<T>) -> Vec<T> {
    let mut distinct = Vec::with_capacity(items.len());
    for item in items {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    distinct
}

/// The API server puts the webhook's name and a slash before each key, and takes only one slash.
fn annotations(verdict: &Verdict) -> BTreeMap<String, String> {
    let written = verdict.audit_annotations.iter();
    let mut annotations: BTreeMap<_, _> =
        written.map(|(key, value)| (key.replace('/', "."), value.clone())).collect();
    let failures: Vec<_> = verdict.audit_failures.iter().map(AuditFailure::value).collect();
    if !failures.is_empty() {
        // Each is a list of one.
        let items: Vec<_> = failures.iter().map(|list| list.trim_matches(['[', ']'])).collect();
        annotations.insert("validation_failure".into(), format!("[{}]", items.join(",")));
    }
    annotations
}
