//! Operators on values: equality, order, arithmetic, conversions.

use super::{
    error::{Error, Failure, fail, no_overload},
    gofmt, time,
    types::Type,
    value::{List, Map, Object, Text, Value},
};
use std::{cmp::Ordering, sync::Arc};

type Res<'a> = Result<Value<'a>, Error>;

/// Whether cel-go's `==` says true; an error is not.
#[must_use]
pub fn equal(a: &Value<'_>, b: &Value<'_>) -> bool {
    matches!(equality(a, b), Ok(true))
}

/// cel-go's `Equal`: numbers across types, everything else within its type; Kubernetes' own types do
/// not compare with others at all.
pub fn equality(a: &Value<'_>, b: &Value<'_>) -> Result<bool, Error> {
    Ok(match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) | (Value::Duration(a), Value::Duration(b)) => a == b,
        (Value::Uint(a), Value::Uint(b)) => a == b,
        (
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
        ) => numeric_order(a, b) == Some(Ordering::Equal),
        (Value::String(a), Value::String(b)) => **a == **b,
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::List(a), Value::List(b)) => lists_equal(a, b),
        (Value::Map(Map::Variables), Value::Map(Map::Variables)) => true,
        (Value::Map(Map::Variables), _) => return Err(no_overload()),
        (Value::Map(a), Value::Map(b)) => maps_equal(a, b),
        (Value::Timestamp(a), Value::Timestamp(b)) => (a.seconds, a.nanos) == (b.seconds, b.nanos),
        (Value::Type(a), Value::Type(b)) => a.runtime_name() == b.runtime_name(),
        (Value::Optional(a), Value::Optional(b)) => match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => return equality_of_present(a, b),
            _ => false,
        },
        (Value::Opaque(a), Value::Opaque(b)) => return a.equality(b).ok_or_else(no_overload),
        (Value::Opaque(_), _) => return Err(no_overload()),
        (Value::Object(a), Value::Object(b)) => objects_equal(a, b),
        _ => false,
    })
}

/// Inside an optional, null is compared by its own type.
fn equality_of_present(a: &Value<'_>, b: &Value<'_>) -> Result<bool, Error> {
    equality(a, b)
}

/// An element that cannot be compared does not make the lists differ: cel-go's oddity.
fn lists_equal(a: &List<'_>, b: &List<'_>) -> bool {
    a.len() == b.len()
        && a.iter().zip(b.iter()).all(|(a, b)| !matches!(equality(&a, &b), Ok(false)))
}

fn maps_equal(a: &Map<'_>, b: &Map<'_>) -> bool {
    a.len() == b.len()
        && a.entries().iter().all(|(key, value)| {
            b.find(key).is_some_and(|other| !matches!(equality(value, &other), Ok(false)))
        })
}

/// Objects are compared by Go's `DeepEqual`: types count, and lists are never the same.
fn objects_equal(a: &Object<'_>, b: &Object<'_>) -> bool {
    let json_patch = &*a.name == "JSONPatch";
    let alike =
        |a: &Value<'_>, b: &Value<'_>| if json_patch { equal(a, b) } else { identical(a, b) };
    a.name == b.name
        && a.fields.len() == b.fields.len()
        && a.fields
            .iter()
            .all(|(name, value)| b.field(name).is_some_and(|other| alike(value, other)))
}

fn identical(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::List(_), _) | (_, Value::List(_)) => false,
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len()
                && a.entries()
                    .iter()
                    .all(|(key, value)| b.find(key).is_some_and(|other| identical(value, &other)))
        }
        (Value::Object(a), Value::Object(b)) => objects_equal(a, b),
        _ => a.type_name() == b.type_name() && equal(a, b),
    }
}

fn compare_doubles(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

#[allow(clippy::cast_precision_loss, reason = "cel-go compares as doubles")]
fn double_to_int_order(d: f64, i: i64) -> Ordering {
    if d < i64::MIN as f64 {
        Ordering::Less
    } else if d > i64::MAX as f64 {
        Ordering::Greater
    } else {
        compare_doubles(d, i as f64)
    }
}

#[allow(clippy::cast_precision_loss, reason = "cel-go compares as doubles")]
fn double_to_uint_order(d: f64, u: u64) -> Ordering {
    if d < 0.0 {
        Ordering::Less
    } else if d > u64::MAX as f64 {
        Ordering::Greater
    } else {
        compare_doubles(d, u as f64)
    }
}

fn int_to_uint_order(i: i64, u: u64) -> Ordering {
    match u64::try_from(i) {
        Ok(i) => i.cmp(&u),
        Err(_) => Ordering::Less,
    }
}

/// Order among numbers; none with NaN.
fn numeric_order(a: &Value<'_>, b: &Value<'_>) -> Option<Ordering> {
    let nan = |v: &Value<'_>| matches!(v, Value::Double(d) if d.is_nan());
    if nan(a) || nan(b) {
        return None;
    }
    Some(match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Uint(a), Value::Uint(b)) => a.cmp(b),
        (Value::Double(a), Value::Double(b)) => compare_doubles(*a, *b),
        (Value::Double(d), Value::Int(i)) => double_to_int_order(*d, *i),
        (Value::Int(i), Value::Double(d)) => double_to_int_order(*d, *i).reverse(),
        (Value::Double(d), Value::Uint(u)) => double_to_uint_order(*d, *u),
        (Value::Uint(u), Value::Double(d)) => double_to_uint_order(*d, *u).reverse(),
        (Value::Int(i), Value::Uint(u)) => int_to_uint_order(*i, *u),
        (Value::Uint(u), Value::Int(i)) => int_to_uint_order(*i, *u).reverse(),
        _ => return None,
    })
}

