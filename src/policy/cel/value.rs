//! Values at run time: small, cheap to copy, borrowed from the request's JSON wherever they can be.

use super::{growing::Growing, library::Opaque, types::Type};
use crate::policy::json::{Fields, Items, Json, Shape};
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    ops::Deref,
    sync::Arc,
};

/// What an expression comes to.
#[derive(Debug, Clone)]
pub enum Value<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A signed number; every whole number of a JSON document is one.
    Int(i64),
    /// An unsigned number.
    Uint(u64),
    /// A floating point number.
    Double(f64),
    /// Text.
    String(Text<'a>),
    /// Octets.
    Bytes(Arc<[u8]>),
    /// A list.
    List(List<'a>),
    /// A map.
    Map(Map<'a>),
    /// Nanoseconds.
    Duration(i64),
    /// A point in time.
    Timestamp(Timestamp),
    /// A type.
    Type(Arc<Type>),
    /// A value, or none.
    Optional(Option<Arc<Self>>),
    /// A value of a Kubernetes library.
    Opaque(Arc<Opaque>),
    /// `Object{…}` and `JSONPatch{…}`.
    Object(Arc<Object<'a>>),
}

/// Text, borrowed or shared.
#[derive(Debug, Clone)]
pub enum Text<'a> {
    /// In the document or in the program.
    Borrowed(&'a str),
    /// Made while evaluating.
    Shared(Arc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self::Shared(Arc::from(text))
    }
}

/// Seconds since 1970 and nanoseconds, seen from an offset to UTC (in seconds).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamp {
    /// Seconds since 1970 in UTC.
    pub seconds: i64,
    /// 0 to 999,999,999.
    pub nanos: u32,
    /// Seconds east of UTC.
    pub offset: i32,
}

/// A list: a view of JSON, a vector, two lists one after the other, or one that grows.
#[derive(Debug, Clone)]
pub enum List<'a> {
    /// In the document.
    Json(Items<'a>),
    /// Made while evaluating, or a constant.
    Owned(Arc<Vec<Value<'a>>>),
    /// A sum of lists, as lazy as cel-go's: `a + a` must not cost the memory of both.
    Concat(Arc<Sum<'a>>),
    /// An empty list that got a name.
    Growing(Arc<Growing>),
}

/// Two lists, one after the other.
#[derive(Debug)]
pub struct Sum<'a> {
    first: List<'a>,
    second: List<'a>,
    /// Unless it can change.
    length: Option<usize>,
    /// How many lists it is made of.
    parts: usize,
}

/// Sums of more lists than this do not change with them: they would have to be counted each time.
const MOST_PARTS: usize = 64;

impl<'a> List<'a> {
    /// How many elements.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Json(items) => items.len(),
            Self::Owned(items) => items.len(),
            Self::Concat(sum) => {
                sum.length.unwrap_or_else(|| sum.first.len().saturating_add(sum.second.len()))
            }
            Self::Growing(list) => list.len(),
        }
    }

    fn is_fixed(&self) -> bool {
        match self {
            Self::Json(_) | Self::Owned(_) => true,
            Self::Concat(sum) => sum.length.is_some(),
            Self::Growing(_) => false,
        }
    }

    fn parts(&self) -> usize {
        if let Self::Concat(sum) = self { sum.parts } else { 1 }
    }

    /// One list after the other, as a view.
    #[must_use]
    pub fn concat(self, second: Self) -> Self {
        let length = self.len().saturating_add(second.len());
        let parts = self.parts().saturating_add(second.parts());
        let fixed = (self.is_fixed() && second.is_fixed()) || parts > MOST_PARTS;
        let length = fixed.then_some(length);
        Self::Concat(Arc::new(Sum { first: self, second, length, parts }))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at an index.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Value<'a>> {
        let (mut list, mut index) = (self, index);
        loop {
            match list {
                Self::Json(items) => return items.get(index).map(Value::from_json),
                Self::Owned(items) => return items.get(index).cloned(),
                Self::Concat(sum) => {
                    let first = sum.first.len();
                    if index < first {
                        list = &sum.first;
                    } else {
                        index -= first;
                        list = &sum.second;
                    }
                }
                Self::Growing(list) => return list.get(index),
            }
        }
    }

    /// All elements in order.
    pub fn iter(&self) -> impl Iterator<Item = Value<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

impl<'a> From<Vec<Value<'a>>> for List<'a> {
    fn from(items: Vec<Value<'a>>) -> Self {
        Self::Owned(Arc::new(items))
    }
}

/// A map: a view of JSON, or entries of its own.
#[derive(Debug, Clone)]
pub enum Map<'a> {
    /// In the document.
    Json(Fields<'a>),
    /// Made while evaluating, or a constant.
    Owned(Arc<Entries<'a>>),
    /// `variables`: evaluated when asked for.
    Variables,
}

impl<'a> Map<'a> {
    /// How many entries; `variables` is counted by the evaluator.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Json(map) => map.len(),
            Self::Owned(entries) => entries.list.len(),
            Self::Variables => 0,
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// By key, where numbers of any type are the same key.
    #[must_use]
    pub fn find(&self, key: &Value<'_>) -> Option<Value<'a>> {
        match self {
            Self::Json(map) => match key {
                Value::String(text) => map.get(text).map(Value::from_json),
                _ => None,
            },
            Self::Owned(entries) => entries.find(key),
            Self::Variables => None,
        }
    }

    /// All entries.
    #[must_use]
    pub fn entries(&self) -> Vec<(Value<'a>, Value<'a>)> {
        match self {
            Self::Json(map) => map
                .iter()
                .map(|(k, v)| (Value::String(Text::Borrowed(k)), Value::from_json(v)))
                .collect(),
            Self::Owned(entries) => entries.list.clone(),
            Self::Variables => Vec::new(),
        }
    }
}

/// Entries in the order of insertion, with an index once there are many.
#[derive(Debug, Clone, Default)]
pub struct Entries<'a> {
    /// Keys and values.
    pub list: Vec<(Value<'a>, Value<'a>)>,
    index: HashMap<u64, Vec<usize>>,
    /// An empty map that got a name, which is of another type in Go.
    pub(crate) named: bool,
}

/// From here on a search by comparison costs more than by hash.
const INDEXED: usize = 8;

impl<'a> Entries<'a> {
    /// What an empty map becomes when it gets a name.
    pub(crate) fn named() -> Self {
        Self { named: true, ..Self::default() }
    }

    /// Puts a value at a key, replacing what was there.
    pub fn set(&mut self, key: Value<'a>, value: Value<'a>) {
        if let Some(at) = self.position(&key) {
            self.list[at].1 = value;
            return;
        }
        let at = self.list.len();
        self.list.push((key, value));
        if at == INDEXED {
            for at in 0..=at {
                self.note(at);
            }
        } else if at > INDEXED {
            self.note(at);
        }
    }

    /// Takes an entry out.
    pub fn remove(&mut self, key: &Value<'_>) {
        if let Some(at) = self.position(key) {
            self.list.remove(at);
            self.index.clear();
            if self.list.len() > INDEXED {
                for at in 0..self.list.len() {
                    self.note(at);
                }
            }
        }
    }

    fn note(&mut self, at: usize) {
        if let Some(hash) = hash_of(&self.list[at].0) {
            self.index.entry(hash).or_default().push(at);
        }
    }

    /// A key of exactly this type.
    fn position(&self, key: &Value<'_>) -> Option<usize> {
        if self.list.len() <= INDEXED {
            return self.list.iter().position(|(known, _)| same_key(known, key));
        }
        let places = self.index.get(&hash_of(key)?)?;
        places.iter().copied().find(|&at| same_key(&self.list[at].0, key))
    }

    /// By key, where numbers of any type are the same key.
    #[must_use]
    pub fn find(&self, key: &Value<'_>) -> Option<Value<'a>> {
        let at = self.position(key).or_else(|| match key {
            Value::Double(d) => {
                let int = double_to_int(*d).and_then(|i| self.position(&Value::Int(i)));
                int.or_else(|| double_to_uint(*d).and_then(|u| self.position(&Value::Uint(u))))
            }
            Value::Int(i) => u64::try_from(*i).ok().and_then(|u| self.position(&Value::Uint(u))),
            Value::Uint(u) => i64::try_from(*u).ok().and_then(|i| self.position(&Value::Int(i))),
            _ => None,
        })?;
        Some(self.list[at].1.clone())
    }
}

fn same_key(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::String(a), Value::String(b)) => **a == **b,
        (Value::Int(a), Value::Int(b)) | (Value::Duration(a), Value::Duration(b)) => a == b,
        (Value::Uint(a), Value::Uint(b)) => a == b,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        #[allow(clippy::float_cmp, reason = "keys are the same only bit by bit, as Go's maps say")]
        (Value::Double(a), Value::Double(b)) => a == b,
        (Value::Null, Value::Null) => true,
        (Value::Timestamp(a), Value::Timestamp(b)) => a == b,
        (Value::Type(a), Value::Type(b)) => a.runtime_name() == b.runtime_name(),
        (Value::Optional(None), Value::Optional(None)) => true,
        (Value::Opaque(a), Value::Opaque(b)) => match (&**a, &**b) {
            (Opaque::Ip(a), Opaque::Ip(b)) => a == b,
            (Opaque::Cidr(a), Opaque::Cidr(b)) => a == b,
            (Opaque::Authorizer(a), Opaque::Authorizer(b)) if a.is_bound() && b.is_bound() => true,
            _ => Arc::ptr_eq(a, b),
        },
        // The others are pointers in Go: the same only if they are one.
        (a, b) => address(a).is_some_and(|a| address(b) == Some(a)),
    }
}

impl Value<'_> {
    /// Where a list or map of the document is.
    pub(crate) fn place_in_document(&self) -> Option<usize> {
        match self {
            Self::List(List::Json(items)) => Some(items.address()),
            Self::Map(Map::Json(map)) => Some(map.address()),
            _ => None,
        }
    }
}

