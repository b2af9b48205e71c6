//! Uniqueness in a cluster: carries out what `crate::uniqueness` decides.

mod claimed;
mod claims;
mod guard;
mod marks;
mod occupants;
mod sweeper;

pub use claims::Claims;
pub use guard::Guard;
pub use occupants::Occupants;
pub use sweeper::keep_swept;
