//! `ironward policy`: what a person who writes policies needs at hand. No cluster is asked.

pub mod check;
pub mod eval;
pub mod export;
pub mod expr;
pub mod files;
pub mod list;
pub mod test;

use anyhow::Result;
use clap::Subcommand;
use std::io;

/// What can be done with policies.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Read policy files and say all that is wrong with them.
    Check(check::Args),
    /// Try a CEL expression: its static type, what it comes to, and what it costs.
    Expr(expr::Args),
    /// Say what policies would make of manifests: changed, denied, warned of.
    Eval(eval::Args),
    /// Print the policies that the API server can run itself, ready for kubectl apply.
    Export(export::Args),
    /// List the policies: the shipped ones, and yours in front of them.
    List(list::Args),
    /// Run the tests of policies: the `*.test.yaml` files beside them.
    Test(test::Args),
}

/// Does it.
pub fn run(command: &Command) -> Result<()> {
    let out = io::stdout().lock();
    match command {
        Command::Check(arguments) => check::run(arguments, out)?,
        Command::Expr(arguments) => expr::run(arguments, io::stdin().lock(), out)?,
        Command::Eval(arguments) => eval::run(arguments, io::stdin().lock(), out)?,
        Command::Export(arguments) => export::run(arguments, out)?,
        Command::List(arguments) => list::run(arguments, out)?,
        Command::Test(arguments) => test::run(arguments, out)?,
    }
    Ok(())
}