fn address(value: &Value<'_>) -> Option<usize> {
    Some(match value {
        Value::List(List::Owned(items)) => Arc::as_ptr(items).addr(),
        Value::List(List::Concat(sum)) => Arc::as_ptr(sum).addr(),
        Value::List(List::Growing(list)) => Arc::as_ptr(list).addr(),
        Value::Map(Map::Owned(entries)) => Arc::as_ptr(entries).addr(),
        Value::Optional(Some(inner)) => Arc::as_ptr(inner).addr(),
        Value::Object(object) => Arc::as_ptr(object).addr(),
        _ => return None,
    })
}

fn hash_of(key: &Value<'_>) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    match key {
        Value::String(text) => (0_u8, &**text).hash(&mut hasher),
        Value::Int(i) => (1_u8, i).hash(&mut hasher),
        Value::Uint(u) => (2_u8, u).hash(&mut hasher),
        Value::Bool(b) => (3_u8, b).hash(&mut hasher),
        Value::Double(d) => (4_u8, if *d == 0.0 { 0 } else { d.to_bits() }).hash(&mut hasher),
        Value::Null => 5_u8.hash(&mut hasher),
        Value::Duration(d) => (6_u8, d).hash(&mut hasher),
        Value::Timestamp(t) => (7_u8, t.seconds, t.nanos, t.offset).hash(&mut hasher),
        Value::Type(ty) => (8_u8, ty.runtime_name()).hash(&mut hasher),
        Value::Optional(None) => 9_u8.hash(&mut hasher),
        Value::Opaque(opaque) => match &**opaque {
            Opaque::Ip(ip) => (10_u8, ip).hash(&mut hasher),
            Opaque::Cidr(cidr) => (11_u8, cidr.to_string()).hash(&mut hasher),
            Opaque::Authorizer(authorizer) if authorizer.is_bound() => 13_u8.hash(&mut hasher),
            _ => (12_u8, Arc::as_ptr(opaque).addr()).hash(&mut hasher),
        },
        Value::List(_) | Value::Map(_) | Value::Optional(Some(_)) | Value::Object(_) => {
            (12_u8, address(key)?).hash(&mut hasher);
        }
        Value::Bytes(_) => return None,
    }
    Some(hasher.finish())
}

