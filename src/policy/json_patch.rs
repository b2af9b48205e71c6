//! JSON Patch as the API server applies it. The library it uses is older than most: `replace` creates
//! a missing key, `copy` of nothing copies null, negative indexes count from the end. So this is
//! not RFC 6902 to the letter, but its reading of it, texts included.

#![allow(clippy::wildcard_enum_match_arm, reason = "only objects and lists can be walked into")]

use std::borrow::Cow;

use serde_json::Value;

use super::json::{Json, Object, Shape, Tree};

/// One operation, as a policy's expression gives it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Operation {
    pub op: String,
    pub path: String,
    pub from: String,
    pub value: Option<Value>,
}

impl Operation {
    /// What is to be written.
    fn written(&self) -> Tree<'static> {
        self.value.clone().map_or(Tree::Null, Tree::owned)
    }
}

/// Why a patch does not apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A `test` did not hold: nothing is to be changed, and nothing is wrong.
    Test,
    /// Something is wrong: the API server's text.
    Error(String),
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self::Error(text)
    }
}

/// The object with all operations applied, in order.
pub(crate) fn apply<'a>(object: Tree<'a>, operations: &[Operation]) -> Result<Tree<'a>, Failure> {
    let mut patched = object;
    for operation in operations {
        match operation.op.as_str() {
            "add" => add(&mut patched, operation)?,
            "remove" => remove(&mut patched, operation)?,
            "replace" => replace(&mut patched, operation)?,
            "move" => relocate(&mut patched, operation)?,
            "copy" => copy(&mut patched, operation)?,
            "test" => test(&patched, operation)?,
            other => return Err(format!("Unexpected kind: {other}").into()),
        }
    }
    Ok(patched)
}

fn add(document: &mut Tree<'_>, operation: &Operation) -> Result<(), String> {
    let path = &operation.path;
    let (parent, key) = parent_mut(document, path).ok_or_else(|| {
        format!("add operation does not apply: doc is missing path: \"{path}\": missing value")
    })?;
    insert(parent, key, operation.written())
        .map_err(|error| format!("error in add for path: '{path}': {error}"))
}

fn remove(document: &mut Tree<'_>, operation: &Operation) -> Result<(), String> {
    let path = &operation.path;
    let (parent, key) = parent_mut(document, path).ok_or_else(|| {
        format!("remove operation does not apply: doc is missing path: \"{path}\": missing value")
    })?;
    take(parent, &key)
        .map(|_| ())
        .map_err(|error| format!("error in remove for path: '{path}': {error}"))
}

fn replace(document: &mut Tree<'_>, operation: &Operation) -> Result<(), String> {
    let path = &operation.path;
    let value = operation.written();
    if path.is_empty() {
        return match value {
            Tree::Object(_) | Tree::List(_) => {
                *document = value;
                Ok(())
            }
            Tree::Null => {
                *document = Tree::Object(Object::default());
                Ok(())
            }
            _ => Err("replace operation value must be object or array: %!w(<nil>)".to_owned()),
        };
    }
    let (parent, key) = parent_mut(document, path).ok_or_else(|| {
        format!("replace operation does not apply: doc is missing path: {path}: missing value")
    })?;
    match parent {
        Tree::Object(entries) => {
            entries.insert(Cow::Owned(key), value);
        }
        Tree::List(items) => {
            let index = index(&key, items.len()).map_err(|_| {
                format!(
                    "replace operation does not apply: doc is missing key: {path}: missing value"
                )
            })?;
            items[index] = value;
        }
        _ => {}
    }
    Ok(())
}

fn relocate(document: &mut Tree<'_>, operation: &Operation) -> Result<(), String> {
    let Operation { from, path, .. } = operation;
    if from.is_empty() {
        return Err(no_from("move"));
    }
    let (parent, key) = parent_mut(document, from).ok_or_else(|| {
        format!("move operation does not apply: doc is missing from path: {from}: missing value")
    })?;
    let value =
        take(parent, &key).map_err(|error| format!("error in move for path: '{key}': {error}"))?;
    let (parent, key) = parent_mut(document, path).ok_or_else(|| {
        format!(
            "move operation does not apply: doc is missing destination path: {path}: missing value"
        )
    })?;
    insert(parent, key, value).map_err(|error| format!("error in move for path: '{path}': {error}"))
}

