//! `Patch`: the difference between a node and what it should be, as Ironic takes it.

use serde::Serialize;
use serde_json::Value;

/// The body of `PATCH /v1/nodes/{node}`: only what differs, so that an empty one need not be sent.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Patch {
    operations: Vec<Operation>,
}

/// One change. Only these two: `add` also replaces, and fails nowhere where `replace` does.
#[derive(Clone, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
enum Operation {
    Add { path: String, value: Value },
    Remove { path: String },
}

impl std::fmt::Debug for Operation {
    /// Without the value, which may be a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Add { path, .. } => write!(f, "add {path}"),
            Self::Remove { path } => write!(f, "remove {path}"),
        }
    }
}

/// A field of a node: of its own, or of one of its maps.
#[derive(Debug, Clone, Copy)]
pub enum Field<'a> {
    /// Such as `automated_clean`.
    Own(&'a str),
    /// Such as `redfish_address` in `driver_info`.
    In(&'a str, &'a str),
}

impl Field<'_> {
    fn path(self) -> String {
        let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
        match self {
            Self::Own(name) => format!("/{}", escaped(name)),
            Self::In(map, name) => format!("/{}/{}", escaped(map), escaped(name)),
        }
    }

    fn of(self, node: &Value) -> Option<&Value> {
        match self {
            Self::Own(name) => node.get(name),
            Self::In(map, name) => node.get(map)?.get(name),
        }
    }
}

impl Patch {
    /// Whether there is nothing to change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Sets a field, unless the node has this value.
    pub fn set(&mut self, node: &Value, field: Field, value: impl Into<Value>) {
        let value = value.into();
        if field.of(node).unwrap_or(&Value::Null) != &value {
            self.write(field, value);
        }
    }

    /// Sets a field whose value the node does not show.
    pub fn write(&mut self, field: Field, value: impl Into<Value>) {
        self.operations.push(Operation::Add { path: field.path(), value: value.into() });
    }

    /// Takes a field away, if it is there.
    pub fn remove(&mut self, node: &Value, field: Field) {
        if field.of(node).is_some_and(|value| !value.is_null()) {
            self.operations.push(Operation::Remove { path: field.path() });
        }
    }

    /// Whether it changes a field.
    #[must_use]
    pub fn changes(&self, field: Field) -> bool {
        let path = field.path();
        self.operations.iter().any(|operation| match operation {
            Operation::Add { path: changed, .. } | Operation::Remove { path: changed } => {
                *changed == path
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_is_sent() {
        let node = json!({"automated_clean": true, "name": null, "driver_info": {"a": 1, "b": 2}});
        let mut patch = Patch::default();
        patch.set(&node, Field::Own("automated_clean"), true);
        patch.set(&node, Field::In("driver_info", "a"), 1);
        patch.remove(&node, Field::In("driver_info", "c"));
        patch.remove(&node, Field::Own("name"));
        assert!(patch.is_empty(), "{patch:?}");

        patch.set(&node, Field::Own("automated_clean"), false);
        patch.set(&node, Field::In("driver_info", "x/y~z"), "new");
        patch.remove(&node, Field::In("driver_info", "b"));
        assert_eq!(
            serde_json::to_value(&patch).unwrap(),
            json!([
                {"op": "add", "path": "/automated_clean", "value": false},
                {"op": "add", "path": "/driver_info/x~1y~0z", "value": "new"},
                {"op": "remove", "path": "/driver_info/b"},
            ])
        );
        assert!(patch.changes(Field::Own("automated_clean")));
        assert!(!patch.changes(Field::Own("name")));
    }

    #[test]
    fn a_patch_that_is_printed_shows_no_value() {
        let mut patch = Patch::default();
        patch.write(Field::In("driver_info", "redfish_password"), "hunter2");
        assert_eq!(
            format!("{patch:?}"),
            "Patch { operations: [add /driver_info/redfish_password] }"
        );
    }
}
