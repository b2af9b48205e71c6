//! Which host a machine takes: of those that are available and fit, the one that has been idle for longest; first of all those that are
//! reserved for its pool (proposal 1, node reuse).
//!
//! [`Hosts`] is kept by what is heard of them, so that a choice costs the same in a fleet of ten and of ten thousand, and a machine
//! that waits is woken by the host that it waits for.

pub mod candidate;
mod choose;
mod hosts;
mod line;
pub mod selector;
pub mod shortage;
pub mod wish;

pub use self::{
    candidate::{Candidate, HostId, Standing},
    choose::{Choice, Chosen, Patience},
    hosts::Hosts,
    wish::{MachineId, Wish},
};

#[cfg(test)]
mod tests;
