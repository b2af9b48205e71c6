//! `ironward history`: what happened to hosts, worst first.

use std::{
    cmp::Reverse,
    io::{self, Write},
};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use jiff::SignedDuration;
use kube::{Api, ResourceExt, api::ListParams};

use super::{Namespace, client, table::table};
use crate::api::{
    HostHistory,
    hosthistory::{HistoryEvent, HistoryRecord, RemediationOutcome as Outcome},
};

/// Which hosts, and how to say it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without a host, it lists all that have a history, those with the most trouble first: machines that were given up, then \
    remediations that failed, then all others. With one, it prints what happened to it, oldest first."
)]
pub struct Args {
    /// Only this BareMetalHost, with all that is remembered of it.
    #[arg(value_name = "HOST")]
    host: Option<String>,

    #[command(flatten)]
    namespace: Namespace,

    /// The hosts of all namespaces.
    #[arg(long, short = 'A', conflicts_with_all = ["namespace", "host"])]
    all_namespaces: bool,

    /// How to print it.
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

/// How it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Table,
    /// For programs: the HostHistory objects, in the same order.
    Json,
}

/// Prints it.
pub async fn run(arguments: &Args, mut out: impl Write) -> Result<()> {
    let client = client().await?;
    let namespace = arguments.namespace.or_default(&client).to_owned();
    let api: Api<HostHistory> = if arguments.all_namespaces {
        Api::all(client)
    } else {
        Api::namespaced(client, &namespace)
    };
    let mut found = match &arguments.host {
        Some(name) => {
            let one = api.get_opt(name).await.context("could not read the history")?;
            let Some(one) = one else {
                bail!(
                    "nothing is remembered of a host {name} in namespace {namespace}: it was never remediated or cordoned"
                );
            };
            vec![one]
        }
        None => {
            api.list(&ListParams::default()).await.context("could not list the histories")?.items
        }
    };
    found.sort_by_key(|it| (Reverse(trouble(it)), it.namespace(), it.name_any()));
    let written = match (arguments.output, &arguments.host) {
        (Format::Json, Some(_)) => json(found.first(), &mut out),
        (Format::Json, None) => json(&found, &mut out),
        (Format::Table, Some(_)) => found.iter().try_for_each(|it| timeline(it, &mut out)),
        (Format::Table, None) => overview(&found, arguments.all_namespaces, &mut out),
    };
    written.context("could not print it")
}

fn json(value: impl serde::Serialize, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &value)?;
    writeln!(out)
}

/// How much trouble a host makes: how often a machine had to be given up on it, then what could not be done, then the rest.
fn trouble(history: &HostHistory) -> [i32; 4] {
    let counts = history.spec.counts.unwrap_or_default();
    [counts.replaced, counts.failed, counts.remediations, counts.attempts]
        .map(Option::unwrap_or_default)
}

