//! The serving certificate: from files that somebody else keeps current, or made and renewed by ourselves.

pub mod files;
mod maker;
pub mod self_signed;
pub mod serving;
mod shared;
