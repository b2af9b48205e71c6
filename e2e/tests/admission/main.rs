//! Admission through a real API server: what `kubectl` is told, and what is stored.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

mod certificate;
mod conduct;
mod documentation;
mod outage;
mod own_policies;
mod shipped;
mod stage;
