//! What a discovery says of itself.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use strum::{EnumIter, IntoStaticStr};

use super::plan::{Note, Tally};
use crate::{
    api::{
        BareMetalHostDiscovery,
        baremetalhostdiscovery::{BareMetalHostDiscoveryStatus, Refusal, Skipped},
    },
    controllers::{
        conditions::{self, Answer, Reason, in_seconds},
        said::Subject,
    },
    domain::words,
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

/// Why it is ready, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, IntoStaticStr)]
pub enum Why {
    /// Ironic was read.
    Polled,
    /// It is switched off.
    Suspended,
    /// Its expressions do not compile.
    InvalidExpression,
    /// Ironic cannot be read.
    IronicUnreachable,
}

const SUSPENDED: &str = "spec.suspend is true: no hosts are created";

impl Reason for Why {
    const OF: Subject = Subject::BareMetalHostDiscovery;

    fn types(self) -> &'static [&'static str] {
        &[READY]
    }

    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Polled => &[],
            Self::Suspended => &[SUSPENDED],
            Self::InvalidExpression => &["<what is wrong with which expression>"],
            Self::IronicUnreachable => &["<what Ironic or the network answered>"],
        }
    }
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
    set(&mut status, &Answer::yes(Why::Polled), generation, now);
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
        Idle::Suspended => (Why::Suspended, SUSPENDED),
        Idle::Invalid(problem) => (Why::InvalidExpression, problem.as_str()),
        Idle::Unreachable(trouble) => (Why::IronicUnreachable, trouble.as_str()),
    };
    let generation = discovery.metadata.generation;
    status.observed_generation = generation;
    set(&mut status, &Answer::no(reason, cut(message)), generation, now);
    status
}

/// New ones first. One that is known is not told again.
fn refusals(before: Vec<Refusal>, notes: &[Note], now: Timestamp) -> Vec<Refusal> {
    let is_known = |note: &Note| {
        let reason = note.reason.to_string();
        before.iter().any(|it| it.node == note.node && it.reason == reason)
    };
    debug_assert!(
        notes.iter().all(|note| words::fit_any(note.reason.words(), &note.message)),
        "not listed: {notes:?}"
    );
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

fn set(
    status: &mut BareMetalHostDiscoveryStatus,
    answer: &Answer<Why>,
    generation: Option<i64>,
    now: Timestamp,
) {
    conditions::set(&mut status.conditions, READY, answer, generation, in_seconds(now));
}

fn cut(message: &str) -> String {
    let mut kept: String = message.chars().take(LONGEST_MESSAGE - 1).collect();
    if kept.len() < message.len() {
        kept.push('…');
    }
    kept
}

fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
