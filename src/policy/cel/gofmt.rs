//! How Go writes values: messages of cel-go and the `string()` conversions depend on it.

use super::{
    eval::go_type,
    time,
    value::{List, Map, Value},
};
use crate::policy::json::{Json, Shape};
use std::{fmt::Write as _, sync::LazyLock};

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
    let scientific = shortest(d);
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
        plain_digits(&shortest(d))
    }
}

/// The fewest digits that give the number again, in scientific notation. Where two are as near, Go takes the
/// even one and Rust the larger.
fn shortest(d: f64) -> String {
    let shown = format!("{d:e}");
    let (mantissa, exponent) = shown.split_once('e').unwrap_or((&shown, "0"));
    let odd = mantissa.as_bytes().last().is_some_and(|digit| digit % 2 == 1);
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    if !odd || digits < 2 {
        return shown;
    }
    // Half way up from the digit below: a five, and nothing after it.
    let longer = format!("{d:.*e}", digits + 24);
    let fraction = longer.split('e').next().unwrap_or_default();
    let kept = fraction.len() - 25;
    if !fraction[kept..].starts_with('5') || fraction[kept + 1..].bytes().any(|digit| digit != b'0')
    {
        return shown;
    }
    let lower = format!("{}e{exponent}", &fraction[..kept]);
    #[allow(clippy::float_cmp, reason = "it must be the very same number")]
    let same = lower.parse() == Ok(d);
    if same { lower } else { shown }
}

/// A number in scientific notation, without an exponent.
fn plain_digits(scientific: &str) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let whole = exponent + 1;
    let places = whole.unsigned_abs() as usize;
    if whole <= 0 {
        return format!("{sign}0.{}{digits}", "0".repeat(places));
    }
    if places >= digits.len() {
        return format!("{sign}{digits}{}", "0".repeat(places - digits.len()));
    }
    format!("{sign}{}.{}", &digits[..places], &digits[places..])
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
        // Its elements are still Go's own values.
        Value::List(List::Json(items)) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_native(out, item);
            }
            out.push(']');
        }
        Value::List(list) => {
            out.push('[');
            for (i, item) in list.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_held(out, &item);
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
                match key {
                    // Go never finds it again.
                    Value::Double(d) if d.is_nan() => out.push_str("<nil>"),
                    _ => write_held(out, &item),
                }
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
            write_held(out, inner);
            out.push(')');
        }
        Value::Opaque(opaque) => out.push_str(&opaque.plain()),
        Value::Object(object) if &*object.name == "JSONPatch" => {
            out.push_str("&{");
            for name in ["op", "from", "path"] {
                out.push_str(object.field(name).and_then(Value::as_str).unwrap_or_default());
                out.push(' ');
            }
            match object.field("value") {
                Some(value) => out.push_str(&wrapped(value)),
                None => out.push_str("<nil>"),
            }
            out.push('}');
        }
        Value::Object(object) => {
            let _ = write!(out, "{}{{}}", object.name);
        }
    }
}

/// `%v` of a value in its wrapping, as lists, maps and optionals hold it: null is its number.
fn write_held(out: &mut String, value: &Value<'_>) {
    if matches!(value, Value::Null) { out.push('0') } else { write_plain(out, value) }
}

/// `%v` of what Go reads from JSON.
fn write_native(out: &mut String, json: Json<'_>) {
    match json.shape() {
        Shape::Null => out.push_str("<nil>"),
        Shape::Bool(_) | Shape::Number(_) | Shape::Text(_) => {
            write_plain(out, &Value::from_json(json));
        }
        Shape::List(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                write_native(out, item);
            }
            out.push(']');
        }
        Shape::Object(fields) => {
            out.push_str("map[");
            for (i, (name, value)) in fields.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                out.push_str(name);
                out.push(':');
                write_native(out, value);
            }
            out.push(']');
        }
    }
}

/// `strconv.Quote`.
#[must_use]
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    quote_inside(&mut out, text);
    out.push('"');
    out
}

/// `strconv.Quote` of what may be cut in the middle of a character.
#[must_use]
pub fn quote_bytes(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        quote_inside(&mut out, chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
    out
}

fn quote_inside(out: &mut String, text: &str) {
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
            c if c.is_ascii() || is_printable(c) => out.push(c),
            c if u32::from(c) < 0x1_0000 => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => {
                let _ = write!(out, "\\U{:08x}", u32::from(c));
            }
        }
    }
}

/// `%q` of a CEL value: numbers are characters, what cannot be quoted says so.
#[must_use]
pub fn quoted(value: &Value<'_>) -> String {
    let number = match value {
        Value::Int(number) => u32::try_from(*number).ok(),
        Value::Uint(number) => u32::try_from(*number).ok(),
        Value::Null => Some(0),
        Value::Bool(value) => return format!("%!q(types.Bool={value})"),
        Value::Double(_) => return format!("%!q(types.Double={})", plain(value)),
        _ => return quote(&plain(value)),
    };
    let c = number.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER);
    match c {
        '\'' => "'\\''".to_owned(),
        '"' => "'\"'".to_owned(),
        c => {
            let text = quote(c.encode_utf8(&mut [0; 4]));
            format!("'{}'", &text[1..text.len() - 1])
        }
    }
}

/// `%s` of a key: what is no text says what it is.
#[must_use]
pub fn text(value: &Value<'_>) -> String {
    match value {
        Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_) => {
            format!("%!s({}={})", go_type(value, false), plain(value))
        }
        _ => plain(value),
    }
}

/// What Go prints as it is: letters, marks, numbers, punctuation and symbols of Unicode 15.
fn is_printable(c: char) -> bool {
    static PRINTABLE: LazyLock<Option<regex::Regex>> =
        LazyLock::new(|| regex::Regex::new(r"^[\p{L}\p{M}\p{N}\p{P}\p{S}&&\p{age=15.0}]$").ok());
    let text = &mut [0; 4];
    PRINTABLE.as_ref().is_some_and(|known| known.is_match(c.encode_utf8(text)))
}

/// `%v` of a value that was not taken out of its wrapping, where null is its number.
#[must_use]
pub fn wrapped(value: &Value<'_>) -> String {
    let mut out = String::new();
    write_held(&mut out, value);
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
            (0.1 * 9_007_199_254_740_992.0, "9.007199254740992e+14"),
        ];
        for (number, text) in cases {
            assert_eq!(float_g(number), text);
        }
    }

    #[test]
    fn floats_without_an_exponent_have_all_their_digits() {
        let cases =
            [(0.0, "0"), (-1.5, "-1.5"), (1e21, "1000000000000000000000"), (1e-7, "0.0000001")];
        for (number, text) in cases {
            assert_eq!(float_f(number), text);
        }
    }
}
