//! BareMetalHost: from a name and the address of a BMC to a server that runs an image, and back.
//!
//! [`decide`] says what is to be done, from what is [`observed`]: a [`plan`] of writes and at most one operation of the
//! [`provisioner`]. `adapters::hosts` carries it out and asks again. The states and the ways between them are the table in
//! [`domain::provisioning_state`](crate::domain::provisioning_state).

pub mod annotations;
pub mod conditions;
pub mod counted;
mod decide;
mod draft;
pub mod events;
pub mod failure;
pub mod hidden;
pub mod machine;
pub mod observed;
pub mod plan;
mod power;
pub mod provisioner;
mod reasons;
mod registration;
pub mod secrets;
pub mod slots;
mod states;

pub use decide::decide;
