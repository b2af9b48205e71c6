//! Metadata templates: the values of a Metal3Metadata, rendered once for each node.

mod functions;
mod node;
mod text;

pub use self::{
    functions::FUNCTIONS,
    node::{Host, Node, Object},
};

use super::{ExecError, Functions, Limits, MissingKey, ParseError, Problem, Template, Value};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};
use thiserror::Error;

static DECLARED: LazyLock<Functions> = LazyLock::new(|| Functions::new(&FUNCTIONS));

/// Why a template gave no value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// It cannot be read.
    #[error(transparent)]
    Parse(Box<ParseError>),
    /// It cannot be rendered for this node.
    #[error(transparent)]
    Render(Box<ExecError>),
}

/// Reads the template of a key, which is its name in messages.
pub fn parse(key: &str, source: &str) -> Result<Template, Box<ParseError>> {
    let template = Template::parse(key, source, &DECLARED, &Limits::default())?;
    // There is no data: a field is a mistake, and should not name a node `worker-<no value>`.
    Ok(template.missing_key(MissingKey::Error))
}

/// All that is wrong with the template of a key, as far as that can be known without a node.
#[must_use]
pub fn problems(key: &str, source: &str) -> Vec<Problem> {
    super::problems(key, source, &DECLARED)
}

/// The value of each key for a node.
#[must_use]
pub fn render(
    templates: &BTreeMap<String, String>,
    node: &Node,
) -> BTreeMap<String, Result<String, Error>> {
    let render = |key: &String, source: &String| {
        let template = parse(key, source).map_err(Error::Parse)?;
        let rendered = template.render(&Value::Nil, node);
        rendered.map_err(Error::Render)
    };
    templates.iter().map(|(key, source)| (key.clone(), render(key, source))).collect()
}

/// Whether the template may give each node a value of its own: it calls a function that tells nodes apart.
#[must_use]
pub fn varies_by_node(template: &Template) -> bool {
    let called: BTreeSet<&str> = template.functions_called();
    called.iter().any(|name| functions::tells_nodes_apart(name))
}

#[cfg(test)]
mod tests;