fn copy(document: &mut Tree<'_>, operation: &Operation) -> Result<(), String> {
    let Operation { from, path, .. } = operation;
    if from.is_empty() {
        return Err(no_from("copy"));
    }
    let (parent, key) = parent(document, from).ok_or_else(|| {
        format!("copy operation does not apply: doc is missing from path: {from}: missing value")
    })?;
    let value = get(parent, &key)
        .map_err(|error| format!("error in copy for from: '{from}': {error}"))?
        .cloned()
        .unwrap_or_default();
    let (parent, key) = parent_mut(document, path).ok_or_else(|| {
        format!(
            "copy operation does not apply: doc is missing destination path: {path}: missing value"
        )
    })?;
    insert(parent, key, value)
        .map_err(|error| format!("error while adding value during copy: {error}"))
}

fn test(document: &Tree<'_>, operation: &Operation) -> Result<(), Failure> {
    let path = &operation.path;
    let wanted = operation.value.as_ref().map(Json::Value);
    if path.is_empty() {
        return wanted
            .filter(|wanted| same(Json::from(document), *wanted))
            .map(|_| ())
            .ok_or(Failure::Test);
    }
    let (parent, key) = parent(document, path).ok_or_else(|| {
        format!("test operation does not apply: is missing path: {path}: missing value")
    })?;
    let found = get(parent, &key)
        .map_err(|error| format!("error in test for path: '{path}': {error}"))?
        .filter(|found| **found != Tree::Null);
    match (found, wanted) {
        (None, None) => Ok(()),
        (Some(found), Some(wanted)) if same(Json::from(found), wanted) => Ok(()),
        _ => Err(Failure::Test),
    }
}

fn no_from(operation: &str) -> String {
    format!(
        "{operation} operation failed to decode from: operation, missing from field: missing value"
    )
}

/// The collection that a path ends in, and the key in it. What comes before the first slash is not
/// looked at, and null is not a place to go through.
fn parent<'t, 'a>(document: &'t Tree<'a>, path: &str) -> Option<(&'t Tree<'a>, String)> {
    let (steps, key) = steps(path)?;
    let parent = steps.iter().try_fold(document, |value, step| {
        get(value, step).ok().flatten().filter(|value| value.is_collection())
    })?;
    Some((parent, key))
}

fn parent_mut<'t, 'a>(
    document: &'t mut Tree<'a>,
    path: &str,
) -> Option<(&'t mut Tree<'a>, String)> {
    let (steps, key) = steps(path)?;
    let parent = steps.iter().try_fold(document, |value, step| {
        let next = match value {
            Tree::Object(entries) => entries.get_mut(step),
            Tree::List(items) => {
                let index = index(step, items.len()).ok()?;
                items.get_mut(index)
            }
            _ => None,
        };
        next.filter(|value| value.is_collection())
    })?;
    Some((parent, key))
}

fn steps(path: &str) -> Option<(Vec<String>, String)> {
    let mut steps: Vec<_> = path.split('/').skip(1).map(unescaped).collect();
    let key = steps.pop()?;
    Some((steps, key))
}

/// `~1` and `~0`, each read once.
fn unescaped(step: &str) -> String {
    let mut out = String::with_capacity(step.len());
    let mut rest = step;
    while let Some(at) = rest.find('~') {
        out.push_str(&rest[..at]);
        let (escaped, length) = match rest.as_bytes().get(at + 1) {
            Some(b'1') => ('/', 2),
            Some(b'0') => ('~', 2),
            _ => ('~', 1),
        };
        out.push(escaped);
        rest = &rest[at + length..];
    }
    out.push_str(rest);
    out
}

fn get<'t, 'a>(parent: &'t Tree<'a>, key: &str) -> Result<Option<&'t Tree<'a>>, String> {
    match parent {
        Tree::Object(entries) => Ok(entries.get(key)),
        Tree::List(items) => index(key, items.len()).map(|index| items.get(index)),
        _ => Ok(None),
    }
}

