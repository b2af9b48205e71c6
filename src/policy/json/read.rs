//! Reads a tree.

use std::{borrow::Cow, fmt};

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::Number;

use super::tree::{Object, Tree};

/// A text, borrowed if it stands there as it is.
pub(crate) struct TextSeed;

impl<'de> DeserializeSeed<'de> for TextSeed {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for TextSeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// How much of what is read is kept.
pub(crate) trait Extent: Copy {
    /// Of a field; none if it is passed over.
    fn of(self, name: &str) -> Option<Self>;
    /// Of an item.
    fn of_item(self) -> Self;
}

/// All of it.
#[derive(Clone, Copy)]
struct Everything;

impl Extent for Everything {
    fn of(self, _: &str) -> Option<Self> {
        Some(self)
    }

    fn of_item(self) -> Self {
        self
    }
}

impl<'de> Deserialize<'de> for Tree<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stack = &mut Stack::default();
        TreeSeed { extent: Everything, stack }.deserialize(deserializer)
    }
}

/// What has been read of objects and lists whose end has not: each is made at once, as long as it is.
#[derive(Default)]
pub(crate) struct Stack<'de> {
    fields: Vec<(Cow<'de, str>, Tree<'de>)>,
    items: Vec<Tree<'de>>,
}

/// A tree to some extent.
pub(crate) struct TreeSeed<'s, 'de, E> {
    pub extent: E,
    pub stack: &'s mut Stack<'de>,
}

impl<'de, E: Extent> DeserializeSeed<'de> for TreeSeed<'_, 'de, E> {
    type Value = Tree<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, X: Extent> Visitor<'de> for TreeSeed<'_, 'de, X> {
    type Value = Tree<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_unit<E>(self) -> Result<Tree<'de>, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree<'de>, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree<'de>, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree<'de>, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree<'de>, E> {
        Ok(Number::from_f64(value).map_or(Tree::Null, Tree::Number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Tree<'de>, E> {
        Ok(Tree::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree<'de>, E> {
        Ok(Tree::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree<'de>, A::Error> {
        let Self { extent, stack } = self;
        let start = stack.items.len();
        let extent = extent.of_item();
        while let Some(item) = items.next_element_seed(TreeSeed { extent, stack: &mut *stack })? {
            stack.items.push(item);
        }
        Ok(Tree::List(stack.items.drain(start..).collect()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree<'de>, A::Error> {
        let Self { extent, stack } = self;
        let start = stack.fields.len();
        while let Some(name) = entries.next_key_seed(TextSeed)? {
            if let Some(extent) = extent.of(&name) {
                let value = entries.next_value_seed(TreeSeed { extent, stack: &mut *stack })?;
                stack.fields.push((name, value));
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Tree::Object(Object::new(stack.fields.drain(start..).collect())))
    }
}
