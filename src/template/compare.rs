//! `eq`, `lt` and their kin: what may be compared with what, and what Go says if it may not.

use super::{
    builtins::{Failure, Result},
    exec::Held,
    go::{printf::shown, text::lossy},
    value::Value,
};
use std::cmp::Ordering;

/// Whether a value equals any of the others.
pub(crate) fn equal(one: &Value, others: &[Held], most: usize) -> Result<bool> {
    if others.is_empty() {
        return Err("missing argument for comparison".into());
    }
    for other in others {
        if equals(one, &other.value, most)? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[allow(clippy::float_cmp, reason = "this is Go's ==")]
fn equals(one: &Value, other: &Value, most: usize) -> Result<bool> {
    use Value::{Bool, Byte, Complex, Float, Int, List, Map, Nil, Text};
    Ok(match (one, other) {
        (Nil, Nil) => true,
        (Nil, _) | (_, Nil) => false,
        (Bool(one), Bool(other)) => one == other,
        (Int(one), Int(other)) => one == other,
        (Byte(one), Byte(other)) => one == other,
        (Int(int), Byte(byte)) | (Byte(byte), Int(int)) => *int == i64::from(*byte),
        (Float(one), Float(other)) => one == other,
        (Complex(a, b), Complex(c, d)) => a == c && b == d,
        (Text(one), Text(other)) => one == other,
        (List(_), List(_)) | (Map(_), Map(_)) => {
            let text = lossy(&shown(other, 's', most));
            return Err(format!("non-comparable type {text}: {}", other.type_name()).into());
        }
        (List(_), Map(_)) | (Map(_), List(_)) => {
            let (a, b) = (lossy(&shown(one, 's', most)), lossy(&shown(other, 'v', most)));
            let (a_type, b_type) = (one.type_name(), other.type_name());
            return Err(format!("non-comparable types {a}: {a_type}, {b_type}: {b}").into());
        }
        _ => return Err(incompatible(one, other)),
    })
}

pub(crate) fn less(one: &Value, other: &Value) -> Result<bool> {
    use Value::{Bool, Byte, Complex, Float, Int, List, Map, Nil, Text};
    let bad_type = || Failure::from("invalid type for comparison");
    let order = match (one, other) {
        (Nil | List(_) | Map(_), _)
        | (_, Nil | List(_) | Map(_))
        | (Bool(_), Bool(_))
        | (Complex(..), Complex(..)) => return Err(bad_type()),
        (Int(one), Int(other)) => one.cmp(other),
        (Byte(one), Byte(other)) => one.cmp(other),
        (Int(one), Byte(other)) => one.cmp(&i64::from(*other)),
        (Byte(one), Int(other)) => i64::from(*one).cmp(other),
        (Float(one), Float(other)) => return Ok(one < other),
        (Text(one), Text(other)) => one.cmp(other),
        _ => return Err(incompatible(one, other)),
    };
    Ok(order == Ordering::Less)
}

pub(crate) fn less_or_equal(one: &Value, other: &Held, most: usize) -> Result<bool> {
    Ok(less(one, &other.value)? || equal(one, std::slice::from_ref(other), most)?)
}

fn incompatible(one: &Value, other: &Value) -> Failure {
    let (one, other) = (one.type_name(), other.type_name());
    format!("incompatible types for comparison: {one} and {other}").into()
}
