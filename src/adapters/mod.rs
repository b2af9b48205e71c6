//! All I/O, one outside thing per file.

pub mod certificates;
pub mod clock;
pub mod demo;
pub mod hosts;
pub mod ironic;
pub mod kinds;
pub mod leadership;
pub mod probes;
pub mod stored;
pub mod telemetry;
pub mod uniqueness;
pub mod webhook;
