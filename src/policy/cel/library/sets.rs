//! cel-go's sets library.

use super::{Binding, Function};
use crate::policy::cel::{
    error::{Error, no_overload},
    eval::Machine,
    ops,
    value::{List, Value},
};

pub(crate) fn implementation(id: &str) -> Option<(Function, Binding)> {
    let body: Function = match id {
        "list_sets_contains_list" => |machine, args| {
            let (a, b) = lists(machine, args, 1)?;
            Ok(Value::Bool(contains(a, b)))
        },
        "list_sets_equivalent_list" => |machine, args| {
            let (a, b) = lists(machine, args, 2)?;
            Ok(Value::Bool(contains(a, b) && contains(b, a)))
        },
        "list_sets_intersects_list" => |machine, args| {
            let (a, b) = lists(machine, args, 1)?;
            Ok(Value::Bool(a.iter().any(|item| has(b, &item))))
        },
        _ => return None,
    };
    Some((body, Binding::Direct))
}

fn lists<'v, 'a>(
    machine: &mut Machine<'_, 'a>,
    args: &'v [Value<'a>],
    times: u64,
) -> Result<(&'v List<'a>, &'v List<'a>), Error> {
    let (Some(Value::List(a)), Some(Value::List(b))) = (args.first(), args.get(1)) else {
        return Err(no_overload());
    };
    let product = (a.len() as u64).saturating_mul(b.len() as u64);
    machine.foresee(product.saturating_mul(times).saturating_add(1))?;
    Ok((a, b))
}

fn has(list: &List<'_>, item: &Value<'_>) -> bool {
    list.iter().any(|known| ops::equal(item, &known))
}

fn contains(list: &List<'_>, sub: &List<'_>) -> bool {
    sub.iter().all(|item| has(list, &item))
}
