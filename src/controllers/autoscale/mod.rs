//! Pools whose replicas follow the number of hosts that they can have (`metal3.io/autoscale-to-hosts`), so that a server that is plugged in joins its cluster without
//! a call by anybody.
//!
//! [`decide`] shares out the hosts of a namespace among its pools. It never asks for less than a pool has in use: no machine loses its host because somebody
//! changed a label, or because hosts cannot be seen.

mod decide;
pub mod observed;
pub mod plan;
#[cfg(test)]
mod tests;

pub use decide::decide;
