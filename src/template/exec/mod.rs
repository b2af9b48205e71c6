//! Rendering, as text/template executes: what is evaluated in which order, and where it was when it failed.

mod call;
mod eval;
mod held;
mod walk;

pub(crate) use self::held::Held;

use super::{
    Template,
    ast::{Command, List, Node, Offset, Operand, Pipe},
    error::{ExecError, Kind, place},
    functions::Call,
    go::{quote::quoted, text::lossy},
    value::Value,
};

type Result<T> = std::result::Result<T, Box<ExecError>>;

/// Renders a template.
pub(crate) fn execute(template: &Template, data: &Value, call: &dyn Call) -> Result<Vec<u8>> {
    let root = Held::bare(data.clone());
    let name = template.name.as_bytes();
    let Some((name, list)) = template.trees.get_key_value(name) else { return Ok(Vec::new()) };
    let mut state = State {
        template,
        call,
        out: Vec::new(),
        executing: name,
        at: At::Nothing,
        variables: vec![("$", root.clone())],
        depth: 0,
        steps: template.limits.steps,
        text: template.limits.text,
    };
    state.list(&root, list)?;
    Ok(state.out)
}

/// The node that is being evaluated, for messages.
#[derive(Clone, Copy)]
enum At<'t> {
    Nothing,
    Node(&'t Node),
    Pipe(&'t Pipe),
    Command(&'t Command),
    Operand(&'t Operand),
}

impl At<'_> {
    fn offset(self) -> Offset {
        match self {
            Self::Nothing => 0,
            Self::Node(node) => match node {
                Node::Text { at, .. }
                | Node::Action { at, .. }
                | Node::Break { at }
                | Node::Continue { at }
                | Node::Template { at, .. } => *at,
                Node::Branch(branch) => branch.pipe.at,
            },
            Self::Pipe(pipe) => pipe.at,
            Self::Command(command) => command.at,
            Self::Operand(operand) => operand.at(),
        }
    }

    fn text(self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Node(node) => node.to_string(),
            Self::Pipe(pipe) => pipe.to_string(),
            Self::Command(command) => command.to_string(),
            Self::Operand(operand) => operand.to_string(),
        }
    }
}

struct State<'t> {
    template: &'t Template,
    call: &'t dyn Call,
    out: Vec<u8>,
    /// The name of the tree that is being walked.
    executing: &'t [u8],
    at: At<'t>,
    variables: Vec<(&'t str, Held)>,
    depth: usize,
    /// What is left of the limits.
    steps: usize,
    text: usize,
}

impl<'t> State<'t> {
    fn error(&self, message: impl Into<String>) -> Box<ExecError> {
        self.failure(message.into(), Kind::Fault)
    }

    fn limit(&self, message: impl Into<String>) -> Box<ExecError> {
        self.failure(message.into(), Kind::Limit)
    }

    fn failure(&self, message: String, kind: Kind) -> Box<ExecError> {
        let source = &self.template.source;
        let offset = self.at.offset();
        let (line, column) = place(source, offset);
        let before = source.get(..offset).unwrap_or_default();
        Box::new(ExecError {
            name: self.template.name.clone(),
            executing: lossy(&quoted(self.executing)),
            line,
            column,
            byte: before.rfind('\n').map_or(offset, |newline| offset - newline - 1),
            text: self.at.text(),
            message,
            kind,
        })
    }

    /// Pays for work before it is done.
    fn pay(&mut self, steps: usize) -> Result<()> {
        let Some(left) = self.steps.checked_sub(steps) else {
            let most = self.template.limits.steps;
            return Err(self.limit(format!("the template takes more than {most} steps")));
        };
        self.steps = left;
        Ok(())
    }

    /// Evaluates something that stands inside something else.
    fn nested<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let most = self.template.limits.depth;
        if self.depth >= most {
            let message = format!("templates and blocks are nested more than {most} deep");
            return Err(self.limit(message));
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }

    fn list(&mut self, dot: &Held, list: &'t List) -> Result<walk::Flow> {
        self.nested(|state| state.nodes(dot, list))
    }
}
