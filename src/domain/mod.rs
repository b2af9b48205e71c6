//! What is true of bare metal, whatever stores or serves it. No Kubernetes client, no async, no clock.
pub mod automated_cleaning;
pub mod bmc;
pub mod host_status;
pub mod kubernetes_name;
pub mod mac;
pub mod node_reuse;
pub mod provisioning_state;
pub mod remediation;
#[cfg(test)]
mod testing;
pub mod text;
