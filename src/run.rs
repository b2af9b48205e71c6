//! The only wiring.

use crate::cli::Cli;
use std::process::ExitCode;

/// Runs the command that was asked for.
#[must_use]
pub fn main(_cli: Cli) -> ExitCode {
    ExitCode::SUCCESS
}
