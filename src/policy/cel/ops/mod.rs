//! Operators on values: equality, order, arithmetic, conversions.

mod arithmetic;
mod convert;

pub use arithmetic::{Arithmetic, arithmetic, concat, contains, lacking, negate};
pub(crate) use arithmetic::{hashable, removable};
pub use convert::convert;

use super::{
    error::{Error, fail, no_overload},
    value::{List, Map, Object, Value},
};
use std::cmp::Ordering;

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
        (Value::Object(a), Value::Object(b)) if is_patch(a) && is_patch(b) => {
            return equality_of_patches(a, b);
        }
        (Value::Object(a), Value::Object(b)) => objects_equal(a, b),
        _ => false,
    })
}

fn is_patch(object: &Object<'_>) -> bool {
    &*object.name == "JSONPatch"
}

/// Patches that differ only in what they write are as equal as that is, or cannot be compared.
fn equality_of_patches(a: &Object<'_>, b: &Object<'_>) -> Result<bool, Error> {
    let text = |object: &Object<'_>, field: &str| {
        object.field(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    if ["op", "from", "path"].iter().any(|field| text(a, field) != text(b, field)) {
        return Ok(false);
    }
    match (a.field("value"), b.field("value")) {
        (Some(a), Some(b)) => equality(a, b),
        (a, b) => Ok(a.is_none() && b.is_none()),
    }
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
    if is_patch(a) && is_patch(b) {
        return matches!(equality_of_patches(a, b), Ok(true));
    }
    a.name == b.name
        && a.fields.len() == b.fields.len()
        && a.fields
            .iter()
            .all(|(name, value)| b.field(name).is_some_and(|other| identical(value, other)))
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
