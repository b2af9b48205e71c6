//! Metal3Machine: takes a host for a Machine of Cluster API, has the image written to it, and gives it back.
//!
//! [`decide`] says what comes next, from what is [`observed`]; `adapters::machines` does it and asks again. Which host is taken is
//! chosen in [`host_choice`](super::host_choice). When a machine is deleted its host is deprovisioned under the cleaning mode that its
//! template has then (proposal 2), and kept for its pool if that reuses nodes (proposal 1).

mod addresses;
mod conditions;
pub mod data;
mod decide;
mod draft;
pub mod events;
mod give_back;
mod host_change;
mod keep;
pub mod node;
pub mod observed;
pub mod plan;
pub mod pool;
mod take;

pub use conditions::Why;
pub use decide::decide;

#[cfg(test)]
mod tests;
