//! `matches`, `find`, `findAll`.

use super::{Binding, Function, text};
use crate::policy::cel::{
    error::{Error, fail, no_overload},
    eval::Machine,
    ops, regexp,
    value::Value,
};
use ::regex::Regex;

pub(crate) fn implementation(id: &str) -> Option<(Function, Binding)> {
    let body: Function = match id {
        "string_find_string" => |_, args| {
            let pattern = compiled(text(args, 1)?)?;
            Ok(find(&pattern, text(args, 0)?))
        },
        "string_find_all_string" => |_, args| {
            let pattern = compiled(text(args, 1)?)?;
            Ok(find_all(&pattern, text(args, 0)?, -1))
        },
        "string_find_all_string_int" => {
            let body: Function = |_, args| {
                let pattern = compiled(text(args, 1)?)?;
                Ok(find_all(&pattern, text(args, 0)?, super::int(args, 2)?))
            };
            return Some((body, Binding::Variadic));
        }
        _ => return None,
    };
    Some((body, Binding::Direct))
}

fn compiled(pattern: &str) -> Result<Regex, Error> {
    regexp::compile(pattern).map_err(|e| fail(format!("Illegal regex: {e}")))
}

/// `matches` with a pattern that is computed.
pub(crate) fn matches<'a>(_: &mut Machine<'_, 'a>, args: &[Value<'a>]) -> Result<Value<'a>, Error> {
    match args {
        [Value::String(subject), Value::String(pattern)] => {
            let pattern = regexp::compile(pattern).map_err(fail)?;
            Ok(Value::Bool(pattern.is_match(subject)))
        }
        [Value::String(_), _] => Err(no_overload()),
        [other, ..] => Err(ops::lacking(other, "matches")),
        [] => Err(no_overload()),
    }
}

pub(crate) fn find<'a>(pattern: &Regex, subject: &str) -> Value<'a> {
    Value::text(pattern.find(subject).map_or("", |m| m.as_str()))
}

/// Go's `FindAllString`: an empty match right after a match does not count, as with crate `regex`.
pub(crate) fn find_all<'a>(pattern: &Regex, subject: &str, limit: i64) -> Value<'a> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    Value::list(pattern.find_iter(subject).take(limit).map(|m| Value::text(m.as_str())).collect())
}
