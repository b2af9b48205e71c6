//! Which controllers run here, and with what.

use clap::{Args as ClapArgs, ValueEnum};

use crate::controllers::remediation::storm::Limit;

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

    /// How many hosts of a Cluster may be remediated at one time: a number, such as 5, or a share of its machines, such as
    /// 20%. Others wait, and show it. Default: as many as its MachineHealthCheck remediates at all
    /// (spec.remediation.triggerIf), and 20% where that does not say.
    #[arg(long, value_name = "HOSTS", env = "IRONWARD_REMEDIATION_LIMIT")]
    pub remediation_limit: Option<Limit>,

    /// For how long a machine waits for a host that is reserved for its pool and not available yet, before it takes another.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 1800,
        env = "IRONWARD_NODE_REUSE_PATIENCE_SECONDS"
    )]
    pub node_reuse_patience_seconds: u32,

    /// Whether hosts that are cleaned when their machine is deleted stay on, so that Ironic's ramdisk need not boot again. What
    /// CAPM3_FAST_TRACK is to CAPM3; Ironic has to be set up for it.
    #[arg(long, env = "IRONWARD_FAST_TRACK")]
    pub fast_track: bool,

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
    /// Metal3Remediations: hosts of unhealthy machines are switched off and on before the machines are given up; and the
    /// histories of hosts.
    Remediation,
    /// Metal3Clusters; in the place of Metal3's CAPM3, as the following.
    Cluster,
    /// Metal3Machines: which host they take, and what becomes of it.
    Machine,
    /// Metal3MachineTemplates: the cleaning mode of the machines that were made from them.
    MachineTemplate,
    /// BareMetalHostDiscoveries: a machine that reports to Ironic, at --ironic-url, becomes a BareMetalHost.
    Discovery,
    /// MachineDeployments and MachineSets with the annotation metal3.io/autoscale-to-hosts: their replicas follow the number of
    /// hosts that they can have.
    Autoscale,
    /// Metal3Metadata: an index and a Secret for each Metal3Machine that asks for one.
    Metadata,
}

/// Who does things to machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Provisioner {
    /// Ironic, at --ironic-url.
    Ironic,
    /// Nobody: states change by the clock, and hosts fail if their name says so. To try things without machines.
    Demo,
}
