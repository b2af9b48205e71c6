//! Arithmetic, sums of texts and lists, and membership.

use super::equal;
use crate::policy::cel::{
    error::{Error, Failure, fail, no_overload},
    library::Opaque,
    time,
    value::{Entries, List, Map, Text, Value},
};
use std::sync::Arc;

type Res<'a> = Result<Value<'a>, Error>;

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
    a.concat(b)
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

/// Go's maps take no key that holds a slice, and the API server says so.
pub(crate) fn hashable(key: &Value<'_>) -> Result<(), Error> {
    unhashable(key).map_or(Ok(()), |ty| {
        let text = format!("runtime error: hash of unhashable type {ty}");
        Err(Error::new(Failure::Internal(text)))
    })
}

/// The same where a key is taken out, which Go says in other words if there is nothing to take.
pub(crate) fn removable(key: &Value<'_>, from: &Entries<'_>) -> Result<(), Error> {
    match unhashable(key) {
        Some(ty) if from.list.is_empty() => {
            Err(Error::new(Failure::Internal(format!("hash of unhashable type: {ty}"))))
        }
        _ => hashable(key),
    }
}

fn unhashable(key: &Value<'_>) -> Option<&'static str> {
    match key {
        Value::Bytes(_) => Some("types.Bytes"),
        Value::Opaque(opaque) => match &**opaque {
            Opaque::Semver(_) | Opaque::Format(_) => Some(opaque.go_type()),
            _ => None,
        },
        _ => None,
    }
}

/// `x in y`.
pub fn contains<'a>(element: &Value<'_>, container: &Value<'_>) -> Res<'a> {
    match container {
        Value::List(list) => Ok(Value::Bool(list.iter().any(|item| equal(element, &item)))),
        Value::Map(Map::Variables) => Err(no_overload()),
        Value::Map(map) => {
            if let Map::Owned(entries) = map
                && !entries.list.is_empty()
            {
                hashable(element)?;
            }
            Ok(Value::Bool(map.find(element).is_some()))
        }
        _ => Err(no_overload()),
    }
}
