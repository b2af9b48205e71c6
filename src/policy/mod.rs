//! Kubernetes' ValidatingAdmissionPolicy and MutatingAdmissionPolicy as files, evaluated here as the
//! API server evaluates them: pure, synchronous, total. Facts in, verdicts out.

mod check;
mod directory;
mod document;
mod file;
mod locate;
mod names;
mod path;
mod problem;
mod render;
mod scalar;
mod shape;
mod shapes;
mod suggest;
mod yaml;

pub use directory::{Directory, File, is_policy_file};
pub use document::*;
pub use problem::Problem;
pub use yaml::Place;
