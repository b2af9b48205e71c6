//! `matches`, `find`, `findAll`.

use super::{Binding, Function, text};
use crate::policy::cel::{
    cost,
    error::{Error, fail, no_overload},
    eval::Machine,
    ops,
    regexp::{self, Pattern},
    value::{Value, text_size},
};
use ::regex::Regex;
use std::sync::Arc;

pub(crate) fn implementation(id: &str) -> Option<(Function, Binding)> {
    let body: Function = match id {
        "string_find_string" => |machine, args| {
            let (subject, pattern) = (text(args, 0)?, text(args, 1)?);
            let pattern = compiled(machine, subject, pattern)?.map_err(illegal)?;
            Ok(find(&pattern.regex, subject))
        },
        "string_find_all_string" => |machine, args| {
            let (subject, pattern) = (text(args, 0)?, text(args, 1)?);
            let pattern = compiled(machine, subject, pattern)?.map_err(illegal)?;
            Ok(find_all(&pattern.regex, subject, -1))
        },
        "string_find_all_string_int" => {
            let body: Function = |machine, args| {
                let (subject, pattern) = (text(args, 0)?, text(args, 1)?);
                let limit = super::int(args, 2)?;
                let pattern = compiled(machine, subject, pattern)?.map_err(illegal)?;
                Ok(find_all(&pattern.regex, subject, limit))
            };
            return Some((body, Binding::Variadic));
        }
        _ => return None,
    };
    Some((body, Binding::Direct))
}

fn illegal(text: impl AsRef<str>) -> Error {
    fail(format!("Illegal regex: {}", text.as_ref()))
}

/// A computed pattern, or Go's words about it; not at all if the match would cost more than is left.
fn compiled(
    machine: &mut Machine<'_, '_>,
    subject: &str,
    pattern: &str,
) -> Result<Result<Arc<Pattern>, String>, Error> {
    machine.foresee(cost::regex(text_size(subject), text_size(pattern)))?;
    // To read and compile it takes time, too.
    machine.effort(16, pattern.len())?;
    let pattern = regexp::recent(pattern);
    if let Ok(pattern) = &pattern {
        machine.effort(pattern.size, subject.len())?;
    }
    Ok(pattern)
}

/// `matches` with a pattern that is computed.
pub(crate) fn matches<'a>(
    machine: &mut Machine<'_, 'a>,
    args: &[Value<'a>],
) -> Result<Value<'a>, Error> {
    match args {
        [Value::String(subject), Value::String(pattern)] => {
            let pattern = compiled(machine, subject, pattern)?.map_err(fail)?;
            Ok(Value::Bool(pattern.regex.is_match(subject)))
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
