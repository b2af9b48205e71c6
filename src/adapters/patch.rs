//! Patches of stored objects: only what differs, so that fields that this build does not know stay; to the very object that was read;
//! and only if nobody else has written since.

use kube::api::{ObjectMeta, PatchParams};
use serde_json::{Map, Value, json};

/// The metadata of a merge patch that is refused with a conflict if somebody else was faster, or if it is another object of that name.
#[must_use]
pub fn precondition(metadata: &ObjectMeta) -> Value {
    bound_to(metadata.uid.as_deref(), metadata.resource_version.as_deref())
}

/// The same for an object whose kind is not known here.
#[must_use]
pub fn precondition_of(object: &Value) -> Value {
    let text = |field: &str| object["metadata"][field].as_str();
    bound_to(text("uid"), text("resourceVersion"))
}

fn bound_to(uid: Option<&str>, version: Option<&str>) -> Value {
    json!({"uid": uid, "resourceVersion": version})
}

/// Who writes.
#[must_use]
pub fn written_by(manager: &str) -> PatchParams {
    PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() }
}

/// Whether a write was refused because somebody else was faster.
#[must_use]
pub fn is_conflict(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<kube::Error>();
    matches!(error, Some(kube::Error::Api(status)) if status.code == 409)
}

/// The merge patch (RFC 7386) that makes the first the second.
#[must_use]
pub fn difference(before: &Value, after: &Value) -> Value {
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

    #[test]
    fn a_patch_is_bound_to_what_was_read() {
        let metadata = ObjectMeta {
            uid: Some("u".to_owned()),
            resource_version: Some("7".to_owned()),
            ..ObjectMeta::default()
        };
        let bound = json!({"uid": "u", "resourceVersion": "7"});
        assert_eq!(precondition(&metadata), bound);
        let object = json!({"metadata": {"name": "n", "uid": "u", "resourceVersion": "7"}});
        assert_eq!(precondition_of(&object), bound);
    }
}
