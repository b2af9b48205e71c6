//! What tells the items of a set or of a list-map apart.

#![allow(clippy::wildcard_enum_match_arm, reason = "only some forms of JSON can be keys")]

use std::fmt;

use serde_json::Value;

use super::schema::{ListRelation, ListType, Schemas};
use crate::policy::problem::quoted;

/// The key of an item of a list.
#[derive(Debug, Clone)]
pub(super) enum Key {
    /// The values of its key fields, sorted by name.
    Fields(Vec<(String, Value)>),
    /// The item itself.
    Item(Value),
}

impl Key {
    pub(super) fn of(schemas: &Schemas, list: &ListType, item: &Value) -> Result<Self, String> {
        match &list.relation {
            ListRelation::Atomic => Err("invalid indexing of non-associative list".to_owned()),
            ListRelation::Keyed(names) if !names.is_empty() => fields(schemas, list, names, item),
            ListRelation::Keyed(_) | ListRelation::Set => match item {
                Value::Object(_) => {
                    Err("associative list without keys has an element that's a map type".to_owned())
                }
                Value::Array(_) => {
                    Err("not supported: associative list with lists as elements".to_owned())
                }
                Value::Null => {
                    Err("associative list without keys has an element that's an explicit null"
                        .to_owned())
                }
                scalar => Ok(Self::Item(scalar.clone())),
            },
        }
    }
}

fn fields(
    schemas: &Schemas,
    list: &ListType,
    names: &[String],
    item: &Value,
) -> Result<Key, String> {
    let entries = match item {
        Value::Null => {
            return Err("associative list with keys may not have a null element".to_owned());
        }
        Value::Object(entries) => entries,
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let element = schemas.resolve(&list.element);
    let default = |name: &str| {
        let map = element.as_ref()?.map.as_ref()?;
        map.fields.get(name)?.default.clone()
    };
    let mut key: Vec<_> = names
        .iter()
        .filter_map(|name| {
            let value = entries.get(name).cloned().or_else(|| default(name))?;
            Some((name.clone(), value))
        })
        .collect();
    if key.is_empty() {
        let names = names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(" ");
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{names}] (and \
             doesn't have default values for any key fields)"
        ));
    }
    key.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(Key::Fields(key))
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Fields(one), Self::Fields(other)) => {
                one.len() == other.len()
                    && one.iter().zip(other).all(|((name, value), (other_name, other_value))| {
                        name == other_name && same(value, other_value)
                    })
            }
            (Self::Item(one), Self::Item(other)) => same(one, other),
            (Self::Fields(_), Self::Item(_)) | (Self::Item(_), Self::Fields(_)) => false,
        }
    }
}

/// Numbers are the same if they are as many, written as integers or not.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) if one.is_f64() || other.is_f64() => {
            one.as_f64() == other.as_f64()
        }
        _ => one == other,
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Item(value) => write!(formatter, "[={}]", shown(value)),
            Self::Fields(fields) => {
                let fields: Vec<_> =
                    fields.iter().map(|(name, value)| format!("{name}={}", shown(value))).collect();
                write!(formatter, "[{}]", fields.join(","))
            }
        }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(","))
        }
        Value::Object(entries) => {
            let entries: Vec<_> =
                entries.iter().map(|(key, value)| format!("{key}={}", shown(value))).collect();
            entries.concat()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}