/// Whether values of this type have an order.
#[must_use]
pub fn is_comparable(value: &Value<'_>) -> bool {
    matches!(
        value,
        Value::Bool(_)
            | Value::Bytes(_)
            | Value::Double(_)
            | Value::Duration(_)
            | Value::Int(_)
            | Value::String(_)
            | Value::Timestamp(_)
            | Value::Uint(_)
    )
}

/// cel-go's `Compare`, of a value that has an order with any other.
pub fn compare(a: &Value<'_>, b: &Value<'_>) -> Result<Ordering, Error> {
    match (a, b) {
        (Value::Double(d), _) if d.is_nan() => Err(fail("NaN values cannot be ordered")),
        (
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
        ) => numeric_order(a, b).ok_or_else(|| fail("NaN values cannot be ordered")),
        (Value::Bool(a), Value::Bool(b)) => Ok(a.cmp(b)),
        (Value::String(a), Value::String(b)) => Ok(a.as_bytes().cmp(b.as_bytes())),
        (Value::Bytes(a), Value::Bytes(b)) => Ok(a.cmp(b)),
        (Value::Duration(a), Value::Duration(b)) => Ok(a.cmp(b)),
        (Value::Timestamp(a), Value::Timestamp(b)) => {
            Ok((a.seconds, a.nanos).cmp(&(b.seconds, b.nanos)))
        }
        _ => Err(no_overload()),
    }
}

/// Arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
}

impl Arithmetic {
    /// cel-go's name of the operator.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "_+_",
            Self::Subtract => "_-_",
            Self::Multiply => "_*_",
            Self::Divide => "_/_",
            Self::Modulo => "_%_",
        }
    }

    /// Whether cel-go's type of the left side knows the operator at all.
    fn known_to(self, left: &Value<'_>) -> bool {
        let number = matches!(left, Value::Int(_) | Value::Uint(_));
        let double = matches!(left, Value::Double(_));
        let time = matches!(left, Value::Duration(_) | Value::Timestamp(_));
        match self {
            Self::Add => {
                number
                    || double
                    || time
                    || matches!(left, Value::Bytes(_) | Value::List(_) | Value::String(_))
            }
            Self::Subtract => number || double || time,
            Self::Multiply | Self::Divide => number || double,
            Self::Modulo => number,
        }
    }
}

/// The error of an operator that the type of its first operand lacks.
#[must_use]
pub fn lacking(value: &Value<'_>, function: &str) -> Error {
    // These types answer every method call, with the short text.
    if matches!(value, Value::String(_) | Value::Duration(_) | Value::Timestamp(_)) {
        no_overload()
    } else {
        fail(format!("no such overload: {function}"))
    }
}

/// Applies an operator.
pub fn arithmetic<'a>(op: Arithmetic, a: Value<'a>, b: Value<'a>) -> Res<'a> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => int_arithmetic(op, a, b).map(Value::Int),
        (Value::Uint(a), Value::Uint(b)) => uint_arithmetic(op, a, b).map(Value::Uint),
        (a @ Value::Double(x), Value::Double(y)) => Ok(Value::Double(match op {
            Arithmetic::Add => x + y,
            Arithmetic::Subtract => x - y,
            Arithmetic::Multiply => x * y,
            Arithmetic::Divide => x / y,
            Arithmetic::Modulo => return Err(lacking(&a, op.name())),
        })),
        (a, b) => other_arithmetic(op, a, b),
    }
}

