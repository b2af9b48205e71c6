//! The change of an object as an RFC 6902 patch. Only what differs is walked with a path in hand: of an object that is
//! defaulted, that is a field or two.

use json_patch::{AddOperation, Patch, PatchOperation, RemoveOperation, diff, jsonptr::PointerBuf};

use super::json::Json;

/// What makes one object the other.
pub(crate) fn between(before: Json<'_>, after: Json<'_>) -> Patch {
    let mut patch = Patch::default();
    collect(&PointerBuf::new(), before, after, &mut patch);
    patch
}

fn collect(at: &PointerBuf, before: Json<'_>, after: Json<'_>, patch: &mut Patch) {
    let (Some(was), Some(is)) = (before.fields(), after.fields()) else {
        let operations = diff(&before.to_value(), &after.to_value()).0.into_iter();
        return patch.0.extend(operations.map(|operation| moved(at, operation)));
    };
    for (key, is) in is.iter() {
        match was.get(key) {
            Some(was) if was == is => {}
            Some(was) => collect(&at.with_trailing_token(key), was, is, patch),
            None => {
                let new = AddOperation { path: at.with_trailing_token(key), value: is.to_value() };
                patch.0.push(PatchOperation::Add(new));
            }
        }
    }
    for (key, _) in was.iter().filter(|(key, _)| is.get(key).is_none()) {
        let gone = RemoveOperation { path: at.with_trailing_token(key) };
        patch.0.push(PatchOperation::Remove(gone));
    }
}

fn moved(at: &PointerBuf, mut operation: PatchOperation) -> PatchOperation {
    let path = match &mut operation {
        PatchOperation::Add(it) => &mut it.path,
        PatchOperation::Remove(it) => &mut it.path,
        PatchOperation::Replace(it) => &mut it.path,
        PatchOperation::Move(it) => &mut it.path,
        PatchOperation::Copy(it) => &mut it.path,
        PatchOperation::Test(it) => &mut it.path,
    };
    *path = at.concat(path);
    operation
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn between(before: &Value, after: &Value) -> Patch {
        super::between(Json::Value(before), Json::Value(after))
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![any::<bool>().prop_map(Value::from), (0..3).prop_map(Value::from)];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[ab/~]{1,2}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_makes_one_object_the_other(before in any_json(), after in any_json()) {
            let mut changed = before.clone();
            json_patch::patch(&mut changed, &between(&before, &after)).unwrap();
            prop_assert_eq!(changed, after);
        }
    }

    #[test]
    fn only_what_differs_is_in_it() {
        let before = json!({"spec": {"a/b": {"c": 1, "d": [1, 2]}, "e": 2}, "status": {"f": 3}});
        let mut after = before.clone();
        after["spec"]["a/b"]["d"] = json!([1]);
        after["spec"]["a/b"]["g"] = json!(true);
        assert_eq!(
            json!(between(&before, &after)),
            json!([
                {"op": "remove", "path": "/spec/a~1b/d/1"},
                {"op": "add", "path": "/spec/a~1b/g", "value": true}
            ])
        );
        assert_eq!(between(&before, &before), Patch::default());
    }
}
