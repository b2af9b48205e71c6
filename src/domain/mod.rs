//! What is true of bare metal, whatever stores or serves it. No Kubernetes client, no async, no clock.
pub mod bmc;
pub mod kubernetes_name;
pub mod mac;
#[cfg(test)]
mod testing;
pub mod text;
