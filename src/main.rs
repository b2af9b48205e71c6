//! Entry point: the crypto provider, the flags, and off it goes.

/// Half of an answer to the API server is making and dropping the object's tree; this one does it in
/// a third less time than the system's, and keeps no more.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    ironward::run::main(ironward::cli::Cli::parse())
}
