//! A value as Go's reflection sees it.

use crate::template::value::Value;

/// A value on its own, or inside an interface as the items of lists and maps are. Go's messages and some of its
/// functions tell the two apart. Nothing on its own is what Go calls an invalid value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Held {
    pub value: Value,
    pub boxed: bool,
}

impl Held {
    pub const NOTHING: Self = Self { value: Value::Nil, boxed: false };

    pub fn bare(value: Value) -> Self {
        Self { value, boxed: false }
    }

    pub fn boxed(value: Value) -> Self {
        Self { value, boxed: true }
    }

    /// Whether it is no value at all, not even `nil`.
    pub fn is_nothing(&self) -> bool {
        !self.boxed && matches!(self.value, Value::Nil)
    }

    /// The name of its type in messages.
    pub fn type_name(&self) -> &'static str {
        if self.boxed { "interface {}" } else { self.value.type_name() }
    }
}
