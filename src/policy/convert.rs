//! From the values of mutations to JSON: an apply configuration, or the operations of a patch.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "of the many forms of values, few mean something in each place"
)]

use base64::Engine as _;
use serde_json::{Map, Number, Value};

use super::{
    cel::{
        Type, Value as Cel,
        ops::convert,
        value::{List, Map as CelMap, Object},
    },
    json_patch::Operation,
    merge::foreign::{BYTES, as_foreign, bytes, foreign, null},
    problem::quoted,
};

/// The most that a double counts without gaps: larger integers become strings.
const SAFE: i64 = (1 << 53) - 1;

/// Protobuf takes it, a merge does not.
const UNSIGNED: &str = "uint64";

/// An apply configuration, `apiVersion` and `kind` not yet in it.
pub(crate) fn configuration(value: &Cel<'_>) -> Result<Value, String> {
    let Cel::Object(object) = value else {
        return Err(format!(
            "unsupported return type from ApplyConfiguration expression: {}",
            value.type_name()
        ));
    };
    check_names(object)?;
    native_object(object).map_err(|_| "invalid return type: *dynamic.ObjectVal".to_owned())
}

/// The operations of a JSON patch.
pub(crate) fn operations(value: &Cel<'_>) -> Result<Vec<Operation>, String> {
    let Cel::List(operations) = value else {
        return Err("type mismatch: JSONPatchType.expression should evaluate to array".to_owned());
    };
    operations.iter().map(|operation| self::operation(&operation)).collect()
}

fn operation(value: &Cel<'_>) -> Result<Operation, String> {
    let Cel::Object(object) = value else {
        return Err(format!(
            "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch: {}",
            value.type_name()
        ));
    };
    let text = |name: &str| match object.field(name) {
        Some(Cel::String(text)) => text.to_string(),
        _ => String::new(),
    };
    let value = object.field("value").map(patch_value).transpose()?;
    Ok(Operation { op: text("op"), path: text("path"), from: text("from"), value })
}

fn patch_value(value: &Cel<'_>) -> Result<Value, String> {
    let unmarshallable = |error: String| {
        format!(
            "JSONPath valueExpression evaluated to a type that could not marshal to JSON: {error}"
        )
    };
    if let Cel::Object(object) = value {
        check_names(object)?;
        let native = native_object(object).map_err(unmarshallable)?;
        return protobuf(native).map_err(unmarshallable);
    }
    json(value).map_err(unmarshallable)
}

/// Types must be named after the path of fields that leads to them.
fn check_names(object: &Object<'_>) -> Result<(), String> {
    let mut errors = Vec::new();
    mismatches_of_object(object, &object.name, &mut errors);
    if errors.is_empty() { Ok(()) } else { Err(format!("type mismatch: {}", errors.join("\n"))) }
}

fn mismatches_of_object(object: &Object<'_>, path: &str, errors: &mut Vec<String>) {
    if *object.name != *path {
        errors.push(format!(
            "unexpected type name {:?}, expected {path:?}, which matches field name path from root \
             Object type",
            &*object.name
        ));
    }
    for (name, value) in &object.fields {
        mismatches(value, &format!("{path}.{name}"), errors);
    }
}

/// Lists and maps in between have no names.
fn mismatches(value: &Cel<'_>, path: &str, errors: &mut Vec<String>) {
    match value {
        Cel::Object(object) => mismatches_of_object(object, path, errors),
        Cel::List(list @ (List::Owned(_) | List::Concat(_))) => {
            list.iter().for_each(|item| mismatches(&item, path, errors));
        }
        Cel::Map(CelMap::Owned(entries)) => {
            entries.list.iter().for_each(|(_, value)| mismatches(value, path, errors));
        }
        _ => {}
    }
}

/// Objects become maps, and every other value what Go holds for it.
fn native_object(object: &Object<'_>) -> Result<Value, String> {
    let mut fields = Map::new();
    for (name, value) in &object.fields {
        let value = native_field(value)
            .map_err(|error| format!("fail to convert field {}: {error}", quoted(name)))?;
        fields.insert(name.to_string(), value);
    }
    Ok(Value::Object(fields))
}

