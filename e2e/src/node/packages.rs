//! What a node needs beside Kubernetes' own programs.

pub use crate::packages::Packages;
use anyhow::Result;

/// What pods run in, what gives them addresses, what Services and names are made of, and the one program of the image that
/// holds a pod's place.
const PACKAGES: [&str; 7] = [
    "busybox-static",
    "containerd",
    "containernetworking-plugins",
    "dnsmasq-base",
    "iproute2",
    "nftables",
    "runc",
];

/// Downloads what this machine does not have already.
pub fn provide() -> Result<Packages> {
    Packages::provide("node-packages", &PACKAGES)
}