/// The integer that a double is, if it is one.
#[must_use]
pub fn double_to_int(d: f64) -> Option<i64> {
    #[allow(clippy::cast_precision_loss, reason = "the bound is the nearest double, as in cel-go")]
    let (low, high) = (i64::MIN as f64, i64::MAX as f64);
    if !d.is_finite() || d <= low || d >= high || d.fract() != 0.0 {
        return None;
    }
    #[allow(clippy::cast_possible_truncation, reason = "checked above")]
    Some(d as i64)
}

/// The unsigned integer that a double is, if it is one.
#[must_use]
pub fn double_to_uint(d: f64) -> Option<u64> {
    if !d.is_finite() || !(0.0..18_446_744_073_709_551_616.0).contains(&d) || d.fract() != 0.0 {
        return None;
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    Some(d as u64)
}

/// A value of a type with fields, for mutations.
#[derive(Debug, Clone)]
pub struct Object<'a> {
    /// `Object`, `Object.spec`, `JSONPatch`.
    pub name: Arc<str>,
    /// The fields that are set.
    pub fields: Vec<(Arc<str>, Value<'a>)>,
}

impl<'a> Object<'a> {
    /// A message of protocol buffers.
    pub(super) fn is_message(&self) -> bool {
        self.name.starts_with("google.protobuf.")
    }

    /// A field that is set.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Value<'a>> {
        self.fields.iter().find(|(known, _)| **known == *name).map(|(_, value)| value)
    }
}

