//! The self-signed mode: which certificates there are to be, and when a replica may serve with one.
//!
//! **What holds**: no replica serves with a certificate that the registrations' `caBundle` does not cover.
//! - A certificate has an authority of its own, whose key is thrown away at once: what is not kept cannot be stolen.
//! - The *next* certificate is made long before the current one ends, and its authority joins those that are trusted.
//!   It becomes the *current* one only after the API server was seen to have its authority, and after the time that
//!   a replica with an older view may still take to write that into the registrations.
//! - An authority stays trusted until it has expired: a replica that hears of nothing goes on with what it has.
//!
//! All replicas do this, with one Secret between them. A write onto a version that is not the newest is lost, and its writer looks again.

mod content;
mod facts;
mod rotation;
mod trust;

pub use content::{Content, Key, Pair};
pub use facts::{Authority, Certificate, Unreadable, authorities, certificate, identity};
pub use rotation::{BACKDATED, Observed, Plan, carried_out, decide, may_serve, settling};
pub use trust::{Distrust, is_trusted};
