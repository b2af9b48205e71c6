//! Conversions from one type to another.

use crate::policy::cel::{
    error::{Error, fail},
    gofmt, time,
    types::Type,
    value::{Timestamp, Value},
};
use std::sync::Arc;

type Res<'a> = Result<Value<'a>, Error>;

fn conversion(from: &Value<'_>, to: &Type) -> Error {
    fail(format!("type conversion error from '{}' to '{to}'", from.type_name()))
}

/// `int(x)`, `string(x)`, …: of a value whose type the function declares.
pub fn convert<'a>(value: &Value<'a>, to: &Type) -> Res<'a> {
    match (value, to) {
        (Value::String(text), _) => convert_text(value, text, to),
        (Value::Bool(b), Type::String) => Ok(Value::text(b.to_string())),
        (Value::Bytes(bytes), Type::String) => std::str::from_utf8(bytes)
            .map(Value::text)
            .map_err(|_| fail("invalid UTF-8 in bytes, cannot convert to string")),
        (Value::Int(i), _) => convert_int(value, *i, to),
        (Value::Uint(u), _) => convert_uint(value, *u, to),
        (Value::Double(d), _) => convert_double(value, *d, to),
        (Value::Duration(d), Type::String) => {
            Ok(Value::text(format!("{}s", gofmt::float_f(time::duration_seconds(*d)))))
        }
        (Value::Duration(d), Type::Int) => Ok(Value::Int(*d)),
        (Value::Timestamp(t), Type::String) => Ok(Value::text(time::rfc3339(*t))),
        (Value::Timestamp(t), Type::Int) => Ok(Value::Int(t.seconds)),
        _ => Err(conversion(value, to)),
    }
}

fn convert_text<'a>(value: &Value<'a>, text: &str, to: &Type) -> Res<'a> {
    let bad = || conversion(value, to);
    match to {
        Type::Int => go_int(text).map(Value::Int).ok_or_else(bad),
        Type::Uint if text.bytes().all(|b| b.is_ascii_digit()) => {
            text.parse().map(Value::Uint).map_err(|_| bad())
        }
        Type::Double => go_float(text).map(Value::Double).ok_or_else(bad),
        Type::Bool => match text {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(Value::Bool(false)),
            _ => Err(bad()),
        },
        Type::Bytes => Ok(Value::Bytes(Arc::from(text.as_bytes()))),
        Type::Duration => time::parse_duration(text).map(Value::Duration).ok_or_else(bad),
        Type::Timestamp => {
            let t = time::parse_timestamp(text).ok_or_else(bad)?;
            if !(time::MIN_SECONDS..=time::MAX_SECONDS).contains(&t.seconds) {
                return Err(fail("timestamp overflow"));
            }
            Ok(Value::Timestamp(t))
        }
        _ => Err(bad()),
    }
}

/// `strconv.ParseInt(text, 10, 64)`.
fn go_int(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// `strconv.ParseFloat(text, 64)`: underscores and hexadecimal only where Go takes them.
fn go_float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let lower = unsigned.to_ascii_lowercase();
    if matches!(lower.as_str(), "inf" | "infinity" | "nan") {
        let magnitude = if lower == "nan" { f64::NAN } else { f64::INFINITY };
        if lower == "nan" && unsigned.len() != text.len() {
            return None;
        }
        return Some(if text.starts_with('-') { -magnitude } else { magnitude });
    }
    if let Some(hex) = lower.strip_prefix("0x") {
        let value = hex_float(hex)?;
        return Some(if text.starts_with('-') { -value } else { value });
    }
    let allowed =
        |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-' | b'_');
    if unsigned.is_empty() || !unsigned.bytes().all(allowed) || !underscores_fit(unsigned) {
        return None;
    }
    let value: f64 = text.replace('_', "").parse().ok()?;
    value.is_finite().then_some(value)
}

/// Underscores only between digits.
fn underscores_fit(text: &str) -> bool {
    let mut before = b'!';
    for b in text.bytes() {
        let digit = b.is_ascii_digit();
        if (b == b'_' && before != b'0') || (before == b'_' && !digit) {
            return false;
        }
        before = if digit { b'0' } else { b };
    }
    before != b'_'
}

/// `1.8p3` after `0x`.
fn hex_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once('p')?;
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0.0_f64;
    for c in whole.chars() {
        value = value * 16.0 + f64::from(c.to_digit(16)?);
    }
    let mut scale = 1.0_f64;
    for c in fraction.chars() {
        scale /= 16.0;
        value += f64::from(c.to_digit(16)?) * scale;
    }
    let value = value * 2.0_f64.powi(exponent);
    value.is_finite().then_some(value)
}

fn convert_int<'a>(value: &Value<'a>, i: i64, to: &Type) -> Res<'a> {
    match to {
        Type::Int => Ok(Value::Int(i)),
        Type::Uint => {
            u64::try_from(i).map(Value::Uint).map_err(|_| fail("unsigned integer overflow"))
        }
        #[allow(clippy::cast_precision_loss, reason = "what double() is for")]
        Type::Double => Ok(Value::Double(i as f64)),
        Type::String => Ok(Value::text(i.to_string())),
        Type::Timestamp => {
            if !(time::MIN_SECONDS..=time::MAX_SECONDS).contains(&i) {
                return Err(fail("timestamp overflow"));
            }
            Ok(Value::Timestamp(Timestamp { seconds: i, nanos: 0, offset: 0 }))
        }
        _ => Err(conversion(value, to)),
    }
}

fn convert_uint<'a>(value: &Value<'a>, u: u64, to: &Type) -> Res<'a> {
    match to {
        Type::Int => i64::try_from(u).map(Value::Int).map_err(|_| fail("integer overflow")),
        Type::Uint => Ok(Value::Uint(u)),
        #[allow(clippy::cast_precision_loss, reason = "what double() is for")]
        Type::Double => Ok(Value::Double(u as f64)),
        Type::String => Ok(Value::text(u.to_string())),
        _ => Err(conversion(value, to)),
    }
}

fn convert_double<'a>(value: &Value<'a>, d: f64, to: &Type) -> Res<'a> {
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within the bounds that are checked"
    )]
    match to {
        Type::Int => {
            if !d.is_finite() || d <= i64::MIN as f64 || d >= i64::MAX as f64 {
                return Err(fail("integer overflow"));
            }
            Ok(Value::Int(d as i64))
        }
        Type::Uint => {
            if !d.is_finite() || !(0.0..18_446_744_073_709_551_616.0).contains(&d) {
                return Err(fail("unsigned integer overflow"));
            }
            Ok(Value::Uint(d as u64))
        }
        Type::Double => Ok(Value::Double(d)),
        Type::String => Ok(Value::text(gofmt::float_g(d))),
        _ => Err(conversion(value, to)),
    }
}
