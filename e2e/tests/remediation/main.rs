//! Remediation under the real Cluster API: its MachineHealthCheck finds machines that are not well, its MachineSets replace those that are given
//! up, and Ironward does what is between. What is played is the machines alone, as Nodes: see `kubelets`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

mod company;
mod faults;
mod ironic;
mod killed;
mod person;
#[path = "../machines/scene.rs"]
#[allow(dead_code, reason = "it is shared with tests that need more of it")]
mod scene;
#[path = "../machines/stage.rs"]
#[allow(dead_code, reason = "it is shared with tests that need more of it")]
mod stage;
mod storm;
