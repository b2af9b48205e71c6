//! Metal3Metadata: an index and a Secret for each Metal3Machine that asks for one.
//!
//! [`decide`] says what is to be done, from what is [`observed`]: a [`plan`] of writes. `adapters::metadata` carries it out and asks again.
//! What must hold, however many replicas work at one time and wherever one of them is killed: no two machines have one index.
//!
//! - An index is first recorded in the status, onto the very version that it was decided by. Then the Secret is made.
//! - The status may be lost at any moment. So indexes are found again from the Secrets; and a Secret that was made for an index which
//!   has become another's in the meantime is noticed, for it is given to its machine only once it is *settled*: it has our finalizer, put
//!   on the version that was seen while the status had the index for this machine and no other Secret had it.
//! - Whoever takes away a Secret that is not settled does so on the version that was seen. So one of the two fails and looks again.
//!
//! `tests/metadata_model.rs` explores this.

mod conditions;
mod decide;
mod indexes;
pub mod observed;
pub mod plan;
mod rendered;
mod secrets;
#[cfg(test)]
mod tests;
mod view;

pub use conditions::Why;
pub use decide::decide;
pub use rendered::digest;
