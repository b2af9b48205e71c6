//! `ironward policy eval`: what policies would make of manifests, before anyone applies them.

mod input;
mod report;

use super::files::{self, PolicyDir};
use crate::policy::{
    Operation, Request,
    difference::{self, Difference},
    finding,
    trial::{self, Attempt, AttemptError, Surroundings, Tried, User, placed, try_out},
    unknown_fields::{UnknownField, unknown_fields},
};
use clap::ValueEnum;
use input::Source;
use serde_json::{Value, json};
use std::{
    io::{self, Read, Write},
    path::PathBuf,
};

/// What to evaluate.
#[derive(Debug, clap::Args)]
#[command(after_help = "Before anyone applies them:\n  ironward policy eval -f manifests/\n\n\
    As a change of what is stored, by somebody else:\n  \
    kubectl get bmh -o yaml > stored.yaml\n  \
    ironward policy eval -f hosts.yaml --old stored.yaml --as bob --as-group admins\n\n\
    No cluster is asked: what only a cluster knows is said, not guessed. Defaults and rules of the \
    definitions themselves are the API server's, and not looked at; fields that a kind does not \
    have are. The exit code is 1 if something would be denied.")]
pub struct Args {
    /// Manifests: files, folders with all their subfolders, or `-` for standard input.
    #[arg(short, long = "filename", value_name = "FILE", required = true)]
    pub filename: Vec<PathBuf>,

    /// What is stored: objects of the same kind and name make an update of a creation.
    #[arg(long, value_name = "FILE")]
    pub old: Vec<PathBuf>,

    /// Where objects go that do not say so themselves.
    #[arg(short, long, value_name = "NAMESPACE", default_value = "default")]
    pub namespace: String,

    /// Who applies them.
    #[arg(long = "as", value_name = "USER", default_value = "kubernetes-admin")]
    pub username: String,

    /// A group of whoever applies them.
    #[arg(long = "as-group", value_name = "GROUP")]
    pub groups: Vec<String>,

    #[command(flatten)]
    #[expect(missing_docs, reason = "the flag has its own")]
    pub policies: PolicyDir,

    /// How to print the findings.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub output: Output,
}

/// How to print findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    Text,
    /// For programs: a list with an entry for each object.
    Json,
}

/// Why manifests could not be evaluated, or should not be applied.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Files could not be read, or policies do not compile.
    #[error(transparent)]
    Files(#[from] files::Error),
    /// Standard input could not be read.
    #[error("could not read standard input")]
    Input(#[source] io::Error),
    /// There is nothing to evaluate.
    #[error("no objects in {0}")]
    Nothing(String),
    /// An object is none.
    #[error("{place}")]
    Object {
        /// Where it is.
        place: String,
        /// What is wrong.
        source: AttemptError,
    },
    /// The findings could not be written.
    #[error("could not print the findings")]
    Print(#[source] io::Error),
    /// Something would be denied; what was printed.
    #[error("{0}")]
    Denied(String),
}

/// What would become of an object.
pub(super) struct Evaluated {
    source: Source,
    operation: Operation,
    namespace: String,
    tried: Tried,
    changes: Vec<Difference>,
    unknown_fields: Vec<UnknownField>,
}

/// Evaluates the manifests and prints what would become of them.
pub fn run(args: &Args, mut stdin: impl Read, mut out: impl Write) -> Result<(), Error> {
    let set = args.policies.compile()?;
    let (sources, others) = input::read(&args.filename, &mut stdin)?;
    let (stored, _) = input::read(&args.old, &mut stdin)?;
    if sources.is_empty() {
        let names: Vec<_> = args.filename.iter().map(|it| it.display().to_string()).collect();
        return Err(Error::Nothing(names.join(", ")));
    }
    let schemas = trial::schemas();
    let objects = sources.iter().chain(&stored).map(|source| source.object.clone()).collect();
    // What is evaluated counts as stored to what comes after it.
    let known = stored.iter().map(|it| placed(&it.object, &args.namespace)).collect();
    let mut surroundings = Surroundings { objects, stored: known, ..Surroundings::default() };
    let mut evaluated = Vec::new();
    for source in sources {
        let review = attempt(args, &source, &stored)
            .review()
            .map_err(|error| Error::Object { place: source.place(), source: error })?;
        let Ok(request) = Request::from_json(&review) else { continue };
        let tried = try_out(&set, &schemas, &request, &surroundings);
        let changes = match (request.object, &tried.object) {
            (Some(before), Some(after)) => difference::between(&before.to_value(), after),
            _ => Vec::new(),
        };
        surroundings.stored.extend(tried.object.clone());
        evaluated.push(Evaluated {
            operation: request.operation,
            namespace: request.namespace.to_owned(),
            unknown_fields: unknown_fields(&source.object),
            source,
            tried,
            changes,
        });
    }
    match args.output {
        Output::Text => report::print(&evaluated, &others, &mut out),
        Output::Json => {
            let list: Vec<Value> = evaluated.iter().map(Evaluated::json).collect();
            writeln!(out, "{:#}", Value::Array(list))
        }
    }
    .map_err(Error::Print)?;
    let denied = evaluated.iter().filter(|it| !it.tried.allows()).count();
    if denied == 0 {
        return Ok(());
    }
    let all = files::counted(evaluated.len(), "object");
    Err(Error::Denied(format!("{denied} of {all} would be denied")))
}

fn attempt(args: &Args, source: &Source, stored: &[Source]) -> Attempt {
    let mut groups = args.groups.clone();
    groups.push("system:authenticated".to_owned());
    let old = stored.iter().find(|old| old.is_the_same(source, &args.namespace));
    Attempt {
        object: Some(source.object.clone()),
        old_object: old.map(|old| old.object.clone()),
        operation: None,
        user: User { username: args.username.clone(), groups },
        namespace: args.namespace.clone(),
    }
}

impl Evaluated {
    fn json(&self) -> Value {
        let said = |(policy, message): (&str, &str)| {
            let (field, text) = finding::split(message);
            json!({"policy": policy, "field": field, "message": text})
        };
        let unknown_fields = self.unknown_fields.iter().map(|unknown| {
            let text = unknown.to_string();
            said(("", &text))
        });
        let change = |change: &Difference| json!({"path": change.path, "before": change.before, "after": change.after});
        let object = &self.source.object;
        json!({
            "file": self.source.file,
            "line": self.source.line,
            "apiVersion": object["apiVersion"],
            "kind": object["kind"],
            "namespace": self.namespace,
            "name": object["metadata"]["name"],
            "operation": self.operation.to_string(),
            "allowed": self.tried.allows(),
            "changes": self.changes.iter().map(change).collect::<Vec<_>>(),
            "denials": self.tried.denials().map(said).collect::<Vec<_>>(),
            "warnings": self.tried.warnings().map(said).chain(unknown_fields).collect::<Vec<_>>(),
            "unknown": self.tried.unknown.iter().map(|it| json!({
                "policy": it.policy, "missing": it.question.to_string(),
            })).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests;
