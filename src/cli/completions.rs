//! `ironward completions`: what a shell needs to complete commands.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::{Shell, generate};

/// For which shell.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "For bash, `source <(ironward completions bash)` in ~/.bashrc. With the program on the PATH as kubectl-ironward, \
    `kubectl ironward fleet` is the same as `ironward fleet`."
)]
pub struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints it.
pub fn run(arguments: &Args, out: &mut impl Write) {
    generate(arguments.shell, &mut super::Cli::command(), "ironward", out);
}
