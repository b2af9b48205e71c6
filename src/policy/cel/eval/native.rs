//! Values as Go holds them, where cel-go lets that show.

use super::Res;
use crate::policy::cel::{
    error::{fail, no_overload},
    gofmt,
    library::{Native, Opaque},
    plan::Member,
    value::{Entries, List, Map, Value},
};
use std::sync::Arc;

/// What an optional holds, which may be a failure.
pub(crate) fn present<'a>(inner: &Value<'a>) -> Res<'a> {
    match inner {
        Value::Opaque(opaque) => match &**opaque {
            Opaque::Failed(text) => Err(fail(text.clone())),
            _ => Ok(inner.clone()),
        },
        _ => Ok(inner.clone()),
    }
}

/// cel-go's `Value()` and back: some types do not survive it.
pub(crate) fn unwrapped<'a>(value: &Value<'a>) -> Value<'a> {
    match value {
        Value::Optional(None) => Value::Null,
        Value::Optional(Some(inner)) => unwrapped(inner),
        Value::Type(ty) => Value::text(ty.runtime_name()),
        // A sum of lists is put together of what its elements wrap.
        Value::List(list @ List::Concat(_)) => {
            Value::list(list.iter().map(|item| unwrapped(&item)).collect())
        }
        Value::Map(Map::Variables) => {
            Value::Opaque(Arc::new(Opaque::Failed(no_overload().to_string())))
        }
        // What it wraps is the empty list that it was.
        Value::List(List::Growing(_)) => Value::list(Vec::new()),
        Value::Object(object) if !object.is_message() && &*object.name != "JSONPatch" => {
            let mut entries = Entries::default();
            for (name, field) in &object.fields {
                if let Some(key) = odd_key(field) {
                    let text = format!(
                        "fail to convert field {}: map key {} is of type {}, not string",
                        gofmt::quote(name),
                        gofmt::quoted(&key),
                        go_type(&key, false)
                    );
                    return Value::Opaque(Arc::new(Opaque::Failed(text)));
                }
                entries.set(Value::text(&**name), native_field(field));
            }
            Value::Map(Map::Owned(Arc::new(entries)))
        }
        Value::Opaque(opaque) => {
            let text = match opaque.go_native() {
                Native::Foreign(native) => {
                    format!("unsupported conversion to ref.Val: ({native}){}", opaque.plain())
                }
                Native::Nothing => no_overload().to_string(),
                Native::Itself => return value.clone(),
            };
            Value::Opaque(Arc::new(Opaque::Failed(text)))
        }
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Uint(_)
        | Value::Double(_)
        | Value::String(_)
        | Value::Bytes(_)
        | Value::List(_)
        | Value::Map(_)
        | Value::Duration(_)
        | Value::Timestamp(_)
        | Value::Object(_) => value.clone(),
    }
}

/// A field of an object as Go's own value and back: what is in lists and maps, too.
pub(super) fn native_field<'a>(field: &Value<'a>) -> Value<'a> {
    match field {
        Value::List(list @ (List::Owned(_) | List::Concat(_))) => {
            Value::list(list.iter().map(|item| unwrapped(&item)).collect())
        }
        Value::Map(Map::Owned(map)) => {
            let mut entries = Entries::default();
            for (key, value) in &map.list {
                entries.set(unwrapped(key), unwrapped(value));
            }
            Value::Map(Map::Owned(Arc::new(entries)))
        }
        Value::Optional(Some(inner)) => native_field(inner),
        other => unwrapped(other),
    }
}

/// A key that no object of Kubernetes has.
pub(super) fn odd_key<'a>(field: &Value<'a>) -> Option<Value<'a>> {
    if let Value::Optional(Some(inner)) = field {
        return odd_key(inner);
    }
    let Value::Map(Map::Owned(entries)) = field else { return None };
    let odd = |key: &&Value<'a>| !matches!(unwrapped(key), Value::String(_));
    entries.list.iter().map(|(key, _)| key).find(odd).cloned()
}

