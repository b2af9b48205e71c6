//! What Go's own functions do, those that take values as reflection sees them.

use super::{
    compare,
    escape::{html, js, url_query},
    exec::Held,
    go::printf::{sprint, sprintf, sprintln},
    value::Value,
};

/// Why a function gave nothing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Go says so.
    Message(String),
    /// The text that it would make is too long.
    TooLong,
}

impl From<&str> for Failure {
    fn from(message: &str) -> Self {
        Self::Message(message.to_owned())
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::Message(message)
    }
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// Calls one of Go's own, but for those that do not evaluate all of their arguments or need their source.
pub(crate) fn call(name: &str, arguments: &[Held], most: usize) -> Result<Held> {
    let text =
        |made: Option<Vec<u8>>| made.ok_or(Failure::TooLong).map(|text| Held::bare(text.into()));
    let values = || arguments.iter().map(|argument| argument.value.clone()).collect::<Vec<_>>();
    let truth = |truth: bool| Held::bare(Value::Bool(truth));
    match (name, arguments) {
        ("not", [one]) => Ok(truth(!one.value.is_true())),
        ("len", [of]) => length(of),
        ("index", [of, indexes @ ..]) => index(of, indexes),
        ("slice", [of, indexes @ ..]) => slice(of, indexes),
        ("eq", [one, others @ ..]) => compare::equal(&one.value, others, most).map(truth),
        ("ne", [one, other]) => {
            compare::equal(&one.value, std::slice::from_ref(other), most).map(|equal| truth(!equal))
        }
        ("lt", [one, other]) => compare::less(&one.value, &other.value).map(truth),
        ("ge", [one, other]) => compare::less(&one.value, &other.value).map(|less| truth(!less)),
        ("le", [one, other]) => compare::less_or_equal(&one.value, other, most).map(truth),
        ("gt", [one, other]) => {
            compare::less_or_equal(&one.value, other, most).map(|less| truth(!less))
        }
        ("print", _) => text(sprint(&values(), most)),
        ("println", _) => text(sprintln(&values(), most)),
        ("printf", [Held { value: Value::Text(format), .. }, ..]) => {
            text(sprintf(format, &values()[1..], most))
        }
        ("html", _) => text(joined(arguments, most).map(|text| html(&text))),
        ("js", _) => text(joined(arguments, most).map(|text| js(&text))),
        ("urlquery", _) => text(joined(arguments, most).map(|text| url_query(&text))),
        _ => Err(format!("{name} is not a function of Go").into()),
    }
}

/// The text of the arguments of an escaper, to which nothing is `<no value>`.
fn joined(arguments: &[Held], most: usize) -> Option<Vec<u8>> {
    let shown = |argument: &Held| match &argument.value {
        Value::Nil => "<no value>".into(),
        value => value.clone(),
    };
    sprint(&arguments.iter().map(shown).collect::<Vec<_>>(), most)
}

fn length(of: &Held) -> Result<Held> {
    let length = match &of.value {
        Value::Text(text) => text.len(),
        Value::List(list) => list.as_slice().len(),
        Value::Map(map) => map.len(),
        Value::Nil if of.boxed => return Err("len of nil pointer".into()),
        // Go's own slip: it asks nothing for its type.
        Value::Nil => return Err("reflect: call of reflect.Value.Type on zero Value".into()),
        Value::Bool(_) | Value::Int(_) | Value::Byte(_) | Value::Float(_) | Value::Complex(..) => {
            return Err(format!("len of type {}", of.value.type_name()).into());
        }
    };
    Ok(Held::bare(Value::Int(i64::try_from(length).unwrap_or(i64::MAX))))
}

fn index(of: &Held, indexes: &[Held]) -> Result<Held> {
    if matches!(of.value, Value::Nil) {
        return Err("index of untyped nil".into());
    }
    let mut item = Held::bare(of.value.clone());
    for index in indexes {
        item = match &item.value {
            Value::Nil => return Err("index of nil pointer".into()),
            Value::List(list) => {
                let at = position(&Held::bare(index.value.clone()), list.as_slice().len())?;
                let found = list.as_slice().get(at);
                Held::boxed(found.ok_or("reflect: slice index out of range")?.clone())
            }
            Value::Text(text) => {
                let at = position(&Held::bare(index.value.clone()), text.len())?;
                let found = text.get(at).ok_or("reflect: string index out of range")?;
                Held::bare(Value::Byte(*found))
            }
            Value::Map(map) => match &index.value {
                Value::Text(key) => {
                    let found = std::str::from_utf8(key).ok().and_then(|key| map.get(key));
                    Held::boxed(found.cloned().unwrap_or(Value::Nil))
                }
                Value::Nil => return Err("value is nil; should be of type string".into()),
                other => {
                    let message = format!("value has type {}; should be string", other.type_name());
                    return Err(message.into());
                }
            },
            Value::Bool(_)
            | Value::Int(_)
            | Value::Byte(_)
            | Value::Float(_)
            | Value::Complex(..) => {
                return Err(format!("can't index item of type {}", item.value.type_name()).into());
            }
        };
    }
    Ok(item)
}

fn slice(of: &Held, indexes: &[Held]) -> Result<Held> {
    let (length, capacity) = match &of.value {
        Value::Nil => return Err("slice of untyped nil".into()),
        _ if indexes.len() > 3 => {
            return Err(format!("too many slice indexes: {}", indexes.len()).into());
        }
        Value::Text(_) if indexes.len() == 3 => {
            return Err("cannot 3-index slice a string".into());
        }
        Value::Text(text) => (text.len(), text.len()),
        Value::List(list) => (list.as_slice().len(), list.capacity()),
        other => return Err(format!("can't slice item of type {}", other.type_name()).into()),
    };
    let mut bounds = [0, length, capacity];
    for (bound, index) in bounds.iter_mut().zip(indexes) {
        *bound = position(index, capacity)?;
    }
    let [from, to, end] = bounds;
    if from > to {
        return Err(format!("invalid slice index: {from} > {to}").into());
    }
    if to > end {
        return Err(format!("invalid slice index: {to} > {end}").into());
    }
    Ok(Held::bare(match &of.value {
        Value::Text(text) => Value::Text(text.get(from..to).unwrap_or_default().into()),
        Value::List(list) => Value::List(list.part(from, to, end)),
        other => other.clone(),
    }))
}

/// An index that is no larger than `most`. One inside an interface is none to `slice`.
fn position(index: &Held, most: usize) -> Result<usize> {
    let at = match &index.value {
        _ if index.boxed => None,
        Value::Int(at) => Some(*at),
        Value::Byte(at) => Some(i64::from(*at)),
        Value::Nil => return Err("cannot index slice/array with nil".into()),
        _ => None,
    };
    let Some(at) = at else {
        return Err(format!("cannot index slice/array with type {}", index.type_name()).into());
    };
    usize::try_from(at)
        .ok()
        .filter(|at| *at <= most)
        .ok_or_else(|| format!("index out of range: {at}").into())
}
