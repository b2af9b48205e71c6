//! Kubernetes' ValidatingAdmissionPolicy and MutatingAdmissionPolicy as files, evaluated here as the
//! API server evaluates them: pure, synchronous, total. Facts in, verdicts out.

mod check;
mod defaults;
mod directory;
mod document;
mod facts;
mod file;
mod json_patch;
mod locate;
mod matching;
mod merge;
mod names;
mod path;
mod problem;
mod render;
mod request;
mod scalar;
mod selector;
mod shape;
mod shapes;
mod suggest;
mod yaml;

pub use directory::{Directory, File, is_policy_file};
pub use document::*;
pub use facts::{Facts, KnownFacts, Lookup, ParamQuery, Question, Scope, Which};
pub use merge::Schemas;
pub use problem::Problem;
pub use request::{Operation, Request, RequestError, Versioned, namespace_variable};
pub use yaml::Place;
