//! Policies tried on a request without a cluster: policy by policy, so that one that cannot be
//! decided is told apart and the others still count. Order is the API server's: mutation first.

mod review;
mod surroundings;
mod uniqueness;

pub use review::{Attempt, AttemptError, User, placed};
pub use surroundings::{Authorized, Permission, Surroundings};

use serde_json::Value;

use super::{
    compiled::MutatingPolicy,
    facts::{KnownFacts, Question},
    json::{Json, Tree},
    merge::Schemas,
    mutate::{self, MutationDenial},
    request::Request,
    set::PolicySet,
    validate,
    verdict::Verdict,
};
use crate::api;

/// What policies made of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tried {
    /// The object as it would be stored; none on deletes.
    pub object: Option<Value>,
    /// The policies that changed it, in their order.
    pub changed_by: Vec<String>,
    /// Why mutating policies refuse: only ever failures of their own.
    pub refusals: Vec<MutationDenial>,
    /// What validating policies say of the changed object.
    pub verdict: Verdict,
    /// What could not be decided.
    pub unknown: Vec<Unknown>,
}

/// A policy that could not be decided, and what was missing.
#[derive(Debug, Clone, PartialEq)]
pub struct Unknown {
    /// The policy's name.
    pub policy: String,
    /// What must be known first.
    pub question: Question,
}

impl Tried {
    /// Whether nothing refuses the request.
    #[must_use]
    pub fn allows(&self) -> bool {
        self.refusals.is_empty() && self.verdict.allows()
    }

    /// All messages that refuse the request.
    pub fn denials(&self) -> impl Iterator<Item = (&str, &str)> {
        let refusals = self.refusals.iter().map(|it| (it.policy.as_str(), it.message.as_str()));
        let denials = self.verdict.denials.iter().map(|it| (it.policy.as_str(), &*it.message));
        refusals.chain(denials)
    }

    /// All messages that only warn.
    pub fn warnings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.verdict.warnings.iter().map(|it| (it.policy.as_str(), it.message.as_str()))
    }
}

/// The schemas of our own kinds, which mutation needs to merge lists by key. Without the definitions'
/// defaults: what is tried is what policies do.
#[must_use]
pub fn schemas() -> Schemas {
    let mut crds: Vec<Value> =
        api::crds().iter().filter_map(|crd| serde_json::to_value(crd).ok()).collect();
    crds.iter_mut().for_each(forget_defaults);
    Schemas::from_crds(&crds)
}

fn forget_defaults(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            // A field of that name has a schema of its own, which is an object.
            fields.retain(|key, value| key != "default" || value.is_object());
            fields.values_mut().for_each(forget_defaults);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_defaults),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Tries all policies of a set on a request.
#[must_use]
pub fn try_out(
    set: &PolicySet,
    schemas: &Schemas,
    request: &Request<'_>,
    surroundings: &Surroundings,
) -> Tried {
    let mut trial = Trial { schemas, surroundings, facts: KnownFacts::default() };
    let mut tried = Tried::default();
    let object = trial.mutate(set, request, &mut tried);
    let changed = object.as_ref().map_or(*request, |object| request.with_object(object));
    if tried.refusals.is_empty() {
        trial.validate(set, &changed, &mut tried);
        uniqueness::judge(set, &changed, &surroundings.stored, &mut tried.verdict);
    }
    tried.object = changed.object.map(Json::to_value);
    tried
}

struct Trial<'a> {
    schemas: &'a Schemas,
    surroundings: &'a Surroundings,
    facts: KnownFacts,
}

impl Trial<'_> {
    fn mutate(
        &mut self,
        set: &PolicySet,
        request: &Request<'_>,
        tried: &mut Tried,
    ) -> Option<Tree<'static>> {
        // Each on its own copy: what it came to outlives what it came from.
        let kept = |tree: &Tree<'_>| Tree::owned(Json::from(tree).to_value());
        let mut current: Option<Tree<'static>> = None;
        let mut known: Vec<&MutatingPolicy> = Vec::new();
        for policy in set.mutating() {
            let seen = current.as_ref().map_or(*request, |object| request.with_object(object));
            let schemas = self.schemas;
            let name = &policy.policy.name;
            let mutated = self.ask(|facts| mutate::mutate(&[policy], schemas, &seen, facts));
            let mut changed = None;
            match mutated {
                Err(questions) => tried.unknown.extend(unknown(name, questions)),
                Ok(mutated) => {
                    known.push(policy);
                    tried.refusals.extend(mutated.denials);
                    if let Some(object) = &mutated.object {
                        tried.changed_by.push(name.clone());
                        changed = Some(kept(object));
                    }
                }
            }
            current = changed.or(current);
        }
        // Once more together: only then are policies invoked again that asked for it.
        let schemas = self.schemas;
        match self.ask(|facts| mutate::mutate(&known, schemas, request, facts)) {
            Ok(together) if together.denials.is_empty() => together.object.as_ref().map(kept),
            _ => current,
        }
    }

    fn validate(&mut self, set: &PolicySet, request: &Request<'_>, tried: &mut Tried) {
        for policy in set.validating() {
            let one = || std::iter::once(policy);
            match self.ask(|facts| validate::validate(one(), request, facts)) {
                Err(questions) => {
                    tried.unknown.extend(unknown(&policy.policy.name, questions));
                }
                Ok(verdict) => tried.verdict.extend(verdict),
            }
        }
    }

    /// Asks again as long as what is missing can be answered.
    fn ask<T>(
        &mut self,
        evaluate: impl Fn(&KnownFacts) -> Result<T, Vec<Question>>,
    ) -> Result<T, Vec<Question>> {
        loop {
            let questions = match evaluate(&self.facts) {
                Ok(found) => return Ok(found),
                Err(questions) => questions,
            };
            let (surroundings, facts) = (self.surroundings, &mut self.facts);
            let unanswered: Vec<Question> =
                questions.into_iter().filter(|it| !surroundings.answer(it, facts)).collect();
            if !unanswered.is_empty() {
                return Err(unanswered);
            }
        }
    }
}

fn unknown(policy: &str, questions: Vec<Question>) -> impl Iterator<Item = Unknown> {
    questions.into_iter().map(move |question| Unknown { policy: policy.to_owned(), question })
}

#[cfg(test)]
mod tests;
