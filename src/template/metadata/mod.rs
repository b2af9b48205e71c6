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

/// The templates of a Metal3Metadata, read once for all nodes.
#[derive(Debug)]
pub struct Templates(BTreeMap<String, Result<Template, Box<ParseError>>>);

impl Templates {
    /// Reads them. One that cannot be read spoils no other.
    #[must_use]
    pub fn parse(sources: &BTreeMap<String, String>) -> Self {
        let read = |(key, source): (&String, &String)| (key.clone(), parse(key, source));
        Self(sources.iter().map(read).collect())
    }

    /// The value of each key for a node.
    #[must_use]
    pub fn render(&self, node: &Node) -> BTreeMap<String, Result<String, Error>> {
        let render = |template: &Result<Template, Box<ParseError>>| {
            let template = template.as_ref().map_err(|error| Error::Parse(error.clone()))?;
            template.render(&Value::Nil, node).map_err(Error::Render)
        };
        self.0.iter().map(|(key, template)| (key.clone(), render(template))).collect()
    }

    /// Whether one of them calls a function that speaks of the host.
    #[must_use]
    pub fn speak_of_the_host(&self) -> bool {
        self.call(functions::speaks_of_the_host)
    }

    /// Whether one of them calls a function that speaks of the Machine.
    #[must_use]
    pub fn speak_of_the_machine(&self) -> bool {
        self.call(functions::speaks_of_the_machine)
    }

    fn call(&self, is_it: impl Fn(&str) -> bool) -> bool {
        let read = self.0.values().flatten();
        read.flat_map(Template::functions_called).any(is_it)
    }
}

/// The value of each key for a node.
#[must_use]
pub fn render(
    templates: &BTreeMap<String, String>,
    node: &Node,
) -> BTreeMap<String, Result<String, Error>> {
    Templates::parse(templates).render(node)
}

/// Whether the template may give each node a value of its own: it calls a function that tells nodes apart.
#[must_use]
pub fn varies_by_node(template: &Template) -> bool {
    let called: BTreeSet<&str> = template.functions_called();
    called.iter().any(|name| functions::tells_nodes_apart(name))
}

#[cfg(test)]
mod tests;
