//! `ironward policy list`: the policies in force, where they come from, and what they do.

use super::files::{self, PolicyDir};
use crate::policy::{Document, Kind, PolicySet, Spec, Tier, shipped};
use clap::ValueEnum;
use serde::Serialize;
use std::{
    collections::BTreeSet,
    fmt::Write as _,
    io::{self, Write},
};

/// Which policies, and how to print them.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print the files that hold this policy and its bindings instead.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,

    #[command(flatten)]
    #[expect(missing_docs, reason = "the flag has its own")]
    pub policies: PolicyDir,

    /// How to print the list.
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub output: Output,
}

/// How to print a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    Table,
    /// For programs.
    Json,
    /// For both.
    Yaml,
    /// For a page of documentation.
    Markdown,
}

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The policies could not be read.
    #[error(transparent)]
    Files(#[from] files::Error),
    /// Nobody knows the name.
    #[error("there is no policy {0:?}; `ironward policy list` names them all")]
    Unknown(String),
    /// The output could not be written.
    #[error("could not print the policies")]
    Print(#[source] io::Error),
}

/// A policy in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    name: String,
    /// Validating, mutating or unique.
    kind: &'static str,
    tier: &'static str,
    /// `shipped`, `user`, `replaced`, or `shipped, rebound`.
    from: &'static str,
    file: String,
    /// Deny, Warn, Audit; Change for a policy that mutates; nothing without a binding.
    actions: BTreeSet<String>,
    matches: Vec<String>,
    description: String,
}

/// Prints the list, or the files of one policy.
pub fn run(args: &Args, out: impl Write) -> Result<(), Error> {
    let paths = &args.policies.policy_dir;
    let user = if paths.is_empty() { Vec::new() } else { files::read(paths)? };
    let set = files::compile(shipped::files(), &user)?;
    let text = if let Some(name) = &args.name {
        texts(&set, &user, name)?
    } else {
        let rows = rows(&set);
        match args.output {
            Output::Table => table(&rows),
            Output::Markdown => markdown(&rows),
            Output::Json => format!("{:#}\n", serde_json::json!(rows)),
            Output::Yaml => files::yaml(&serde_json::json!(rows)),
        }
    };
    files::print(&text, out).map_err(Error::Print)
}

/// The policies of a set, by name.
#[must_use]
pub fn rows(set: &PolicySet) -> Vec<Row> {
    let embedded = files::compile(shipped::files(), &[]).unwrap_or_default();
    let mut rows: Vec<Row> =
        set.documents().iter().filter_map(|document| row(set, &embedded, document)).collect();
    rows.sort_by(|one, other| one.name.cmp(&other.name));
    rows
}

fn row(set: &PolicySet, embedded: &PolicySet, policy: &Document) -> Option<Row> {
    let constraints = match &policy.spec {
        Spec::ValidatingPolicy(spec) => spec.match_constraints.as_ref(),
        Spec::MutatingPolicy(spec) => spec.match_constraints.as_ref(),
        Spec::Unique(spec) => spec.match_constraints.as_ref(),
        Spec::ValidatingBinding(_) | Spec::MutatingBinding(_) => return None,
    };
    let bindings: Vec<&Document> =
        set.documents().iter().filter(|binding| is_bound(policy, binding)).collect();
    let actions = bindings.iter().flat_map(|binding| match &binding.spec {
        Spec::ValidatingBinding(spec) => spec.validation_actions.clone(),
        Spec::MutatingBinding(_) => vec!["Change".to_owned()],
        Spec::ValidatingPolicy(_) | Spec::MutatingPolicy(_) | Spec::Unique(_) => Vec::new(),
    });
    // What is unique needs no binding.
    let own = (policy.kind() == Kind::UniquePolicy).then(|| "Deny".to_owned());
    let matches = constraints
        .iter()
        .flat_map(|constraints| &constraints.resource_rules)
        .map(|rule| format!("{} {}", rule.resources.join(","), rule.operations.join(",")))
        .collect();
    let is_shipped =
        |document: &Document| shipped::files().iter().any(|it| it.name == document.file);
    let is_known = || {
        embedded
            .documents()
            .iter()
            .any(|it| it.kind() == policy.kind() && it.metadata.name == policy.metadata.name)
    };
    let from = match is_shipped(policy) {
        true if bindings.iter().all(|binding| is_shipped(binding)) => "shipped",
        true => "shipped, rebound",
        false if is_known() => "replaced",
        false => "user",
    };
    let description = policy.metadata.annotations.get("kubernetes.io/description");
    Some(Row {
        name: policy.metadata.name.clone(),
        kind: match policy.kind() {
            Kind::MutatingAdmissionPolicy => "mutating",
            Kind::UniquePolicy => "unique",
            Kind::ValidatingAdmissionPolicy
            | Kind::ValidatingAdmissionPolicyBinding
            | Kind::MutatingAdmissionPolicyBinding => "validating",
        },
        tier: match policy.tier {
            Tier::Portable => "portable",
            Tier::Extended => "extended",
        },
        from,
        file: policy.file.clone(),
        actions: actions.chain(own).collect(),
        matches,
        description: description.cloned().unwrap_or_default(),
    })
}

fn is_bound(policy: &Document, binding: &Document) -> bool {
    let name = policy.metadata.name.as_str();
    match (policy.kind(), &binding.spec) {
        (Kind::ValidatingAdmissionPolicy, Spec::ValidatingBinding(spec))
        | (Kind::MutatingAdmissionPolicy, Spec::MutatingBinding(spec)) => spec.policy_name == name,
        _ => false,
    }
}