fn int_arithmetic(op: Arithmetic, a: i64, b: i64) -> Result<i64, Error> {
    let done = match op {
        Arithmetic::Add => a.checked_add(b),
        Arithmetic::Subtract => a.checked_sub(b),
        Arithmetic::Multiply => a.checked_mul(b),
        Arithmetic::Divide if b == 0 => return Err(fail("division by zero")),
        Arithmetic::Modulo if b == 0 => return Err(fail("modulus by zero")),
        Arithmetic::Divide => a.checked_div(b),
        Arithmetic::Modulo => a.checked_rem(b),
    };
    done.ok_or_else(|| fail("integer overflow"))
}

fn uint_arithmetic(op: Arithmetic, a: u64, b: u64) -> Result<u64, Error> {
    let done = match op {
        Arithmetic::Add => a.checked_add(b),
        Arithmetic::Subtract => a.checked_sub(b),
        Arithmetic::Multiply => a.checked_mul(b),
        Arithmetic::Divide if b == 0 => return Err(fail("division by zero")),
        Arithmetic::Modulo if b == 0 => return Err(fail("modulus by zero")),
        Arithmetic::Divide => a.checked_div(b),
        Arithmetic::Modulo => a.checked_rem(b),
    };
    done.ok_or_else(|| fail("unsigned integer overflow"))
}

fn other_arithmetic<'a>(op: Arithmetic, a: Value<'a>, b: Value<'a>) -> Res<'a> {
    if !op.known_to(&a) {
        return Err(lacking(&a, op.name()));
    }
    match (op, a, b) {
        (Arithmetic::Add, Value::String(a), Value::String(b)) => {
            let mut joined = String::with_capacity(a.len() + b.len());
            joined.push_str(&a);
            joined.push_str(&b);
            Ok(Value::String(Text::Shared(Arc::from(joined))))
        }
        (Arithmetic::Add, Value::Bytes(a), Value::Bytes(b)) => {
            Ok(Value::Bytes(a.iter().chain(b.iter()).copied().collect()))
        }
        (Arithmetic::Add, Value::List(a), Value::List(b)) => Ok(Value::List(concat(a, b))),
        (Arithmetic::Add, Value::Duration(a), Value::Duration(b)) => {
            a.checked_add(b).map(Value::Duration).ok_or_else(|| fail("integer overflow"))
        }
        (Arithmetic::Subtract, Value::Duration(a), Value::Duration(b)) => {
            a.checked_sub(b).map(Value::Duration).ok_or_else(|| fail("integer overflow"))
        }
        (Arithmetic::Add, Value::Timestamp(t), Value::Duration(d))
        | (Arithmetic::Add, Value::Duration(d), Value::Timestamp(t)) => {
            time::add(t, d).map(Value::Timestamp).map_err(fail)
        }
        (Arithmetic::Subtract, Value::Timestamp(t), Value::Duration(d)) => {
            let back = d.checked_neg().ok_or_else(|| fail("integer overflow"))?;
            time::add(t, back).map(Value::Timestamp).map_err(fail)
        }
        (Arithmetic::Subtract, Value::Timestamp(a), Value::Timestamp(b)) => {
            time::between(a, b).map(Value::Duration).map_err(fail)
        }
        _ => Err(no_overload()),
    }
}

/// One list after the other, as a view.
#[must_use]
pub fn concat<'a>(a: List<'a>, b: List<'a>) -> List<'a> {
    if a.is_empty() {
        return b;
    }
    if b.is_empty() {
        return a;
    }
    let length = a.len().saturating_add(b.len());
    List::Concat(Arc::new((a, b, length)))
}

/// `-x`.
pub fn negate<'a>(value: &Value<'a>) -> Res<'a> {
    match value {
        Value::Int(i) => i.checked_neg().map(Value::Int).ok_or_else(|| fail("integer overflow")),
        Value::Double(d) => Ok(Value::Double(-d)),
        Value::Duration(d) => {
            d.checked_neg().map(Value::Duration).ok_or_else(|| fail("integer overflow"))
        }
        Value::Bool(_) => Err(no_overload()),
        other => Err(lacking(other, "-_")),
    }
}

/// `x in y`.
pub fn contains<'a>(element: &Value<'_>, container: &Value<'_>) -> Res<'a> {
    match container {
        Value::List(list) => Ok(Value::Bool(list.iter().any(|item| equal(element, &item)))),
        Value::Map(Map::Variables) => Err(no_overload()),
        Value::Map(Map::Owned(entries))
            if matches!(element, Value::Bytes(_)) && !entries.list.is_empty() =>
        {
            Err(Error::new(Failure::Internal(
                "runtime error: hash of unhashable type types.Bytes".to_owned(),
            )))
        }
        Value::Map(map) => Ok(Value::Bool(map.find(element).is_some())),
        _ => Err(no_overload()),
    }
}

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
            Ok(Value::Timestamp(super::value::Timestamp { seconds: i, nanos: 0, offset: 0 }))
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