fn overview(found: &[HostHistory], with_namespace: bool, out: &mut impl Write) -> io::Result<()> {
    if found.is_empty() {
        return writeln!(out, "No host was remediated or cordoned.");
    }
    let mut rows = vec![
        ["HOST", "REMEDIATIONS", "RECOVERED", "REPLACED", "FAILED", "LAST", "OUTCOME", "CORDONED"]
            .map(str::to_owned),
    ];
    for history in found {
        let counts = history.spec.counts.unwrap_or_default();
        let number = |count: Option<i32>| count.unwrap_or_default().to_string();
        let last = history.spec.last_remediation.as_ref();
        let namespace = history.namespace().filter(|_| with_namespace);
        let name = history.name_any();
        rows.push([
            namespace.map_or(name.clone(), |it| format!("{it}/{name}")),
            number(counts.remediations),
            number(counts.recovered),
            number(counts.replaced),
            number(counts.failed),
            last.map_or("-".to_owned(), |it| it.started.0.to_string()),
            last.map_or("-".to_owned(), outcome),
            cordoned(history).unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    table(&rows, out)
}

/// Why it is out of use, by the last that was said of it.
fn cordoned(history: &HostHistory) -> Option<String> {
    let records = history.spec.records.iter().flatten().rev();
    let mut marks =
        records.filter(|it| matches!(it.event, HistoryEvent::Cordoned | HistoryEvent::Uncordoned));
    let last = marks.next().filter(|it| it.event == HistoryEvent::Cordoned)?;
    Some(last.cause.as_ref().and_then(|it| it.message.clone()).unwrap_or_default())
}

fn timeline(history: &HostHistory, out: &mut impl Write) -> io::Result<()> {
    let mut rows = vec![["WHEN", "TOOK", "WHAT", "OUTCOME", "MACHINE", "WHY"].map(str::to_owned)];
    for record in history.spec.records.iter().flatten() {
        let took = record.finished.as_ref().map(|it| it.0.duration_since(record.started.0));
        let took = took.filter(|_| record.event == HistoryEvent::Remediation);
        rows.push([
            record.started.0.to_string(),
            took.map_or("-".to_owned(), lasting),
            what(record),
            if record.event == HistoryEvent::Remediation {
                outcome(record)
            } else {
                "-".to_owned()
            },
            record.machine.clone().unwrap_or_else(|| "-".to_owned()),
            why(record),
        ]);
    }
    table(&rows, out)
}

fn what(record: &HistoryRecord) -> String {
    let event = match record.event {
        HistoryEvent::Remediation => "Remediation",
        HistoryEvent::Cordoned => "Cordoned",
        HistoryEvent::Uncordoned => "Uncordoned",
    };
    match (&record.action, record.attempt) {
        (Some(action), Some(attempt)) => format!("{action} {attempt}"),
        _ => event.to_owned(),
    }
}

fn outcome(record: &HistoryRecord) -> String {
    let word = match record.outcome {
        None => "goes on",
        Some(Outcome::Recovered) => "Recovered",
        Some(Outcome::TimedOut) => "TimedOut",
        Some(Outcome::Replaced) => "Replaced",
        Some(Outcome::Failed) => "Failed",
        Some(Outcome::Cancelled) => "Cancelled",
    };
    word.to_owned()
}

/// The cause, and what came of it where there is more to say, on one line.
fn why(record: &HistoryRecord) -> String {
    let cause = record.cause.as_ref();
    let said = cause.and_then(|it| it.message.clone().or_else(|| it.reason.clone()));
    let words: Vec<_> = [said, record.message.clone()].into_iter().flatten().collect();
    let words = words.join("; ");
    if words.is_empty() {
        "-".to_owned()
    } else {
        words.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

fn lasting(took: SignedDuration) -> String {
    let seconds = took.as_secs();
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(name: &str, counts: [i32; 3]) -> HostHistory {
        let [remediations, replaced, failed] = counts;
        let yaml = format!(
            r#"{{
            "apiVersion": "ironward.dev/v1alpha1", "kind": "HostHistory",
            "metadata": {{"name": "{name}", "namespace": "lab"}},
            "hostRef": {{"name": "{name}"}},
            "counts": {{"remediations": {remediations}, "replaced": {replaced}, "failed": {failed}}},
            "records": [
                {{"event": "Remediation", "started": "2026-01-01T10:00:00Z", "finished": "2026-01-01T10:02:05Z",
                 "action": "Reboot", "attempt": 1, "outcome": "Recovered", "machine": "workers-x7k",
                 "cause": {{"message": "Health check failed:\n  * Ready is Unknown"}}}},
                {{"event": "Cordoned", "started": "2026-01-02T10:00:00Z", "finished": "2026-01-02T10:00:00Z",
                 "cause": {{"message": "the fan is loud"}}}}
            ]
        }}"#
        );
        serde_json::from_str(&yaml).unwrap()
    }

    #[test]
    fn the_worst_is_first() {
        let mut all =
            [history("a", [9, 0, 0]), history("b", [2, 1, 0]), history("c", [1, 0, 1])].to_vec();
        all.sort_by_key(|it| Reverse(trouble(it)));
        let names: Vec<_> = all.iter().map(ResourceExt::name_any).collect();
        assert_eq!(names, ["b", "c", "a"]);
    }

    #[test]
    fn a_timeline_has_a_line_for_each_thing() {
        let mut out = Vec::new();
        timeline(&history("worker-0", [1, 0, 0]), &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\
WHEN                  TOOK  WHAT      OUTCOME    MACHINE      WHY
2026-01-01T10:00:00Z  2m5s  Reboot 1  Recovered  workers-x7k  Health check failed: * Ready is Unknown
2026-01-02T10:00:00Z  -     Cordoned  -          -            the fan is loud
"
        );
    }

    #[test]
    fn the_overview_says_who_is_out_of_use() {
        let mut out = Vec::new();
        overview(&[history("worker-0", [3, 1, 0])], true, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let line = text.lines().nth(1).unwrap();
        assert!(line.starts_with("lab/worker-0  3"), "{text}");
        assert!(line.ends_with("the fan is loud"), "{text}");
    }
}
