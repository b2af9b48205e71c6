//! What is to be done about a host that is reserved.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use strum::Display;

use crate::{
    api::BareMetalHost,
    controllers::host_choice::candidate::{is_unhealthy, reserved_since},
    domain::node_reuse,
};

/// For how long a host is kept that nobody seems to need: in a rollout the new machine comes after the old one went.
const GRACE: Duration = Duration::from_mins(2);
/// How often a reservation is looked at, unless something wakes it before.
const LOOK: Duration = Duration::from_mins(1);

/// What is known of a host that is reserved.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The host as the API server has it.
    pub host: BareMetalHost,
    /// The owner of its pool.
    pub owner: Owner,
    /// How many hosts of the same pool are to be kept before this one.
    pub before: usize,
    /// The time.
    pub now: Timestamp,
}

/// The owner of a pool: a control plane or a MachineDeployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// There is none of that name, or its Cluster is not there, or one of them is being deleted.
    Gone,
    /// It is there.
    There {
        /// How many machines there are to be.
        replicas: usize,
        /// How many of them are as they should be, and have a host.
        settled: usize,
    },
}

/// What is to be done about a host that is reserved.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// Its machine still has it, or it is not reserved.
    Leave,
    /// Write down since when it is reserved, for whoever did it did not.
    Stamp(Value),
    /// Keep it for its pool, and look again after so long.
    Keep(Duration),
    /// It is anybody's again.
    Release(Why, Value),
}

/// Why a reservation ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display)]
pub enum Why {
    /// The owner of its pool is gone.
    #[strum(to_string = "the owner of its pool is gone")]
    PoolGone,
    /// Its pool has all the hosts that it needs.
    #[strum(to_string = "its pool has all the hosts that it needs")]
    NotNeeded,
    /// The host was given up.
    #[strum(to_string = "it is marked unhealthy, so that no machine would take it")]
    Unhealthy,
    /// The label was taken away, by a person, and the Cluster still held it.
    #[strum(to_string = "its label was taken away")]
    Unlabelled,
}

impl Why {
    /// In one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::PoolGone => "PoolGone",
            Self::NotNeeded => "NotNeeded",
            Self::Unhealthy => "Unhealthy",
            Self::Unlabelled => "Unlabelled",
        }
    }
}

/// Decides what is to be done about a host that is reserved.
#[must_use]
pub fn decide(seen: &Observed) -> Plan {
    let host = &seen.host;
    let is_labelled =
        host.metadata.labels.iter().flatten().any(|(key, _)| key == node_reuse::LABEL);
    let consumer = host.spec.consumer_ref.as_ref();
    let holder = consumer.map(|it| it.kind.as_deref().unwrap_or_default());
    match (is_labelled, holder) {
        (false, Some("Cluster")) => return release(Why::Unlabelled),
        (false, _) => return Plan::Leave,
        // The machine that gives it back says in the end whether it is kept.
        (true, Some(kind)) if kind != "Cluster" => return Plan::Leave,
        (true, _) => {}
    }
    if is_unhealthy(host) {
        return release(Why::Unhealthy);
    }
    let Some(since) = reserved_since(host) else {
        let now = seen.now.to_string();
        return Plan::Stamp(
            json!({"metadata": {"annotations": {node_reuse::SINCE_ANNOTATION: now}}}),
        );
    };
    let Owner::There { replicas, settled } = seen.owner else {
        return release(Why::PoolGone);
    };
    let needed = replicas.saturating_sub(settled);
    if seen.before < needed {
        return Plan::Keep(LOOK);
    }
    let kept = Duration::try_from(seen.now.duration_since(since)).unwrap_or_default();
    match GRACE.checked_sub(kept).filter(|left| !left.is_zero()) {
        Some(left) => Plan::Keep(left.min(LOOK)),
        None => release(Why::NotNeeded),
    }
}

fn release(why: Why) -> Plan {
    Plan::Release(
        why,
        json!({
            "metadata": {
                "labels": {node_reuse::LABEL: null},
                "annotations": {node_reuse::SINCE_ANNOTATION: null},
            },
            "spec": {"consumerRef": null},
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::baremetalhost::BareMetalHostSpec;
    use k8s_openapi::api::core::v1::ObjectReference;
    use rstest::rstest;

    fn now() -> Timestamp {
        Timestamp::from_second(1_800_000_000).unwrap()
    }

    /// Kept for a pool for so many seconds.
    fn seen(seconds: u64, owner: Owner) -> Observed {
        let consumer =
            ObjectReference { kind: Some("Cluster".into()), ..ObjectReference::default() };
        let spec =
            BareMetalHostSpec { consumer_ref: Some(consumer), ..BareMetalHostSpec::default() };
        let mut host = BareMetalHost::new("h", spec);
        host.metadata.labels = Some([(node_reuse::LABEL.into(), "md-pool1".into())].into());
        let since = now().checked_sub(Duration::from_secs(seconds)).unwrap().to_string();
        host.metadata.annotations = Some([(node_reuse::SINCE_ANNOTATION.into(), since)].into());
        Observed { host, owner, before: 0, now: now() }
    }

    fn there(replicas: usize, settled: usize) -> Owner {
        Owner::There { replicas, settled }
    }

    fn why(plan: &Plan) -> Option<Why> {
        match plan {
            Plan::Release(why, _) => Some(*why),
            Plan::Leave | Plan::Stamp(_) | Plan::Keep(_) => None,
        }
    }

    #[rstest]
    #[case::needed(9_999, there(3, 2), 0, None)]
    #[case::as_many_are_kept_before_it_as_are_needed(9_999, there(3, 2), 1, Some(Why::NotNeeded))]
    #[case::scaled_down(9_999, there(2, 2), 0, Some(Why::NotNeeded))]
    #[case::scaled_down_a_moment_ago(5, there(2, 2), 0, None)]
    #[case::the_owner_is_gone(0, Owner::Gone, 0, Some(Why::PoolGone))]
    fn a_reservation_ends_when_nobody_needs_it(
        #[case] seconds: u64,
        #[case] owner: Owner,
        #[case] before: usize,
        #[case] expected: Option<Why>,
    ) {
        let plan = decide(&Observed { before, ..seen(seconds, owner) });
        assert_eq!(why(&plan), expected, "{plan:?}");
    }

    #[test]
    fn one_that_was_given_up_is_kept_for_nobody() {
        let mut seen = seen(0, there(3, 0));
        let annotations = seen.host.metadata.annotations.as_mut().unwrap();
        annotations.insert("capi.metal3.io/unhealthy".into(), String::new());
        assert_eq!(why(&decide(&seen)), Some(Why::Unhealthy));
    }

    #[test]
    fn a_reservation_of_metal3_gets_a_time_and_then_ends_like_ours() {
        let mut seen = seen(0, there(1, 1));
        seen.host.metadata.annotations = None;
        let Plan::Stamp(patch) = decide(&seen) else { panic!() };
        let now = now().to_string();
        assert_eq!(patch["metadata"]["annotations"][node_reuse::SINCE_ANNOTATION], now);
    }

    #[test]
    fn who_takes_the_label_away_gives_the_host_up() {
        let mut seen = seen(0, there(3, 0));
        seen.host.metadata.labels = None;
        assert_eq!(why(&decide(&seen)), Some(Why::Unlabelled));
    }

    #[test]
    fn a_host_that_its_machine_has_not_given_back_yet_is_the_machines() {
        let mut seen = seen(9_999, Owner::Gone);
        seen.host.spec.consumer_ref.as_mut().unwrap().kind = Some("Metal3Machine".into());
        assert_eq!(decide(&seen), Plan::Leave);
    }
}