fn take<'a>(parent: &mut Tree<'a>, key: &str) -> Result<Tree<'a>, String> {
    match parent {
        Tree::Object(entries) => entries
            .remove(key)
            .ok_or_else(|| format!("Unable to remove nonexistent key: {key}: missing value")),
        Tree::List(items) => index(key, items.len()).map(|index| items.remove(index)),
        _ => Ok(Tree::Null),
    }
}

fn insert<'a>(parent: &mut Tree<'a>, key: String, value: Tree<'a>) -> Result<(), String> {
    match parent {
        Tree::Object(entries) => {
            entries.insert(Cow::Owned(key), value);
        }
        Tree::List(items) if key == "-" => items.push(value),
        Tree::List(items) => {
            let number = number(&key)
                .map_err(|error| format!("value was not a proper array index: '{key}': {error}"))?;
            items.insert(bounded(number, items.len() + 1)?, value);
        }
        _ => {}
    }
    Ok(())
}

fn index(key: &str, length: usize) -> Result<usize, String> {
    bounded(number(key)?, length)
}

/// Negative indexes count from the end.
fn bounded(number: i64, length: usize) -> Result<usize, String> {
    let out = || format!("Unable to access invalid index: {number}: invalid index referenced");
    let length = i64::try_from(length).map_err(|_| out())?;
    let index = if number < 0 { number + length } else { number };
    if index < 0 || index >= length {
        return Err(out());
    }
    usize::try_from(index).map_err(|_| out())
}

fn number(key: &str) -> Result<i64, String> {
    let digits = key.strip_prefix(['-', '+']).unwrap_or(key);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let quoted = super::problem::quoted(key);
        return Err(format!("strconv.Atoi: parsing {quoted}: invalid syntax"));
    }
    key.parse().map_err(|_| {
        format!("strconv.Atoi: parsing {}: value out of range", super::problem::quoted(key))
    })
}

