//! What is wrong with a template, in Go's words and with its place.

use std::{error::Error, fmt};

/// Who says that a template is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Go says so, too.
    Fault,
    /// It passes one of the [`Limits`](super::Limits).
    Limit,
}

/// A template that cannot be read. Printed as Go prints it, which names the line only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// The name of the template.
    pub name: String,
    /// The line, from 1 on.
    pub line: usize,
    /// The column in characters, from 1 on, of what the parser had read last.
    pub column: usize,
    /// What the parser had read last.
    pub text: String,
    /// What is wrong.
    pub message: String,
    /// Who says so.
    pub kind: Kind,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "template: {}:{}: {}", self.name, self.line, self.message)
    }
}

impl Error for ParseError {}

/// A template that cannot be rendered. Printed as Go prints it, which counts columns in bytes from 0 on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecError {
    /// The name of the template that was parsed.
    pub name: String,
    /// The name of the template that was executing, which may be one that it defines.
    pub executing: String,
    /// The line, from 1 on.
    pub line: usize,
    /// The column in characters, from 1 on.
    pub column: usize,
    /// The column in bytes, from 0 on.
    pub(crate) byte: usize,
    /// The part of the template that could not be evaluated.
    pub text: String,
    /// What is wrong.
    pub message: String,
    /// Who says so.
    pub kind: Kind,
}

impl fmt::Display for ExecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, executing, line, byte, text, message, .. } = self;
        write!(f, "template: {name}:{line}:{byte}: executing {executing} at <{text}>: {message}")
    }
}

impl Error for ExecError {}

/// Line and column of a place in a source, both from 1 on, the column in characters.
pub(crate) fn place(source: &str, offset: usize) -> (usize, usize) {
    let before = source.get(..offset).unwrap_or(source);
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (1 + before.matches('\n').count(), 1 + before[start..].chars().count())
}
