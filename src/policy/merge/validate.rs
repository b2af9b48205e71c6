//! Whether an object follows its schema, as far as a merge cares, and which atomic values it has.

#![allow(clippy::wildcard_enum_match_arm, reason = "a value either has the form or not")]

use serde_json::Value;

use super::{
    foreign::as_foreign,
    key::Key,
    print::{go_quoted, go_type, go_value},
    schema::{Atom, ListRelation, ListType, MapType, Scalar, Schemas, TypeRef},
};

/// A fault and the path to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub path: String,
    pub message: String,
}

impl Fault {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { path: String::new(), message: message.into() }
    }

    pub(super) fn under(mut self, prefix: &str) -> Self {
        self.path.insert_str(0, prefix);
        self
    }
}

/// One fault is printed as it is, many as a list.
pub(super) fn printed(faults: &[Fault]) -> String {
    let line = |fault: &Fault| match fault.path.as_str() {
        "" => fault.message.clone(),
        path => format!("{path}: {}", fault.message),
    };
    match faults {
        [only] => line(only),
        many => many
            .iter()
            .fold("errors:".to_owned(), |text, fault| format!("{text}\n  {}", line(fault))),
    }
}

pub(super) struct Validator<'a> {
    pub schemas: &'a Schemas,
    pub allows_duplicates: bool,
}

impl Validator<'_> {
    pub(super) fn validate(&self, of: &TypeRef, value: &Value) -> Vec<Fault> {
        let Some(atom) = self.schemas.resolve(of) else {
            return vec![Fault::new("schema error: no type found matching: inlined type")];
        };
        match narrowed(&atom, Some(value)) {
            Some(Form::Map(map)) => self.map(map, value),
            Some(Form::Scalar(scalar)) => scalar_fault(scalar, value, "").into_iter().collect(),
            Some(Form::List(list)) => self.list(list, value),
            None => vec![Fault::new("schema error: invalid atom: inlined")],
        }
    }

    fn map(&self, of: &MapType, value: &Value) -> Vec<Fault> {
        let entries = match value {
            Value::Null => return Vec::new(),
            Value::Object(entries) => entries,
            other => {
                return vec![Fault::new(format!("expected map, got &{{{}}}", go_value(other)))];
            }
        };
        let mut faults = Vec::new();
        for (key, value) in entries {
            let prefix = format!(".{key}");
            let field = of.fields.get(key).map(|field| &field.of);
            let Some(element) = field.or(of.element.as_ref()) else {
                faults.push(Fault::new("field not declared in schema").under(&prefix));
                break;
            };
            let found = self.validate(element, value);
            faults.extend(found.into_iter().map(|fault| fault.under(&prefix)));
        }
        faults
    }

    fn list(&self, of: &ListType, value: &Value) -> Vec<Fault> {
        let items = match value {
            Value::Null => return Vec::new(),
            Value::Array(items) => items,
            other => {
                return vec![Fault::new(format!("expected list, got &{{{}}}", go_value(other)))];
            }
        };
        let mut faults = Vec::new();
        let mut seen = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let prefix = if of.relation == ListRelation::Atomic {
                format!("[{index}]")
            } else {
                let key = match Key::of(self.schemas, of, item) {
                    Ok(key) => key,
                    Err(message) => {
                        faults.push(Fault::new(format!("element {index}: {message}")));
                        return faults;
                    }
                };
                if seen.contains(&key) && !self.allows_duplicates {
                    faults.push(Fault::new(format!("duplicate entries for key {key}")));
                }
                let prefix = key.to_string();
                seen.push(key);
                prefix
            };
            let found = self.validate(&of.element, item);
            faults.extend(found.into_iter().map(|fault| fault.under(&prefix)));
        }
        faults
    }
}

/// The form that a value has, or the first one that its type allows if it fits none.
pub(super) enum Form<'a> {
    Map(&'a MapType),
    Scalar(Scalar),
    List(&'a ListType),
}

pub(super) fn narrowed<'a>(atom: &'a Atom, value: Option<&Value>) -> Option<Form<'a>> {
    let fitting = match value.filter(|value| as_foreign(value).is_none()) {
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => atom.scalar.map(Form::Scalar),
        Some(Value::Array(_)) => atom.list.as_ref().map(Form::List),
        Some(Value::Object(_)) => atom.map.as_ref().map(Form::Map),
        Some(Value::Null) | None => None,
    };
    fitting
        .or_else(|| atom.map.as_ref().map(Form::Map))
        .or_else(|| atom.scalar.map(Form::Scalar))
        .or_else(|| atom.list.as_ref().map(Form::List))
}

pub(super) fn scalar_fault(of: Scalar, value: &Value, prefix: &str) -> Option<Fault> {
    let fits = match of {
        Scalar::Numeric => value.is_number(),
        Scalar::Text => value.is_string(),
        Scalar::Boolean => value.is_boolean(),
        Scalar::Untyped => !value.is_array() && !value.is_object(),
    };
    if value.is_null() || (fits && as_foreign(value).is_none()) {
        return None;
    }
    Some(Fault::new(match of {
        Scalar::Numeric => {
            format!("{prefix}expected numeric (int or float), got {}", go_type(value))
        }
        Scalar::Text => format!(
            "{prefix}expected string, got &value.valueUnstructured{{Value:{}}}",
            go_quoted(value)
        ),
        Scalar::Boolean => format!("{prefix}expected boolean, got &{{{}}}", go_value(value)),
        Scalar::Untyped => format!("{prefix}expected any scalar, got &{{{}}}", go_value(value)),
    }))
}

/// The paths of the atomic lists, maps and structs that a value has.
pub(super) fn atomics(schemas: &Schemas, of: &TypeRef, value: &Value, path: &str) -> Vec<String> {
    let Some(atom) = schemas.resolve(of) else { return Vec::new() };
    let mut found = Vec::new();
    if let (Value::Object(entries), Some(map)) = (value, &atom.map) {
        if map.atomic {
            found.push(path.to_owned());
        }
        for (key, value) in entries {
            if let Some(field) = map.fields.get(key) {
                found.extend(atomics(schemas, &field.of, value, &format!("{path}.{key}")));
            }
        }
    }
    if let (Value::Array(items), Some(list)) = (value, &atom.list) {
        if list.relation == ListRelation::Atomic {
            found.push(path.to_owned());
        }
        for (index, item) in items.iter().enumerate() {
            found.extend(atomics(schemas, &list.element, item, &format!("{path}[{index}]")));
        }
    }
    found
}
