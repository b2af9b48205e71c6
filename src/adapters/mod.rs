//! All I/O, one outside thing per file.

pub mod autoscale;
pub mod certificates;
pub mod clock;
pub mod demo;
pub mod discovery;
pub mod events;
pub mod hosts;
pub mod ironic;
pub mod kinds;
pub mod leadership;
pub mod listed;
mod listening;
pub mod machines;
pub mod metadata;
pub(crate) mod other_operator;
pub mod page;
mod passes;
pub mod patch;
pub mod probes;
pub mod remediation;
pub mod stored;
pub mod telemetry;
pub mod uniqueness;
pub mod webhook;
mod workload_cluster;
