//! One host, and all that is known to have happened to it.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use serde::Serialize;
use serde_with_macros::skip_serializing_none;
use std::collections::BTreeMap;

use super::{Denial, Row};
use crate::api::{
    BareMetalHost, HostHistory,
    hosthistory::{HistoryEvent, HistoryRecord, RemediationOutcome},
};

/// A host.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Host {
    /// As a list shows it.
    #[serde(flatten)]
    pub row: Row,
    /// Whether it is to be on.
    pub is_wanted_on: bool,
    /// What it runs.
    pub image: Option<String>,
    /// What is in it, in words.
    pub hardware: Option<String>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// What happened, newest first.
    pub timeline: Vec<Moment>,
}

/// Something that happened.
#[skip_serializing_none]
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Moment {
    /// When it began.
    pub when: Timestamp,
    /// When it ended, if it took time.
    pub until: Option<Timestamp>,
    /// Whether it still goes on.
    pub goes_on: bool,
    /// What.
    pub what: String,
    /// More about it.
    pub about: Option<String>,
    /// How it is shown.
    pub tone: Tone,
}

/// How something is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// It happened.
    Plain,
    /// It went well.
    Good,
    /// It did not.
    Bad,
    /// Somebody was told no.
    Denied,
}

/// All that there is to show of a host.
pub fn host<'a>(
    host: &BareMetalHost,
    history: Option<&HostHistory>,
    denials: impl Iterator<Item = &'a Denial>,
) -> Host {
    let row = Row::of(host);
    let mut timeline = own(host);
    let records = history.and_then(|it| it.spec.records.as_ref());
    timeline.extend(records.into_iter().flatten().map(record));
    let denials = denials.filter(|it| it.names(&row.namespace, &row.name));
    timeline.extend(denials.map(denied));
    timeline.sort_by_key(|moment| std::cmp::Reverse(moment.when));
    Host {
        is_wanted_on: host.spec.online,
        image: host
            .status
            .as_ref()
            .and_then(|it| it.provisioning.image.as_ref())
            .map(|it| it.url.clone()),
        hardware: hardware(host),
        labels: host.labels().clone(),
        row,
        timeline,
    }
}

fn moment(when: Timestamp, what: impl Into<String>, tone: Tone) -> Moment {
    Moment { when, until: None, goes_on: false, what: what.into(), about: None, tone }
}

/// What the host itself tells.
fn own(host: &BareMetalHost) -> Vec<Moment> {
    let mut found = Vec::new();
    let time = |time: &Option<Time>| time.as_ref().map(|it| it.0);
    if let Some(when) = time(&host.metadata.creation_timestamp) {
        found.push(moment(when, "created", Tone::Plain));
    }
    if let Some(when) = time(&host.metadata.deletion_timestamp) {
        found.push(moment(when, "deletion was asked for", Tone::Plain));
    }
    let Some(status) = &host.status else { return found };
    let history = status.operation_history.iter();
    let operations = history.flat_map(|it| {
        [
            ("registered", "is being registered", &it.register),
            ("inspected", "is being inspected", &it.inspect),
            ("provisioned", "is being provisioned", &it.provision),
            ("deprovisioned", "is being deprovisioned", &it.deprovision),
        ]
    });
    for (done, going, operation) in operations {
        let Some(operation) = operation else { continue };
        let Some(when) = time(&operation.start) else { continue };
        let until = time(&operation.end);
        let what = if until.is_some() { done } else { going };
        let tone = if until.is_some() { Tone::Good } else { Tone::Plain };
        found.push(Moment { until, goes_on: until.is_none(), ..moment(when, what, tone) });
    }
    if let Some(error) = status.error_type
        && let Some(when) = time(&status.last_updated)
    {
        let about = (!status.error_message.is_empty()).then(|| status.error_message.clone());
        found.push(Moment { about, ..moment(when, error.to_string(), Tone::Bad) });
    }
    found
}

