//! Lists merged by item. The order is the left side's as long as the right side allows it; what
//! only the right side has comes where it stands there.

use serde_json::Value;

use super::{
    Merged, Merger,
    key::Key,
    schema::{ListRelation, ListType},
    validate::Fault,
    whole,
};

impl Merger<'_> {
    pub(super) fn merge_lists(
        &self,
        of: &ListType,
        left: Option<&Value>,
        right: Option<&Value>,
    ) -> Merged {
        let items = |value: Option<&Value>| value.and_then(Value::as_array).cloned();
        let (own, other) = (items(left).unwrap_or_default(), items(right).unwrap_or_default());
        if of.relation == ListRelation::Atomic || (own.is_empty() && other.is_empty()) {
            return Ok(whole(left, right));
        }
        let right = self.indexed(of, &other, false)?;
        let left = self.indexed(of, &own, true)?;
        let merged = self.woven(of, &left, &right);
        Ok((!merged.is_empty()).then_some(Value::Array(merged)))
    }

    fn indexed<'v>(
        &self,
        of: &ListType,
        items: &'v [Value],
        allows_duplicates: bool,
    ) -> Result<Side<'v>, Vec<Fault>> {
        let mut side = Side { items: Vec::with_capacity(items.len()), observed: Vec::new() };
        let mut faults = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let key = match Key::of(self.schemas, of, item) {
                Ok(key) => key,
                Err(message) => {
                    faults.push(Fault::new(format!("element {index}: {message}")));
                    continue;
                }
            };
            match side.observed.iter_mut().find(|(observed, _)| *observed == key) {
                Some(_) if !allows_duplicates => {
                    faults.push(Fault::new(format!("duplicate entries for key {key}")));
                    continue;
                }
                // What is there twice is merged with nothing.
                Some((_, observed)) => *observed = &Value::Null,
                None => side.observed.push((key.clone(), item)),
            }
            side.items.push((key, item));
        }
        if faults.is_empty() { Ok(side) } else { Err(faults) }
    }

    fn woven(&self, of: &ListType, left: &Side<'_>, right: &Side<'_>) -> Vec<Value> {
        let mut merged = Vec::new();
        // Faults inside items were found before the merge began.
        let mut take = |left: Option<&Value>, right: Option<&Value>| {
            if let Ok(Some(value)) = self.merge(&of.element, left, right) {
                merged.push(value);
            }
        };
        let mut shared = right.items.iter().map(|(key, _)| key).filter(|key| left.has(key));
        let mut next_shared = shared.next();
        let mut taken: Vec<&Key> = Vec::new();
        let (mut own, mut other) = (0, 0);
        while own < left.items.len() || other < right.items.len() {
            if let (Some((key, _)), Some((right_key, _))) =
                (left.items.get(own), right.items.get(other))
            {
                if key == right_key {
                    taken.push(key);
                    take(left.get(key), right.get(key));
                    own += 1;
                    other += 1;
                    next_shared = shared.next();
                    continue;
                }
                // Shared, but not the one whose turn it is.
                if right.has(key) && next_shared.is_some_and(|next| next != key) {
                    own += 1;
                    continue;
                }
            }
            if let Some((key, item)) = left.items.get(own) {
                if !right.has(key) {
                    take(Some(item), None);
                    own += 1;
                    continue;
                }
                if taken.contains(&key) {
                    own += 1;
                }
            }
            if let Some((key, _)) = right.items.get(other) {
                taken.push(key);
                take(left.get(key), right.get(key));
                other += 1;
                if next_shared == Some(key) {
                    next_shared = shared.next();
                }
            }
        }
        merged
    }
}

/// The items of one side, in order, and the one that each key leads to.
struct Side<'v> {
    items: Vec<(Key, &'v Value)>,
    observed: Vec<(Key, &'v Value)>,
}

impl<'v> Side<'v> {
    fn has(&self, key: &Key) -> bool {
        self.get(key).is_some()
    }

    fn get(&self, key: &Key) -> Option<&'v Value> {
        self.observed.iter().find(|(observed, _)| observed == key).map(|(_, item)| *item)
    }
}
