//! CEL's values as protocol buffers carry JSON: numbers are doubles, keys are texts, and much has no form at all.

use crate::policy::cel::{
    error::{Error, Failure, fail},
    eval::{foreign, unwrapped},
    ops,
    types::Type,
    value::{Entries, List, Map, Object, Value},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use std::sync::Arc;

/// The most that a double counts without gaps.
const SAFE: i64 = (1 << 53) - 1;

/// What of a message a value is put into, which tells what Go says of an `Object{}` there.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    /// An element of its list or a value of its map, which the message itself takes.
    Message(&'static str),
    /// An element of a list.
    List,
    /// A value of a map.
    Map,
}

/// cel-go's conversion to a `google.protobuf.Value`, and back.
pub(super) fn value<'a>(value: &Value<'a>, place: Place) -> Result<Value<'a>, Error> {
    Ok(match value {
        Value::Null | Value::Bool(_) | Value::Double(_) | Value::String(_) => value.clone(),
        #[allow(clippy::cast_precision_loss, reason = "exact in this range")]
        Value::Int(i) if (-SAFE..=SAFE).contains(i) => Value::Double(*i as f64),
        Value::Int(i) => Value::text(i.to_string()),
        #[allow(clippy::cast_precision_loss, reason = "exact in this range")]
        Value::Uint(u) if *u <= SAFE.unsigned_abs() => Value::Double(*u as f64),
        Value::Uint(u) => Value::text(u.to_string()),
        Value::Bytes(bytes) => Value::text(BASE64_STANDARD.encode(bytes)),
        Value::Timestamp(_) | Value::Duration(_) => ops::convert(value, &Type::String)?,
        Value::List(items) => list(items, Place::List)?,
        Value::Map(Map::Variables) => {
            return Err(fail(r#"disallowed conversion from "kubernetes.variables" to """#));
        }
        Value::Map(entries) => map(entries, Place::Map)?,
        Value::Optional(Some(inner)) => self::value(inner, place)?,
        Value::Optional(None) => return Err(fail("optional.none() dereference")),
        Value::Type(_) => return Err(fail("type conversion not supported for 'type'")),
        Value::Opaque(opaque) => return Err(fail(opaque.no_conversion("*structpb.Value"))),
        Value::Object(object) if object.is_message() => {
            let mut entries = Entries::default();
            for (name, field) in &object.fields {
                entries.set(Value::text(&**name), self::value(field, Place::Map)?);
            }
            Value::Map(Map::Owned(Arc::new(entries)))
        }
        Value::Object(object) if &*object.name == "JSONPatch" => {
            return Err(fail("cannot convert to native type: *structpb.Value"));
        }
        Value::Object(object) => return Err(misplaced(object, place)),
    })
}

/// A list of them.
pub(super) fn list<'a>(items: &List<'a>, place: Place) -> Result<Value<'a>, Error> {
    // Inside another value a sum is put together of what its elements wrap.
    let wrapped = matches!((items, place), (List::Concat(_), Place::List));
    let item = |item: Value<'a>| if wrapped { unwrapped(&item) } else { item };
    let items = items.iter().map(|found| value(&item(found), place));
    Ok(Value::list(items.collect::<Result<_, _>>()?))
}

/// A map of them.
pub(super) fn map<'a>(map: &Map<'a>, place: Place) -> Result<Value<'a>, Error> {
    let mut entries = Entries::default();
    for (known, found) in map.entries() {
        let name = key(&known)?;
        entries.set(name, value(&found, place)?);
    }
    Ok(Value::Map(Map::Owned(Arc::new(entries))))
}

fn key<'a>(key: &Value<'a>) -> Result<Value<'a>, Error> {
    let text = match key {
        Value::String(_) => return Ok(key.clone()),
        Value::Optional(Some(inner)) => return self::key(inner),
        Value::Opaque(opaque) => match opaque.as_text() {
            Some(text) => return Ok(Value::text(text)),
            None => opaque.no_conversion("string"),
        },
        Value::Optional(None) => "optional.none() dereference".to_owned(),
        Value::Type(_) => "type conversion not supported for 'type'".to_owned(),
        Value::Int(_) | Value::Uint(_) => {
            format!("unsupported type conversion from '{}' to string", key.type_name())
        }
        Value::Bool(_) => "type conversion error from bool to 'string'".to_owned(),
        Value::Double(_) => "type conversion error from Double to 'string'".to_owned(),
        Value::Bytes(_) => "type conversion error from Bytes to 'string'".to_owned(),
        Value::Duration(_) => "type conversion error from 'Duration' to 'string'".to_owned(),
        Value::Timestamp(_) => "type conversion error from 'Timestamp' to 'string'".to_owned(),
        Value::Null => "type conversion error from 'null_type' to 'string'".to_owned(),
        Value::List(_) => "type conversion error from list to 'string'".to_owned(),
        Value::Map(Map::Variables) => {
            r#"disallowed conversion from "kubernetes.variables" to "string""#.to_owned()
        }
        Value::Map(_) => "type conversion error from map to 'string'".to_owned(),
        Value::Object(object) if object.is_message() => {
            "type conversion error from '*dynamicpb.Message' to 'string'".to_owned()
        }
        Value::Object(object) if &*object.name == "JSONPatch" => {
            "cannot convert to native type: string".to_owned()
        }
        Value::Object(_) => "unable to convert to string".to_owned(),
    };
    Err(fail(text))
}

/// Kubernetes makes a `Struct` of it where a `Value` belongs, and Go panics.
fn misplaced(object: &Object<'_>, place: Place) -> Error {
    if let Some(text) = unfit(&unwrapped(&Value::Object(Arc::new(object.clone())))) {
        return fail(text);
    }
    let text = "value of type *structpb.Struct is not assignable to type *structpb.Value";
    Error::new(Failure::Internal(match place {
        Place::Message(field) => {
            format!("proto: {field}: assigning invalid message type google.protobuf.Struct")
        }
        Place::List => format!("reflect.Set: {text}"),
        Place::Map => format!("reflect.Value.SetMapIndex: {text}"),
    }))
}

/// What keeps an object from becoming a `Struct`: a value that only Kubernetes knows.
fn unfit(value: &Value<'_>) -> Option<String> {
    let text = match value {
        Value::Opaque(opaque) => opaque.plain(),
        Value::Map(map) => return map.entries().iter().find_map(|(_, value)| unfit(value)),
        Value::List(list) => return list.iter().find_map(|item| unfit(&item)),
        _ => return None,
    };
    let foreign = foreign(&text).map(|name| format!("proto: invalid type: {name}"));
    Some(foreign.unwrap_or(text))
}
