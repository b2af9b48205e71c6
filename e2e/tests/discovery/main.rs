//! Machines that report to a real Ironic become hosts of a real API server, and machines of a real Cluster API.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

mod fleet;
mod hostile;
mod life;
mod rack;
#[path = "../machines/scene.rs"]
#[allow(dead_code, reason = "it is shared with tests that need more of it")]
mod scene;
#[path = "../machines/stage.rs"]
#[allow(dead_code, reason = "it is shared with tests that need more of it")]
mod stage;
