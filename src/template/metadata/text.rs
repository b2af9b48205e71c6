//! Helpers for text, with the names and the order of arguments that Sprig and so Helm gives them.

use super::super::{
    Value,
    go::{
        printf::sprint,
        quote::quote,
        text::{REPLACEMENT, characters, push},
        unicode::{to_lower, to_upper},
    },
};

/// `quote` prints lists and maps, too, but no more of them than this.
const MOST: usize = 1 << 20;

/// Calls a helper; nothing if there is none of that name.
pub(super) fn call(name: &str, arguments: &[Value]) -> Option<Value> {
    Some(match (name, arguments) {
        ("lower", [Value::Text(text)]) => mapped(text, to_lower),
        ("upper", [Value::Text(text)]) => mapped(text, to_upper),
        ("trim", [Value::Text(text)]) => trimmed(text).to_vec().into(),
        ("trimPrefix", [Value::Text(prefix), Value::Text(text)]) => {
            text.strip_prefix(&**prefix).unwrap_or(text).to_vec().into()
        }
        ("trimSuffix", [Value::Text(suffix), Value::Text(text)]) => {
            text.strip_suffix(&**suffix).unwrap_or(text).to_vec().into()
        }
        ("replace", [Value::Text(old), Value::Text(new), Value::Text(text)]) => {
            replaced(text, old, new).into()
        }
        ("trunc", [Value::Int(length), Value::Text(text)]) => truncated(text, *length).into(),
        ("default", [default, given @ ..]) => {
            given.first().filter(|given| given.is_true()).unwrap_or(default).clone()
        }
        ("quote", values) => quoted(values).into(),
        ("contains", [Value::Text(part), Value::Text(text)]) => find(text, part).is_some().into(),
        ("hasPrefix", [Value::Text(prefix), Value::Text(text)]) => text.starts_with(prefix).into(),
        ("hasSuffix", [Value::Text(suffix), Value::Text(text)]) => text.ends_with(suffix).into(),
        _ => return None,
    })
}

fn mapped(text: &[u8], map: impl Fn(char) -> char) -> Value {
    let mut out = Vec::with_capacity(text.len());
    for (character, _) in characters(text) {
        push(&mut out, map(character.unwrap_or(REPLACEMENT)));
    }
    out.into()
}

fn trimmed(text: &[u8]) -> &[u8] {
    let is_space = |character: Option<char>| character.is_some_and(char::is_whitespace);
    let length = |(_, bytes): (Option<char>, &[u8])| bytes.len();
    let start = characters(text).take_while(|(c, _)| is_space(*c)).map(length).sum();
    let text = text.get(start..).unwrap_or_default();
    let mut end = 0;
    let mut at = 0;
    for (character, bytes) in characters(text) {
        at += bytes.len();
        if !is_space(character) {
            end = at;
        }
    }
    text.get(..end).unwrap_or_default()
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() {
        return Some(0);
    }
    text.windows(part.len()).position(|window| window == part)
}

/// `strings.ReplaceAll`: nothing is found before each character and at the end.
fn replaced(text: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    if old.is_empty() {
        for (_, bytes) in characters(text) {
            out.extend_from_slice(new);
            out.extend_from_slice(bytes);
        }
        out.extend_from_slice(new);
        return out;
    }
    let mut rest = text;
    while let Some(at) = find(rest, old) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(new);
        rest = &rest[at + old.len()..];
    }
    out.extend_from_slice(rest);
    out
}

fn truncated(text: &[u8], length: i64) -> Vec<u8> {
    let most = usize::try_from(length.unsigned_abs()).unwrap_or(usize::MAX);
    let part = if length < 0 {
        text.len().checked_sub(most).and_then(|start| text.get(start..))
    } else {
        text.get(..most)
    };
    part.unwrap_or(text).to_vec()
}

fn quoted(values: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    for value in values.iter().filter(|value| !matches!(value, Value::Nil)) {
        if !out.is_empty() {
            out.push(b' ');
        }
        let text = sprint(std::slice::from_ref(value), MOST).unwrap_or_default();
        quote(&mut out, &text, false);
    }
    out
}
