//! The messages of protocol buffers that cel-go always knows: they can be made, and are plain values then.

use super::wire::{self, Place};
use crate::policy::cel::{
    error::{Error, fail, no_overload},
    types::Type,
    value::{Map, Object, Text, Timestamp, Value},
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

/// A field of a message that stands for no other value; `presence`: only if it is set.
pub(crate) fn field<'a>(
    message: &Object<'a>,
    key: &Value<'_>,
    presence: bool,
) -> Result<Option<Value<'a>>, Error> {
    let Value::String(name) = key else { return Err(no_overload()) };
    let fields = fields(&message.name).unwrap_or_default();
    let Some((_, ty)) = fields.iter().find(|(known, _)| **known == **name) else {
        return Err(fail(format!("no such field '{}'", &**name)));
    };
    let unset = if *ty == "string" { Value::String(Text::Borrowed("")) } else { Value::Null };
    Ok(match message.field(name) {
        Some(value) => Some(value.clone()),
        None if presence => None,
        None => Some(unset),
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
        "Int32Value" => Value::Int(short(name, "value", int("value"))?.into()),
        "UInt64Value" => value.unwrap_or(Value::Uint(0)),
        "UInt32Value" => match value {
            Some(Value::Uint(u)) if u > u64::from(u32::MAX) => {
                return Err(conversion(name, "value", "unsigned integer overflow"));
            }
            other => other.unwrap_or(Value::Uint(0)),
        },
        "StringValue" => value.unwrap_or(Value::String(Text::Borrowed(""))),
        "Duration" => {
            let nanos = i64::from(short(name, "nanos", int("nanos"))?);
            // As near as it comes.
            Value::Duration(int("seconds").saturating_mul(1_000_000_000).saturating_add(nanos))
        }
        "Timestamp" => {
            let nanos = i64::from(short(name, "nanos", int("nanos"))?);
            Value::Timestamp(Timestamp {
                seconds: int("seconds").wrapping_add(nanos.div_euclid(1_000_000_000)),
                nanos: u32::try_from(nanos.rem_euclid(1_000_000_000)).unwrap_or_default(),
                offset: 0,
            })
        }
        "Struct" | "ListValue" | "Value" => {
            let mut made = match &**name {
                "google.protobuf.Struct" => Value::Map(Map::Owned(Arc::default())),
                "google.protobuf.ListValue" => Value::list(Vec::new()),
                _ => Value::Null,
            };
            for (field, value) in fields {
                made = json(name, field, value)?;
            }
            made
        }
        "Struct.FieldsEntry" => {
            let mut fields = fields.to_vec();
            for (field, value) in &mut fields {
                *value = json(name, field, value)?;
            }
            // To protocol buffers an empty text is none.
            let is_empty = |value: &Value<'_>| matches!(value, Value::String(it) if it.is_empty());
            fields.retain(|(field, value)| &**field != "key" || !is_empty(value));
            Value::Object(Arc::new(Object { name: name.clone(), fields }))
        }
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

/// A number of 32 bits.
fn short(name: &str, field: &str, value: i64) -> Result<i32, Error> {
    i32::try_from(value).map_err(|_| conversion(name, field, "integer overflow"))
}

/// A value that the message has no room for.
fn conversion(name: &str, field: &str, text: &str) -> Error {
    fail(format!("field type conversion error for {name}.{field} value type: {text}"))
}

/// A field of a message that carries JSON.
fn json<'a>(name: &str, field: &str, value: &Value<'a>) -> Result<Value<'a>, Error> {
    let made = match (field, value) {
        ("null_value", Value::Int(number)) => {
            return short(name, field, *number).map(|_| Value::Null);
        }
        ("values", Value::List(items)) => {
            wire::list(items, Place::Message("google.protobuf.ListValue.values"))
        }
        ("fields", Value::Map(map)) => {
            wire::map(map, Place::Message("google.protobuf.Struct.FieldsEntry.value"))
        }
        _ => wire::value(value, Place::Message("google.protobuf.Struct.FieldsEntry.value")),
    };
    made.map_err(
        |error| {
            if error.is_value() { conversion(name, field, &error.to_string()) } else { error }
        },
    )
}
