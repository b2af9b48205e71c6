//! What a Secret should hold.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::observed::Digest;
use crate::template::metadata::{Node, Templates};

/// Kubernetes' limit on what a Secret holds.
const MOST: usize = 1 << 20;

/// What came of the templates for a machine.
pub(super) enum Rendered {
    /// The metadata, as YAML.
    Content(String),
    /// They speak of the host, and it has none yet.
    WaitsForHost,
    /// They speak of the Machine, and it has none yet.
    WaitsForMachine,
    /// What is wrong, by key.
    Failed(Vec<(String, String)>),
}

pub(super) struct Renderer {
    templates: Templates,
    needs_host: bool,
    needs_machine: bool,
}

impl Renderer {
    pub fn new(sources: &BTreeMap<String, String>) -> Self {
        let templates = Templates::parse(sources);
        Self {
            needs_host: templates.speak_of_the_host(),
            needs_machine: templates.speak_of_the_machine(),
            templates,
        }
    }

    pub fn render(&self, node: &Node, index: u32) -> Rendered {
        if self.needs_host && node.host.object.name.is_empty() {
            return Rendered::WaitsForHost;
        }
        if self.needs_machine && node.machine.name.is_empty() {
            return Rendered::WaitsForMachine;
        }
        let node = Node { index, ..node.clone() };
        let (mut values, mut failed) = (BTreeMap::new(), Vec::new());
        for (key, value) in self.templates.render(&node) {
            match value {
                Ok(value) => {
                    values.insert(key, value);
                }
                Err(error) => failed.push((key, error.to_string())),
            }
        }
        if !failed.is_empty() {
            return Rendered::Failed(failed);
        }
        match serde_saphyr::to_string(&values) {
            Ok(content) if content.len() < MOST => Rendered::Content(content),
            Ok(_) => {
                let why = "all values together are more than the 1 MiB that a Secret holds";
                Rendered::Failed(vec![("*".to_owned(), why.to_owned())])
            }
            Err(error) => Rendered::Failed(vec![("*".to_owned(), error.to_string())]),
        }
    }
}

/// What tells a content from another.
#[must_use]
pub fn digest(content: &[u8]) -> Digest {
    Sha256::digest(content).into()
}
