//! Entry point: the crypto provider, the flags, and off it goes.

/// Half of an answer to the API server is making and dropping the object's tree; this one does it in
/// a third less time than the system's, and keeps no more.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use std::process::ExitCode;

fn main() -> ExitCode {
    match ironward::cli::Cli::of(std::env::args_os()) {
        Ok(cli) => ironward::run::main(cli),
        Err(refusal) => refusal.exit(),
    }
}
