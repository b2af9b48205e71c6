//! The standard string functions and cel-go's strings library, version 2.

use super::{Binding, Function, format_string, int, text};
use crate::policy::cel::{
    error::{Error, fail, no_overload},
    eval::Machine,
    gofmt,
    value::{Value, text_size},
};

pub(crate) fn implementation(id: &str) -> Option<(Function, Binding)> {
    let direct: Function = match id {
        "contains_string" => |_, args| Ok(Value::Bool(text(args, 0)?.contains(text(args, 1)?))),
        "starts_with_string" => {
            |_, args| Ok(Value::Bool(text(args, 0)?.starts_with(text(args, 1)?)))
        }
        "ends_with_string" => |_, args| Ok(Value::Bool(text(args, 0)?.ends_with(text(args, 1)?))),
        "string_char_at_int" => char_at,
        "string_index_of_string" => |_, args| index_of(text(args, 0)?, text(args, 1)?, 0),
        "string_last_index_of_string" => last_index_of,
        "string_lower_ascii" => |_, args| Ok(Value::text(text(args, 0)?.to_ascii_lowercase())),
        "string_upper_ascii" => |_, args| Ok(Value::text(text(args, 0)?.to_ascii_uppercase())),
        "string_split_string" => |_, args| Ok(split(text(args, 0)?, text(args, 1)?, -1)),
        "string_substring_int" => |_, args| {
            let (subject, start) = (text(args, 0)?, int(args, 1)?);
            let length = i64::try_from(text_size(subject)).unwrap_or(i64::MAX);
            if start < 0 || start > length {
                return Err(fail(format!("index out of range: {start}")));
            }
            Ok(substring(subject, start, length))
        },
        "string_trim" => |_, args| Ok(Value::text(trim(text(args, 0)?))),
        "strings_quote" => |_, args| Ok(Value::text(quote(text(args, 0)?))),
        "list_join" => |machine, args| join(machine, args, ""),
        "list_join_string" => |machine, args| join(machine, args, text(args, 1)?),
        _ => return variadic(id),
    };
    Some((direct, Binding::Direct))
}

fn variadic(id: &str) -> Option<(Function, Binding)> {
    let body: Function = match id {
        "string_index_of_string_int" => {
            |_, args| index_of(text(args, 0)?, text(args, 1)?, int(args, 2)?)
        }
        "string_last_index_of_string_int" => {
            |_, args| last_index_from(text(args, 0)?, text(args, 1)?, int(args, 2)?)
        }
        "string_replace_string_string" => |machine, args| replace(machine, args, -1),
        "string_replace_string_string_int" => |machine, args| replace(machine, args, int(args, 3)?),
        "string_split_string_int" => {
            |_, args| Ok(split(text(args, 0)?, text(args, 1)?, int(args, 2)?))
        }
        "string_substring_int_int" => substring_range,
        "string_format" => format_string::format,
        _ => return None,
    };
    Some((body, Binding::Variadic))
}

fn char_at<'a>(_: &mut Machine<'_, 'a>, args: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let (subject, at) = (text(args, 0)?, int(args, 1)?);
    let length = i64::try_from(text_size(subject)).unwrap_or(i64::MAX);
    if at < 0 || at > length {
        return Err(fail(format!("index out of range: {at}")));
    }
    Ok(substring(subject, at, (at + 1).min(length)))
}

/// Code points from `start` up to `end`, both in range.
fn substring<'a>(subject: &str, start: i64, end: i64) -> Value<'a> {
    let (start, end) =
        (usize::try_from(start).unwrap_or_default(), usize::try_from(end).unwrap_or_default());
    if subject.is_ascii() {
        return Value::text(&subject[start..end]);
    }
    Value::text(subject.chars().skip(start).take(end - start).collect::<String>())
}

fn substring_range<'a>(_: &mut Machine<'_, 'a>, args: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let (subject, start, end) = (text(args, 0)?, int(args, 1)?, int(args, 2)?);
    let length = i64::try_from(text_size(subject)).unwrap_or(i64::MAX);
    if start > end {
        return Err(fail(format!("invalid substring range. start: {start}, end: {end}")));
    }
    for at in [start, end] {
        if at < 0 || at > length {
            return Err(fail(format!("index out of range: {at}")));
        }
    }
    Ok(substring(subject, start, end))
}

