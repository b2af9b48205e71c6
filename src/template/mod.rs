//! Go's text/template: the same output, the same refusals, the same words and places.
//!
//! | file | what |
//! |---|---|
//! | `lex`, `parse`, `ast` | from text to trees |
//! | `exec`, `builtins`, `compare`, `escape` | from trees and values to text |
//! | `go` | the parts of Go's library that show: literals, numbers, package fmt |
//! | `functions` | what templates may call beside Go's own functions |
//! | `check` | all that is wrong with a template and can be known without data |
//! | [`metadata`] | the functions that metadata templates have, and the node they speak of |
//!
//! `tests/template` holds what Go answered; `e2e/go/template-oracle` asks it. What differs on purpose: the
//! [`Limits`], `%p` of a list or map (an address in Go), and bytes that are no UTF-8, which become U+FFFD in
//! the output.

#![allow(
    clippy::wildcard_enum_match_arm,
    clippy::unnecessary_box_returns,
    reason = "a token, operand or value has the form that is asked for or not; errors pass many levels, and are small"
)]

mod ast;
mod builtins;
mod check;
mod compare;
mod error;
mod escape;
mod exec;
mod functions;
mod go;
mod lex;
mod limits;
pub mod metadata;
mod parse;
mod problem;
mod value;

pub use self::{
    check::problems,
    error::{ExecError, Kind, ParseError},
    functions::{Call, Functions, Signature, Type},
    limits::Limits,
    problem::Problem,
    value::{List, Value},
};

use std::collections::BTreeSet;

/// What a key that a map does not have is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MissingKey {
    /// Nothing, which prints as `<no value>`.
    #[default]
    NoValue,
    /// An error.
    Error,
}

/// A template that was parsed, with those that it defines.
#[derive(Debug)]
pub struct Template {
    name: String,
    source: String,
    trees: ast::Trees,
    functions: Functions,
    limits: Limits,
    missing_key: MissingKey,
}

impl Template {
    /// Reads a template, as Go does: the first mistake is the one that is told.
    pub fn parse(
        name: &str,
        source: &str,
        functions: &Functions,
        limits: &Limits,
    ) -> Result<Self, Box<ParseError>> {
        let trees = parse::parse(name, source, functions, limits, None)?;
        Ok(Self {
            name: name.to_owned(),
            source: source.to_owned(),
            trees,
            functions: functions.clone(),
            limits: *limits,
            missing_key: MissingKey::default(),
        })
    }

    /// Go's option `missingkey`.
    #[must_use]
    pub fn missing_key(self, missing_key: MissingKey) -> Self {
        Self { missing_key, ..self }
    }

    /// Renders the template with `.` as the data.
    pub fn render(&self, data: &Value, call: &dyn Call) -> Result<String, Box<ExecError>> {
        let out = exec::execute(self, data, call)?;
        Ok(String::from_utf8(out).unwrap_or_else(|error| go::text::lossy(error.as_bytes())))
    }

    /// The functions that the template calls, also in what it defines.
    #[must_use]
    pub fn functions_called(&self) -> BTreeSet<&str> {
        ast::functions_called(&self.trees)
    }
}

#[cfg(test)]
mod tests;
