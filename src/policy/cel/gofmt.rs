//! How Go writes values: messages of cel-go and the `string()` conversions depend on it.

use super::{
    time,
    value::{Map, Value},
};
use std::fmt::Write as _;

/// `%g` and `%v` of a float: the shortest digits, with an exponent below 1e-4 and from 1e6 on.
#[must_use]
pub fn float_g(d: f64) -> String {
    if d.is_nan() {
        return "NaN".to_owned();
    }
    if d.is_infinite() {
        return if d > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    if d == 0.0 {
        return if d.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let scientific = format!("{d:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return float_f(d);
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// `strconv.FormatFloat(d, 'f', -1, 64)`.
#[must_use]
pub fn float_f(d: f64) -> String {
    if d.is_nan() {
        "NaN".to_owned()
    } else if d.is_infinite() {
        if d > 0.0 { "+Inf".to_owned() } else { "-Inf".to_owned() }
    } else {
        format!("{d}")
    }
}

/// `%v` of a CEL value.
#[must_use]
pub fn plain(value: &Value<'_>) -> String {
    let mut out = String::new();
    write_plain(&mut out, value);
    out
}

fn write_plain(out: &mut String, value: &Value<'_>) {
    match value {
        Value::Null => out.push_str("NULL_VALUE"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Int(i) => {
            let _ = write!(out, "{i}");
        }
        Value::Uint(u) => {
            let _ = write!(out, "{u}");
        }
        Value::Double(d) => out.push_str(&float_g(*d)),
        Value::String(text) => out.push_str(text),
        Value::Bytes(bytes) => {
            let numbers: Vec<String> = bytes.iter().map(ToString::to_string).collect();
            let _ = write!(out, "[{}]", numbers.join(" "));
        }
        Value::List(list) => {
            out.push('[');
            for (i, item) in list.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_plain(out, &item);
            }
            out.push(']');
        }
        Value::Map(Map::Variables) => out.push_str("{}"),
        Value::Map(map) => {
            out.push('{');
            for (i, (key, item)) in map.entries().into_iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_plain(out, &key);
                out.push_str(": ");
                write_plain(out, &item);
            }
            out.push('}');
        }
        Value::Duration(nanos) => out.push_str(&time::go_duration(*nanos)),
        Value::Timestamp(t) => out.push_str(&time::go_time(*t)),
        Value::Type(ty) => {
            let _ = write!(out, "{ty}");
        }
        Value::Optional(None) => out.push_str("optional.none()"),
        Value::Optional(Some(inner)) => {
            out.push_str("optional(");
            write_plain(out, inner);
            out.push(')');
        }
        Value::Opaque(opaque) => out.push_str(&opaque.plain()),
        Value::Object(object) => {
            let _ = write!(out, "{}{{}}", object.name);
        }
    }
}

/// `strconv.Quote`.
#[must_use]
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if c < ' ' || c == '\u{7f}' => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_go_writes_them() {
        let cases = [
            (1.0, "1"),
            (123_456.0, "123456"),
            (1e6, "1e+06"),
            (123_456_789.0, "1.23456789e+08"),
            (1.5e-5, "1.5e-05"),
            (0.0001, "0.0001"),
        ];
        for (number, text) in cases {
            assert_eq!(float_g(number), text);
        }
    }
}
