//! Lists that change: cel-go makes the empty list that `optMap` and its like give a name to one that it can add to,
//! and then adds to it wherever an expression says `name + …`. Everyone who holds that list sees it grow.

use super::{
    library::Opaque,
    value::{List, Map, Value},
};
use std::{
    mem::size_of,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A list that grows under those who hold it. What it holds is its own: a borrow could not be put in later.
#[derive(Debug, Default)]
pub struct Growing(Mutex<Items>);

#[derive(Debug, Default)]
struct Items {
    list: Vec<Value<'static>>,
    /// How many cel-go takes it to have: more than there are, once it was added to itself.
    counted: usize,
}

/// What Go says of an element that is counted, but not there.
fn out_of_range(length: usize) -> Value<'static> {
    let text = format!(
        "internal error: runtime error: index out of range [{length}] with length {length}"
    );
    Value::Opaque(Arc::new(Opaque::Failed(text)))
}

/// Why values cannot be added.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// One of them holds the list: whoever walks it then never comes to an end.
    Circle,
    /// They are more than may be copied.
    TooLarge,
}

impl Growing {
    fn items(&self) -> MutexGuard<'_, Items> {
        // Nothing is done while it is locked that could fail half way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many elements there are now.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items().counted
    }

    /// Whether there are none yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at an index.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Value<'static>> {
        let items = self.items();
        let found = items.list.get(index).cloned();
        found.or_else(|| (index < items.counted).then(|| out_of_range(items.list.len())))
    }

    /// What it is now, for good.
    #[must_use]
    pub fn frozen(&self) -> List<'static> {
        List::from(self.items().list.clone())
    }

    /// Adds to it; `itself`: what it held already, which cel-go counts when it is in twice.
    pub(crate) fn extend(&self, more: Vec<Value<'static>>, itself: bool) {
        let mut items = self.items();
        items.counted += if itself { more.len() * 2 } else { more.len() };
        items.list.extend(more);
    }

    /// How many octets a copy of a value takes that is to be added, at most `most`.
    pub(crate) fn weigh(
        self: &Arc<Self>,
        value: &Value<'_>,
        most: usize,
    ) -> Result<usize, Refused> {
        let mut weight = 0;
        self.add_weight(value, most, &mut weight)?;
        Ok(weight)
    }

    fn add_weight(
        self: &Arc<Self>,
        value: &Value<'_>,
        most: usize,
        weight: &mut usize,
    ) -> Result<(), Refused> {
        *weight += size_of::<Value<'_>>();
        match value {
            Value::String(text) => *weight += text.len(),
            Value::Bytes(bytes) => *weight += bytes.len(),
            Value::List(List::Growing(list)) if Arc::ptr_eq(self, list) => {
                return Err(Refused::Circle);
            }
            Value::List(list) => {
                list.iter().try_for_each(|item| self.add_weight(&item, most, weight))?;
            }
            Value::Map(Map::Json(map)) => {
                for (key, value) in map.iter() {
                    *weight += key.len();
                    self.add_weight(&Value::from_json(value), most, weight)?;
                }
            }
            Value::Map(map) => {
                for (key, value) in map.entries() {
                    self.add_weight(&key, most, weight)?;
                    self.add_weight(&value, most, weight)?;
                }
            }
            Value::Optional(Some(inner)) => self.add_weight(inner, most, weight)?,
            Value::Object(object) => {
                let mut fields = object.fields.iter();
                fields.try_for_each(|(_, field)| self.add_weight(field, most, weight))?;
            }
            Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::Duration(_)
            | Value::Timestamp(_)
            | Value::Type(_)
            | Value::Optional(None)
            | Value::Opaque(_) => {}
        }
        if *weight > most { Err(Refused::TooLarge) } else { Ok(()) }
    }
}
