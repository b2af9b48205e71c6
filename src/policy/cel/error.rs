//! Why an evaluation gave no value.

use super::authorizer::Question;
use std::{borrow::Cow, fmt};

/// An error value, which logic may absorb, or the end of the evaluation, which nothing absorbs.
#[derive(Debug, Clone)]
pub struct Error(Box<Failure>);

/// What an [`Error`] is.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// CEL's own error value.
    Value(Cow<'static, str>),
    /// The cost limit of one expression was passed.
    CostLimit,
    /// The caller's interrupt said so.
    Interrupted,
    /// An authorization is not known yet.
    Unknown(Box<Question>),
    /// cel-go would have panicked here, and says so.
    Internal(String),
    /// The variable at this place has to be evaluated first. Never leaves the evaluator.
    Deferred(usize),
}

impl Error {
    pub(crate) fn new(failure: Failure) -> Self {
        Self(Box::new(failure))
    }

    /// What happened.
    #[must_use]
    pub fn failure(&self) -> &Failure {
        &self.0
    }

    /// Whether `||`, `&&` and the like may go on in spite of it.
    pub(crate) fn is_value(&self) -> bool {
        matches!(*self.0, Failure::Value(_))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Failure::Value(text) => f.write_str(text),
            Failure::CostLimit => f.write_str("operation cancelled: actual cost limit exceeded"),
            Failure::Interrupted => f.write_str("operation interrupted"),
            Failure::Unknown(question) => write!(f, "authorization not known yet: {question:?}"),
            Failure::Internal(text) => write!(f, "internal error: {text}"),
            Failure::Deferred(_) => f.write_str("a variable is not known yet"),
        }
    }
}

impl std::error::Error for Error {}

/// An error value.
pub(crate) fn fail(text: impl Into<Cow<'static, str>>) -> Error {
    Error::new(Failure::Value(text.into()))
}

/// cel-go's most frequent error value.
pub(crate) fn no_overload() -> Error {
    fail("no such overload")
}
