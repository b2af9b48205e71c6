//! `ironward policy`: what a person who writes policies needs at hand. No cluster is asked.

pub mod check;
pub mod expr;

use clap::Subcommand;

/// What can be done with policies.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Read policy files and say all that is wrong with them.
    Check(check::Args),
    /// Try a CEL expression: its static type, what it comes to, and what it costs.
    Expr(expr::Args),
}
