//! Entry point: the crypto provider, the flags, and off it goes.

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    ironward::run::main(ironward::cli::Cli::parse())
}
