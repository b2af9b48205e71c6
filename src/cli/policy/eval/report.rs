//! The findings for people.

use super::Evaluated;
use crate::cli::policy::files::counted;
use std::io::{self, Write};

pub(super) fn print(
    evaluated: &[Evaluated],
    others: &[String],
    out: &mut impl Write,
) -> io::Result<()> {
    for each in evaluated {
        let metadata = &each.source.object["metadata"];
        let name = metadata["name"].as_str().or(metadata["generateName"].as_str());
        let kind = each.source.object["kind"].as_str().unwrap_or_default();
        let verdict = if !each.tried.allows() {
            "denied"
        } else if each.tried.verdict.warnings.is_empty() && each.unknown_fields.is_empty() {
            "fine"
        } else {
            "let through with warnings"
        };
        let name = name.unwrap_or_default();
        let slash = if each.namespace.is_empty() { "" } else { "/" };
        let place = each.source.place();
        writeln!(out, "{place}: {kind} {}{slash}{name}: {verdict}", each.namespace)?;
        for change in &each.changes {
            writeln!(out, "  {change}")?;
        }
        for (policy, message) in each.tried.denials() {
            writeln!(out, "  denied: {message} ({policy})")?;
        }
        for (policy, message) in each.tried.warnings() {
            writeln!(out, "  warning: {message} ({policy})")?;
        }
        for unknown in &each.unknown_fields {
            writeln!(out, "  warning: {unknown}")?;
        }
        for unknown in &each.tried.unknown {
            writeln!(
                out,
                "  not known without a cluster: {} ({})",
                unknown.question, unknown.policy
            )?;
        }
    }
    for place in others {
        writeln!(out, "{place}: not an object of Kubernetes, skipped")?;
    }
    let count = |is: &dyn Fn(&Evaluated) -> bool| evaluated.iter().filter(|it| is(it)).count();
    writeln!(
        out,
        "{}: {} denied, {} changed",
        counted(evaluated.len(), "object"),
        count(&|it| !it.tried.allows()),
        count(&|it| !it.changes.is_empty()),
    )
}
