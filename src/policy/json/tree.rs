//! A tree that borrows its texts from where it was read.

use std::borrow::Cow;

use serde_json::{Number, Value};

use super::view::{Json, Shape};

/// A JSON value.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Tree<'a> {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text.
    Text(Cow<'a, str>),
    /// A list.
    List(Vec<Self>),
    /// An object.
    Object(Object<'a>),
}

/// The fields of an object: sorted by name, each once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Object<'a>(Vec<(Cow<'a, str>, Tree<'a>)>);

/// Up to here names are compared one after the other.
const FEW: usize = 16;

/// Most names differ in length or in their last octet.
fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.as_bytes().last() == other.as_bytes().last() && one == other
}

/// Most names differ in their first octet.
fn is_before(one: &str, other: &str) -> bool {
    match (one.as_bytes().first(), other.as_bytes().first()) {
        (Some(first), Some(others)) if first != others => first < others,
        _ => one < other,
    }
}

impl<'a> Object<'a> {
    /// Of fields as they were written: of those with one name the last counts.
    pub(crate) fn new(mut fields: Vec<(Cow<'a, str>, Tree<'a>)>) -> Self {
        // The API server writes them sorted.
        if !fields.is_sorted_by(|(one, _), (next, _)| is_before(one, next)) {
            fields.sort_by(|(one, _), (other, _)| one.cmp(other));
            fields.dedup_by(|later, earlier| {
                let is_same = later.0 == earlier.0;
                if is_same {
                    std::mem::swap(later, earlier);
                }
                is_same
            });
        }
        Self(fields)
    }

    /// How many fields.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fields in the order of their names.
    pub fn iter(&self) -> std::slice::Iter<'_, (Cow<'a, str>, Tree<'a>)> {
        self.0.iter()
    }

    /// The values, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Tree<'a>)> {
        self.0.iter_mut().map(|(name, value)| (&**name, value))
    }

    /// Where a field is, or would be.
    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| (**known).cmp(name))
    }

    /// A field.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Tree<'a>> {
        if self.0.len() <= FEW {
            let mut fields = self.0.iter();
            return fields.find(|(known, _)| is_same(known, name)).map(|(_, value)| value);
        }
        self.place(name).ok().map(|at| &self.0[at].1)
    }

    /// A field, to be changed.
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Tree<'a>> {
        self.place(name).ok().map(|at| &mut self.0[at].1)
    }

    /// Sets a field.
    pub(crate) fn insert(&mut self, name: Cow<'a, str>, value: Tree<'a>) {
        match self.place(&name) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (name, value)),
        }
    }

    /// Takes a field out.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Tree<'a>> {
        self.place(name).ok().map(|at| self.0.remove(at).1)
    }
}