/// `%T` of a value; `native`: as it stands in the request's object.
pub(crate) fn go_type(value: &Value<'_>, native: bool) -> &'static str {
    match value {
        Value::Null if native => "<nil>",
        Value::Null => "types.Null",
        Value::Bool(_) => "types.Bool",
        Value::Int(_) => "types.Int",
        Value::Uint(_) => "types.Uint",
        Value::Double(_) => "types.Double",
        Value::String(_) => "types.String",
        Value::Bytes(_) => "types.Bytes",
        Value::List(List::Json(_)) if native => "[]interface {}",
        Value::List(List::Concat(_)) => "*types.concatList",
        Value::List(List::Growing(_)) => "*types.mutableList",
        Value::List(_) => "*types.baseList",
        Value::Map(Map::Json(_)) if native => "map[string]interface {}",
        Value::Map(Map::Variables) => "*lazy.MapValue",
        Value::Map(Map::Owned(entries)) if entries.named => "*types.mutableMap",
        Value::Map(_) => "*types.baseMap",
        Value::Duration(_) => "types.Duration",
        Value::Timestamp(_) => "types.Timestamp",
        Value::Type(_) => "*types.Type",
        Value::Optional(_) => "*types.Optional",
        Value::Opaque(opaque) => opaque.go_type(),
        Value::Object(object) if &*object.name == "JSONPatch" => "*mutation.JSONPatchVal",
        Value::Object(object) if object.is_message() => "*types.protoObj",
        Value::Object(_) => "*dynamic.ObjectVal",
    }
}

/// `%T` of what a value wraps.
pub(super) fn go_native(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "structpb.NullValue",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Uint(_) => "uint64",
        Value::Double(_) => "float64",
        Value::String(_) => "string",
        Value::Bytes(_) => "[]uint8",
        Value::List(List::Json(_) | List::Concat(_)) => "[]interface {}",
        Value::List(_) => "[]ref.Val",
        Value::Map(Map::Json(_)) => "map[string]interface {}",
        Value::Map(Map::Variables) => "*types.Err",
        Value::Map(Map::Owned(_)) => "map[ref.Val]ref.Val",
        Value::Duration(_) => "time.Duration",
        Value::Timestamp(_) => "time.Time",
        Value::Type(_) => "string",
        Value::Opaque(opaque) => match opaque.go_native() {
            Native::Foreign(native) => native,
            Native::Nothing => "*types.Err",
            Native::Itself => opaque.go_type(),
        },
        Value::Optional(Some(inner)) => go_native(inner),
        Value::Optional(None) => "<nil>",
        Value::Object(object) if &*object.name == "JSONPatch" => "*mutation.JSONPatchVal",
        Value::Object(object) if object.fields.iter().any(|(_, f)| odd_key(f).is_some()) => {
            "*types.Err"
        }
        Value::Object(object) if object.is_message() => "*dynamicpb.Message",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// What a path's value is in Go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// CEL's own value.
    Cel,
    /// As it stands in the request.
    Json,
    /// As `Object{…}` holds it: what a value wraps.
    Field,
}

/// `%T` of a path's value.
pub(super) fn go_type_of(value: &Value<'_>, form: Form) -> String {
    match (value, form) {
        (Value::List(_), Form::Field) => "[]interface {}".to_owned(),
        (Value::Map(_), Form::Field) => "map[string]interface {}".to_owned(),
        (Value::Opaque(opaque), Form::Field) => match &**opaque {
            Opaque::Failed(text) => foreign(text).unwrap_or("*types.Err").to_owned(),
            _ => opaque.go_type().to_owned(),
        },
        (value, Form::Field) => go_native(value).to_owned(),
        (value, form) => go_type(value, form == Form::Json).to_owned(),
    }
}

/// The Go type that a failure is about.
pub(crate) fn foreign(failure: &str) -> Option<&str> {
    let rest = failure.strip_prefix("unsupported conversion to ref.Val: (")?;
    rest.split_once(')').map(|(name, _)| name)
}

pub(crate) fn double_member(d: f64) -> Option<Member> {
    if d.is_nan() {
        return None;
    }
    Some(Member::Double(if d == 0.0 { 0 } else { d.to_bits() }))
}

/// The value of an opaque of this machine's libraries.
pub(crate) fn opaque<'v>(value: &'v Value<'_>) -> Option<&'v Opaque> {
    if let Value::Opaque(opaque) = value { Some(opaque) } else { None }
}
