//! The page, on a real API server and in a real browser.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

mod access;
mod browser;
mod hostile;
mod live;
mod many;
mod stage;
