//! The command line: flags and their environment become settings, and nothing else happens here.

pub mod crds;
pub mod policy;

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::net::SocketAddr;

/// Guards and runs a fleet of bare-metal hosts on Kubernetes.
#[derive(Debug, Parser)]
#[command(version, about, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run against the cluster that KUBECONFIG names, or that this pod is in.
    Run(Settings),
    /// Print the kinds that Ironward works with, as CustomResourceDefinitions.
    Crds(crds::Args),
    /// Work with policies: list, check, test, evaluate and export them. No cluster is asked.
    #[command(subcommand)]
    Policy(policy::Command),
}

/// How to run.
#[derive(Debug, Args)]
pub struct Settings {
    /// Where to answer the kubelet's questions: /livez and /readyz, over plain HTTP.
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "0.0.0.0:8081",
        env = "IRONWARD_PROBE_ADDRESS"
    )]
    pub probe_address: SocketAddr,

    /// How log lines look: `text` for people, `json` for machines.
    #[arg(long, value_name = "FORMAT", default_value = "text", env = "IRONWARD_LOG_FORMAT")]
    pub log_format: LogFormat,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines: one JSON object a line.
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_flags_are_consistent() {
        Cli::command().debug_assert();
    }
}
