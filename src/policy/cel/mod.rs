//! CEL as Kubernetes 1.36 has it: static types, values, error texts and costs of the API server.
//!
//! [`compile`] an expression in an [`Environment`], [`Program::evaluate`] it on [`Bindings`].
//! The way of an expression: text, tokens (`lex`), tree with macros written out (`parse`, `macros`),
//! types (`check`, `unify`, `validate`), plan (`lower`, `plan`), value and cost (`eval`, `fold`, `cost`).
//! The truth is cel-go v0.26.0 with Kubernetes' libraries; `tests/cel.rs` compares with its answers.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "a function names the types and tokens it takes; whatever else comes, a new type too, is \
              cel-go's `no such overload`"
)]
#![allow(clippy::match_same_arms, reason = "tables of cel-go's rules are read in cel-go's order")]

mod ast;
pub mod authorizer;
mod bindings;
mod check;
mod cost;
mod depth;
mod environment;
mod error;
mod eval;
mod fold;
mod gofmt;
mod gosort;
mod growing;
mod large_stack;
mod lex;
pub mod library;
mod lower;
mod macros;
pub mod ops;
mod parse;
mod plan;
mod program;
mod regexp;
pub mod shape;
mod source;
mod suggest;
mod table;
mod time;
pub mod typed;
mod types;
mod unescape;
mod unify;
mod validate;
pub mod value;

pub use bindings::Bindings;
pub(crate) use bindings::Variable;
pub use environment::{Environment, Extension, ExtensionCall};
pub use error::{Error, Failure};
pub(crate) use large_stack::on_large_stack;
pub(crate) use lex::{Tok, Token, tokens};
pub use program::{
    Budget, CompileErrors, MAX_NODES, MAX_SOURCE, OutOfBudget, Outcome, Program, compile,
};
pub use source::Problem;
pub use types::Type;
pub use value::Value;

/// The limit on one expression.
pub const PER_CALL_LIMIT: u64 = 1_000_000;
/// The budget of a policy with one binding and param: validations and variables.
pub const RUNTIME_BUDGET: u64 = 10_000_000;
/// The budget of match conditions.
pub const MATCH_CONDITIONS_BUDGET: u64 = 2_500_000;

/// A value as Go prints it, which is how messages show it.
#[must_use]
pub fn display(value: &Value<'_>) -> String {
    gofmt::plain(value)
}
