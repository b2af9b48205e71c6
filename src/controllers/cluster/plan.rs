//! `Plan`: what is to be written about a Metal3Cluster, and what comes then.

use std::time::Duration;

use crate::api::metal3cluster::Metal3ClusterStatus;

/// What keeps a Metal3Cluster from being forgotten before its machines are.
pub const FINALIZER: &str = "metal3cluster.infrastructure.cluster.x-k8s.io";

/// What is to be done about a Metal3Cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Change its status to this.
    pub status: Option<Box<Metal3ClusterStatus>>,
    /// What comes after that.
    pub then: Then,
}

/// What is to be done after the status was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Put the finalizer on, and look again at once.
    Guard,
    /// Take the finalizer off: all is done, for ever.
    Release,
    /// Look again after a while, or when something changes.
    After(Duration),
    /// Nothing until something changes.
    Await,
}
