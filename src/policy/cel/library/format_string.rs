//! `'…'.format([…])`, version 2 of cel-go's strings: English grouping, and exponents in superscript.

use crate::policy::cel::{
    error::{Error, Failure, fail, no_overload},
    eval::Machine,
    gofmt::{self, quote},
    ops,
    types::Type,
    value::{List, Map, Value},
};
use std::fmt::Write as _;

/// Longer results cost more than any budget has.
const LONGEST: usize = 10_000_000;

/// A clause of a format string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clause {
    String,
    Decimal,
    Fixed(usize),
    Scientific(usize),
    Binary,
    Hex { upper: bool },
    Octal,
}

/// What a format string is made of.
pub(crate) enum Piece<'a> {
    Text(&'a [u8]),
    Clause(Clause),
}

/// Reads a format string piece by piece; `next` is told every piece and may fail.
///
/// `ahead`: before it is evaluated, when cel-go looks at the end of the text before the arguments.
pub(crate) fn read<E>(
    format: &str,
    arguments: usize,
    ahead: bool,
    problem: impl Fn(String) -> E,
    mut next: impl FnMut(Piece<'_>) -> Result<(), E>,
) -> Result<usize, E> {
    let bytes = format.as_bytes();
    let (mut at, mut used) = (0, 0);
    while at < bytes.len() {
        if bytes[at] != b'%' {
            let end = bytes[at..].iter().position(|b| *b == b'%').map_or(bytes.len(), |n| at + n);
            next(Piece::Text(&bytes[at..end]))?;
            at = end;
            continue;
        }
        if bytes.get(at + 1) == Some(&b'%') {
            next(Piece::Text(b"%"))?;
            at += 2;
            continue;
        }
        let ends = at + 1 >= bytes.len();
        if ends && (used < arguments || ahead) {
            return Err(problem("unexpected end of string".to_owned()));
        }
        if used >= arguments {
            return Err(problem(format!("index {used} out of range")));
        }
        let (length, clause) = clause(&bytes[at + 1..])
            .map_err(|e| problem(format!("could not parse formatting clause: {e}")))?;
        next(Piece::Clause(clause))?;
        at += 1 + length;
        used += 1;
    }
    Ok(used)
}

fn clause(bytes: &[u8]) -> Result<(usize, Clause), String> {
    let mut at = 0;
    let mut precision = 6;
    if bytes.first() == Some(&b'.') {
        let digits = bytes[1..].iter().take_while(|b| b.is_ascii_digit()).count();
        at = 1 + digits;
        let failed = |e: String| format!("error while parsing precision: {e}");
        if at >= bytes.len() {
            return Err(failed("could not find end of precision specifier".to_owned()));
        }
        let text = String::from_utf8_lossy(&bytes[1..at]).into_owned();
        let number: Result<i64, _> = text.parse();
        precision = if let Ok(n) = number {
            usize::try_from(n).unwrap_or_default()
        } else {
            let what = if text.is_empty() { "invalid syntax" } else { "value out of range" };
            return Err(failed(format!(
                "error while converting precision to integer: strconv.Atoi: parsing {}: {what}",
                quote(&text)
            )));
        };
    }
    let letter = bytes[at];
    let clause = match letter {
        b's' => Clause::String,
        b'd' => Clause::Decimal,
        b'f' => Clause::Fixed(precision),
        b'e' => Clause::Scientific(precision),
        b'b' => Clause::Binary,
        b'x' => Clause::Hex { upper: false },
        b'X' => Clause::Hex { upper: true },
        b'o' => Clause::Octal,
        other => {
            let shown = char::from(other);
            return Err(format!("unrecognized formatting clause \"{shown}\""));
        }
    };
    Ok((at + 1, clause))
}

impl Clause {
    /// The message for a value of a type that the clause does not take.
    pub(crate) fn refusal(self, given: &str) -> String {
        let what = match self {
            Self::String => {
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
            }
            Self::Decimal => "decimal clause can only be used on integers",
            Self::Fixed(_) => "fixed-point clause can only be used on doubles",
            Self::Scientific(_) => "scientific clause can only be used on doubles",
            Self::Binary => "only integers and bools can be formatted as binary",
            Self::Hex { .. } => "only integers, byte buffers, and strings can be formatted as hex",
            Self::Octal => "octal clause can only be used on integers",
        };
        format!("{what}, was given {given}")
    }
}

pub(crate) fn format<'a>(_: &mut Machine<'_, 'a>, args: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let [Value::String(format), Value::List(list)] = args else { return Err(no_overload()) };
    let mut out: Vec<u8> = Vec::new();
    let mut index = 0;
    read(format, list.len(), false, fail, |piece| {
        match piece {
            Piece::Text(text) => out.extend_from_slice(text),
            Piece::Clause(clause) => {
                let value = list.get(index).unwrap_or(Value::Null);
                index += 1;
                let text = apply(clause, &value)?;
                out.extend_from_slice(text.as_bytes());
            }
        }
        if out.len() > LONGEST { Err(Error::new(Failure::CostLimit)) } else { Ok(()) }
    })?;
    Ok(Value::text(String::from_utf8_lossy(&out).into_owned()))
}

