//! Proposal 5, host discovery: a machine that boots Ironic's agent and that no one has registered
//! becomes a BareMetalHost by itself. Its name is made from one thing that is known about it, as a
//! template says; it has no BMC details, so it is imported and not inspected again, and power is
//! left alone until someone adds them. The kind is `api::baremetalhostdiscovery`, the state is
//! `importing` in `provisioning_state`; the discovery controller polls Ironic.

pub mod annotations;
pub mod autoscale;
mod facts;
mod resource_name;

pub use self::{
    facts::{Facts, HardwareDetail},
    resource_name::{MAX_NAME, NameError, ResourceName, ResourceNameTemplate},
};
