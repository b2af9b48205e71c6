//! The command line.

use clap::Parser;

/// Guards and runs a fleet of bare-metal hosts on Kubernetes.
#[derive(Debug, Parser)]
#[command(version, about)]
pub struct Cli {}
