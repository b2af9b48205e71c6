//! A view of JSON, of either tree.

use serde_json::{Map, Number, Value};

use super::tree::{Object, Tree};

/// A JSON value somewhere.
#[derive(Debug, Clone, Copy)]
pub enum Json<'a> {
    /// Of serde_json.
    Value(&'a Value),
    /// Of a review.
    Tree(&'a Tree<'a>),
}

/// What it is.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the variants are JSON's own")]
pub enum Shape<'a> {
    Null,
    Bool(bool),
    Number(&'a Number),
    Text(&'a str),
    List(Items<'a>),
    Object(Fields<'a>),
}

/// The items of a list.
#[derive(Debug, Clone, Copy)]
pub enum Items<'a> {
    /// Of serde_json.
    Values(&'a Vec<Value>),
    /// Of a review.
    Trees(&'a Vec<Tree<'a>>),
}

/// The fields of an object.
#[derive(Debug, Clone, Copy)]
pub enum Fields<'a> {
    /// Of serde_json.
    Map(&'a Map<String, Value>),
    /// Of a review.
    Object(&'a Object<'a>),
}

impl<'a> From<&'a Value> for Json<'a> {
    fn from(value: &'a Value) -> Self {
        Self::Value(value)
    }
}

impl<'a> From<&'a Tree<'_>> for Json<'a> {
    fn from(tree: &'a Tree<'_>) -> Self {
        Self::Tree(tree)
    }
}

impl<'a> Json<'a> {
    /// What it is.
    #[must_use]
    pub fn shape(self) -> Shape<'a> {
        match self {
            Self::Tree(tree) => match tree {
                Tree::Null => Shape::Null,
                Tree::Bool(value) => Shape::Bool(*value),
                Tree::Number(number) => Shape::Number(number),
                Tree::Text(text) => Shape::Text(text),
                Tree::List(items) => Shape::List(Items::Trees(items)),
                Tree::Object(fields) => Shape::Object(Fields::Object(fields)),
            },
            Self::Value(value) => match value {
                Value::Null => Shape::Null,
                Value::Bool(value) => Shape::Bool(*value),
                Value::Number(number) => Shape::Number(number),
                Value::String(text) => Shape::Text(text),
                Value::Array(items) => Shape::List(Items::Values(items)),
                Value::Object(fields) => Shape::Object(Fields::Map(fields)),
            },
        }
    }

    /// A field of an object.
    #[must_use]
    pub fn get(self, name: &str) -> Option<Self> {
        match self {
            Self::Tree(Tree::Object(fields)) => fields.get(name).map(Self::Tree),
            Self::Value(Value::Object(fields)) => fields.get(name).map(Self::Value),
            Self::Tree(_) | Self::Value(_) => None,
        }
    }

    /// A field of a field.
    #[must_use]
    pub fn at(self, names: &[&str]) -> Option<Self> {
        names.iter().try_fold(self, |json, name| json.get(name))
    }

    /// The text.
    #[must_use]
    pub fn as_str(self) -> Option<&'a str> {
        if let Shape::Text(text) = self.shape() { Some(text) } else { None }
    }

    /// The truth value.
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        if let Shape::Bool(value) = self.shape() { Some(value) } else { None }
    }

    /// The fields of an object.
    #[must_use]
    pub fn fields(self) -> Option<Fields<'a>> {
        if let Shape::Object(fields) = self.shape() { Some(fields) } else { None }
    }

    /// The items of a list.
    #[must_use]
    pub fn items(self) -> Option<Items<'a>> {
        if let Shape::List(items) = self.shape() { Some(items) } else { None }
    }

    /// Whether it is null.
    #[must_use]
    pub fn is_null(self) -> bool {
        matches!(self, Self::Tree(Tree::Null) | Self::Value(Value::Null))
    }

    /// A copy.
    #[must_use]
    pub fn to_value(self) -> Value {
        match self.shape() {
            Shape::Null => Value::Null,
            Shape::Bool(value) => Value::Bool(value),
            Shape::Number(number) => Value::Number(number.clone()),
            Shape::Text(text) => Value::String(text.to_owned()),
            Shape::List(items) => items.to_value(),
            Shape::Object(fields) => fields.to_value(),
        }
    }
}