fn index_of<'a>(subject: &str, part: &str, offset: i64) -> Result<Value<'a>, Error> {
    if part.is_empty() {
        return Ok(Value::Int(offset));
    }
    if offset < 0 {
        return Err(fail(format!("index out of range: {offset}")));
    }
    let skip = usize::try_from(offset).unwrap_or(usize::MAX);
    let Some((from, _)) = subject.char_indices().nth(skip) else { return Ok(Value::Int(-1)) };
    let found = subject[from..].find(part).map(|at| text_size(&subject[..from + at]));
    Ok(Value::Int(found.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1)))
}

fn last_index_of<'a>(_: &mut Machine<'_, 'a>, args: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let (subject, part) = (text(args, 0)?, text(args, 1)?);
    let length = i64::try_from(text_size(subject)).unwrap_or(i64::MAX);
    if part.is_empty() {
        return Ok(Value::Int(length));
    }
    if subject.len() < part.len() {
        return Ok(Value::Int(-1));
    }
    last_index_from(subject, part, length - 1)
}

fn last_index_from<'a>(subject: &str, part: &str, offset: i64) -> Result<Value<'a>, Error> {
    if part.is_empty() {
        return Ok(Value::Int(offset));
    }
    if offset < 0 {
        return Err(fail(format!("index out of range: {offset}")));
    }
    let skip = usize::try_from(offset).unwrap_or(usize::MAX);
    let Some((from, _)) = subject.char_indices().nth(skip) else { return Ok(Value::Int(-1)) };
    let end = (from + part.len()).min(subject.len());
    let end = (end..=subject.len()).find(|at| subject.is_char_boundary(*at)).unwrap_or(end);
    let found = subject[..end].rmatch_indices(part).map(|(at, _)| at).find(|at| *at <= from);
    let found = found.map(|at| text_size(&subject[..at]));
    Ok(Value::Int(found.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1)))
}

/// Results longer than this cost more than any budget has.
const LONGEST: usize = 10_000_000;

fn replace<'a>(
    machine: &mut Machine<'_, 'a>,
    args: &[Value<'a>],
    limit: i64,
) -> Result<Value<'a>, Error> {
    let (subject, old, new) = (text(args, 0)?, text(args, 1)?, text(args, 2)?);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    // `replace` is charged by its input only, so the output is bounded here.
    let most = if old.is_empty() { subject.chars().count() + 1 } else { subject.len() / old.len() };
    if most.min(limit).saturating_mul(new.len()).saturating_add(subject.len()) > LONGEST {
        machine.foresee(u64::MAX)?;
    }
    Ok(Value::text(subject.replacen(old, new, limit)))
}

/// Go's `strings.SplitN`.
fn split<'a>(subject: &str, separator: &str, limit: i64) -> Value<'a> {
    let limit = match limit {
        0 => return Value::list(Vec::new()),
        n => usize::try_from(n).unwrap_or(usize::MAX),
    };
    let parts: Vec<Value<'a>> = if separator.is_empty() {
        let mut parts = Vec::new();
        let mut rest = subject;
        while let Some(c) = rest.chars().next() {
            if parts.len() + 1 == limit {
                break;
            }
            parts.push(Value::text(c.to_string()));
            rest = &rest[c.len_utf8()..];
        }
        if !rest.is_empty() {
            parts.push(Value::text(rest));
        }
        parts
    } else {
        subject.splitn(limit, separator).map(Value::text).collect()
    };
    Value::list(parts)
}

/// Go's `strings.TrimSpace`: Unicode's White_Space.
fn trim(subject: &str) -> &str {
    subject.trim_matches(char::is_whitespace)
}

fn quote(subject: &str) -> String {
    let mut out = String::with_capacity(subject.len() + 2);
    out.push('"');
    for c in subject.chars() {
        match c {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn join<'a>(
    machine: &mut Machine<'_, 'a>,
    args: &[Value<'a>],
    separator: &str,
) -> Result<Value<'a>, Error> {
    let Some(Value::List(list)) = args.first() else { return Err(no_overload()) };
    let mut joined = String::new();
    for (at, item) in list.iter().enumerate() {
        if at > 0 {
            joined.push_str(separator);
        }
        let Value::String(part) = item else {
            return Err(fail(format!("join: invalid input: {}", gofmt::wrapped(&item))));
        };
        joined.push_str(&part);
        // Charged by the result: octets are at most four times its code points.
        machine.foresee(joined.len() as u64 / 20)?;
    }
    Ok(Value::text(joined))
}
