//! Tests on a real API server. They share one control plane and have a namespace each.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod control_plane;
mod explain;
mod metal3_samples;
mod metal3_schema;
mod readiness;
mod refusals;
mod sandbox;