impl PartialEq for Json<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self.shape(), other.shape()) {
            (Shape::Null, Shape::Null) => true,
            (Shape::Bool(one), Shape::Bool(other)) => one == other,
            (Shape::Number(one), Shape::Number(other)) => one == other,
            (Shape::Text(one), Shape::Text(other)) => one == other,
            (Shape::List(one), Shape::List(other)) => {
                one.len() == other.len() && one.iter().eq(other.iter())
            }
            // Both are sorted.
            (Shape::Object(one), Shape::Object(other)) => {
                one.len() == other.len() && one.iter().eq(other.iter())
            }
            _ => false,
        }
    }
}

impl<'a> Items<'a> {
    /// How many.
    #[must_use]
    pub fn len(self) -> usize {
        match self {
            Self::Values(items) => items.len(),
            Self::Trees(items) => items.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The one at a place.
    #[must_use]
    pub fn get(self, index: usize) -> Option<Json<'a>> {
        match self {
            Self::Values(items) => items.get(index).map(Json::Value),
            Self::Trees(items) => items.get(index).map(Json::Tree),
        }
    }

    /// All, in order.
    pub fn iter(self) -> impl Iterator<Item = Json<'a>> + Clone {
        (0..self.len()).filter_map(move |index| self.get(index))
    }

    /// A copy.
    #[must_use]
    pub fn to_value(self) -> Value {
        Value::Array(self.iter().map(Json::to_value).collect())
    }

    /// Where it is.
    pub(crate) fn address(self) -> usize {
        match self {
            Self::Values(items) => std::ptr::from_ref(items).addr(),
            Self::Trees(items) => std::ptr::from_ref(items).addr(),
        }
    }
}

impl<'a> Fields<'a> {
    /// How many.
    #[must_use]
    pub fn len(self) -> usize {
        match self {
            Self::Map(fields) => fields.len(),
            Self::Object(fields) => fields.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// By name.
    #[must_use]
    pub fn get(self, name: &str) -> Option<Json<'a>> {
        match self {
            Self::Map(fields) => fields.get(name).map(Json::Value),
            Self::Object(fields) => fields.get(name).map(Json::Tree),
        }
    }

    /// All, in the order of their names.
    #[must_use]
    pub fn iter(self) -> Entries<'a> {
        match self {
            Self::Map(fields) => Entries::Map(fields.iter()),
            Self::Object(fields) => Entries::Object(fields.iter()),
        }
    }

    /// A copy.
    #[must_use]
    pub fn to_value(self) -> Value {
        Value::Object(self.iter().map(|(name, it)| (name.to_owned(), it.to_value())).collect())
    }

    /// Where it is.
    pub(crate) fn address(self) -> usize {
        match self {
            Self::Map(fields) => std::ptr::from_ref(fields).addr(),
            Self::Object(fields) => std::ptr::from_ref(fields).addr(),
        }
    }
}

/// The fields of an object, one after the other.
#[derive(Debug, Clone)]
pub enum Entries<'a> {
    /// Of serde_json.
    Map(serde_json::map::Iter<'a>),
    /// Of a review.
    Object(std::slice::Iter<'a, (std::borrow::Cow<'a, str>, Tree<'a>)>),
}

impl<'a> Iterator for Entries<'a> {
    type Item = (&'a str, Json<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Map(fields) => fields.next().map(|(name, it)| (name.as_str(), Json::Value(it))),
            Self::Object(fields) => fields.next().map(|(name, it)| (&**name, Json::Tree(it))),
        }
    }
}
