//! cel-go's lists library, version 3.

use super::{Binding, Function, int};
use crate::policy::cel::{
    cost,
    error::{Error, fail, no_overload},
    eval::Machine,
    gosort, ops,
    value::{List, Value},
};
use std::cmp::Ordering;

pub(crate) fn implementation(id: &str) -> Option<(Function, Binding)> {
    let body: Function = match id {
        "list_slice" => return Some((slice, Binding::Variadic)),
        "list_flatten" => |machine, args| flatten(machine, args, 1),
        "list_flatten_int" => |machine, args| match args.get(1) {
            Some(Value::Int(depth)) => flatten(machine, args, *depth),
            other => Err(no_flatten(args.first(), other)),
        },
        "lists_range" => range,
        "list_reverse" => reverse,
        "list_distinct" => distinct,
        _ => return None,
    };
    Some((body, Binding::Direct))
}

fn list<'v, 'a>(args: &'v [Value<'a>], at: usize) -> Result<&'v List<'a>, Error> {
    match args.get(at) {
        Some(Value::List(list)) => Ok(list),
        _ => Err(no_overload()),
    }
}

fn slice<'a>(_: &mut Machine<'_, 'a>, args: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let list = list(args, 0)?;
    let (start, end) = (int(args, 1)?, int(args, 2)?);
    let what = format!("cannot slice({start}, {end})");
    let (Ok(from), Ok(to)) = (usize::try_from(start), usize::try_from(end)) else {
        return Err(fail(format!("{what}, negative indexes not supported")));
    };
    if from > to {
        let text = "start index must be less than or equal to end index";
        return Err(fail(format!("{what}, {text}")));
    }
    if list.len() < to {
        return Err(fail(format!("{what}, list is length {}", list.len())));
    }
    Ok(Value::list((from..to).filter_map(|at| list.get(at)).collect()))
}

fn no_flatten(list: Option<&Value<'_>>, depth: Option<&Value<'_>>) -> Error {
    let name = |value: Option<&Value<'_>>| {
        value.map_or("", |v| match v {
            Value::List(_) => "list(dyn)",
            Value::Map(_) => "map(dyn, dyn)",
            other => leak_free(other),
        })
    };
    match depth {
        None => fail(format!("no such overload: {}.flatten()", name(list))),
        depth => fail(format!("no such overload: {}.flatten({})", name(list), name(depth))),
    }
}

fn leak_free(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "null_type",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int",
        Value::Uint(_) => "uint",
        Value::Double(_) => "double",
        Value::String(_) => "string",
        Value::Bytes(_) => "bytes",
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Duration(_) => "google.protobuf.Duration",
        Value::Timestamp(_) => "google.protobuf.Timestamp",
        Value::Type(_) => "type",
        Value::Optional(_) => "optional_type",
        Value::Opaque(opaque) => opaque.type_name(),
        Value::Object(_) => "Object",
    }
}

fn flatten<'a>(
    machine: &mut Machine<'_, 'a>,
    args: &[Value<'a>],
    depth: i64,
) -> Result<Value<'a>, Error> {
    let Some(Value::List(list)) = args.first() else {
        return Err(no_flatten(args.first(), args.get(1)));
    };
    if depth < 0 {
        return Err(fail("level must be non-negative"));
    }
    let mut flat = Vec::new();
    flatten_into(machine, list, depth, &mut flat)?;
    Ok(Value::list(flat))
}

fn flatten_into<'a>(
    machine: &mut Machine<'_, 'a>,
    list: &List<'a>,
    depth: i64,
    flat: &mut Vec<Value<'a>>,
) -> Result<(), Error> {
    machine.bounded(list.len())?;
    for item in list.iter() {
        match item {
            Value::List(inner) if depth > 0 => flatten_into(machine, &inner, depth - 1, flat)?,
            other => flat.push(other),
        }
    }
    Ok(())
}

fn range<'a>(machine: &mut Machine<'_, 'a>, args: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let count = int(args, 0)?;
    machine.foresee(u64::try_from(count).unwrap_or_default().saturating_add(11))?;
    Ok(Value::list((0..count).map(Value::Int).collect()))
}

fn reverse<'a>(machine: &mut Machine<'_, 'a>, args: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let list = list(args, 0)?;
    machine.foresee((list.len() as u64).saturating_add(11))?;
    Ok(Value::list((0..list.len()).rev().filter_map(|at| list.get(at)).collect()))
}

fn distinct<'a>(machine: &mut Machine<'_, 'a>, args: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let list = list(args, 0)?;
    if list.is_empty() {
        // The very same, which may grow.
        return Ok(Value::List(list.clone()));
    }
    machine.foresee(cost::list_self(list))?;
    let mut unique: Vec<Value<'a>> = Vec::new();
    for item in list.iter() {
        if !unique.iter().any(|known| ops::equal(&item, known)) {
            unique.push(item);
        }
    }
    Ok(Value::list(unique))
}

pub(crate) fn sort<'a>(
    machine: &mut Machine<'_, 'a>,
    args: &[Value<'a>],
) -> Result<Value<'a>, Error> {
    let Some(Value::List(list)) = args.first() else {
        return Err(args.first().map_or_else(no_overload, |v| ops::lacking(v, "sort")));
    };
    sorted(machine, list, list)
}

pub(crate) fn sort_by_keys<'a>(
    machine: &mut Machine<'_, 'a>,
    args: &[Value<'a>],
) -> Result<Value<'a>, Error> {
    let (Some(Value::List(list)), Some(Value::List(keys))) = (args.first(), args.get(1)) else {
        let function = "@sortByAssociatedKeys";
        return Err(args.first().map_or_else(no_overload, |v| ops::lacking(v, function)));
    };
    sorted(machine, list, keys)
}

fn sorted<'a>(
    machine: &mut Machine<'_, 'a>,
    list: &List<'a>,
    keys: &List<'a>,
) -> Result<Value<'a>, Error> {
    if list.len() != keys.len() {
        return Err(fail(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, \
             but got {} and {} elements respectively",
            list.len(),
            keys.len()
        )));
    }
    let Some(first) = keys.get(0) else { return Ok(Value::List(list.clone())) };
    machine.bounded(list.len())?;
    if !ops::is_comparable(&first) {
        return Err(fail("list elements must be comparable"));
    }
    let mut pairs: Vec<(Value<'a>, Value<'a>)> = keys.iter().zip(list.iter()).collect();
    if pairs.len() > 1 && pairs.iter().any(|(key, _)| key.type_name() != first.type_name()) {
        return Err(fail("list elements must have the same type"));
    }
    gosort::sort(&mut pairs, |a, b| matches!(ops::compare(&a.0, &b.0), Ok(Ordering::Less)));
    Ok(Value::list(pairs.into_iter().map(|(_, value)| value).collect()))
}
