//! Kubernetes' lists library.

use super::{Binding, Function};
use crate::policy::cel::{
    error::{Error, fail, no_overload},
    eval::Machine,
    ops::{self, Arithmetic},
    value::{List, Value},
};
use std::cmp::Ordering;

pub(crate) fn implementation(id: &str) -> Option<(Function, Binding)> {
    let body: Function = match id {
        "list_a_index_of_int" => |_, args| index_of(args, false),
        "list_a_last_index_of_int" => |_, args| index_of(args, true),
        "list_int_sum_int" => |m, args| sum(m, args, Value::Int(0)),
        "list_uint_sum_uint" => |m, args| sum(m, args, Value::Uint(0)),
        "list_double_sum_double" => |m, args| sum(m, args, Value::Double(0.0)),
        "list_duration_sum_duration" => |m, args| sum(m, args, Value::Duration(0)),
        _ if id.ends_with("_is_sorted_bool") => is_sorted,
        _ if id.starts_with("list_") && id.contains("_max_") => {
            |m, args| extreme(m, args, "max", Ordering::Less)
        }
        _ if id.starts_with("list_") && id.contains("_min_") => {
            |m, args| extreme(m, args, "min", Ordering::Greater)
        }
        _ => return None,
    };
    Some((body, Binding::Direct))
}

fn list<'v, 'a>(args: &'v [Value<'a>]) -> Result<&'v List<'a>, Error> {
    match args.first() {
        Some(Value::List(list)) => Ok(list),
        _ => Err(no_overload()),
    }
}

fn is_sorted<'a>(_: &mut Machine<'_, 'a>, args: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let mut previous: Option<Value<'a>> = None;
    for item in list(args)?.iter() {
        if !ops::is_comparable(&item) {
            return Err(no_overload());
        }
        if let Some(previous) = &previous
            && matches!(ops::compare(previous, &item), Ok(Ordering::Greater))
        {
            return Ok(Value::Bool(false));
        }
        previous = Some(item);
    }
    Ok(Value::Bool(true))
}

fn sum<'a>(
    _: &mut Machine<'_, 'a>,
    args: &[Value<'a>],
    zero: Value<'a>,
) -> Result<Value<'a>, Error> {
    let mut total = zero;
    for item in list(args)?.iter() {
        let addable = matches!(
            item,
            Value::Int(_)
                | Value::Uint(_)
                | Value::Double(_)
                | Value::Duration(_)
                | Value::Timestamp(_)
                | Value::String(_)
                | Value::Bytes(_)
                | Value::List(_)
        );
        if !addable {
            return Err(no_overload());
        }
        total = ops::arithmetic(Arithmetic::Add, total, item)?;
    }
    Ok(total)
}

fn extreme<'a>(
    _: &mut Machine<'_, 'a>,
    args: &[Value<'a>],
    name: &str,
    prefer: Ordering,
) -> Result<Value<'a>, Error> {
    let mut best: Option<Value<'a>> = None;
    for item in list(args)?.iter() {
        if !ops::is_comparable(&item) {
            return Err(no_overload());
        }
        best = match best {
            Some(known) if !matches!(ops::compare(&known, &item), Ok(o) if o == prefer) => {
                Some(known)
            }
            _ => Some(item),
        };
    }
    best.ok_or_else(|| fail(format!("{name} called on empty list")))
}

fn index_of<'a>(args: &[Value<'a>], last: bool) -> Result<Value<'a>, Error> {
    let items = list(args)?;
    let wanted = args.get(1).ok_or_else(no_overload)?;
    let fits = |at: &usize| items.get(*at).is_some_and(|known| ops::equal(&known, wanted));
    let found = if last { (0..items.len()).rev().find(fits) } else { (0..items.len()).find(fits) };
    Ok(Value::Int(found.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1)))
}
