//! What a user could pick instead of Ironward, on the same API server and with the same work.

pub mod accepting;
pub mod admission;
pub mod engine;
pub mod engines;
pub mod figures;
pub mod gatekeeper;
pub mod hosts;
pub mod kyverno;
pub mod machines;
mod picture;
pub mod report;
pub mod runs;

/// Hosts that Ironward works on at a time, for whoever is to have the same.
const AT_ONCE: u16 = 32;
/// So much garbage, in percent, that the API server spends little on clearing up, as where it uses gigabytes: with as few objects as here it
/// would else clear up all the time.
const GARBAGE: u16 = 400;
