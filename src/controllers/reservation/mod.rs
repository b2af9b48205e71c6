//! Reservations (proposal 1, node reuse): every one ends. It is taken by a machine of its pool; or the pool is gone, or has all the hosts that
//! it needs, or the host was given up: then it is anybody's again.

mod decide;
mod events;

pub use decide::{Observed, Owner, Plan, Why, decide};
pub use events::Reason;
