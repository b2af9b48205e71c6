//! Which controllers run here, and with what.

use clap::{Args as ClapArgs, ValueEnum};

/// What is kept true of stored objects, by the replica that reconciles. By default nothing is.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Controllers")]
pub struct Args {
    /// The controllers to run, separated by commas. One that works on the kind of another operator waits for as long as that
    /// operator holds its Lease.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', env = "IRONWARD_CONTROLLERS")]
    pub controllers: Vec<Controller>,

    /// Who registers hosts, writes images and switches power.
    #[arg(
        long,
        value_name = "NAME",
        required_if_eq("controllers", "host"),
        env = "IRONWARD_PROVISIONER"
    )]
    pub provisioner: Option<Provisioner>,

    /// How many hosts may be inspected, provisioned or deprovisioned at one time. Others wait, and show it as `delayed`.
    #[arg(long, value_name = "HOSTS", default_value_t = 20, env = "IRONWARD_PROVISIONING_LIMIT")]
    pub provisioning_limit: u32,

    /// How often an image may fail to be written to a host before that is given up, until the image is changed; 0 for no limit.
    #[arg(
        long,
        value_name = "TIMES",
        default_value_t = 5,
        env = "IRONWARD_MAX_PROVISIONING_RETRIES"
    )]
    pub max_provisioning_retries: u32,

    /// How long the demo takes to register, inspect, provision and deprovision.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, env = "IRONWARD_DEMO_SECONDS")]
    pub demo_seconds: u32,
}

impl Args {
    /// Whether a controller is to run.
    #[must_use]
    pub fn has(&self, controller: Controller) -> bool {
        self.controllers.contains(&controller)
    }
}

/// A controller, named for what it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Controller {
    /// BareMetalHosts, from registration to deletion; in the place of baremetal-operator.
    Host,
}

/// Who does things to machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Provisioner {
    /// Ironic, at --ironic-url.
    Ironic,
    /// Nobody: states change by the clock, and hosts fail if their name says so. To try things without machines.
    Demo,
}
