//! Calls: which arguments are evaluated, what is called, and what it costs.

use super::{Machine, Res, unwrapped};
use crate::policy::cel::{
    cost,
    error::{Error, fail, no_overload},
    library::{Opaque, regex},
    ops,
    plan::{Call, Comparison, Matching, Target},
    types::Type,
    value::{List, Map, Value},
};
use std::{
    cmp::Ordering,
    sync::{Arc, LazyLock},
};

impl<'a> Machine<'_, 'a> {
    pub(super) fn call(&mut self, call: &'a Call) -> Res<'a> {
        match call.args.as_slice() {
            [] => self.invoke(call, &[]),
            [a] => {
                let a = self.eval(a);
                self.unary(call, a)
            }
            [a, b] if call.eager => {
                let a = self.eval(a);
                if let Err(stop) = &a
                    && !stop.is_value()
                {
                    return a;
                }
                let b = self.eval(b);
                self.binary(call, a, b)
            }
            many => {
                let mut values = Vec::with_capacity(many.len());
                let last = many.len() - 1;
                for (at, arg) in many.iter().enumerate() {
                    match self.eval(arg) {
                        Ok(value) => values.push(value),
                        Err(error) if at == last && error.is_value() => {
                            values.push(broken());
                            return self.failed(call, &values, error);
                        }
                        Err(error) => return Err(error),
                    }
                }
                self.invoke(call, &values)
            }
        }
    }

    pub(super) fn unary(&mut self, call: &'a Call, a: Res<'a>) -> Res<'a> {
        match a {
            Ok(value) => self.invoke(call, &[value]),
            Err(error) if error.is_value() => self.failed(call, &[broken()], error),
            Err(stop) => Err(stop),
        }
    }

    pub(super) fn binary(&mut self, call: &'a Call, a: Res<'a>, b: Res<'a>) -> Res<'a> {
        match (a, b) {
            (Ok(a), Ok(b)) => self.invoke(call, &[a, b]),
            (_, Err(stop)) if !stop.is_value() => Err(stop),
            (Ok(a), Err(error)) => self.failed(call, &[a, broken()], error),
            (Err(error), Ok(b)) => self.failed(call, &[broken(), b], error),
            (Err(error), Err(_)) => self.failed(call, &[broken(), broken()], error),
        }
    }

    /// An argument failed: the call is charged for, an error counting as a value of size 1.
    pub(super) fn failed(&mut self, call: &'a Call, args: &[Value<'a>], error: Error) -> Res<'a> {
        if let Some(panic) = cost::panics(call.cost, args) {
            return Err(panic);
        }
        let cost = cost::of(call, args, None);
        self.charge(cost)?;
        Err(error)
    }

    pub(super) fn invoke(&mut self, call: &'a Call, args: &[Value<'a>]) -> Res<'a> {
        let result = self.perform(call, args);
        if let Ok(value) = &result {
            self.account(value)?;
        }
        if let Err(stop) = &result
            && !stop.is_value()
        {
            return result;
        }
        if let Some(panic) = cost::panics(call.cost, args) {
            return Err(panic);
        }
        let cost = cost::of(call, args, result.as_ref().ok());
        self.charge(cost)?;
        result
    }

    pub(super) fn perform(&mut self, call: &'a Call, args: &[Value<'a>]) -> Res<'a> {
        match (&call.target, args) {
            (Target::Not, [Value::Bool(b)]) => Ok(Value::Bool(!b)),
            (Target::Not, _) => Err(no_overload()),
            (Target::Negate, [value]) => ops::negate(value),
            (Target::Compare(comparison), [a, b]) => compare(*comparison, a, b, &call.function),
            (
                Target::Arithmetic(ops::Arithmetic::Add),
                [Value::List(List::Growing(list)), Value::List(more)],
            ) => self.grow(list, more),
            (Target::Arithmetic(op), [a, b]) => {
                if let (Value::String(a), Value::String(b)) = (a, b) {
                    self.bounded(a.len() + b.len())?;
                }
                ops::arithmetic(*op, a.clone(), b.clone())
            }
            (Target::In, [element, container]) => ops::contains(element, container),
            (Target::Size, [value]) => size(value),
            (Target::TypeOf, [value]) => Ok(Value::Type(type_of(value))),
            (Target::Identity, [value]) => Ok(value.clone()),
            (Target::Regex(pattern, matching), [subject, rest @ ..]) => {
                self.foresee(cost::of(call, args, None))?;
                if let Value::String(text) = subject {
                    self.effort(pattern.size, text.len())?;
                }
                find(&pattern.regex, *matching, subject, rest)
            }
            (Target::Guarded(overload, body), args) => {
                if overload.args.len() == args.len()
                    && overload.args.iter().zip(args).all(|(ty, v)| assignable(ty, v))
                {
                    body(self, args)
                } else {
                    Err(no_such(&call.function, args))
                }
            }
            (Target::Bare(body), args) => body(self, args),
            (Target::Dispatch(candidates), args) => {
                for (overload, body) in candidates {
                    if overload.args.len() == args.len()
                        && overload.args.iter().zip(args).all(|(ty, v)| assignable(ty, v))
                    {
                        return body(self, args);
                    }
                }
                Err(no_such(&call.function, args))
            }
            (Target::Extension(extension), args) => (extension.call)(args).map_err(fail),
            _ => Err(no_overload()),
        }
    }
}

