//! Optionals.

use super::{Binding, Function};
use crate::policy::cel::{
    error::{Error, fail, no_overload},
    eval::{Machine, present},
    gofmt,
    value::{List, Value},
};

pub(crate) fn implementation(id: &str) -> Option<(Function, Binding)> {
    let body: Function = match id {
        "optional_of" => |_, args| Ok(Value::some(args.first().cloned().ok_or_else(no_overload)?)),
        "optional_ofNonZeroValue" => of_non_zero,
        "optional_none" => return Some((|_, _| Ok(Value::Optional(None)), Binding::Variadic)),
        "optional_value" => |_, args| match args.first() {
            Some(Value::Optional(Some(inner))) => present(inner),
            Some(Value::Optional(None)) => Err(fail("optional.none() dereference")),
            _ => Err(no_overload()),
        },
        "optional_hasValue" => |_, args| match args.first() {
            Some(Value::Optional(inner)) => Ok(Value::Bool(inner.is_some())),
            _ => Err(no_overload()),
        },
        "list_first" => |_, args| end_of(args, |_| 0),
        "list_last" => |_, args| end_of(args, |list| list.len().saturating_sub(1)),
        "optional_unwrap" | "optional_unwrapOpt" => unwrap_all,
        _ => return None,
    };
    Some((body, Binding::Direct))
}

/// cel-go's `IsZeroValue`; what does not know it is never zero.
fn is_zero(value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::Int(i) | Value::Duration(i) => *i == 0,
        Value::Uint(u) => *u == 0,
        Value::Double(d) => *d == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::List(list) => list.is_empty(),
        Value::Map(map) => map.is_empty(),
        // Go's zero time is the first second of year 1.
        Value::Timestamp(t) => t.seconds == crate::policy::cel::time::MIN_SECONDS && t.nanos == 0,
        Value::Object(object) => object.fields.is_empty() && &*object.name != "JSONPatch",
        Value::Type(_) | Value::Optional(_) | Value::Opaque(_) => false,
    }
}

fn of_non_zero<'a>(_: &mut Machine<'_, 'a>, args: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let value = args.first().ok_or_else(no_overload)?;
    Ok(if is_zero(value) { Value::Optional(None) } else { Value::some(value.clone()) })
}

fn end_of<'a>(args: &[Value<'a>], at: fn(&List<'a>) -> usize) -> Result<Value<'a>, Error> {
    let Some(Value::List(list)) = args.first() else { return Err(no_overload()) };
    Ok(list.get(at(list)).map_or(Value::Optional(None), Value::some))
}

fn unwrap_all<'a>(_: &mut Machine<'_, 'a>, args: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let Some(Value::List(list)) = args.first() else { return Err(no_overload()) };
    let mut values = Vec::new();
    for item in list.iter() {
        match item {
            Value::Optional(Some(inner)) => values.push((*inner).clone()),
            Value::Optional(None) => {}
            other => {
                return Err(fail(format!("value {} is not optional", gofmt::wrapped(&other))));
            }
        }
    }
    Ok(Value::list(values))
}
