//! Machines under the real Cluster API: its core manager and its kubeadm providers on a real API server, and Ironward in the place of
//! Metal3's operators. What is played is the machines alone, as Nodes: see `kubelets`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

mod cleaning;
mod contract;
mod control_plane;
mod deployments;
mod moved;
mod remediation;
mod scene;
mod stage;
