//! The tree of a template, as text/template/parse builds it, and how that prints its nodes in messages.

use super::go::{number::Number, quote::quoted, text::lossy};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

/// Where a node begins, in bytes of the source.
pub(crate) type Offset = usize;

/// What a source defines: itself, and what stands in `define` and `block`. Names are bytes, as all text of Go.
pub(crate) type Trees = BTreeMap<Box<[u8]>, List>;

#[derive(Debug, Default)]
pub(crate) struct List {
    pub nodes: Vec<Node>,
}

#[derive(Debug)]
pub(crate) enum Node {
    Text { at: Offset, text: Box<str> },
    Action { at: Offset, pipe: Pipe },
    Break { at: Offset },
    Continue { at: Offset },
    Branch(Box<Branch>),
    Template { at: Offset, name: Box<[u8]>, pipe: Option<Pipe> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    If,
    Range,
    With,
}

impl Control {
    pub fn word(self) -> &'static str {
        match self {
            Self::If => "if",
            Self::Range => "range",
            Self::With => "with",
        }
    }
}

#[derive(Debug)]
pub(crate) struct Branch {
    pub control: Control,
    pub pipe: Pipe,
    pub list: List,
    pub otherwise: Option<List>,
}

#[derive(Debug)]
pub(crate) struct Pipe {
    pub at: Offset,
    /// `=`, not `:=`.
    pub assigns: bool,
    pub variables: Vec<Variable>,
    pub commands: Vec<Command>,
}

#[derive(Debug)]
pub(crate) struct Command {
    pub at: Offset,
    /// At least one.
    pub words: Vec<Operand>,
}

#[derive(Debug)]
pub(crate) struct Variable {
    pub at: Offset,
    /// With its dollar.
    pub name: Box<str>,
    pub fields: Vec<Box<str>>,
}

#[derive(Debug)]
pub(crate) enum Operand {
    Bool { at: Offset, value: bool },
    Chain { at: Offset, of: Box<Self>, fields: Vec<Box<str>> },
    Dot { at: Offset },
    Field { at: Offset, names: Vec<Box<str>> },
    Function { at: Offset, name: Box<str> },
    Nil { at: Offset },
    Number { at: Offset, text: Box<str>, number: Box<Number> },
    Pipe(Box<Pipe>),
    Text { at: Offset, literal: Box<str>, value: Arc<[u8]> },
    Variable(Variable),
}

impl Operand {
    pub fn at(&self) -> Offset {
        match self {
            Self::Bool { at, .. }
            | Self::Chain { at, .. }
            | Self::Dot { at }
            | Self::Field { at, .. }
            | Self::Function { at, .. }
            | Self::Nil { at }
            | Self::Number { at, .. }
            | Self::Text { at, .. } => *at,
            Self::Pipe(pipe) => pipe.at,
            Self::Variable(variable) => variable.at,
        }
    }
}

impl List {
    /// Whether there is nothing in it but space.
    pub fn is_blank(&self) -> bool {
        self.nodes.iter().all(|node| match node {
            Node::Text { text, .. } => text.trim().is_empty(),
            Node::Action { .. }
            | Node::Break { .. }
            | Node::Continue { .. }
            | Node::Branch(_)
            | Node::Template { .. } => false,
        })
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.nodes.iter().try_for_each(|node| node.fmt(f))
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { text, .. } => f.write_str(text),
            Self::Action { pipe, .. } => write!(f, "{{{{{pipe}}}}}"),
            Self::Break { .. } => f.write_str("{{break}}"),
            Self::Continue { .. } => f.write_str("{{continue}}"),
            Self::Branch(branch) => branch.fmt(f),
            Self::Template { name, pipe, .. } => {
                write!(f, "{{{{template {}", lossy(&quoted(name)))?;
                if let Some(pipe) = pipe {
                    write!(f, " {pipe}")?;
                }
                f.write_str("}}")
            }
        }
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{{{} {}}}}}{}", self.control.word(), self.pipe, self.list)?;
        if let Some(otherwise) = &self.otherwise {
            write!(f, "{{{{else}}}}{otherwise}")?;
        }
        f.write_str("{{end}}")
    }
}

impl fmt::Display for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, variable) in self.variables.iter().enumerate() {
            f.write_str(if i > 0 { ", " } else { "" })?;
            variable.fmt(f)?;
        }
        if !self.variables.is_empty() {
            f.write_str(if self.assigns { " = " } else { " := " })?;
        }
        for (i, command) in self.commands.iter().enumerate() {
            f.write_str(if i > 0 { " | " } else { "" })?;
            command.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, word) in self.words.iter().enumerate() {
            f.write_str(if i > 0 { " " } else { "" })?;
            in_parentheses(word, f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        write_fields(&self.fields, f)
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool { value, .. } => write!(f, "{value}"),
            Self::Chain { of, fields, .. } => {
                in_parentheses(of, f)?;
                write_fields(fields, f)
            }
            Self::Dot { .. } => f.write_str("."),
            Self::Field { names, .. } => write_fields(names, f),
            Self::Function { name, .. } => f.write_str(name),
            Self::Nil { .. } => f.write_str("nil"),
            Self::Number { text, .. } => f.write_str(text),
            Self::Pipe(pipe) => pipe.fmt(f),
            Self::Text { literal, .. } => f.write_str(literal),
            Self::Variable(variable) => variable.fmt(f),
        }
    }
}

fn in_parentheses(operand: &Operand, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let Operand::Pipe(pipe) = operand { write!(f, "({pipe})") } else { write!(f, "{operand}") }
}

fn write_fields(fields: &[Box<str>], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    fields.iter().try_for_each(|field| write!(f, ".{field}"))
}

/// The functions that trees call.
pub(crate) fn functions_called(trees: &Trees) -> BTreeSet<&str> {
    let mut called = BTreeSet::new();
    for list in trees.values() {
        called_in_list(list, &mut called);
    }
    called
}

fn called_in_list<'t>(list: &'t List, called: &mut BTreeSet<&'t str>) {
    for node in &list.nodes {
        match node {
            Node::Text { .. } | Node::Break { .. } | Node::Continue { .. } => {}
            Node::Action { pipe, .. } => called_in_pipe(pipe, called),
            Node::Branch(branch) => {
                called_in_pipe(&branch.pipe, called);
                called_in_list(&branch.list, called);
                if let Some(otherwise) = &branch.otherwise {
                    called_in_list(otherwise, called);
                }
            }
            Node::Template { pipe, .. } => {
                if let Some(pipe) = pipe {
                    called_in_pipe(pipe, called);
                }
            }
        }
    }
}

fn called_in_pipe<'t>(pipe: &'t Pipe, called: &mut BTreeSet<&'t str>) {
    for word in pipe.commands.iter().flat_map(|command| &command.words) {
        let mut word = word;
        while let Operand::Chain { of, .. } = word {
            word = of;
        }
        match word {
            Operand::Function { name, .. } => {
                called.insert(name);
            }
            Operand::Pipe(pipe) => called_in_pipe(pipe, called),
            _ => {}
        }
    }
}
