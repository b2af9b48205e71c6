//! From the values of mutations to JSON: an apply configuration, or the operations of a patch.

use base64::Engine as _;
use serde_json::{Map, Number, Value};

use super::{
    cel::{
        Type, Value as Cel,
        value::{List, Map as CelMap, Object},
    },
    json_patch::Operation,
};

/// The most that a double counts without gaps: larger integers become strings.
const SAFE: i64 = (1 << 53) - 1;

/// An apply configuration, `apiVersion` and `kind` not yet in it.
pub(crate) fn configuration(value: &Cel<'_>) -> Result<Value, String> {
    let Cel::Object(object) = value else {
        return Err(format!(
            "unsupported return type from ApplyConfiguration expression: {}",
            value.type_name()
        ));
    };
    check_names(object)?;
    let native = native_object(object).map_err(|_| "invalid return type: *types.Err".to_owned())?;
    Ok(native)
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
        format!("JSONPath valueExpression evaluated to a type that could not marshal to JSON: {error}")
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
        let value = native(value).map_err(|error| format!("fail to convert field {name:?}: {error}"))?;
        fields.insert(name.to_string(), value);
    }
    Ok(Value::Object(fields))
}

fn native(value: &Cel<'_>) -> Result<Value, String> {
    match value {
        Cel::Null => Ok(Value::Null),
        Cel::Bool(value) => Ok(Value::Bool(*value)),
        Cel::Int(value) => Ok(Value::from(*value)),
        Cel::Uint(value) => Ok(Value::from(*value)),
        Cel::Double(value) => Ok(number(*value)),
        Cel::String(text) => Ok(Value::String(text.to_string())),
        Cel::Object(object) => native_object(object),
        Cel::List(List::Json(items)) => Ok(Value::Array((*items).clone())),
        Cel::List(list) => list.iter().map(|item| native(&item)).collect(),
        Cel::Map(CelMap::Json(entries)) => Ok(Value::Object((*entries).clone())),
        Cel::Map(map) => map
            .entries()
            .iter()
            .map(|(key, value)| match key {
                Cel::String(key) => Ok((key.to_string(), native(value)?)),
                other => Err(format!("map key {other:?} is of type {}, not string", other.type_name())),
            })
            .collect(),
        other => json(other),
    }
}

/// JSON as protobuf's `Value` has it: every number is a double.
fn protobuf(value: Value) -> Result<Value, String> {
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
        Cel::Bytes(bytes) => {
            Value::String(base64::engine::general_purpose::STANDARD.encode(bytes))
        }
        Cel::List(list) => list.iter().map(|item| json(&item)).collect::<Result<_, _>>()?,
        Cel::Map(map) => {
            let entries = map.entries().into_iter().map(|(key, value)| match key {
                Cel::String(key) => Ok((key.to_string(), json(&value)?)),
                Cel::Int(key) => Ok((key.to_string(), json(&value)?)),
                Cel::Uint(key) => Ok((key.to_string(), json(&value)?)),
                Cel::Bool(key) => Ok((key.to_string(), json(&value)?)),
                other => Err(format!("unsupported type conversion: '{}'", other.type_name())),
            });
            entries.collect::<Result<_, String>>()?
        }
        Cel::Object(object) => native_object(object).and_then(protobuf)?,
        Cel::Optional(Some(value)) => json(value)?,
        Cel::Optional(None) => Value::Null,
        other => match super::cel::ops::convert(other, &Type::String) {
            Ok(Cel::String(text)) => Value::String(text.to_string()),
            _ => return Err(format!("unsupported type conversion: '{}'", other.type_name())),
        },
    })
}

/// A whole double is printed as an integer, and read as one.
fn number(value: f64) -> Value {
    let printed = Number::from_f64(value).map(|number| number.to_string()).unwrap_or_default();
    let whole = printed.strip_suffix(".0").and_then(|whole| whole.parse::<i64>().ok());
    whole.map_or_else(|| Number::from_f64(value).map_or(Value::Null, Value::Number), Value::from)
}
