//! What a discovery says of itself.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::plan::{Note, Tally};
use crate::api::{
    BareMetalHostDiscovery,
    baremetalhostdiscovery::{BareMetalHostDiscoveryStatus, Refusal, Skipped},
};

/// How many refusals are kept.
const REFUSALS: usize = 20;
const LONGEST_MESSAGE: usize = 1024;
const READY: &str = "Ready";

/// What came of a poll.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Polled {
    /// How many nodes there are.
    pub seen: usize,
    /// How many hosts were created.
    pub created: usize,
    /// How many hosts there are that the discovery has made.
    pub present: usize,
    /// What was counted.
    pub tally: Tally,
}

/// Why a discovery does nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Idle {
    /// It is switched off.
    Suspended,
    /// Its expressions do not compile.
    Invalid(String),
    /// Ironic cannot be read.
    Unreachable(String),
}

/// The status after a poll.
#[must_use]
pub fn polled(
    discovery: &BareMetalHostDiscovery,
    polled: &Polled,
    now: Timestamp,
) -> BareMetalHostDiscoveryStatus {
    let mut status = discovery.status.clone().unwrap_or_default();
    let before = usize::try_from(status.created.unwrap_or_default()).unwrap_or_default();
    // One that was created before somebody was killed was not counted, but is there.
    let created = before.saturating_add(polled.created).max(polled.present);
    status.last_poll = Some(Time(in_seconds(now)));
    status.observed_generation = discovery.metadata.generation;
    status.seen = Some(number(polled.seen));
    status.created = Some(number(created));
    let skipped = polled.tally.skipped.iter();
    let skipped = skipped.map(|(reason, count)| Skipped { reason: *reason, count: *count });
    status.skipped = Some(skipped.collect());
    status.refusals =
        Some(refusals(status.refusals.take().unwrap_or_default(), &polled.tally.notes, now));
    let generation = discovery.metadata.generation;
    set(&mut status, ready("True", "Polled", String::new(), generation, now));
    status
}

/// The status of one that does nothing.
#[must_use]
pub fn idle(
    discovery: &BareMetalHostDiscovery,
    why: &Idle,
    now: Timestamp,
) -> BareMetalHostDiscoveryStatus {
    let mut status = discovery.status.clone().unwrap_or_default();
    let (reason, message) = match why {
        Idle::Suspended => ("Suspended", "spec.suspend is true: no hosts are created".to_owned()),
        Idle::Invalid(problem) => ("InvalidExpression", problem.clone()),
        Idle::Unreachable(trouble) => ("IronicUnreachable", trouble.clone()),
    };
    let generation = discovery.metadata.generation;
    status.observed_generation = generation;
    set(&mut status, ready("False", reason, cut(&message), generation, now));
    status
}

/// New ones first. One that is known is not told again.
fn refusals(before: Vec<Refusal>, notes: &[Note], now: Timestamp) -> Vec<Refusal> {
    let is_known = |note: &Note| {
        let reason = note.reason.to_string();
        before.iter().any(|it| it.node == note.node && it.reason == reason)
    };
    let new = notes.iter().filter(|note| !is_known(note)).map(|note| Refusal {
        time: Time(in_seconds(now)),
        node: note.node.clone(),
        host: note.host.clone(),
        reason: note.reason.to_string(),
        message: cut(&note.message),
    });
    let mut all: Vec<Refusal> = new.take(REFUSALS).collect();
    all.extend(before);
    all.truncate(REFUSALS);
    all
}

/// The time of a condition changes only with its status.
fn set(status: &mut BareMetalHostDiscoveryStatus, new: Condition) {
    let conditions = status.conditions.get_or_insert_default();
    match conditions.iter_mut().find(|it| it.type_ == new.type_) {
        Some(old) if old.status == new.status => {
            let last_transition_time = old.last_transition_time.clone();
            *old = Condition { last_transition_time, ..new };
        }
        Some(old) => *old = new,
        None => conditions.push(new),
    }
}

fn ready(
    answer: &str,
    reason: &str,
    message: String,
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    Condition {
        type_: READY.to_owned(),
        status: answer.to_owned(),
        reason: reason.to_owned(),
        message,
        observed_generation: generation,
        last_transition_time: Time(in_seconds(now)),
    }
}

fn cut(message: &str) -> String {
    let mut kept: String = message.chars().take(LONGEST_MESSAGE - 1).collect();
    if kept.len() < message.len() {
        kept.push('…');
    }
    kept
}

/// As it is stored.
fn in_seconds(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
