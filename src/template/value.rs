//! What a template works on: Go's values, as far as data from JSON and the language itself can make them.

use std::{collections::BTreeMap, fmt, sync::Arc};

use super::go::{
    number::{Number, looks_like_float},
    text::lossy,
};

/// A value. Text is bytes, as in Go: `slice "é" 0 1` cuts a character in two.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// Go's `nil`.
    Nil,
    /// `bool`.
    Bool(bool),
    /// `int`.
    Int(i64),
    /// `uint8`: what `index "text" 0` gives.
    Byte(u8),
    /// `float64`.
    Float(f64),
    /// `complex128`: what `2i` is.
    Complex(f64, f64),
    /// `string`.
    Text(Arc<[u8]>),
    /// `[]any`.
    List(List),
    /// `map[string]any`.
    Map(Arc<BTreeMap<String, Self>>),
}

impl Value {
    /// What `%T` prints.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Nil => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Byte(_) => "uint8",
            Self::Float(_) => "float64",
            Self::Complex(..) => "complex128",
            Self::Text(_) => "string",
            Self::List(_) => "[]interface {}",
            Self::Map(_) => "map[string]interface {}",
        }
    }

    /// A number as its spelling says, where nothing else says which type it should have.
    pub(crate) fn of_literal(text: &str, number: &Number) -> Result<Self, String> {
        let is_rune = text.starts_with('\'');
        let is_hex_int = text.len() > 2
            && (text.starts_with("0x") || text.starts_with("0X"))
            && !text.contains(['p', 'P']);
        match (number.complex, number.float, number.int) {
            (Some((real, imaginary)), _, _) => Ok(Self::Complex(real, imaginary)),
            (_, Some(float), _) if !is_hex_int && !is_rune && looks_like_float(text) => {
                Ok(Self::Float(float))
            }
            (_, _, Some(int)) => Ok(Self::Int(int)),
            _ if number.is_uint => Err(format!("{text} overflows int")),
            _ => Ok(Self::Nil),
        }
    }

    /// Whether `if` takes it for true: all but nothing, zero and what is empty.
    #[must_use]
    pub fn is_true(&self) -> bool {
        match self {
            Self::Nil => false,
            Self::Bool(truth) => *truth,
            Self::Int(number) => *number != 0,
            Self::Byte(number) => *number != 0,
            Self::Float(number) => *number != 0.0,
            Self::Complex(real, imaginary) => *real != 0.0 || *imaginary != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(list) => !list.as_slice().is_empty(),
            Self::Map(map) => !map.is_empty(),
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{:?}", lossy(text)),
            Self::List(list) => f.debug_list().entries(list.as_slice()).finish(),
            Self::Map(map) => f.debug_map().entries(map.iter()).finish(),
            Self::Nil => f.write_str("nil"),
            Self::Bool(truth) => write!(f, "{truth}"),
            Self::Int(number) => write!(f, "{number}"),
            Self::Byte(number) => write!(f, "{number}u8"),
            Self::Float(number) => write!(f, "{number:?}"),
            Self::Complex(real, imaginary) => write!(f, "({real:?}+{imaginary:?}i)"),
        }
    }
}

/// A slice: a part of a list that may grow back to its capacity, as Go's do.
#[derive(Clone)]
pub struct List {
    items: Arc<[Value]>,
    start: usize,
    end: usize,
    capacity_end: usize,
}

impl List {
    /// The items.
    #[must_use]
    pub fn as_slice(&self) -> &[Value] {
        self.items.get(self.start..self.end).unwrap_or_default()
    }

    /// How far `slice` may go.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity_end - self.start
    }

    /// `list[from:to:capacity]`, each within what it may be.
    #[must_use]
    pub(crate) fn part(&self, from: usize, to: usize, capacity: usize) -> Self {
        Self {
            items: Arc::clone(&self.items),
            start: self.start + from,
            end: self.start + to,
            capacity_end: self.start + capacity,
        }
    }
}

impl FromIterator<Value> for List {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Self {
        let items: Arc<[Value]> = items.into_iter().collect();
        let end = items.len();
        Self { items, start: 0, end, capacity_end: end }
    }
}

impl PartialEq for List {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.as_bytes().into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text.into_bytes().into())
    }
}

impl From<Vec<u8>> for Value {
    fn from(text: Vec<u8>) -> Self {
        Self::Text(text.into())
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

/// A number without point and exponent is an `int` if it is small enough, any other a `float64`.
impl From<&serde_json::Value> for Value {
    fn from(json: &serde_json::Value) -> Self {
        use serde_json::Value as Json;
        match json {
            Json::Null => Self::Nil,
            Json::Bool(truth) => Self::Bool(*truth),
            Json::Number(number) => number
                .as_i64()
                .map_or_else(|| Self::Float(number.as_f64().unwrap_or_default()), Self::Int),
            Json::String(text) => text.as_str().into(),
            Json::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            Json::Object(entries) => {
                let entries = entries.iter().map(|(key, value)| (key.clone(), value.into()));
                Self::Map(Arc::new(entries.collect()))
            }
        }
    }
}