fn apply(clause: Clause, value: &Value<'_>) -> Result<String, Error> {
    let during = |e: String| fail(format!("error during formatting: {e}"));
    let refused = || during(clause.refusal(value.type_name()));
    match (clause, value) {
        (Clause::String, value) => string(value).map_err(during),
        (Clause::Decimal, Value::Int(i)) => Ok(i.to_string()),
        (Clause::Decimal, Value::Uint(u)) => Ok(u.to_string()),
        (Clause::Fixed(n) | Clause::Scientific(n), value) => {
            let number = match value {
                Value::Double(d) => *d,
                Value::String(text) if &**text == "NaN" => f64::NAN,
                Value::String(text) if &**text == "Infinity" => f64::INFINITY,
                Value::String(text) if &**text == "-Infinity" => f64::NEG_INFINITY,
                _ => return Err(refused()),
            };
            if n > 1_000_000 {
                return Err(Error::new(Failure::CostLimit));
            }
            Ok(match clause {
                Clause::Fixed(_) => fixed(number, n),
                _ => scientific(number, n),
            })
        }
        (Clause::Binary, Value::Int(i)) => Ok(signed(*i, format!("{:b}", i.unsigned_abs()))),
        (Clause::Binary, Value::Uint(u)) => Ok(format!("{u:b}")),
        (Clause::Binary, Value::Bool(b)) => Ok(if *b { "1" } else { "0" }.to_owned()),
        (Clause::Octal, Value::Int(i)) => Ok(signed(*i, format!("{:o}", i.unsigned_abs()))),
        (Clause::Octal, Value::Uint(u)) => Ok(format!("{u:o}")),
        (Clause::Hex { upper }, value) => {
            let hex = match value {
                Value::Int(i) => signed(*i, format!("{:x}", i.unsigned_abs())),
                Value::Uint(u) => format!("{u:x}"),
                Value::String(text) => hex(text.as_bytes()),
                Value::Bytes(bytes) => hex(bytes),
                _ => return Err(refused()),
            };
            Ok(if upper { hex.to_ascii_uppercase() } else { hex })
        }
        _ => Err(refused()),
    }
}

fn signed(value: i64, magnitude: String) -> String {
    if value < 0 { format!("-{magnitude}") } else { magnitude }
}

fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// `%s`.
fn string(value: &Value<'_>) -> Result<String, String> {
    match value {
        Value::List(items) => list(items),
        Value::Map(Map::Variables) => Err(Clause::String.refusal("kubernetes.variables")),
        Value::Map(entries) => map(entries),
        Value::Null => Ok("null".to_owned()),
        Value::Type(ty) => Ok(ty.runtime_name().to_owned()),
        Value::String(text) => Ok(text.to_string()),
        Value::Int(_)
        | Value::Uint(_)
        | Value::Double(_)
        | Value::Bool(_)
        | Value::Timestamp(_)
        | Value::Bytes(_)
        | Value::Duration(_) => match ops::convert(value, &Type::String) {
            Ok(converted) => Ok(converted.as_str().unwrap_or_default().to_owned()),
            Err(error) => {
                Err(format!("could not convert argument {} to string", quote(&error.to_string())))
            }
        },
        Value::Optional(_) | Value::Opaque(_) | Value::Object(_) => {
            Err(Clause::String.refusal(value.type_name()))
        }
    }
}

