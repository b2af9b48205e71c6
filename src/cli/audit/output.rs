//! What an audit found, for people and for programs.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use serde_json::{Value, json};

use super::Report;
use crate::{
    audit::{Finding, Severity},
    cli::policy::files::counted,
};

pub(super) fn table(report: &Report, out: &mut impl Write) -> io::Result<()> {
    const HEADER: [&str; 4] = ["RESULT", "OBJECT", "POLICY", "FINDING"];
    let rows: Vec<_> = report
        .findings
        .iter()
        .map(|it| [it.severity.to_string(), object(it), it.policy.clone(), text(it)])
        .collect();
    if !rows.is_empty() {
        let width = |column: usize| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.chain([HEADER[column].len()]).max().unwrap_or_default()
        };
        let widths = [width(0), width(1), width(2)];
        let mut line = |cells: [&str; 4]| {
            let [result, object, policy, finding] = cells;
            let [one, two, three] = widths;
            writeln!(out, "{result:one$}  {object:two$}  {policy:three$}  {finding}")
        };
        line(HEADER)?;
        for [result, object, policy, finding] in &rows {
            line([result, object, policy, finding])?;
        }
        writeln!(out)?;
    }
    let of = |severity| report.findings.iter().filter(|it| it.severity == severity).count();
    writeln!(
        out,
        "{} against {}: {}, {}, {}.",
        counted(report.objects, "object"),
        report.policies_counted(),
        counted(of(Severity::Fail), "refusal"),
        counted(of(Severity::Error), "error"),
        counted(of(Severity::Warn), "warning"),
    )?;
    if !report.absent.is_empty() {
        writeln!(out, "The cluster does not have {}.", report.absent.join(", "))?;
    }
    Ok(())
}

impl Report {
    fn policies_counted(&self) -> String {
        if self.policies == 1 {
            "1 policy".to_owned()
        } else {
            format!("{} policies", self.policies)
        }
    }
}

fn object(finding: &Finding) -> String {
    let subject = &finding.subject;
    let kind = subject.kind.to_lowercase();
    match subject.namespace.as_str() {
        "" => format!("{kind}/{}", subject.name),
        namespace => format!("{namespace}/{kind}/{}", subject.name),
    }
}

fn text(finding: &Finding) -> String {
    match &finding.field {
        Some(field) => format!("{field}: {}", finding.message),
        None => finding.message.clone(),
    }
}

pub(super) fn json(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let findings: Vec<_> = report
        .findings
        .iter()
        .map(|it| {
            json!({
                "apiVersion": it.subject.api_version,
                "kind": it.subject.kind,
                "namespace": it.subject.namespace,
                "name": it.subject.name,
                "result": it.severity.to_string(),
                "policy": it.policy,
                "field": it.field,
                "message": it.message,
            })
        })
        .collect();
    let report = json!({
        "policies": report.policies,
        "objects": report.objects,
        "notInstalled": report.absent,
        "findings": findings,
    });
    writeln!(out, "{report:#}")
}

/// Those of the Kubernetes policy working group, as Kyverno and Falco write them. They hold what was found,
/// not what was fine: a fleet has ten thousand objects that are.
pub(super) fn policy_reports(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let mut by_namespace: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
    for finding in &report.findings {
        by_namespace.entry(&finding.subject.namespace).or_default().push(finding);
    }
    for (namespace, findings) in by_namespace {
        let text = serde_saphyr::to_string(&policy_report(namespace, &findings))
            .map_err(io::Error::other)?;
        writeln!(out, "---\n{}", text.trim_end())?;
    }
    Ok(())
}

fn policy_report(namespace: &str, findings: &[&Finding]) -> Value {
    let of = |severity| findings.iter().filter(|it| it.severity == severity).count();
    let results: Vec<_> = findings
        .iter()
        .map(|it| {
            json!({
                "source": "ironward",
                "policy": it.policy,
                "result": it.severity.to_string(),
                "message": text(it),
                "resources": [{
                    "apiVersion": it.subject.api_version,
                    "kind": it.subject.kind,
                    "namespace": it.subject.namespace,
                    "name": it.subject.name,
                    "uid": it.subject.uid,
                }],
            })
        })
        .collect();
    let mut metadata = json!({
        "name": "ironward",
        "labels": {"app.kubernetes.io/managed-by": "ironward"},
    });
    if !namespace.is_empty() {
        metadata["namespace"] = json!(namespace);
    }
    json!({
        "apiVersion": "wgpolicyk8s.io/v1alpha2",
        "kind": if namespace.is_empty() { "ClusterPolicyReport" } else { "PolicyReport" },
        "metadata": metadata,
        "summary": {"pass": 0, "fail": of(Severity::Fail), "warn": of(Severity::Warn), "error": of(Severity::Error), "skip": 0},
        "results": results,
    })
}
