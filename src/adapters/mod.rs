//! All I/O, one outside thing per file.

pub mod kinds;
pub mod probes;
pub mod stored;
pub mod telemetry;
pub mod webhook;
