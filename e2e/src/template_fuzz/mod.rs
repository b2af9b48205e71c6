//! Random templates, asked of Go's text/template and of this engine, and what they answer differently.
//!
//! Go is asked through the oracle (`e2e/go/template-oracle`). This engine answers in a thread of the run, with
//! the stack of a worker: should it overflow, the run ends there, and the seed and the number of the template
//! are in its last line.

pub mod engine;
pub mod generate;
pub mod minimise;
pub mod mutate;
pub mod node;
pub mod run;
pub mod words;
