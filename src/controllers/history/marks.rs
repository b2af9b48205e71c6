//! When a host was taken out of use, and back into it: whether it has the unhealthy annotation.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::remember::{shorten, shortened};
use crate::api::hosthistory::{
    HistoryCause, HistoryEvent, HistoryRecord, HostHistoryFields, HostReference,
};

/// The history with the mark that a host has now, and why it has it. None if it says so already. A host that never was out of use needs
/// no history.
#[must_use]
pub fn remember_mark(
    stored: Option<&HostHistoryFields>,
    host: &HostReference,
    unhealthy: Option<&str>,
    now: Timestamp,
) -> Option<HostHistoryFields> {
    let records = stored.and_then(|stored| stored.records.as_ref());
    let last = records.into_iter().flatten().rev().find_map(|record| match record.event {
        HistoryEvent::Cordoned => Some(record.cause.as_ref().and_then(|it| it.message.as_deref())),
        HistoryEvent::Uncordoned => Some(None),
        HistoryEvent::Remediation => None,
    });
    let unhealthy = unhealthy.map(shortened);
    if last.flatten() == unhealthy.as_deref() {
        return None;
    }
    let cause =
        unhealthy.map(|message| HistoryCause { message: Some(message), ..HistoryCause::default() });
    let event = if cause.is_some() { HistoryEvent::Cordoned } else { HistoryEvent::Uncordoned };
    let mut history = stored.cloned().unwrap_or_default();
    history.host_ref = host.clone();
    let records = history.records.get_or_insert_default();
    records.push(HistoryRecord {
        event,
        started: Time(now),
        finished: Some(Time(now)),
        cause,
        action: None,
        outcome: None,
        attempt: None,
        remediation_uid: None,
        machine: None,
        cluster: None,
        message: None,
    });
    shorten(records);
    Some(history)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_of_the_mark_is_remembered_once() {
        let host = HostReference { name: "worker-0".into(), ..HostReference::default() };
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(remember_mark(None, &host, None, now), None);
        let history = remember_mark(None, &host, Some("the fan is loud"), now).unwrap();
        assert_eq!(remember_mark(Some(&history), &host, Some("the fan is loud"), now), None);
        let history = remember_mark(Some(&history), &host, Some("no, the disk"), now).unwrap();
        let history = remember_mark(Some(&history), &host, None, now).unwrap();
        assert_eq!(remember_mark(Some(&history), &host, None, now), None);
        let events: Vec<_> = history.records.iter().flatten().map(|record| record.event).collect();
        let expected = [HistoryEvent::Cordoned, HistoryEvent::Cordoned, HistoryEvent::Uncordoned];
        assert_eq!(events, expected);
    }

    #[test]
    fn a_mark_without_a_word_is_one_too() {
        let host = HostReference { name: "worker-0".into(), ..HostReference::default() };
        let now = Timestamp::UNIX_EPOCH;
        let history = remember_mark(None, &host, Some(""), now).unwrap();
        assert_eq!(remember_mark(Some(&history), &host, Some(""), now), None);
        assert!(remember_mark(Some(&history), &host, None, now).is_some());
    }
}