impl<'o, 'a> IntoIterator for &'o Object<'a> {
    type Item = &'o (Cow<'a, str>, Tree<'a>);
    type IntoIter = std::slice::Iter<'o, (Cow<'a, str>, Tree<'a>)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> Tree<'a> {
    /// Whether it can be walked into.
    pub(crate) fn is_collection(&self) -> bool {
        matches!(self, Self::List(_) | Self::Object(_))
    }

    /// A field of an object.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        if let Self::Object(fields) = self { fields.get(name) } else { None }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// An object of fields in any order.
    pub(crate) fn object(fields: Vec<(&'a str, Self)>) -> Self {
        let fields = fields.into_iter().map(|(name, value)| (Cow::Borrowed(name), value));
        Self::Object(Object::new(fields.collect()))
    }

    /// Without anything borrowed.
    #[must_use]
    pub fn owned(value: Value) -> Tree<'static> {
        match value {
            Value::Null => Tree::Null,
            Value::Bool(value) => Tree::Bool(value),
            Value::Number(number) => Tree::Number(number),
            Value::String(text) => Tree::Text(Cow::Owned(text)),
            Value::Array(items) => Tree::List(items.into_iter().map(Tree::owned).collect()),
            Value::Object(fields) => {
                let fields = fields.into_iter();
                let fields = fields.map(|(name, value)| (Cow::Owned(name), Tree::owned(value)));
                Tree::Object(Object::new(fields.collect()))
            }
        }
    }
}

impl<'a> From<&'a str> for Tree<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

/// Borrows the texts.
impl<'a> From<Json<'a>> for Tree<'a> {
    fn from(json: Json<'a>) -> Self {
        match json.shape() {
            Shape::Null => Self::Null,
            Shape::Bool(value) => Self::Bool(value),
            Shape::Number(number) => Self::Number(number.clone()),
            Shape::Text(text) => Self::Text(Cow::Borrowed(text)),
            Shape::List(items) => Self::List(items.iter().map(Self::from).collect()),
            Shape::Object(fields) => {
                let fields = fields.iter().map(|(name, it)| (Cow::Borrowed(name), Self::from(it)));
                Self::Object(Object::new(fields.collect()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn read(text: &str) -> Tree<'_> {
        serde_json::from_str(text).unwrap()
    }

    #[rstest]
    #[case::scalars(r#"[null, true, -1, 18446744073709551615, 1.0, 1e400, "a"]"#)]
    #[case::escaped(r#"{"a\nb": "\u00e9\"", "c": ""}"#)]
    #[case::unsorted(r#"{"b": 1, "a": {"d": [], "c": {}}}"#)]
    #[case::twice(r#"{"a": 1, "b": 2, "a": 3, "b": {"x": 1, "x": 2}, "a": 4}"#)]
    #[case::no_json(r#"{"a": 1,}"#)]
    #[case::deep(&format!("{}1{}", "[".repeat(200), "]".repeat(200)))]
    fn it_is_read_as_serde_json_reads_it(#[case] text: &str) {
        let by_serde = serde_json::from_str::<Value>(text).map_err(|error| error.to_string());
        let ours = serde_json::from_str::<Tree<'_>>(text).map_err(|error| error.to_string());
        assert_eq!(ours.map(|tree| Json::from(&tree).to_value()), by_serde);
    }

    #[test]
    fn what_stands_there_is_borrowed() {
        let Tree::Object(fields) = read(r#"{"a": "b"}"#) else { panic!("an object") };
        let is_borrowed = |text: &Cow<'_, str>| matches!(text, Cow::Borrowed(_));
        assert!(fields.iter().all(|(name, value)| {
            is_borrowed(name) && matches!(value, Tree::Text(text) if is_borrowed(text))
        }));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![any::<bool>().prop_map(Value::from), (0..3).prop_map(Value::from)];
        leaf.prop_recursive(4, 64, 20, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-d]{1,2}", inner, 0..20)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn views_of_both_trees_agree(one in any_json(), other in any_json()) {
            let (tree, text) = (Tree::owned(one.clone()), one.to_string());
            prop_assert_eq!(&tree, &read(&text));
            prop_assert_eq!(&tree, &Tree::from(Json::from(&one)));
            prop_assert_eq!(Json::from(&tree).to_value(), one.clone());
            prop_assert_eq!(Json::from(&tree) == Json::from(&other), one == other);
        }

        #[test]
        fn fields_are_found_set_and_taken(value in any_json(), name in "[a-d]{1,2}") {
            let Value::Object(mut expected) = value.clone() else { return Ok(()) };
            let Tree::Object(mut fields) = Tree::owned(value) else { return Ok(()) };
            prop_assert_eq!(fields.get(&name).is_some(), expected.contains_key(&name));
            fields.insert(Cow::Owned(name.clone()), Tree::Null);
            expected.insert(name.clone(), Value::Null);
            prop_assert_eq!(Json::from(&Tree::Object(fields.clone())).to_value(), Value::Object(expected.clone()));
            prop_assert_eq!(fields.get_mut(&name), Some(&mut Tree::Null));
            prop_assert_eq!(fields.remove(&name), Some(Tree::Null));
            expected.remove(&name);
            prop_assert_eq!(Json::from(&Tree::Object(fields)).to_value(), Value::Object(expected));
        }
    }
}
