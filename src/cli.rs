//! The command line.

pub mod crds;

use clap::{Parser, Subcommand};

/// Guards and runs a fleet of bare-metal hosts on Kubernetes.
#[derive(Debug, Parser)]
#[command(version, about, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Prints the kinds that Ironward works with, as CustomResourceDefinitions.
    Crds(crds::Args),
}
