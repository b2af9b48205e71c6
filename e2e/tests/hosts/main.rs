//! The host controller on a real API server, with the demo provisioner: what is stored, what survives a kill, and what people are told.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

mod duplicates;
mod life;
mod limit;
mod requests;
mod stage;