/// Equal as JSON texts: `1` is not `1.0`.
fn same(one: Json<'_>, other: Json<'_>) -> bool {
    match (one.shape(), other.shape()) {
        (Shape::Object(one), Shape::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|it| same(value, it)))
        }
        (Shape::List(one), Shape::List(other)) => {
            one.len() == other.len()
                && one.iter().zip(other.iter()).all(|(one, other)| same(one, other))
        }
        // Null reads as an empty object.
        (Shape::Object(fields), Shape::Null) | (Shape::Null, Shape::Object(fields)) => {
            fields.is_empty()
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn operation(value: &Value) -> Operation {
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        Operation {
            op: text("op"),
            path: text("path"),
            from: text("from"),
            value: value.get("value").cloned(),
        }
    }

    fn patched(object: &Value, operations: &Value) -> Result<Value, Failure> {
        let operations: Vec<_> = operations.as_array().unwrap().iter().map(operation).collect();
        let patched = apply(Tree::from(Json::Value(object)), &operations)?;
        Ok(Json::from(&patched).to_value())
    }

    #[rstest]
    #[case::add(json!({"a": 1}), json!({"op": "add", "path": "/b", "value": 2}), json!({"a": 1, "b": 2}))]
    #[case::append(json!({"a": [1]}), json!({"op": "add", "path": "/a/-", "value": 2}), json!({"a": [1, 2]}))]
    #[case::insert(json!({"a": [1]}), json!({"op": "add", "path": "/a/0", "value": 2}), json!({"a": [2, 1]}))]
    #[case::from_the_end(json!({"a": [1]}), json!({"op": "add", "path": "/a/-1", "value": 2}), json!({"a": [1, 2]}))]
    #[case::add_nothing(json!({}), json!({"op": "add", "path": "/a"}), json!({"a": null}))]
    #[case::no_slash(json!({}), json!({"op": "add", "path": "x/a", "value": 1}), json!({"a": 1}))]
    #[case::escaped(json!({}), json!({"op": "add", "path": "/a~1b~0c", "value": 1}), json!({"a/b~c": 1}))]
    #[case::escaped_once(json!({}), json!({"op": "add", "path": "/~01", "value": 1}), json!({"~1": 1}))]
    #[case::remove(json!({"a": 1}), json!({"op": "remove", "path": "/a"}), json!({}))]
    #[case::remove_last(json!({"a": [1, 2]}), json!({"op": "remove", "path": "/a/-1"}), json!({"a": [1]}))]
    #[case::replace(json!({"a": 1}), json!({"op": "replace", "path": "/a", "value": 2}), json!({"a": 2}))]
    #[case::replace_creates(json!({}), json!({"op": "replace", "path": "/a", "value": 2}), json!({"a": 2}))]
    #[case::relocate(json!({"a": 1}), json!({"op": "move", "from": "/a", "path": "/b"}), json!({"b": 1}))]
    #[case::copy(json!({"a": 1}), json!({"op": "copy", "from": "/a", "path": "/b"}), json!({"a": 1, "b": 1}))]
    #[case::copy_nothing(json!({}), json!({"op": "copy", "from": "/a", "path": "/b"}), json!({"b": null}))]
    #[case::test_holds(json!({"a": {"b": 1}}), json!({"op": "test", "path": "/a", "value": {"b": 1}}), json!({"a": {"b": 1}}))]
    #[case::test_absent(json!({}), json!({"op": "test", "path": "/a"}), json!({}))]
    fn operations_apply(#[case] object: Value, #[case] operation: Value, #[case] want: Value) {
        assert_eq!(patched(&object, &json!([operation])), Ok(want));
    }

    #[rstest]
    #[case::no_parent(json!({"op": "add", "path": "/a/b", "value": 1}),
        "add operation does not apply: doc is missing path: \"/a/b\": missing value")]
    #[case::empty_path(json!({"op": "add", "path": "", "value": 1}),
        "add operation does not apply: doc is missing path: \"\": missing value")]
    #[case::nothing_to_remove(json!({"op": "remove", "path": "/a"}),
        "error in remove for path: '/a': Unable to remove nonexistent key: a: missing value")]
    #[case::bad_index(json!({"op": "add", "path": "/l/x", "value": 1}),
        "error in add for path: '/l/x': value was not a proper array index: 'x': strconv.Atoi: \
         parsing \"x\": invalid syntax")]
    #[case::far_index(json!({"op": "remove", "path": "/l/5"}),
        "error in remove for path: '/l/5': Unable to access invalid index: 5: invalid index referenced")]
    #[case::replace_far(json!({"op": "replace", "path": "/l/5", "value": 1}),
        "replace operation does not apply: doc is missing key: /l/5: missing value")]
    #[case::through_a_scalar(json!({"op": "replace", "path": "/s/x", "value": 1}),
        "replace operation does not apply: doc is missing path: /s/x: missing value")]
    #[case::unknown(json!({"op": "merge", "path": "/a"}), "Unexpected kind: merge")]
    #[case::no_from(json!({"op": "move", "path": "/a"}),
        "move operation failed to decode from: operation, missing from field: missing value")]
    fn what_does_not_apply_says_why(#[case] operation: Value, #[case] want: &str) {
        let object = json!({"l": [1], "s": "x"});
        assert_eq!(patched(&object, &json!([operation])), Err(Failure::Error(want.to_owned())));
    }

    #[rstest]
    #[case::other_value(json!({"op": "test", "path": "/a", "value": 2}))]
    #[case::other_number(json!({"op": "test", "path": "/a", "value": 1.0}))]
    #[case::absent(json!({"op": "test", "path": "/b", "value": 1}))]
    #[case::null_is_not_absent(json!({"op": "test", "path": "/b", "value": null}))]
    fn a_test_that_fails_changes_nothing(#[case] operation: Value) {
        assert_eq!(patched(&json!({"a": 1}), &json!([operation])), Err(Failure::Test));
    }

    /// Made by the API server's own library (evanphx/json-patch v4) on random documents.
    const VECTORS: &str = include_str!("json_patch.jsonl");

    #[test]
    fn random_patches_end_as_they_do_in_the_api_server() {
        for vector in VECTORS.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let want = match (vector.get("patched"), vector["error"].as_str()) {
                (Some(patched), _) => Ok(patched.clone()),
                (None, Some(error)) => Err(Failure::Error(error.to_owned())),
                (None, None) => Err(Failure::Test),
            };
            assert_eq!(patched(&vector["document"], &vector["operations"]), want, "{vector}");
        }
    }
}