/// The types that are asked for most are made once.
fn type_of(value: &Value<'_>) -> Arc<Type> {
    static LIST: LazyLock<Arc<Type>> = LazyLock::new(|| Arc::new(Type::list(Type::Dyn)));
    static MAP: LazyLock<Arc<Type>> = LazyLock::new(|| Arc::new(Type::map(Type::Dyn, Type::Dyn)));
    match value {
        Value::List(_) => LIST.clone(),
        Value::Map(Map::Json(_) | Map::Owned(_)) => MAP.clone(),
        other => Arc::new(other.type_value()),
    }
}

/// What stands for an argument that failed, where only its Go type and its size matter.
fn broken<'a>() -> Value<'a> {
    static BROKEN: LazyLock<Arc<Opaque>> =
        LazyLock::new(|| Arc::new(Opaque::Failed(String::new())));
    Value::Opaque(BROKEN.clone())
}

fn compare<'a>(comparison: Comparison, a: &Value<'a>, b: &Value<'a>, function: &str) -> Res<'a> {
    if !ops::is_comparable(a) {
        return Err(ops::lacking(a, function));
    }
    let order = ops::compare(a, b)?;
    Ok(Value::Bool(match comparison {
        Comparison::Less => order == Ordering::Less,
        Comparison::LessEquals => order != Ordering::Greater,
        Comparison::Greater => order == Ordering::Greater,
        Comparison::GreaterEquals => order != Ordering::Less,
    }))
}

fn size<'a>(value: &Value<'a>) -> Res<'a> {
    match value {
        Value::String(_) | Value::Bytes(_) | Value::List(_) => {}
        Value::Map(map) if !matches!(map, Map::Variables) => {}
        other => return Err(ops::lacking(other, "size")),
    }
    Ok(Value::Int(i64::try_from(value.size()).unwrap_or(i64::MAX)))
}

fn find<'a>(
    pattern: &::regex::Regex,
    matching: Matching,
    subject: &Value<'a>,
    rest: &[Value<'a>],
) -> Res<'a> {
    let text: &str = match subject {
        Value::String(text) => text,
        // A type is its name to Go.
        Value::Type(ty) => ty.runtime_name(),
        // And an optional what it wraps.
        Value::Optional(Some(inner)) => return find(pattern, matching, inner, rest),
        _ => return Err(no_overload()),
    };
    match matching {
        Matching::Matches => Ok(Value::Bool(pattern.is_match(text))),
        Matching::Find => Ok(regex::find(pattern, text)),
        Matching::FindAll => {
            let limit = match rest {
                [_] => -1,
                [_, limit] => match unwrapped(limit) {
                    Value::Int(limit) => limit,
                    _ => return Err(no_overload()),
                },
                _ => return Err(no_overload()),
            };
            Ok(regex::find_all(pattern, text, limit))
        }
    }
}

fn no_such(function: &str, args: &[Value<'_>]) -> Error {
    let types: Vec<&str> = args.iter().map(Value::type_name).collect();
    fail(format!("no such overload: {function}({})", types.join(", ")))
}

/// cel-go's look at a value before a body that expects a type: lists by their first element only.
pub(crate) fn assignable(ty: &Type, value: &Value<'_>) -> bool {
    match ty {
        Type::Dyn | Type::Any | Type::Param(_) | Type::Var(_) => true,
        Type::List(element) => match value {
            Value::List(list) => list.get(0).is_none_or(|first| assignable(element, &first)),
            _ => false,
        },
        Type::Map(ab) => match value {
            Value::Map(map) => map
                .entries()
                .first()
                .is_none_or(|(k, v)| assignable(&ab.0, k) && assignable(&ab.1, v)),
            _ => false,
        },
        Type::Error
        | Type::Null
        | Type::Bool
        | Type::Int
        | Type::Uint
        | Type::Double
        | Type::String
        | Type::Bytes
        | Type::Duration
        | Type::Timestamp
        | Type::Wrapper(_)
        | Type::Type(_)
        | Type::Optional(_)
        | Type::Opaque(_)
        | Type::Struct(_) => ty.runtime_name() == value.type_name(),
    }
}
