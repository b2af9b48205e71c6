//! The metadata controller on a real API server: what is stored, what survives kills and lost statuses, and what people are told.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

mod page;
mod pool;
mod stage;
mod storm;
