//! The messages of protocol buffers that cel-go always knows: they can be made, and are plain values then.

use crate::policy::cel::{
    error::{Error, fail},
    ops,
    types::Type,
    value::{Entries, Map, Object, Text, Timestamp, Value},
};
use std::sync::Arc;

/// The type of a message, by its full name.
pub(crate) fn type_of(name: &str) -> Option<Type> {
    let wrapper = |ty: Type| Some(Type::Wrapper(Arc::new(ty)));
    match name.strip_prefix("google.protobuf.")? {
        "BoolValue" => wrapper(Type::Bool),
        "BytesValue" => wrapper(Type::Bytes),
        "DoubleValue" | "FloatValue" => wrapper(Type::Double),
        "Int32Value" | "Int64Value" => wrapper(Type::Int),
        "StringValue" => wrapper(Type::String),
        "UInt32Value" | "UInt64Value" => wrapper(Type::Uint),
        "Any" => Some(Type::Any),
        "Empty" | "Struct.FieldsEntry" => Some(Type::structure(name)),
        "ListValue" => Some(Type::list(Type::Dyn)),
        "Struct" => Some(Type::map(Type::String, Type::Dyn)),
        "Value" => Some(Type::Dyn),
        _ => None,
    }
}

/// The fields of a message and their types.
pub(crate) fn fields(name: &str) -> Option<&'static [(&'static str, &'static str)]> {
    Some(match name.strip_prefix("google.protobuf.")? {
        "BoolValue" => &[("value", "bool")],
        "BytesValue" => &[("value", "bytes")],
        "DoubleValue" | "FloatValue" => &[("value", "double")],
        "Int32Value" | "Int64Value" => &[("value", "int")],
        "StringValue" => &[("value", "string")],
        "UInt32Value" | "UInt64Value" => &[("value", "uint")],
        "Any" => &[("type_url", "string"), ("value", "bytes")],
        "Duration" | "Timestamp" => &[("seconds", "int"), ("nanos", "int")],
        "Empty" => &[],
        "Struct.FieldsEntry" => &[("key", "string"), ("value", "dyn")],
        "ListValue" => &[("values", "list(dyn)")],
        "Struct" => &[("fields", "map(string, dyn)")],
        "Value" => &[
            ("null_value", "int"),
            ("number_value", "double"),
            ("string_value", "string"),
            ("bool_value", "bool"),
            ("struct_value", "map(string, dyn)"),
            ("list_value", "list(dyn)"),
        ],
        _ => return None,
    })
}

/// Makes a message: the value that it stands for.
pub(crate) fn make<'a>(
    name: &Arc<str>,
    fields: &[(Arc<str>, Value<'a>)],
) -> Result<Value<'a>, Error> {
    let field = |wanted: &str| fields.iter().find(|(n, _)| **n == *wanted).map(|(_, v)| v.clone());
    let int = |wanted: &str| match field(wanted) {
        Some(Value::Int(i)) => i,
        _ => 0,
    };
    let value = field("value");
    Ok(match name.strip_prefix("google.protobuf.").unwrap_or_default() {
        "BoolValue" => value.unwrap_or(Value::Bool(false)),
        "BytesValue" => value.unwrap_or_else(|| Value::Bytes(Arc::from([]))),
        "DoubleValue" => value.unwrap_or(Value::Double(0.0)),
        "FloatValue" => match value {
            #[allow(clippy::cast_possible_truncation, reason = "it holds 32 bits")]
            Some(Value::Double(d)) => Value::Double(f64::from(d as f32)),
            _ => Value::Double(0.0),
        },
        "Int64Value" => value.unwrap_or(Value::Int(0)),
        "Int32Value" => {
            i32::try_from(int("value")).map_err(|_| overflow(name, "integer overflow"))?;
            Value::Int(int("value"))
        }
        "UInt64Value" => value.unwrap_or(Value::Uint(0)),
        "UInt32Value" => match value {
            Some(Value::Uint(u)) if u > u64::from(u32::MAX) => {
                return Err(overflow(name, "unsigned integer overflow"));
            }
            other => other.unwrap_or(Value::Uint(0)),
        },
        "StringValue" => value.unwrap_or(Value::String(Text::Borrowed(""))),
        "Duration" => {
            let seconds = int("seconds").checked_mul(1_000_000_000);
            let nanos = seconds.and_then(|s| s.checked_add(int("nanos")));
            Value::Duration(nanos.ok_or_else(|| fail("integer overflow"))?)
        }
        "Timestamp" => Value::Timestamp(Timestamp {
            seconds: int("seconds"),
            nanos: u32::try_from(int("nanos")).unwrap_or_default(),
            offset: 0,
        }),
        "Struct" => json(field("fields").unwrap_or_else(empty_map)),
        "ListValue" => json(field("values").unwrap_or_else(|| Value::list(Vec::new()))),
        "Value" => match fields.last() {
            Some((name, _)) if &**name == "null_value" => Value::Null,
            Some((_, value)) => json(value.clone()),
            None => Value::Null,
        },
        "Any" => {
            return Err(match field("type_url") {
                Some(Value::String(url)) => {
                    let ty = url.rsplit('/').next().unwrap_or_default();
                    fail(format!("unknown type: '{ty}'"))
                }
                _ => fail("unsupported conversion to ref.Val: (*dynamicpb.Message)"),
            });
        }
        _ => Value::Object(Arc::new(Object { name: name.clone(), fields: fields.to_vec() })),
    })
}

/// A number that the message has no room for.
fn overflow(name: &str, text: &str) -> Error {
    fail(format!("field type conversion error for {name}.value value type: {text}"))
}

fn empty_map<'a>() -> Value<'a> {
    Value::Map(Map::Owned(Arc::new(Entries::default())))
}

/// Through JSON, where every number is a double.
fn json(value: Value<'_>) -> Value<'_> {
    const SAFE: i64 = (1 << 53) - 1;
    match value {
        #[allow(clippy::cast_precision_loss, reason = "exact in this range")]
        Value::Int(i) if (-SAFE..=SAFE).contains(&i) => Value::Double(i as f64),
        Value::Int(i) => Value::text(i.to_string()),
        #[allow(clippy::cast_precision_loss, reason = "exact in this range")]
        Value::Uint(u) if u <= SAFE.unsigned_abs() => Value::Double(u as f64),
        Value::Uint(u) => Value::text(u.to_string()),
        Value::List(items) => Value::list(items.iter().map(json).collect()),
        Value::Map(map) => {
            let mut entries = Entries::default();
            for (key, value) in map.entries() {
                entries.set(key, json(value));
            }
            Value::Map(Map::Owned(Arc::new(entries)))
        }
        time @ (Value::Timestamp(_) | Value::Duration(_)) => {
            ops::convert(&time, &Type::String).unwrap_or(Value::Null)
        }
        other => other,
    }
}
