//! The parts of Go's library that templates show: how it reads literals and how it prints values.

pub(crate) mod float;
pub(crate) mod integer;
pub(crate) mod number;
pub(crate) mod print;
pub(crate) mod printf;
pub(crate) mod quote;
pub(crate) mod text;
pub(crate) mod unicode;
