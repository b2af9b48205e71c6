//! Ironward guards and runs a fleet of bare-metal hosts on Kubernetes.
//!
//! The map of the code, in the direction of the dependencies; nothing uses what stands below it:
//!
//! | module | what it holds | may do I/O |
//! |---|---|---|
//! | [`domain`] | what is true of bare metal: MACs, BMC addresses, states, names | no |
//! | [`api`] | the kinds as they are on the wire, and the CRDs generated from them | no |
//! | [`uniqueness`] | who holds a key that only one object may have | no |
//! | [`template`] | Go's templates, and the functions that metadata templates have | no |
//! | [`policy`] | Kubernetes' CEL, and the policies written in it | no |
//! | [`admission`] | what the API server asks, and what it is answered | no |
//! | [`controllers`] | what is kept true of stored objects | no |
//! | [`audit`] | what policies say of objects that are stored already | no |
//! | [`fleet`] | hosts at a glance: how many, and what is wrong with which | no |
//! | [`doctor`] | what is wrong with an installation, and what to do about it | no |
//! | [`page`] | what the page in a browser shows | no |
//! | [`certificates`] | the self-signed mode: which certificates there are to be | no |
//! | [`ironic`] | what Ironic is asked, and what its answers mean | no |
//! | [`adapters`] | one outside thing per file | yes |
//! | [`cli`], [`run`] | flags, and the one place that wires it all together | yes |
//!
//! `tests/architecture.rs` fails when a pure module gains I/O.

pub mod adapters;
pub mod admission;
pub mod api;
pub mod audit;
pub mod certificates;
pub mod cli;
pub mod controllers;
pub mod doctor;
pub mod domain;
pub mod fleet;
pub mod ironic;
pub mod page;
pub mod policy;
pub mod run;
pub mod template;
pub mod uniqueness;
