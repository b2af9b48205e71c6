//! The chart's alerts and dashboard, by Prometheus' own engine: when alerts fire and when not, and that there is something to see.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

mod alerts;
mod chart;
mod live;
mod rendered;
mod scene;
