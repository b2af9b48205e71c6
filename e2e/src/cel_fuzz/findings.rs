//! Where differences are kept: as vectors, with Kubernetes' answer as the truth.

use super::compare::Difference;
use anyhow::{Context, Result};
use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};
use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

/// A file of vectors that grows.
#[derive(Debug)]
pub struct Findings {
    file: PathBuf,
    report: Option<PathBuf>,
}

impl Findings {
    /// Keeps vectors in a folder and, for people, tells of each in a report.
    #[must_use]
    pub fn new(folder: &Path, report: Option<PathBuf>) -> Self {
        Self { file: folder.join("findings.jsonl"), report }
    }

    /// All that were ever kept.
    pub fn read(&self) -> Result<Vec<Json>> {
        if !self.file.exists() {
            return Ok(Vec::new());
        }
        let text = fs::read_to_string(&self.file)?;
        text.lines().map(|line| serde_json::from_str(line).context("a finding")).collect()
    }

    /// Keeps one, unless it is there already.
    pub fn add(&self, found: &Difference) -> Result<()> {
        let id = identify(&found.question);
        if self.read()?.iter().any(|kept| kept["id"] == id.as_str()) {
            return Ok(());
        }
        let mut vector = Map::new();
        vector.insert("id".to_owned(), id.into());
        vector.extend(found.question.as_object().cloned().unwrap_or_default());
        vector.insert("answer".to_owned(), found.theirs.clone());
        // What Kubernetes does not survive is no vector: only this engine's crash is the finding.
        if !found.theirs.is_null() {
            append(&self.file, &format!("{}\n", Json::Object(vector)))?;
        }
        match &self.report {
            Some(report) => append(report, &describe(found)),
            None => Ok(()),
        }
    }
}

fn append(file: &Path, text: &str) -> Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let opened = fs::File::options().create(true).append(true).open(file);
    opened
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| file.display().to_string())
}

/// A difference for people.
#[must_use]
pub fn describe(found: &Difference) -> String {
    let question = &found.question;
    let mut out =
        format!("\n### {:?}: `{}`\n", found.keys, question["expr"].as_str().unwrap_or_default());
    for (key, value) in question.as_object().into_iter().flatten().filter(|(key, _)| *key != "expr")
    {
        let _ = write!(out, "{key}={value} ");
    }
    let _ = writeln!(out, "\n- Kubernetes: {}\n- ours:       {}", found.theirs, found.ours);
    out
}

fn identify(question: &Json) -> String {
    let hash = Sha256::digest(question.to_string());
    hash.iter().take(5).fold(String::new(), |out, byte| format!("{out}{byte:02x}"))
}