impl Row {
    fn actions(&self) -> String {
        let actions: Vec<&str> = self.actions.iter().map(String::as_str).collect();
        if actions.is_empty() { "none".to_owned() } else { actions.join(",") }
    }
}

const HEAD: [&str; 6] = ["NAME", "ACTION", "TIER", "FROM", "MATCHES", "DESCRIPTION"];

fn table(rows: &[Row]) -> String {
    let cells: Vec<[String; 6]> = std::iter::once(HEAD.map(str::to_owned))
        .chain(rows.iter().map(|row| {
            [
                row.name.clone(),
                row.actions(),
                row.tier.to_owned(),
                row.from.to_owned(),
                row.matches.join("; "),
                row.description.clone(),
            ]
        }))
        .collect();
    let mut widths = [0; 6];
    for line in &cells {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for line in &cells {
        let padded: Vec<String> =
            line.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text.push_str(padded.join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn markdown(rows: &[Row]) -> String {
    let mut text = String::from("| policy | does | tier | matches | |\n|---|---|---|---|---|\n");
    for row in rows {
        let Row { name, tier, matches, description, .. } = row;
        let matches: Vec<String> = matches.iter().map(|it| format!("`{it}`")).collect();
        let _ = writeln!(
            text,
            "| `{name}` | {} | {tier} | {} | {} |",
            row.actions(),
            matches.join("<br>"),
            description.replace('|', "\\|")
        );
    }
    text
}

/// The files of a policy and its bindings, as they were written.
fn texts(set: &PolicySet, user: &[files::Content], name: &str) -> Result<String, Error> {
    let found: Vec<&Document> =
        set.documents().iter().filter(|document| document.metadata.name == name).collect();
    let names: BTreeSet<&str> = found
        .iter()
        .flat_map(|policy| set.documents().iter().filter(|binding| is_bound(policy, binding)))
        .chain(found.iter().copied())
        .map(|document| document.file.as_str())
        .collect();
    let own = user.iter().map(|(name, content)| (name.as_str(), content.as_str()));
    let shipped = shipped::files().iter().map(|file| (file.name, file.content));
    let contents: Vec<&str> = own
        .chain(shipped)
        .filter(|(file, _)| names.contains(file))
        .map(|(_, content)| content)
        .collect();
    if contents.is_empty() {
        Err(Error::Unknown(name.to_owned()))
    } else {
        Ok(contents.join("---\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const REBOUND: &str = "apiVersion: policies.ironward.dev/v1\nkind: ValidatingAdmissionPolicyBinding\n\
        metadata: {name: host-bmc-address}\n\
        spec: {policyName: host-bmc-address, validationActions: [Warn]}\n";

    fn listed(content: Option<&str>, name: Option<&str>, output: Output) -> Result<String, Error> {
        let folder = tempfile::tempdir().unwrap();
        let mut policy_dir = Vec::new();
        if let Some(content) = content {
            fs::write(folder.path().join("mine.yaml"), content).unwrap();
            policy_dir.push(folder.path().to_owned());
        }
        let policies = PolicyDir { policy_dir };
        let mut out = Vec::new();
        run(&Args { name: name.map(str::to_owned), policies, output }, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    fn line<'a>(table: &'a str, name: &str) -> Vec<&'a str> {
        let line = table.lines().find(|line| line.starts_with(name)).unwrap();
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
    }

    #[test]
    fn a_shipped_policy_says_what_it_does() {
        let table = listed(None, None, Output::Table).unwrap();
        assert_eq!(
            line(&table, "host-bmc-address "),
            [
                "host-bmc-address",
                "Deny",
                "extended",
                "shipped",
                "baremetalhosts CREATE,UPDATE",
                "The BMC address of a host is one that Metal3 and Ironic can use."
            ]
        );
    }

    #[test]
    fn another_binding_shows() {
        let table = listed(Some(REBOUND), None, Output::Table).unwrap();
        assert_eq!(
            line(&table, "host-bmc-address ")[1..4],
            ["Warn", "extended", "shipped, rebound"]
        );
    }

    #[test]
    fn a_policy_of_the_same_name_replaces() {
        let file = shipped::files().iter().find(|it| it.name == "host-bmc-address.yaml").unwrap();
        let table = listed(Some(file.content), None, Output::Table).unwrap();
        assert_eq!(line(&table, "host-bmc-address ")[3], "replaced");
    }

    #[test]
    fn programs_get_the_same() {
        let json = listed(None, None, Output::Json).unwrap();
        let rows: serde_json::Value = serde_json::from_str(&json).unwrap();
        let rows = rows.as_array().unwrap();
        let row = rows.iter().find(|row| row["name"] == "host-bmc-address").unwrap();
        assert_eq!(row["actions"], serde_json::json!(["Deny"]));
        let yaml = listed(None, None, Output::Yaml).unwrap();
        assert!(yaml.contains("name: host-bmc-address"), "{yaml}");
    }

    #[test]
    fn the_file_of_a_policy_is_printed_as_it_is() {
        let file = shipped::files().iter().find(|it| it.name == "host-bmc-address.yaml").unwrap();
        assert_eq!(listed(None, Some("host-bmc-address"), Output::Table).unwrap(), file.content);
        let error = listed(None, Some("nobody"), Output::Table).unwrap_err().to_string();
        assert!(error.starts_with("there is no policy \"nobody\""), "{error}");
    }
}
