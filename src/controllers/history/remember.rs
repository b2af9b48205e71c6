//! Attempts to remediate a host, and how often they helped.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::api::hosthistory::{
    HistoryCause, HistoryCounts, HistoryEvent, HistoryRecord, HostHistoryFields, HostReference,
    RemediationOutcome as Outcome,
};

/// How many records are kept.
pub const RECORDS: usize = 100;
/// The longest words that are kept of a cause or a message.
const WORDS: usize = 1024;
/// The one thing that is done.
const ACTION: &str = "Reboot";

/// What is true of an attempt now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The host.
    pub host: String,
    /// Its UID.
    pub host_uid: String,
    /// The MAC address that it boots from.
    pub boot_mac_address: Option<String>,
    /// The UID of the Metal3Remediation.
    pub remediation_uid: String,
    /// Which attempt it is, from 1. None if none was begun.
    pub attempt: Option<u32>,
    /// The time.
    pub now: Timestamp,
    /// When it began, as far as that is known now. The first that was said of it counts.
    pub started: Timestamp,
    /// What came of it, if it is over.
    pub outcome: Option<Outcome>,
    /// Why it was made.
    pub cause: Option<HistoryCause>,
    /// The Machine.
    pub machine: String,
    /// Its Cluster.
    pub cluster: Option<String>,
    /// Anything else.
    pub message: Option<String>,
}

/// The history with an entry in it. None if it says so already.
#[must_use]
pub fn remember(stored: Option<&HostHistoryFields>, entry: &Entry) -> Option<HostHistoryFields> {
    let mut history = stored.cloned().unwrap_or_default();
    history.host_ref = HostReference {
        name: entry.host.clone(),
        uid: Some(entry.host_uid.clone()),
        boot_mac_address: entry
            .boot_mac_address
            .clone()
            .or(history.host_ref.boot_mac_address.take()),
    };
    let mut counts = history.counts.take().unwrap_or_default();
    let mut records = history.records.take().unwrap_or_default();
    let is_known = records.iter().any(|it| is_of(it, entry));
    let attempt = entry.attempt.and_then(|attempt| i32::try_from(attempt).ok());
    let found = records.iter().position(|it| is_of(it, entry) && it.attempt == attempt);
    let mut record = match found {
        Some(index) => records.remove(index),
        None => begin(&mut counts, entry, attempt, is_known),
    };
    conclude(&mut counts, &mut record, entry);
    history.last_remediation = Some(record.clone());
    // Where it was: records are in the order in which things began.
    records.insert(found.unwrap_or(records.len()), record);
    shorten(&mut records);
    history.records = Some(records);
    history.counts = Some(counts);
    (stored != Some(&history)).then_some(history)
}

fn is_of(record: &HistoryRecord, entry: &Entry) -> bool {
    record.remediation_uid.as_ref() == Some(&entry.remediation_uid)
}

fn begin(
    counts: &mut HistoryCounts,
    entry: &Entry,
    attempt: Option<i32>,
    is_known: bool,
) -> HistoryRecord {
    if !is_known {
        count(&mut counts.remediations);
    }
    if attempt.is_some() {
        count(&mut counts.attempts);
    }
    HistoryRecord {
        event: HistoryEvent::Remediation,
        started: Time(entry.started),
        finished: None,
        cause: entry.cause.clone().map(bounded),
        action: attempt.map(|_| ACTION.to_owned()),
        outcome: None,
        attempt,
        remediation_uid: Some(entry.remediation_uid.clone()),
        machine: Some(entry.machine.clone()),
        cluster: entry.cluster.clone(),
        message: None,
    }
}

/// Writes what came of an attempt. The first word holds, but for one: what was thought not to have helped may have helped after all.
fn conclude(counts: &mut HistoryCounts, record: &mut HistoryRecord, entry: &Entry) {
    let Some(outcome) = entry.outcome else { return };
    let may_change = match record.outcome {
        None => true,
        Some(Outcome::TimedOut) => outcome != Outcome::TimedOut,
        Some(Outcome::Recovered | Outcome::Replaced | Outcome::Failed | Outcome::Cancelled) => {
            false
        }
    };
    if !may_change {
        return;
    }
    match outcome {
        Outcome::Recovered => count(&mut counts.recovered),
        Outcome::Replaced => count(&mut counts.replaced),
        Outcome::Failed => count(&mut counts.failed),
        Outcome::TimedOut | Outcome::Cancelled => {}
    }
    record.outcome = Some(outcome);
    record.finished = Some(Time(entry.now));
    record.message = entry.message.as_deref().map(shortened);
}

fn count(counter: &mut Option<i32>) {
    *counter = Some(counter.unwrap_or_default().saturating_add(1));
}

/// Forgets the oldest. What goes on is not forgotten before it is over, unless there is nothing else.
pub(super) fn shorten(records: &mut Vec<HistoryRecord>) {
    while records.len() > RECORDS {
        let is_over = |record: &HistoryRecord| {
            record.event != HistoryEvent::Remediation || record.outcome.is_some()
        };
        let oldest = records.iter().position(is_over).unwrap_or_default();
        records.remove(oldest);
    }
}

fn bounded(cause: HistoryCause) -> HistoryCause {
    HistoryCause { message: cause.message.as_deref().map(shortened), ..cause }
}

pub(super) fn shortened(text: &str) -> String {
    text.chars().take(WORDS).collect()
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
