//! Who was refused what, lately.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::Timestamp;
use serde::Serialize;

use crate::{
    admission::{SERVED_GROUPS, Status},
    policy::Request,
};

/// Whose the refusals are that no policy has.
pub const NO_POLICY: &str = "(no policy)";

/// How many are remembered.
const MOST: usize = 500;

/// A request that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Denial {
    /// When.
    pub when: Timestamp,
    /// What kind of object it is.
    pub kind: String,
    /// The object's namespace.
    pub namespace: String,
    /// The object; empty if its name was to be generated.
    pub name: String,
    /// What was to be done with it.
    pub operation: String,
    /// Whether nothing would have been stored anyway.
    pub is_dry_run: bool,
    /// Which policies refused it, and why.
    pub causes: Vec<Cause>,
}

/// Why something was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// By which policy.
    pub policy: String,
    /// In words, with the field.
    pub message: String,
}

impl Denial {
    /// What there is to show of a refusal; nothing for kinds that have nothing to do with hosts, for who may see those may not see these.
    #[must_use]
    pub fn of(request: &Request<'_>, status: &Status, when: Timestamp) -> Option<Self> {
        if !SERVED_GROUPS.contains(&request.kind.group) {
            return None;
        }
        let causes: Vec<_> = match &status.details {
            Some(details) => details
                .causes
                .iter()
                .map(|it| Cause {
                    policy: it.policy.clone(),
                    message: format!("{}: {}", it.field, it.message),
                })
                .collect(),
            None => {
                vec![Cause { policy: NO_POLICY.to_owned(), message: status.message.clone() }]
            }
        };
        Some(Self {
            when,
            kind: request.kind.name.to_owned(),
            namespace: request.namespace.to_owned(),
            name: request.name.to_owned(),
            operation: request.operation.to_string(),
            is_dry_run: request.dry_run,
            causes,
        })
    }

    /// Whether it is about this host: itself, or something that names it.
    #[must_use]
    pub fn names(&self, namespace: &str, name: &str) -> bool {
        let is_it =
            self.kind == "BareMetalHost" && self.namespace == namespace && self.name == name;
        let full = format!("{namespace}/{name}");
        let is_whole = |(at, text): (usize, &str), message: &str| {
            let is_part = |it: char| it.is_ascii_alphanumeric() || "-./".contains(it);
            let before = message[..at].chars().next_back();
            // A name ends with a letter or a digit: a stop after it is the sentence's, unless the name goes on.
            let after = message[at + text.len()..].trim_start_matches(['.', '-']).chars().next();
            let goes_on = message[at + text.len()..].starts_with(is_part)
                && after.is_some_and(|it| it.is_ascii_alphanumeric());
            !goes_on && !before.is_some_and(is_part)
        };
        let is_named = |message: &str| message.match_indices(&full).any(|it| is_whole(it, message));
        is_it || self.causes.iter().any(|it| is_named(&it.message))
    }
}

/// The latest, and how often each policy has refused something.
#[derive(Debug, Default)]
pub struct Denials {
    latest: VecDeque<Denial>,
    by_policy: BTreeMap<String, Counts>,
}

/// Trials are counted apart: a pipeline that tries a change every minute would drown all else.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
struct Counts {
    denials: u64,
    dry_runs: u64,
}

/// A policy, and how often it refused something.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct ByPolicy<'a> {
    policy: &'a str,
    #[serde(flatten)]
    counts: Counts,
}

impl Denials {
    /// One more.
    pub fn add(&mut self, denial: Denial) {
        // A policy that has two things to say of a request has refused one.
        let policies: BTreeSet<_> = denial.causes.iter().map(|it| &it.policy).collect();
        for policy in policies {
            let counts = self.by_policy.entry(policy.clone()).or_default();
            if denial.is_dry_run {
                counts.dry_runs += 1;
            } else {
                counts.denials += 1;
            }
        }
        self.latest.push_front(denial);
        self.latest.truncate(MOST);
    }

    /// The latest, newest first.
    pub fn latest(&self) -> impl Iterator<Item = &Denial> {
        self.latest.iter()
    }

    /// The policies that refuse most, first.
    #[must_use]
    pub fn by_policy(&self) -> Vec<ByPolicy<'_>> {
        let all = self.by_policy.iter();
        let mut all: Vec<_> =
            all.map(|(policy, counts)| ByPolicy { policy, counts: *counts }).collect();
        all.sort_by_key(|it| std::cmp::Reverse(it.counts));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn denial(name: &str, policy: &str, message: &str) -> Denial {
        Denial {
            when: Timestamp::UNIX_EPOCH,
            kind: "BareMetalHost".to_owned(),
            namespace: "lab".to_owned(),
            name: name.to_owned(),
            operation: "CREATE".to_owned(),
            is_dry_run: false,
            causes: vec![Cause { policy: policy.to_owned(), message: message.to_owned() }],
        }
    }

    #[rstest]
    #[case::itself("worker-1", "", true)]
    #[case::another("worker-2", "", false)]
    #[case::in_words("worker-2", "spec.bootMACAddress: BareMetalHost lab/worker-1 has it", true)]
    #[case::at_the_end("worker-2", "it is that of lab/worker-1", true)]
    #[case::at_the_end_of_a_sentence("worker-2", "it is that of lab/worker-1. Take another.", true)]
    #[case::a_longer_name("worker-2", "it is that of lab/worker-10", false)]
    #[case::a_name_with_a_domain("worker-2", "it is that of lab/worker-1.example", false)]
    #[case::a_name_with_more_words("worker-2", "it is that of lab/worker-1-a", false)]
    #[case::a_path("worker-2", "it is that of lab/worker-1/status", true)]
    #[case::a_longer_namespace("worker-2", "it is that of my-lab/worker-1", false)]
    fn a_denial_is_shown_with_the_hosts_that_it_names(
        #[case] name: &str,
        #[case] message: &str,
        #[case] is_it: bool,
    ) {
        assert_eq!(denial(name, "p", message).names("lab", "worker-1"), is_it);
    }

    #[test]
    fn the_latest_are_kept_and_all_are_counted() {
        let mut denials = Denials::default();
        for number in 0..=MOST {
            let mut one = denial(&number.to_string(), if number == 0 { "a" } else { "b" }, "");
            one.causes.extend(one.causes.clone());
            denials.add(one);
        }
        assert_eq!(denials.latest().count(), MOST);
        assert_eq!(denials.latest().next().unwrap().name, MOST.to_string());
        let mut trial = denial("trial", "a", "");
        trial.is_dry_run = true;
        denials.add(trial);
        let counted =
            |policy, denials, dry_runs| ByPolicy { policy, counts: Counts { denials, dry_runs } };
        assert_eq!(denials.by_policy(), [counted("b", MOST as u64, 0), counted("a", 1, 1)]);
    }
}
