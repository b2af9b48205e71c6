//! Ironic: what its nodes are, what it is asked, and what its answers mean. Pure;
//! [`adapters::ironic`](crate::adapters) does the asking.
//!
//! [`next`](next::next) is the heart: given a node and what is wanted of it, the one request that
//! comes next.

mod capabilities;
pub mod driver;
pub mod error;
pub mod instance;
pub mod inventory;
pub mod next;
pub mod node;
pub mod pacing;
pub mod patch;
pub mod power;
pub mod provision_state;
pub mod raid;
pub mod redact;
mod root_device;
pub mod step;
#[cfg(test)]
mod testing;
pub mod version;
