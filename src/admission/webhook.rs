//! One webhook: which step of admission it is for, and which policies it asks.

use serde::Serialize;
use strum::{Display, EnumString, IntoStaticStr};

use super::{
    answer,
    review::{Response, Review},
};
use crate::policy::{
    Concerned, Denial, Facts, Operation, PolicySet, Question, Request, Schemas, Spoken, Verdict,
    unknown_fields::{UnknownField, unknown_fields},
};

/// A step of admission.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Display,
    EnumString,
    IntoStaticStr,
    Serialize,
)]
#[strum(serialize_all = "lowercase")]
pub enum Phase {
    /// Objects are changed.
    Mutate,
    /// Objects are judged.
    Validate,
}

/// A webhook, as its path names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Webhook {
    /// The step.
    pub phase: Phase,
    /// Which policies are asked.
    pub concerned: Concerned,
}

impl Webhook {
    /// All of them, `/validate` and `/mutate` first: those ask all policies.
    pub fn all() -> impl Iterator<Item = Self> {
        [Concerned::All, Concerned::Failing, Concerned::Ignoring].into_iter().flat_map(
            |concerned| [Phase::Mutate, Phase::Validate].map(|phase| Self { phase, concerned }),
        )
    }

    /// Where it is served.
    #[must_use]
    pub fn path(self) -> String {
        match self.concerned {
            Concerned::All => format!("/{}", self.phase),
            Concerned::Failing => format!("/{}/fail", self.phase),
            Concerned::Ignoring => format!("/{}/ignore", self.phase),
        }
    }

    /// The answer to a review's request, or what must be known first.
    ///
    /// `own_name` is who we are to the API server: what our own controllers write is defaulted but
    /// never refused, for a rule that stops a controller stops the fleet; but for hosts that they create.
    pub fn answer(
        self,
        policies: &PolicySet,
        schemas: &Schemas,
        own_name: Option<&str>,
        review: &Review<'_>,
        request: &Request<'_>,
        facts: &dyn Facts,
    ) -> Result<Response, Vec<Question>> {
        match self.phase {
            Phase::Validate if is_own(request, own_name) => Ok(Response::allowed(review)),
            Phase::Validate => {
                policies.validate_those(self.concerned, request, facts).map(|verdict| {
                    let mut response = answer::validated(review, request, &verdict);
                    // Once, where two webhooks are asked about one request.
                    if self.concerned != Concerned::Ignoring {
                        response.warnings.extend(misspelt(request));
                    }
                    response
                })
            }
            Phase::Mutate => policies
                .mutate_those(self.concerned, request, facts, schemas)
                .map(|mutated| answer::mutated(review, request, &mutated)),
        }
    }
}

impl Webhook {
    /// The answer where all policies let a request pass, and its keys are others'.
    #[must_use]
    pub fn taken(
        review: &Review<'_>,
        request: &Request<'_>,
        response: Response,
        denials: Vec<Denial>,
    ) -> Response {
        let verdict = Verdict { denials, ..Verdict::default() };
        let Response { audit_annotations, warnings, .. } = response;
        Response { audit_annotations, warnings, ..answer::validated(review, request, &verdict) }
    }
}

/// The resource whose objects are judged when we create them, too: discovery makes hosts of what machines report that anybody may have plugged
/// in, and no two hosts may be one machine.
pub(super) const JUDGED_WHEN_CREATED: &str = "baremetalhosts";

fn is_own(request: &Request<'_>, own_name: Option<&str>) -> bool {
    let user = request.user_info().and_then(|info| info.get("username")?.as_str());
    let is_judged =
        request.operation == Operation::Create && request.resource.name == JUDGED_WHEN_CREATED;
    own_name.is_some_and(|name| user == Some(name)) && !is_judged
}

/// Fields that are new and that the kind does not have. The definitions of Metal3's kinds keep what
/// they do not know, so that nothing of a newer Metal3 is lost; the price is that kubectl does not
/// warn of a typing mistake.
fn misspelt(request: &Request<'_>) -> Vec<String> {
    let is_written = matches!(request.operation, Operation::Create | Operation::Update);
    let Some(object) = request.object.filter(|_| is_written && request.sub_resource.is_empty())
    else {
        return Vec::new();
    };
    let unknown = unknown_fields(object);
    if unknown.is_empty() {
        return Vec::new();
    }
    let stored = request.old_object.map(unknown_fields).unwrap_or_default();
    let kind = request.kind.name;
    let is_new = |field: &&UnknownField| !stored.contains(field);
    unknown
        .iter()
        .filter(is_new)
        .map(|UnknownField { path, suggestion }| match suggestion {
            Some(meant) => format!("{path}: {kind} has no such field; did you mean {meant}?"),
            None => format!("{path}: {kind} has no such field; it is kept, and nothing reads it"),
        })
        .map(|text| Spoken::NoSuchField.said(text))
        .collect()
}
