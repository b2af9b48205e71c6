//! `Observed`: all that a decision about a Metal3Machine may depend on, read at one instant.

use jiff::Timestamp;

use super::node::Found;
use crate::{
    api::{
        BareMetalHost, Metal3Cluster, Metal3Machine,
        cluster_api::{Cluster, Machine},
    },
    controllers::host_choice::{Choice, selector::SelectorError},
    domain::{automated_cleaning::AutomatedCleaningMode, node_reuse::Pool},
};

/// What is known of a Metal3Machine now.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The Metal3Machine as the API server has it.
    pub machine: Metal3Machine,
    /// The time.
    pub now: Timestamp,
    /// The Machine that it is for, once Cluster API has made it its own.
    pub owner: Option<Machine>,
    /// The Cluster that it belongs to.
    pub cluster: Option<Cluster>,
    /// The infrastructure of that Cluster.
    pub infrastructure: Option<Metal3Cluster>,
    /// Its host.
    pub host: Host,
    /// Whether its host was reserved for its pool when it took it, which was in this pass.
    pub is_reused: bool,
    /// Why the host that was chosen in this pass could not be written.
    pub refusal: Option<String>,
    /// What its template says of cleaning now. Only looked for when the host is to be given back.
    pub template_mode: Option<AutomatedCleaningMode>,
    /// The machines that share hosts with it, if any do. Only looked for when the host is to be given back.
    pub reuse: Option<Reuse>,
    /// Its Node. Only looked for when an image runs on the host.
    pub node: Found,
    /// What people have set.
    pub settings: Settings,
}

/// The host of a machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Host {
    /// It has none; this is the one to take. Nothing is chosen for one that cannot take it yet.
    None(Option<Result<Choice, SelectorError>>),
    /// It has this one.
    Has(Box<BareMetalHost>),
    /// It had one of this name, that is not there any more.
    Gone(String),
    /// It had one of this name, that is not its own any more.
    Lost(String),
}

/// The pool of a machine, when the machine is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reuse {
    /// Who shares hosts.
    pub pool: Pool,
    /// Whether its template says so. One that is not there does not.
    pub is_wanted: bool,
    /// Whether the pool goes on: its owner is there and not being deleted.
    pub goes_on: bool,
}

/// What people have set for all machines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settings {
    /// Whether a host that will be cleaned stays on, so that the ramdisk needs no boot.
    pub is_fast_track: bool,
}

impl Observed {
    /// Whether somebody has asked for its deletion.
    #[must_use]
    pub fn is_being_deleted(&self) -> bool {
        self.machine.metadata.deletion_timestamp.is_some()
    }

    /// Whether a cloud provider gives Nodes their providerID.
    #[must_use]
    pub fn has_cloud_provider(&self) -> bool {
        let cluster = self.infrastructure.as_ref();
        cluster.is_some_and(|it| it.spec.cloud_provider_enabled == Some(true))
    }
}
