//! `Observed`: all that a decision about a Metal3Cluster may depend on.

use jiff::Timestamp;

use crate::api::{Metal3Cluster, cluster_api::Cluster};

/// What is known of a Metal3Cluster now.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The Metal3Cluster as the API server has it.
    pub cluster: Metal3Cluster,
    /// The Cluster that it belongs to, once Cluster API has made it its own.
    pub owner: Option<Cluster>,
    /// How many Machines of the Cluster there still are. Only counted when it is to be deleted.
    pub machines: usize,
    /// The time.
    pub now: Timestamp,
}
