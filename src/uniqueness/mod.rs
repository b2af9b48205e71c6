//! Uniqueness that holds under races: a key belongs to the object that its claim names, and a claim
//! is a Lease in etcd, which lets one write win.
//!
//! **What holds**: if an object is stored with a key, the claim of that key names the object.
//! - Whoever *gains* a key (a create, or an update of an object without it) writes the claim before
//!   it is admitted, also when the claim names it already: the write ends every takeover that began
//!   before it. Whoever keeps a key writes nothing, since the API server stores an update only onto
//!   the object that admission saw.
//! - A claim passes to another only if its holder, looked at after the claim was found to be older
//!   than the grace, is gone or without the key, and only by a write onto that very claim. The grace
//!   is longer than the API server works on a request, so that nothing which relied on the claim
//!   can still be stored.
//! - An object is known by resource, namespace and name, not by uid: etcd stores only one of a name.
//!
//! What it does not cover is repaired instead of prevented: objects that were stored before there was
//! a claim, and claims that people delete. [`sweep`] gives each key its claim back, and an
//! [`Observed::occupant`] refuses what a cache knows to be taken.
//!
//! `tests/uniqueness_model.rs` explores every interleaving of [`decide`] and [`sweep`].

mod age;
mod attempt;
mod claim;
mod decide;
mod holder;
mod marks;
mod name;
mod sweep;

pub use age::Age;
pub use attempt::{Next, ROUNDS, Undo, Written, after_contention, rollback};
pub use claim::{Claim, Content, HOLDER, KEY, POLICY, Write, subject};
pub use decide::{GRACE, Observed, Plan, Sight, decide};
pub use holder::Holder;
pub use marks::{Mark, marks};
pub use name::{is_lease_name, lease_name};
pub use sweep::{Sweep, Swept, sweep};
