//! Uniqueness on a real API server: one host has a key, whatever happens at the same time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

mod cost;
mod killed;
mod life;
mod race;
mod stage;
mod user;
