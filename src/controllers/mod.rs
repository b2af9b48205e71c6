//! What is kept true of stored objects, one folder a feature: `decide` is pure, and
//! [`adapters`](crate::adapters) does what it says.

pub mod host;
