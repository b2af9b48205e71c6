//! What is kept true of stored objects, one folder a feature: `decide` is pure, and
//! [`adapters`](crate::adapters) does what it says.

pub mod autoscale;
pub mod cluster;
pub mod conditions;
pub mod discovery;
pub mod duplicate;
pub mod events;
pub mod history;
pub mod host;
pub mod host_choice;
pub mod machine;
pub mod machine_template;
pub mod metadata;
pub mod remediation;
pub mod reservation;
pub mod said;
