//! What is true of bare metal, whatever stores or serves it. No Kubernetes client, no async, no
//! clock: text in, values or errors for people out, and nothing panics.
//!
//! Each of the five proposals has a folder, which tells what the feature does and where the rest of
//! it lives:
//!
//! | proposal | folder |
//! |---|---|
//! | 1, node reuse | [`node_reuse`] |
//! | 2, automated cleaning | [`automated_cleaning`] |
//! | 3, remediation | [`remediation`] |
//! | 4, metadata per node | [`metadata`] |
//! | 5, host discovery | [`host_discovery`] |
//!
//! What they share is a file each: addresses ([`mac`], [`bmc`]), the host's state
//! ([`provisioning_state`], [`host_status`]), and how values are written ([`kubernetes_name`],
//! [`text`]), said ([`words`]) and misspelt (`suggest`).

pub mod automated_cleaning;
pub mod bmc;
pub mod host_discovery;
pub mod host_status;
pub mod kubernetes_name;
pub mod mac;
pub mod metadata;
pub mod node_reuse;
pub mod provisioning_state;
pub mod remediation;
pub(crate) mod suggest;
#[cfg(test)]
mod testing;
pub mod text;
pub mod words;
