//! Metal3Remediation: the host of a Machine that is not healthy is switched off and on, a few times if need be, before the Machine is
//! given up.
//!
//! [`decide`] says what is to be done, from what is [`observed`]: a [`plan`] of writes and at most one action. `adapters::remediation`
//! carries it out and asks again. [`storm`] says how many may be remediated at one time.

mod conditions;
mod decide;
mod draft;
mod ending;
pub mod events;
pub mod health;
pub mod observed;
mod phases;
pub mod plan;
pub mod read;
pub mod storm;

pub use conditions::{Asking, REMEDIATING, Why};
pub use decide::decide;
pub use draft::HEALTH_CHECK_SUCCEEDED;
pub use phases::UNREACHABLE;
