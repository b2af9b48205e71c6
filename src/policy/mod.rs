//! Kubernetes' ValidatingAdmissionPolicy and MutatingAdmissionPolicy as files, evaluated here as the
//! API server evaluates them: pure, synchronous, total. Facts in, verdicts out.

pub mod cel;
mod check;
mod compiled;
mod conditions;
mod convert;
mod decide;
mod defaults;
pub mod difference;
mod directory;
mod document;
mod engine;
mod facts;
mod file;
pub mod finding;
mod functions;
mod invoke;
mod json_patch;
mod locate;
mod matching;
mod merge;
mod mutate;
mod names;
mod params;
mod path;
mod plan;
mod problem;
mod ratchet;
mod render;
mod request;
mod scalar;
mod selector;
mod set;
mod shape;
mod shapes;
pub mod shipped;
pub mod suite;
pub mod trial;
mod validate;
mod verdict;
mod yaml;

use crate::domain::suggest;

pub use directory::{Directory, File, is_policy_file};
pub use document::*;
pub use facts::{Facts, KnownFacts, Lookup, ParamQuery, Question, Scope, Which};
pub use functions::extensions;
pub use merge::Schemas;
pub use mutate::{Mutated, MutationDenial};
pub use problem::Problem;
pub use ratchet::ANNOTATION as RATCHETING;
pub use request::{Operation, Request, RequestError, Versioned, namespace_variable};
pub use selector::selected;
pub use set::{Concerned, PolicySet, Rule};
pub use verdict::{AuditFailure, Cause, Denial, Reason, Refusal, Verdict, Warning};
pub use yaml::Place;