fn record(record: &HistoryRecord) -> Moment {
    let until = record.finished.as_ref().map(|it| it.0);
    let (what, tone, goes_on) = match record.event {
        HistoryEvent::Cordoned => ("taken out of use".to_owned(), Tone::Bad, false),
        HistoryEvent::Uncordoned => ("back in use".to_owned(), Tone::Good, false),
        HistoryEvent::Remediation => {
            let action = record.action.as_deref().unwrap_or("remediation");
            let attempt = record.attempt.map_or(String::new(), |it| format!(", attempt {it}"));
            let (outcome, tone) = match record.outcome {
                None => ("goes on", Tone::Plain),
                Some(RemediationOutcome::Recovered) => ("the node came back", Tone::Good),
                Some(RemediationOutcome::TimedOut) => ("the node did not come back", Tone::Bad),
                Some(RemediationOutcome::Replaced) => ("the machine was given up", Tone::Bad),
                Some(RemediationOutcome::Failed) => ("could not be carried out", Tone::Bad),
                Some(RemediationOutcome::Cancelled) => ("called off", Tone::Plain),
            };
            let what = format!("{}{attempt}: {outcome}", action.to_lowercase());
            (what, tone, record.outcome.is_none())
        }
    };
    let cause = record.cause.as_ref().and_then(|it| it.message.clone().or(it.reason.clone()));
    let machine = record.machine.as_ref().map(|it| format!("machine {it}"));
    let about: Vec<_> = [machine, cause, record.message.clone()].into_iter().flatten().collect();
    let about = (!about.is_empty()).then(|| about.join("; "));
    let is_span = until.is_some_and(|it| it > record.started.0);
    let until = until.filter(|_| is_span);
    Moment { until, goes_on, about, ..moment(record.started.0, what, tone) }
}

fn denied(denial: &Denial) -> Moment {
    let dry_run = if denial.is_dry_run { " (dry run)" } else { "" };
    let what = format!(
        "{} of {} {} refused{dry_run}",
        denial.operation.to_lowercase(),
        denial.kind,
        denial.name
    );
    let causes: Vec<_> = denial.causes.iter().map(|it| it.message.clone()).collect();
    Moment { about: Some(causes.join("\n")), ..moment(denial.when, what, Tone::Denied) }
}

fn hardware(host: &BareMetalHost) -> Option<String> {
    let hardware = host.status.as_ref()?.hardware.as_ref()?;
    let vendor = hardware.system_vendor.as_ref();
    let product = vendor.and_then(|it| it.product_name.clone().filter(|name| !name.is_empty()));
    let cpus = hardware.cpu.as_ref().and_then(|it| it.count).map(|it| format!("{it} CPUs"));
    let memory = hardware.ram_mebibytes.map(|it| format!("{} GiB", it / 1024));
    let disks = hardware.storage.as_ref().map(Vec::len).filter(|it| *it > 0);
    let disks = disks.map(|it| if it == 1 { "1 disk".to_owned() } else { format!("{it} disks") });
    let words: Vec<_> = [product, cpus, memory, disks].into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_that_happened_is_there_newest_first() {
        let object: BareMetalHost = serde_json::from_value(json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": "w", "namespace": "lab", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"online": true},
            "status": {
                "operationalStatus": "error", "errorType": "provisioning error", "errorMessage": "no image",
                "errorCount": 1, "poweredOn": true, "lastUpdated": "2026-01-05T00:00:00Z",
                "provisioning": {"state": "provisioning", "ID": ""},
                "operationHistory": {
                    "register": {"start": "2026-01-01T00:01:00Z", "end": "2026-01-01T00:02:00Z"},
                    "provision": {"start": "2026-01-04T00:00:00Z", "end": null},
                },
            },
        }))
        .unwrap();
        let history: HostHistory = serde_json::from_value(json!({
            "apiVersion": "ironward.dev/v1alpha1", "kind": "HostHistory",
            "metadata": {"name": "w", "namespace": "lab"}, "hostRef": {"name": "w"},
            "records": [
                {"event": "Remediation", "started": "2026-01-02T00:00:00Z", "finished": "2026-01-02T00:05:00Z", "action": "Reboot",
                 "attempt": 1, "outcome": "TimedOut", "machine": "m", "cause": {"message": "Ready is Unknown"}},
                {"event": "Cordoned", "started": "2026-01-03T00:00:00Z", "finished": "2026-01-03T00:00:00Z", "cause": {"message": "fan"}},
            ],
        }))
        .unwrap();
        let seen = host(&object, Some(&history), std::iter::empty());
        let lines: Vec<_> = seen
            .timeline
            .iter()
            .map(|it| format!("{} {:?} {}", it.what, it.tone, it.about.as_deref().unwrap_or("-")))
            .collect();
        assert_eq!(
            lines,
            [
                "provisioning error Bad no image",
                "is being provisioned Plain -",
                "taken out of use Bad fan",
                "reboot, attempt 1: the node did not come back Bad machine m; Ready is Unknown",
                "registered Good -",
                "created Plain -",
            ]
        );
        assert!(seen.timeline[1].goes_on && seen.timeline[3].until.is_some());
    }
}
