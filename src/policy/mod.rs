//! Policies: Kubernetes' CEL, and what is built on it.
//!
//! Pure: objects and questions come in as values, verdicts go out as values.

pub mod cel;
