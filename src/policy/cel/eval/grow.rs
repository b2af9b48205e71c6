//! Lists and maps that change once they have a name.

use super::{MOST_MADE, Machine, Res, Slot, owned};
use crate::policy::cel::{
    error::fail,
    growing::{Growing, Refused},
    value::{Entries, List, Map, Value},
};
use std::sync::Arc;

impl<'a> Machine<'_, 'a> {
    /// What a name stands for from now on: cel-go takes an empty list for one that it will add to.
    pub(super) fn named(&self, value: Res<'a>) -> Slot<'a> {
        let empty = |map: &Map<'a>| match map {
            Map::Variables => self.bindings.variables.is_empty(),
            map => map.is_empty(),
        };
        match value {
            Ok(Value::List(list)) if list.is_empty() => {
                Slot::Growing(Value::List(List::Growing(Arc::default())))
            }
            Ok(Value::Map(map)) if empty(&map) => {
                Slot::Growing(Value::Map(Map::Owned(Arc::new(Entries::named()))))
            }
            other => Slot::Set(other),
        }
    }

    /// `name + list`: whoever holds the first list sees that it grew.
    pub(super) fn grow(&mut self, list: &Arc<Growing>, more: &List<'a>) -> Res<'a> {
        self.bounded(list.len().saturating_add(more.len()))?;
        let (more, itself) = match more {
            List::Growing(other) => (other.frozen(), Arc::ptr_eq(list, other)),
            other => (other.clone(), false),
        };
        let mut copies = Vec::with_capacity(more.len());
        for item in more.iter() {
            match list.weigh(&item, MOST_MADE) {
                Ok(octets) => self.count(octets)?,
                Err(Refused::TooLarge) => self.count(MOST_MADE + 1)?,
                // Kubernetes does not survive the first who looks into it.
                Err(Refused::Circle) => return Err(fail("a list cannot hold itself")),
            }
            copies.push(owned(item));
        }
        list.extend(copies, itself);
        Ok(Value::List(List::Growing(list.clone())))
    }
}

/// What comes out of the scope of the name does not change any more.
pub(crate) fn frozen(value: Value<'_>) -> Value<'_> {
    match value {
        Value::List(List::Growing(list)) => Value::List(list.frozen()),
        Value::Map(Map::Owned(entries)) if entries.named => Value::Map(Map::Owned(Arc::default())),
        other => other,
    }
}
