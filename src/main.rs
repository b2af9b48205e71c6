//! Entry point: the crypto provider, the flags, and off it goes.

/// Half of an answer to the API server is making and dropping the object's tree. This one is as fast at it as any, and gives back what
/// the reading of a fleet has taken: with a thousand hosts it holds half of what others hold.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

use std::process::ExitCode;

fn main() -> ExitCode {
    match ironward::cli::Cli::of(std::env::args_os()) {
        Ok(cli) => ironward::run::main(cli),
        Err(refusal) => refusal.exit(),
    }
}
