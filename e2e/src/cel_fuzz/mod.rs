//! Random expressions, asked of Kubernetes' own CEL and of this engine, and what they answer differently.
//!
//! Kubernetes is asked through the oracle (`e2e/go/cel-oracle`), this engine through a second process of the
//! same program, so that a crash of either ends one question and not the run.

// The golden vectors are answered by the same code.
#[path = "../../../tests/cel/answer.rs"]
pub mod answer;
pub mod compare;
pub mod court;
pub mod findings;
pub mod generate;
pub mod judge;
pub mod kinds;
pub mod literals;
pub mod minimise;
pub mod random;
pub mod run;
pub mod text;
pub mod thin;
pub mod worker;