/// A value inside a list or map.
fn member(value: &Value<'_>) -> Result<String, String> {
    Ok(match value {
        Value::String(text) => quote(text),
        Value::Bytes(_) => format!("b{}", quote(&string(value)?)),
        Value::Timestamp(_) => format!("timestamp({})", quote(&string(value)?)),
        Value::Duration(_) => format!("duration({})", quote(&string(value)?)),
        Value::Double(d) if d.is_finite() => format!("{d:.6}"),
        Value::Double(d) => quote(&gofmt::float_f(*d)),
        Value::Int(_)
        | Value::Uint(_)
        | Value::Bool(_)
        | Value::Null
        | Value::Type(_)
        | Value::List(_)
        | Value::Map(_) => string(value)?,
        Value::Optional(_) | Value::Opaque(_) | Value::Object(_) => {
            return Err(format!("no formatting function for {}", value.type_name()));
        }
    })
}

fn list(items: &List<'_>) -> Result<String, String> {
    // A loop, for its frame is small: lists nest.
    let mut members = Vec::new();
    for item in items.iter() {
        members.push(member(&item)?);
    }
    Ok(format!("[{}]", members.join(", ")))
}

fn map(entries: &Map<'_>) -> Result<String, String> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for (key, value) in entries.entries() {
        match key {
            Value::String(_) | Value::Bool(_) | Value::Int(_) | Value::Uint(_) => {}
            other => {
                let name = other.type_name();
                return Err(format!("no formatting function for map key of type {name}"));
            }
        }
        pairs.push((member(&key)?, member(&value)?));
    }
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    let shown: Vec<String> = pairs.iter().map(|(k, v)| format!("{k}:{v}")).collect();
    Ok(format!("{{{}}}", shown.join(", ")))
}

/// What has no digits.
fn special(number: f64) -> Option<&'static str> {
    if number.is_nan() {
        Some("NaN")
    } else if number.is_infinite() {
        Some(if number > 0.0 { "∞" } else { "-∞" })
    } else {
        None
    }
}

/// With commas between thousands.
fn fixed(number: f64, precision: usize) -> String {
    if let Some(text) = special(number) {
        return text.to_owned();
    }
    // x/text keeps the most digits in sixteen bits with a sign, below zero: as many as it takes.
    let most = precision & 0xffff;
    let plain = if most >= 0x8000 {
        gofmt::float_f(number)
    } else {
        // No double has more digits than these.
        format!("{number:.*}", most.min(1_100))
    };
    // x/text keeps the least number of digits in eight bits, and drops zeros down to it.
    let least = precision & 0xff;
    let plain = match plain.split_once('.') {
        Some((whole, fraction)) => {
            let fraction = fraction.trim_end_matches('0');
            match (fraction, least) {
                ("", 0) => whole.to_owned(),
                _ => format!("{whole}.{fraction:0<least$}"),
            }
        }
        None => plain,
    };
    let (sign, digits) = match plain.strip_prefix('-') {
        Some(digits) if number != 0.0 => ("-", digits),
        Some(digits) => ("", digits),
        None => ("", plain.as_str()),
    };
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(w, f)| (w, Some(f)));
    let mut out = String::from(sign);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// Always six digits; cel-go takes the precision for a width.
fn scientific(number: f64, width: usize) -> String {
    let text = special(number).map_or_else(|| superscript(number), ToOwned::to_owned);
    let length = text.chars().count();
    format!("{}{text}", " ".repeat(width.saturating_sub(length)))
}

fn superscript(number: f64) -> String {
    let number = if number == 0.0 { 0.0 } else { number };
    let plain = format!("{number:.6e}");
    let (mantissa, exponent) = plain.split_once('e').unwrap_or((&plain, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let mut out = format!("{mantissa}×10");
    if exponent < 0 {
        out.push('⁻');
    }
    for digit in format!("{:02}", exponent.abs()).chars() {
        out.push(match digit {
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            '4' => '⁴',
            '5' => '⁵',
            '6' => '⁶',
            '7' => '⁷',
            '8' => '⁸',
            '9' => '⁹',
            _ => '⁰',
        });
    }
    out
}
