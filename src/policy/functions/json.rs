//! `json.parse` and `json.isJSON`: Metal3 keeps JSON in annotations.

use std::sync::Arc;

use serde_json::Value as Json;

use super::{cost_of_reading, text};
use crate::policy::cel::{
    Extension, Type, Value,
    value::{Entries, Map},
};

pub(super) fn extensions() -> Vec<Extension> {
    vec![
        Extension {
            name: "json.parse",
            args: vec![Type::String],
            result: Type::Dyn,
            call: |args| match serde_json::from_str::<Json>(text(args)) {
                Ok(json) => Ok(owned(&json)),
                Err(error) => Err(format!("is not JSON: {error}")),
            },
            cost: cost_of_reading,
        },
        Extension {
            name: "json.isJSON",
            args: vec![Type::String],
            result: Type::Bool,
            call: |args| Ok(Value::Bool(serde_json::from_str::<Json>(text(args)).is_ok())),
            cost: cost_of_reading,
        },
    ]
}

/// A value of its own, for the text it came from is not kept. Depth is bounded by the reader.
fn owned<'a>(json: &Json) -> Value<'a> {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::Int(whole),
            None => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::text(text.clone()),
        Json::Array(items) => Value::list(items.iter().map(owned).collect()),
        Json::Object(fields) => {
            let mut entries = Entries::default();
            for (key, value) in fields {
                entries.set(Value::text(key.clone()), owned(value));
            }
            Value::Map(Map::Owned(Arc::new(entries)))
        }
    }
}
