//! Policies one by one, for whoever wants to know what each of them costs.

use std::iter;

use strum::IntoStaticStr;

use super::{
    Concerned, Facts, PolicySet, Request, Schemas, matching::Matched, mutate::mutate,
    validate::validate,
};

/// What one policy says of a request that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, IntoStaticStr)]
pub enum OneVerdict {
    /// Nothing.
    Passed,
    /// The object is to be another.
    Changed,
    /// The user is told something.
    Warned,
    /// The request is refused.
    Denied,
}

impl PolicySet {
    /// Has each validating policy that matches judge a request by itself, and tells of each when it has, in their order. Those that want to know something first are left out.
    pub fn validate_one_by_one(
        &self,
        concerned: Concerned,
        request: &Request<'_>,
        facts: &dyn Facts,
        mut each: impl FnMut(&str, &mut dyn FnMut() -> Option<OneVerdict>),
    ) {
        let policies = self.validating().iter().filter(|it| concerned.includes(it.policy.fails));
        for policy in policies {
            if !matches!(policy.policy.matcher.matches(request, facts), Matched::Yes) {
                continue;
            }
            each(&policy.policy.name, &mut || {
                let verdict = validate(iter::once(policy), request, facts).ok()?;
                Some(match (verdict.denials.is_empty(), verdict.warnings.is_empty()) {
                    (false, _) => OneVerdict::Denied,
                    (true, false) => OneVerdict::Warned,
                    (true, true) => OneVerdict::Passed,
                })
            });
        }
    }

    /// The same of those that change objects, each on the object as it came.
    pub fn mutate_one_by_one(
        &self,
        concerned: Concerned,
        request: &Request<'_>,
        facts: &dyn Facts,
        schemas: &Schemas,
        mut each: impl FnMut(&str, &mut dyn FnMut() -> Option<OneVerdict>),
    ) {
        let policies = self.mutating().iter().filter(|it| concerned.includes(it.policy.fails));
        for policy in policies {
            if !matches!(policy.policy.matcher.matches(request, facts), Matched::Yes) {
                continue;
            }
            each(&policy.policy.name, &mut || {
                let mutated = mutate(&[policy], schemas, request, facts).ok()?;
                Some(match (mutated.denials.is_empty(), mutated.object.is_some()) {
                    (false, _) => OneVerdict::Denied,
                    (true, true) => OneVerdict::Changed,
                    (true, false) => OneVerdict::Passed,
                })
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{KnownFacts, json::Json, shipped, trial};
    use serde_json::json;

    #[test]
    fn each_policy_that_matches_says_what_it_does() {
        let policies = shipped::with(&[]).unwrap();
        let host = json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": "worker-0", "namespace": "default"},
            "spec": {"online": true, "bmc": {"address": "telnet://x", "credentialsName": "none"}},
        });
        let attempt = trial::Attempt { object: Some(host), ..trial::Attempt::default() };
        let review = attempt.review().unwrap();
        let request = Request::from_json(Json::from(&review)).unwrap();
        let (facts, schemas) = (KnownFacts::default(), trial::schemas());
        let mut said = Vec::new();
        let mut tell = |name: &str, judge: &mut dyn FnMut() -> Option<OneVerdict>| {
            said.extend(judge().map(|verdict| (name.to_owned(), verdict)));
        };
        policies.validate_one_by_one(Concerned::All, &request, &facts, &mut tell);
        policies.mutate_one_by_one(Concerned::All, &request, &facts, &schemas, &mut tell);
        for expected in [
            ("host-bmc-address", OneVerdict::Denied),
            ("cleaning-mode-default", OneVerdict::Changed),
        ] {
            assert!(said.iter().any(|(name, it)| (name.as_str(), *it) == expected), "{said:?}");
        }
        assert!(said.iter().any(|(_, verdict)| *verdict == OneVerdict::Passed), "{said:?}");
        assert!(!said.iter().any(|(name, _)| name.starts_with("cluster-")), "{said:?}");
    }
}