/// A list or a map is opened once; what is inside it is taken as Go holds it.
fn native_field(value: &Cel<'_>) -> Result<Value, String> {
    match value {
        Cel::List(list @ (List::Owned(_) | List::Concat(_))) => {
            Ok(list.iter().map(|item| native(&item)).collect())
        }
        // What it wraps is the empty list that it was.
        Cel::List(List::Growing(_)) => Ok(Value::Array(Vec::new())),
        Cel::Map(CelMap::Owned(entries)) => entries
            .list
            .iter()
            .map(|(key, value)| match key {
                Cel::String(key) => Ok((key.to_string(), native(value))),
                other => Err(format!(
                    "map key {} is of type {}, not string",
                    go_quoted(other),
                    go_type(other)
                )),
            })
            .collect(),
        Cel::Optional(Some(inner)) => native_field(inner),
        other => Ok(native(other)),
    }
}

fn native(value: &Cel<'_>) -> Value {
    match value {
        Cel::Null => null(),
        Cel::Bool(value) => Value::Bool(*value),
        Cel::Int(value) => Value::from(*value),
        Cel::Uint(value) => foreign(UNSIGNED, &value.to_string()),
        Cel::Double(value) => Number::from_f64(*value).map_or(Value::Null, Value::Number),
        Cel::String(text) => Value::String(text.to_string()),
        // Inside another object an error is a value like any other.
        Cel::Object(object) => {
            native_object(object).unwrap_or_else(|error| foreign("*types.Err", &error))
        }
        Cel::List(List::Json(items)) => items.to_value(),
        Cel::Map(CelMap::Json(entries)) => entries.to_value(),
        Cel::Optional(Some(inner)) => native(inner),
        Cel::Optional(None) => Value::Null,
        other => foreign(go_type(other), &shown(other)),
    }
}

fn base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// JSON as protobuf's `Value` has it: every number is a double.
fn protobuf(value: Value) -> Result<Value, String> {
    if let Some((go_type, shown)) = as_foreign(&value) {
        match go_type {
            UNSIGNED => return Ok(number(shown.parse().unwrap_or_default())),
            BYTES => return Ok(Value::String(base64(&bytes(shown)))),
            _ => {}
        }
        return Err(format!("proto: invalid type: {go_type}"));
    }
    Ok(match value {
        Value::Number(value) => number(value.as_f64().unwrap_or_default()),
        Value::Array(items) => items.into_iter().map(protobuf).collect::<Result<_, _>>()?,
        Value::Object(entries) => entries
            .into_iter()
            .map(|(key, value)| Ok((key, protobuf(value)?)))
            .collect::<Result<_, String>>()?,
        Value::Null | Value::Bool(_) | Value::String(_) => value,
    })
}

/// JSON as cel-go converts to it.
fn json(value: &Cel<'_>) -> Result<Value, String> {
    Ok(match value {
        Cel::Null => Value::Null,
        Cel::Bool(value) => Value::Bool(*value),
        Cel::Int(value) if (-SAFE..=SAFE).contains(value) => Value::from(*value),
        Cel::Int(value) => Value::String(value.to_string()),
        Cel::Uint(value) if i64::try_from(*value).is_ok_and(|value| value <= SAFE) => {
            Value::from(*value)
        }
        Cel::Uint(value) => Value::String(value.to_string()),
        Cel::Double(value) => number(*value),
        Cel::String(text) => Value::String(text.to_string()),
        Cel::Bytes(bytes) => Value::String(base64(bytes)),
        Cel::List(list) => list.iter().map(|item| json(&item)).collect::<Result<_, _>>()?,
        Cel::Map(map) => {
            let entries = map.entries().into_iter().map(|(key, value)| match key {
                Cel::String(key) => Ok((key.to_string(), json(&value)?)),
                other => Err(no_key(&other)),
            });
            entries.collect::<Result<_, String>>()?
        }
        // Inside a list or a map: the API server panics here, and drops the connection.
        Cel::Object(_) => {
            return Err("reflect.Set: value of type *structpb.Struct is not assignable to type \
                 *structpb.Value"
                .to_owned());
        }
        Cel::Optional(Some(value)) => json(value)?,
        Cel::Optional(None) => return Err("optional.none() dereference".to_owned()),
        Cel::Type(_) => return Err("type conversion not supported for 'type'".to_owned()),
        Cel::Duration(_) | Cel::Timestamp(_) => match convert(value, &Type::String) {
            Ok(Cel::String(text)) => Value::String(text.to_string()),
            Ok(_) => Value::Null,
            Err(error) => return Err(error.to_string()),
        },
        Cel::Opaque(_) => {
            let name = value.type_name().rsplit('.').next().unwrap_or_default();
            return Err(format!("type conversion error from '{name}' to '*structpb.Value'"));
        }
    })
}

