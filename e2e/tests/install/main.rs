//! The chart on a real API server, by real Helm: what it installs is accepted, is enough, and is all that is needed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

mod certificate;
mod chart;
mod doctor;
mod life;
mod machines;
mod metadata;
mod node;
mod operators;
mod page;
mod permissions;
mod replicas;
mod stage;
mod standalone;
