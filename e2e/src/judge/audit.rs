//! The audit log of the API server: the only place where it shows the annotations of admission.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
    time::{Duration, Instant},
};

const PATIENCE: Duration = Duration::from_secs(30);

/// Reads a log that grows.
#[derive(Debug)]
pub struct AuditLog {
    reader: BufReader<File>,
    line: String,
    annotations: HashMap<String, BTreeMap<String, String>>,
}

impl AuditLog {
    /// Opens the log of a control plane.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path)
            .with_context(|| format!("could not open the audit log {}", path.display()))?;
        Ok(Self { reader: BufReader::new(file), line: String::new(), annotations: HashMap::new() })
    }

    /// What admission annotated on the request with this id, as soon as it is written.
    pub async fn annotations_of(&mut self, id: &str) -> Result<BTreeMap<String, String>> {
        let start = Instant::now();
        loop {
            self.read_on()?;
            if let Some(found) = self.annotations.remove(id) {
                return Ok(found);
            }
            if start.elapsed() > PATIENCE {
                bail!("the audit log does not show request {id}");
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    fn read_on(&mut self) -> Result<()> {
        while self.reader.read_line(&mut self.line).context("could not read the audit log")? > 0 {
            if !self.line.ends_with('\n') {
                // The rest of the line is not written yet.
                return Ok(());
            }
            let event: Value =
                serde_json::from_str(&self.line).context("the audit log holds no JSON")?;
            self.line.clear();
            let id = event["auditID"].as_str().unwrap_or_default().to_owned();
            let annotations = event["annotations"].as_object().into_iter().flatten();
            // What the authorizer said, and how long things took, is not the policies'.
            let others = ["authorization.k8s.io/", "apiserver.latency.k8s.io/"];
            let annotations = annotations
                .filter(|(key, _)| !others.iter().any(|other| key.starts_with(other)))
                .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()));
            self.annotations.insert(id, annotations.collect());
        }
        Ok(())
    }
}
