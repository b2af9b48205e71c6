//! The merge patch (RFC 7386) that leads from one JSON value to another: only what differs, so that fields that this build does not know stay.

use serde_json::{Map, Value};

/// What is to be merged into the first to make it the second.
pub(super) fn difference(before: &Value, after: &Value) -> Value {
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        return after.clone();
    };
    let mut patch = Map::new();
    for (key, value) in after {
        match before.get(key) {
            Some(old) if old == value => {}
            Some(old) => {
                patch.insert(key.clone(), difference(old, value));
            }
            None => {
                patch.insert(key.clone(), value.clone());
            }
        }
    }
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    patch.extend(gone.map(|key| (key.clone(), Value::Null)));
    Value::Object(patch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_differs_is_sent_and_what_is_gone_is_null() {
        let before = json!({"a": 1, "b": {"c": 2, "d": 3}, "e": [1], "f": "x"});
        let after = json!({"a": 1, "b": {"c": 4}, "e": [1, 2], "g": true});
        let patch = json!({"b": {"c": 4, "d": null}, "e": [1, 2], "f": null, "g": true});
        assert_eq!(difference(&before, &after), patch);
        let mut patched = before;
        json_patch::merge(&mut patched, &patch);
        assert_eq!(patched, after);
    }
}
