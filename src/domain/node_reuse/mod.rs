//! Proposal 1, node reuse: a rolling upgrade gives a machine a host of the pool it belongs to, so
//! that the data on the host's disks is found again. While such a host is deprovisioned it carries
//! a label that names its pool; whoever then looks for a host takes those of its own pool first,
//! waits for them, and removes the label. The switch is `spec.nodeReuse` in
//! `api::metal3machinetemplate`; the machine controller does the rest.

mod pool;

pub use pool::{LABEL, Pool, PoolError, SINCE_ANNOTATION};
