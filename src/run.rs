//! The only wiring.

use crate::cli::{self, Cli, Command};
use std::io;
use std::process::ExitCode;

/// Runs the command that was asked for.
#[must_use]
pub fn main(cli: Cli) -> ExitCode {
    let done = match cli.command {
        Command::Crds(args) => {
            cli::crds::run(&args, io::stdout().lock()).map_err(anyhow::Error::from)
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
