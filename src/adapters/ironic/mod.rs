//! Ironic: a client, what is known of all its nodes, and the [`Provisioner`] that stands on both.
//!
//! All nodes are read at once, again and again ([`snapshot`]), so that a fleet at rest costs some
//! requests a tick, however large. What is known this way answers whether something has ended; before
//! anything is asked of a node it is read once more, and what is asked is decided by that
//! ([`crate::ironic::next`]).
//!
//! [`Provisioner`]: crate::controllers::host::provisioner::Provisioner

mod answers;
mod client;
mod connection;
mod enrolment;
mod known;
mod metrics;
mod on_behalf;
mod provisioner;
mod snapshot;
#[cfg(test)]
mod testing;

pub use client::Client;
pub use connection::{Login, Settings, TlsFiles};
pub use metrics::Metrics;
pub use provisioner::Ironic;
pub use snapshot::{All, Snapshot};
