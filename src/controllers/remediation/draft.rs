//! `Draft`: a plan while it is made. It begins as what is stored; what differs in the end is what is written.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{
    conditions::{REMEDIATING, Why},
    events::{Event, Reason},
    observed::{Host, Machine, Observed},
    plan::{Action, Plan, Then},
};
use crate::{
    api::{
        hosthistory::{HistoryCause, RemediationOutcome as Outcome},
        metal3remediation::Metal3RemediationStatus,
    },
    controllers::{
        conditions::{self, Answer, in_seconds},
        events::Reason as _,
        history::Entry,
    },
    domain::remediation::Phase,
};

/// What MachineHealthCheck calls its verdict.
pub const HEALTH_CHECK_SUCCEEDED: &str = "HealthCheckSucceeded";

pub(super) struct Draft<'a> {
    pub seen: &'a Observed,
    pub status: Metal3RemediationStatus,
    history: Option<Entry>,
    events: Vec<Event>,
}

impl<'a> Draft<'a> {
    pub fn new(seen: &'a Observed) -> Self {
        let status = seen.remediation.status.clone();
        Self { seen, status, history: None, events: Vec::new() }
    }

    pub fn finish(self, then: Then) -> Plan {
        let differs = self.status != self.seen.remediation.status;
        Plan {
            history: self.history,
            status: differs.then_some(self.status),
            events: self.events,
            then,
        }
    }

    /// In the seconds that are stored.
    pub fn now(&self) -> Timestamp {
        in_seconds(self.seen.now)
    }

    pub fn tell(&mut self, reason: Reason, note: impl Into<String>) {
        let note = note.into();
        debug_assert!(reason.says(&note), "{reason}: not listed: {note}");
        self.events.push(Event { reason, note });
    }

    /// Shows what is done (`true`), or why nothing is. Tells whether that is news.
    pub fn show(&mut self, is_true: bool, reason: Why, message: impl Into<String>) -> bool {
        let before = self.status.conditions.iter().flatten().find(|it| it.type_ == REMEDIATING);
        let word: &str = reason.into();
        let is_news = before.is_none_or(|it| it.reason != word);
        let answer = Answer { is_true, reason, message: message.into() };
        let now = self.now();
        conditions::set(&mut self.status.conditions, REMEDIATING, &answer, None, now);
        is_news
    }

    /// Goes to a phase: whatever it waits for is waited for from now on.
    pub fn enter(&mut self, phase: Phase) {
        self.status.phase = Some(phase);
        if matches!(phase, Phase::Running | Phase::Waiting) {
            self.status.last_remediated = Some(Time(self.now()));
        }
    }

    /// What the history says of the attempt that is under way: that it is, or what came of it.
    pub fn record(&mut self, host: &Host, outcome: Option<Outcome>, message: Option<String>) {
        let remediation = &self.seen.remediation;
        let machine = self.seen.machine.as_ref();
        let attempt = remediation.attempt();
        self.history = Some(Entry {
            host: host.name.clone(),
            host_uid: host.uid.clone(),
            boot_mac_address: host.boot_mac_address.clone(),
            remediation_uid: remediation.uid.clone(),
            attempt: (attempt > 0).then_some(attempt),
            now: self.now(),
            started: remediation.since(),
            outcome,
            cause: self.cause(),
            machine: remediation.name.clone(),
            cluster: machine.map(|machine| machine.cluster.clone()),
            message,
        });
    }

    /// What a person said, or what MachineHealthCheck saw.
    fn cause(&self) -> Option<HistoryCause> {
        let requested = self.seen.remediation.request.as_ref().map(|message| HistoryCause {
            condition: None,
            reason: Some("Requested".to_owned()),
            message: Some(message.clone()),
        });
        let verdict = self.seen.machine.as_ref().and_then(|machine| machine.verdict.as_ref());
        let seen = verdict.filter(|it| !it.is_healthy).map(|verdict| HistoryCause {
            condition: Some(HEALTH_CHECK_SUCCEEDED.to_owned()),
            reason: Some(verdict.reason.clone()),
            message: Some(verdict.message.clone()),
        });
        requested.or(seen)
    }

    /// Nothing can be done, or need be done: where it ends.
    pub fn fail(&mut self, failure: Failure) -> Then {
        if let Ok(host) = &self.seen.host {
            let outcome = if failure.is_cancelled { Outcome::Cancelled } else { Outcome::Failed };
            self.record(host, Some(outcome), Some(failure.message.clone()));
        }
        self.enter(Phase::Failed);
        self.show(false, failure.reason, failure.message.clone());
        let reason = if failure.is_cancelled {
            Reason::RemediationCancelled
        } else {
            Reason::RemediationFailed
        };
        self.tell(reason, failure.message);
        Then::Again
    }

    /// Nothing until then, unless something changes.
    pub fn until(&self, then: Timestamp) -> Then {
        let left = then.duration_since(self.seen.now);
        Then::After(if left > SignedDuration::ZERO { left.unsigned_abs() } else { Duration::ZERO })
    }

    /// When the phase has lasted for this long.
    pub fn deadline(&self, after: SignedDuration) -> Timestamp {
        self.seen.remediation.since().checked_add(after).unwrap_or(Timestamp::MAX)
    }
}

/// Why nothing can be done.
#[derive(Debug)]
pub(super) struct Failure {
    pub reason: Why,
    pub message: String,
    /// Whether that is no failure: there is no need any more.
    pub is_cancelled: bool,
}

impl Failure {
    pub fn new(reason: Why, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), is_cancelled: false }
    }

    pub fn cancelled(reason: Why, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), is_cancelled: true }
    }
}

/// Who takes part, when all are there.
#[derive(Clone, Copy)]
pub(super) struct Parties<'a> {
    pub machine: &'a Machine,
    pub host: &'a Host,
}

impl From<Action> for Then {
    fn from(action: Action) -> Self {
        Self::Do(action)
    }
}
