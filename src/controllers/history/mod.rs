//! HostHistory: what is remembered of a host after everything that took part is gone.
//!
//! Whoever remediates says with every pass what is true of the attempt that is under way: an [`Entry`]. [`remember`] finds the record of
//! that attempt by the UID of the remediation and its number, so that saying the same twice, or again after a crash, changes nothing;
//! a counter moves with the record that it counts, in one write. Marks that people put on hosts are remembered by [`remember_mark`].

mod marks;
mod remember;

pub use marks::remember_mark;
pub use remember::{Entry, RECORDS, remember};
