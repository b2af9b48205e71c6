//! `Observed`: the pools of a namespace that are to be scaled, and what there is to share out.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use strum::Display;

use crate::controllers::host_choice::{Candidate, selector::Selector};

/// What is known of a namespace.
#[derive(Debug, Clone)]
pub struct Observed<'a> {
    /// The pools that have the annotation.
    pub pools: Vec<Pool>,
    /// All hosts.
    pub hosts: Vec<&'a Candidate>,
    /// All Metal3Machines, by name.
    pub machines: BTreeMap<String, Machine>,
}

/// What makes machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Display)]
pub enum Kind {
    /// A MachineDeployment.
    MachineDeployment,
    /// A MachineSet that belongs to none.
    MachineSet,
}

/// A pool by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PoolId {
    /// What it is.
    pub kind: Kind,
    /// Its name.
    pub name: String,
}

/// A pool that has the annotation.
#[derive(Debug, Clone)]
pub struct Pool {
    /// Which it is.
    pub id: PoolId,
    /// When it was made: the oldest is served first.
    pub created: Option<Timestamp>,
    /// The Cluster of its machines.
    pub cluster: String,
    /// The annotation.
    pub annotation: String,
    /// How many machines there are to be now.
    pub replicas: u32,
    /// Whether it, or its Cluster, is left alone for now, or is going.
    pub is_left_alone: bool,
    /// Whether the cluster autoscaler writes its replicas.
    pub has_autoscaler: bool,
    /// Which hosts its machines take, or why that is not known.
    pub selector: Result<Selector, String>,
    /// For how long there have been fewer hosts than machines.
    pub short_for: Duration,
}

/// A Metal3Machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// The MachineDeployment that it belongs to.
    pub deployment: Option<String>,
    /// The MachineSet that it belongs to.
    pub set: Option<String>,
    /// Whether it was given a host.
    pub has_host: bool,
    /// Whether it is being deleted.
    pub is_leaving: bool,
}

impl Machine {
    /// Whether it is of a pool.
    #[must_use]
    pub fn is_of(&self, pool: &PoolId) -> bool {
        let owner = match pool.kind {
            Kind::MachineDeployment => &self.deployment,
            Kind::MachineSet => &self.set,
        };
        owner.as_ref() == Some(&pool.name)
    }
}
