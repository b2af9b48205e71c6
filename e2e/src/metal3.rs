//! What is needed of Metal3's own sources: their definitions and their samples.

use crate::go;
use anyhow::Result;
use std::path::PathBuf;

/// The sources of the operator of hosts.
pub fn baremetal_operator() -> Result<PathBuf> {
    let sum = "h1:XSkyBv4l1OvCL66b7T0FEUaGeS0zOjQKhot9V8zeZQc=";
    go::sources("github.com/metal3-io/baremetal-operator", "v0.13.2", sum)
}

/// The sources of the infrastructure provider of Cluster API.
pub fn cluster_api_provider_metal3() -> Result<PathBuf> {
    let sum = "h1:qYIXaHZp3Tcn2Taf+LZZ7rjATyKLVjguMS39pC640pw=";
    go::sources("github.com/metal3-io/cluster-api-provider-metal3", "v1.13.2", sum)
}

/// The sources of what gives addresses to Metal3's machines.
pub fn ip_address_manager() -> Result<PathBuf> {
    let sum = "h1:B9IK6EOohcrkbr4J/1LOv9chCISQ1YS5SDEifPTFs38=";
    go::sources("github.com/metal3-io/ip-address-manager", "v1.13.1", sum)
}