/// Keys of JSON are strings, and nothing is made one.
fn no_key(key: &Cel<'_>) -> String {
    match key {
        Cel::Int(_) => "unsupported type conversion from 'int' to string".to_owned(),
        Cel::Uint(_) => "unsupported type conversion from 'uint' to string".to_owned(),
        Cel::Bool(_) => "type conversion error from bool to 'string'".to_owned(),
        Cel::Double(_) => "type conversion error from Double to 'string'".to_owned(),
        other => format!("type conversion error from '{}' to 'string'", other.type_name()),
    }
}

fn go_type<'v>(value: &'v Cel<'_>) -> &'v str {
    match value {
        Cel::Null => "structpb.NullValue",
        Cel::Bool(_) => "types.Bool",
        Cel::Int(_) => "types.Int",
        Cel::Uint(_) => "types.Uint",
        Cel::Double(_) => "types.Double",
        Cel::List(_) => "[]ref.Val",
        Cel::Map(_) => "map[ref.Val]ref.Val",
        Cel::Bytes(_) => BYTES,
        Cel::Duration(_) => "time.Duration",
        Cel::Timestamp(_) => "time.Time",
        other => other.type_name(),
    }
}

/// As Go's `%q` prints what is not a string: numbers are characters, the rest is a mistake.
fn go_quoted(value: &Cel<'_>) -> String {
    let character = match value {
        Cel::Int(value) => u32::try_from(*value).ok(),
        Cel::Uint(value) => u32::try_from(*value).ok(),
        _ => None,
    };
    match character.and_then(char::from_u32) {
        Some(control) if control.is_ascii_control() => format!("'\\x{:02x}'", u32::from(control)),
        Some(character) => format!("{character:?}"),
        None => format!("%!q({}={})", go_type(value), shown(value)),
    }
}

/// As Go prints it, as far as it is known.
fn shown(value: &Cel<'_>) -> String {
    match value {
        Cel::Null => "NULL_VALUE".to_owned(),
        Cel::Bool(value) => value.to_string(),
        Cel::Int(value) => value.to_string(),
        Cel::Uint(value) => value.to_string(),
        Cel::Double(value) => value.to_string(),
        Cel::String(text) => text.to_string(),
        Cel::List(list) => {
            format!("[{}]", list.iter().map(|item| shown(&item)).collect::<Vec<_>>().join(" "))
        }
        Cel::Bytes(bytes) => {
            format!("[{}]", bytes.iter().map(u8::to_string).collect::<Vec<_>>().join(" "))
        }
        Cel::Map(map) => {
            let entries = map.entries().into_iter();
            let entries = entries.map(|(key, value)| format!("{}:{}", shown(&key), shown(&value)));
            format!("map[{}]", entries.collect::<Vec<_>>().join(" "))
        }
        other => other.type_name().to_owned(),
    }
}

/// A whole double is printed as an integer, and read as one.
pub(crate) fn number(value: f64) -> Value {
    let printed = Number::from_f64(value).map(|number| number.to_string()).unwrap_or_default();
    let whole = printed.strip_suffix(".0").and_then(|whole| whole.parse::<i64>().ok());
    whole.map_or_else(|| Number::from_f64(value).map_or(Value::Null, Value::Number), Value::from)
}
