//! How deep values nest. Variables that hold each other make values of any depth, and whoever walks one goes as deep
//! on the stack.

use super::value::{List, Map, Value};
use std::{collections::HashMap, sync::Arc};

/// A variable's value may nest so deep; JSON that is let in nests 128 deep.
pub(crate) const DEEPEST: usize = 200;

/// Whether a value nests deeper than a variable's may.
pub(crate) fn is_too_deep(value: &Value<'_>) -> bool {
    Known::default().depth(value, DEEPEST).is_none()
}

/// Whether it holds nothing that was made while evaluating.
fn is_flat(value: &Value<'_>) -> bool {
    !matches!(
        value,
        Value::List(List::Owned(_) | List::Concat(_) | List::Growing(_))
            | Value::Map(Map::Owned(_))
            | Value::Optional(Some(_))
            | Value::Object(_)
    )
}

/// The depths of what was seen already, by address: what is shared is walked once, or the way would double with
/// each level of `[v, v]`.
#[derive(Default)]
struct Known(HashMap<usize, usize>);

impl Known {
    /// The depth of what was made while evaluating, unless it is more than `left`. What stands in the request is not
    /// walked: its depth is bounded where it is read.
    fn depth(&mut self, value: &Value<'_>, left: usize) -> Option<usize> {
        match value {
            Value::List(List::Owned(items)) => {
                let address = Arc::as_ptr(items).addr();
                self.once(address, left, |known, left| known.deepest(items.iter(), left))
            }
            // Sums are as flat as their parts, and those lists that grow copy what they are given.
            Value::List(list @ (List::Concat(_) | List::Growing(_))) => {
                let left = left.checked_sub(1)?;
                list.iter().try_fold(1, |most, item| Some(most.max(1 + self.depth(&item, left)?)))
            }
            Value::Map(Map::Owned(entries)) => {
                let address = Arc::as_ptr(entries).addr();
                self.once(address, left, |known, left| {
                    known.deepest(entries.list.iter().flat_map(|(key, value)| [key, value]), left)
                })
            }
            // Most are; there is nothing to walk twice.
            Value::Optional(Some(inner)) if is_flat(inner) => left.checked_sub(1).map(|_| 1),
            Value::Optional(Some(inner)) => {
                let address = Arc::as_ptr(inner).addr();
                self.once(address, left, |known, left| known.depth(inner, left))
            }
            Value::Object(object) => {
                let address = Arc::as_ptr(object).addr();
                self.once(address, left, |known, left| {
                    known.deepest(object.fields.iter().map(|(_, field)| field), left)
                })
            }
            _ => Some(0),
        }
    }

    fn once(
        &mut self,
        address: usize,
        left: usize,
        inside: impl FnOnce(&mut Self, usize) -> Option<usize>,
    ) -> Option<usize> {
        let left = left.checked_sub(1)?;
        let inside = match self.0.get(&address) {
            Some(known) => Some(*known).filter(|known| *known <= left)?,
            None => inside(self, left)?,
        };
        self.0.insert(address, inside);
        Some(1 + inside)
    }

    fn deepest<'v, 'a: 'v>(
        &mut self,
        values: impl Iterator<Item = &'v Value<'a>>,
        left: usize,
    ) -> Option<usize> {
        let mut values = values;
        values.try_fold(0, |most, value| Some(most.max(self.depth(value, left)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize) -> Value<'static> {
        (0..depth).fold(Value::Int(1), |inner, _| Value::list(vec![inner.clone(), inner]))
    }

    #[test]
    fn depth_is_measured_and_what_is_shared_walked_once() {
        assert!(!is_too_deep(&Value::Int(1)));
        assert!(!is_too_deep(&nested(DEEPEST)));
        assert!(is_too_deep(&nested(DEEPEST + 1)));
        let pair = Value::list(vec![nested(3), nested(DEEPEST - 1), nested(7)]);
        assert!(!is_too_deep(&pair));
        assert!(is_too_deep(&Value::some(pair)));
    }
}
