//! A value as JSON that keeps its type: `{"int": "3"}`, `{"list": [{"string": "a"}]}`. The form is that of
//! the golden vectors (`tests/cel/README.md`), so that what is printed can be compared with them.

use super::{
    Type, Value, display,
    library::Opaque,
    ops::convert,
    value::{Map, Object, Timestamp},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value as Json, json};

/// The value with its type. Numbers are text, because JSON's cannot hold them all.
#[must_use]
pub fn json(value: &Value<'_>) -> Json {
    match value {
        Value::Null => json!({ "null": null }),
        Value::Bool(value) => json!({ "bool": value }),
        Value::Int(number) => json!({ "int": number.to_string() }),
        Value::Uint(number) => json!({ "uint": number.to_string() }),
        Value::Double(_) => json!({ "double": display(value) }),
        Value::String(text) => json!({ "string": &**text }),
        Value::Bytes(bytes) => json!({ "bytes": BASE64_STANDARD.encode(bytes) }),
        Value::Duration(nanoseconds) => json!({ "duration": nanoseconds.to_string() }),
        Value::Timestamp(time) => json!({ "timestamp": in_utc(*time) }),
        Value::Type(kind) => json!({ "type": kind.runtime_name() }),
        Value::Optional(inner) => json!({ "optional": inner.as_deref().map(json) }),
        Value::List(list) => {
            json!({ "list": list.iter().map(|item| json(&item)).collect::<Vec<_>>() })
        }
        Value::Map(Map::Variables) => {
            json!({ "opaque": { "type": "kubernetes.variables", "string": "variables" } })
        }
        Value::Map(map) => {
            let pairs = map.entries();
            let pairs = pairs.iter().map(|(key, value)| match key {
                // Go never finds it again.
                Value::Double(d) if d.is_nan() => (json(key), json!({"error": "no such key: NaN"})),
                _ => (json(key), json(value)),
            });
            json!({ "map": sorted(pairs) })
        }
        Value::Opaque(opaque) => match &**opaque {
            Opaque::Failed(text) => json!({ "error": text }),
            _ => json!({ "opaque": { "type": opaque.type_name(), "string": described(opaque) } }),
        },
        // A message of protocol buffers.
        Value::Object(object) if object.is_message() => {
            json!({ "opaque": { "type": &*object.name, "string": "*types.protoObj" } })
        }
        Value::Object(object) => {
            json!({ "object": { "type": &*object.name, "fields": sorted(fields(object)) } })
        }
    }
}

/// Pairs in the order of their keys' text, whatever order they come in.
fn sorted(pairs: impl Iterator<Item = (Json, Json)>) -> Vec<Json> {
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_by_key(|(key, _)| key.to_string());
    pairs.into_iter().map(|(key, value)| json!([key, value])).collect()
}

/// A JSONPatch has its three texts, written or not.
fn fields(object: &Object<'_>) -> impl Iterator<Item = (Json, Json)> {
    let is_patch = &*object.name == "JSONPatch";
    let implied = ["op", "path", "from"]
        .into_iter()
        .filter(move |name| is_patch && object.field(name).is_none())
        .map(|name| (json!(name), json!({ "string": "" })));
    let written = object.fields.iter().map(|(name, value)| (json!(&**name), json(value)));
    written.chain(implied)
}

fn in_utc(time: Timestamp) -> String {
    let utc = Value::Timestamp(Timestamp { offset: 0, ..time });
    match convert(&utc, &Type::String) {
        Ok(Value::String(text)) => text.to_string(),
        Ok(other) => display(&other),
        Err(error) => error.to_string(),
    }
}

/// What Go prints for some of them says nothing of the value.
fn described(opaque: &Opaque) -> String {
    match opaque {
        Opaque::Quantity(_, true) => "*cel.Quantity".to_owned(),
        Opaque::Quantity(quantity, false) => quantity.canonical(),
        Opaque::Format(format) => format.name.to_owned(),
        other => other.describe(),
    }
}