impl<'a> Value<'a> {
    /// A view of a JSON value: nothing is copied.
    #[must_use]
    pub fn from_json(json: Json<'a>) -> Self {
        match json.shape() {
            Shape::Null => Self::Null,
            Shape::Bool(b) => Self::Bool(b),
            Shape::Number(number) => match number.as_i64() {
                Some(int) => Self::Int(int),
                None => Self::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Shape::Text(text) => Self::String(Text::Borrowed(text)),
            Shape::List(items) => Self::List(List::Json(items)),
            Shape::Object(fields) => Self::Map(Map::Json(fields)),
        }
    }

    /// Text that was made while evaluating.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::String(Text::Shared(Arc::from(text.into())))
    }

    /// A list that was made while evaluating.
    #[must_use]
    pub fn list(items: Vec<Self>) -> Self {
        Self::List(List::from(items))
    }

    /// An optional with a value.
    #[must_use]
    pub fn some(value: Self) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// What `type(x)` is.
    #[must_use]
    pub fn type_name(&self) -> &str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(Map::Variables) => "kubernetes.variables",
            Self::Map(_) => "map",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
            Self::Opaque(opaque) => opaque.type_name(),
            Self::Object(object) => &object.name,
        }
    }

    /// The type as a value.
    #[must_use]
    pub fn type_value(&self) -> Type {
        match self {
            Self::Null => Type::Null,
            Self::Bool(_) => Type::Bool,
            Self::Int(_) => Type::Int,
            Self::Uint(_) => Type::Uint,
            Self::Double(_) => Type::Double,
            Self::String(_) => Type::String,
            Self::Bytes(_) => Type::Bytes,
            Self::List(_) => Type::list(Type::Dyn),
            Self::Map(Map::Variables) => Type::structure("kubernetes.variables"),
            Self::Map(_) => Type::map(Type::Dyn, Type::Dyn),
            Self::Duration(_) => Type::Duration,
            Self::Timestamp(_) => Type::Timestamp,
            // `type(type(1))` and, an oddity of Kubernetes, `type(Object{})`.
            Self::Object(object) if object.is_message() => Type::structure(&object.name),
            Self::Type(_) | Self::Object(_) => Type::Type(None),
            Self::Optional(_) => Type::Opaque(Arc::from("optional_type")),
            Self::Opaque(opaque) => match &**opaque {
                Opaque::Ip(_) | Opaque::Cidr(_) => Type::Opaque(Arc::from(opaque.type_name())),
                _ => Type::structure(opaque.type_name()),
            },
        }
    }

    /// cel-go's size of a value, for costs: code points, octets, elements, entries, else 1.
    #[must_use]
    pub fn size(&self) -> u64 {
        match self {
            Self::String(text) => text_size(text),
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::List(list) => list.len() as u64,
            Self::Map(map) => map.len() as u64,
            Self::Optional(Some(inner)) => inner.size(),
            Self::Opaque(opaque) => opaque.size(),
            Self::Null
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Uint(_)
            | Self::Double(_)
            | Self::Duration(_)
            | Self::Timestamp(_)
            | Self::Type(_)
            | Self::Optional(None)
            | Self::Object(_) => 1,
        }
    }

    /// The text of a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }
}

/// Code points of a text.
#[must_use]
pub fn text_size(text: &str) -> u64 {
    if text.is_ascii() { text.len() as u64 } else { text.chars().count() as u64 }
}
