//! `ironward audit`: all objects of a cluster against the policies.

mod output;

use std::io::{self, IsTerminal, Write};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use kube::Client;

use super::policy::files::{PolicyDir, counted};
use crate::{
    adapters::{stored, webhook::sources::Sources},
    admission,
    audit::{self, Finding, Severity},
    policy::{PolicySet, Request},
};

/// What to audit, and how to say it.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    policies: PolicyDir,

    /// Only objects of this namespace, and none that are in no namespace.
    #[arg(long, short, value_name = "NAMESPACE")]
    namespace: Option<String>,

    /// Only objects with these labels.
    #[arg(long, short = 'l', value_name = "SELECTOR")]
    selector: Option<String>,

    /// How to print what was found.
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people: one line per finding.
    Table,
    /// For programs.
    Json,
    /// As PolicyReport objects, one per namespace, for `kubectl apply`.
    Policyreport,
}

/// What came of an audit.
#[derive(Debug, Default)]
struct Report {
    policies: usize,
    objects: usize,
    /// Resources that policies name and the cluster does not have.
    absent: Vec<String>,
    findings: Vec<Finding>,
}

/// Runs it. That something would be refused is a failure, so that a script can tell.
pub async fn run(arguments: &Args, mut out: impl Write) -> Result<()> {
    let policies = arguments.policies.compile()?;
    let client = Client::try_default()
        .await
        .context("could not find out which cluster to talk to; set KUBECONFIG, or run in a pod")?;
    let report = look(arguments, &policies, client).await?;
    let written = match arguments.output {
        Format::Table => output::table(&report, &mut out),
        Format::Json => output::json(&report, &mut out),
        Format::Policyreport => output::policy_reports(&report, &mut out),
    };
    written.context("could not print what was found")?;
    let refused = report.findings.iter().filter(|it| it.severity != Severity::Warn);
    match refused.count() {
        0 => Ok(()),
        refused => bail!("{} would be refused", counted(refused, "finding")),
    }
}

async fn look(arguments: &Args, policies: &PolicySet, client: Client) -> Result<Report> {
    let served = stored::served(&client).await?;
    let known: Vec<_> = served.iter().map(|it| it.resource.clone()).collect();
    let mut report = Report { policies: policies.policies().count(), ..Report::default() };
    let sources = Sources::new(client.clone());
    let progress = Progress::new();
    let mut duplicates = audit::Duplicates::default();
    for wanted in admission::audited(policies, &known) {
        let name = if wanted.group.is_empty() {
            wanted.name.clone()
        } else {
            format!("{}.{}", wanted.name, wanted.group)
        };
        let Some(served) = served.iter().find(|it| it.resource == wanted) else {
            report.absent.push(name);
            continue;
        };
        let kind = served.kind();
        let mut pages = stored::Pages::new(
            client.clone(),
            served,
            arguments.namespace.as_deref(),
            arguments.selector.as_deref(),
        );
        while let Some(objects) = pages.next().await? {
            for object in objects {
                let subject = audit::subject(kind, &object);
                duplicates.see(policies, kind, &object);
                let raw = audit::request(kind, object);
                let request = Request::from_json(&raw)?;
                let verdict = sources
                    .settle(&request, |known| policies.validate(&request, known))
                    .await
                    .with_context(|| {
                        format!("could not judge {} {}", subject.kind, subject.name)
                    })?;
                report.findings.extend(audit::findings(&subject, &verdict));
                report.objects += 1;
            }
            progress.say(&name, report.objects);
        }
    }
    report.findings.extend(duplicates.findings(policies));
    report.findings.sort();
    Ok(report)
}

/// Said on standard error, to a person who waits.
struct Progress {
    is_wanted: bool,
}

impl Progress {
    fn new() -> Self {
        Self { is_wanted: io::stderr().is_terminal() }
    }

    fn say(&self, name: &str, objects: usize) {
        if self.is_wanted {
            eprint!("\r\x1b[K{} looked at, now {name}", counted(objects, "object"));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_wanted {
            eprint!("\r\x1b[K");
        }
    }
}
