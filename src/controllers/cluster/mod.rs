//! Metal3Cluster: tells Cluster API where the API server will be and which failure domains there are. Nothing is built for that.

mod conditions;
mod decide;
pub mod observed;
pub mod plan;

pub use conditions::Why;
pub use decide::decide;
