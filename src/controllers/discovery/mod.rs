//! BareMetalHostDiscovery: a server that boots becomes a BareMetalHost.
//!
//! [`decide`] says which nodes of Ironic become which hosts, from what is [`observed`]: a [`plan`] of reports to read, hosts to create and things to
//! tell. `adapters::discovery` carries it out. What anybody can report is not relied on: [`machine`] reads it, and what cannot be a host is refused
//! and told in the [`status`] of the discovery.

mod decide;
mod host;
pub mod hosts;
pub mod interval;
pub mod machine;
pub mod observed;
pub mod plan;
pub mod status;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use decide::decide;
