//! Values as Go prints them, for texts that carry them.

use serde_json::Value;

use super::foreign::{BYTES, as_foreign, bytes};
use crate::policy::problem::quoted;

/// `%T`.
pub(super) fn go_type(value: &Value) -> &str {
    if let Some((go_type, _)) = as_foreign(value) {
        return go_type;
    }
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// `%v`.
pub(super) fn go_value(value: &Value) -> String {
    if let Some((_, shown)) = as_foreign(value) {
        return shown.to_owned();
    }
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => value.to_string(),
        Value::String(value) => value.clone(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(go_value).collect::<Vec<_>>().join(" "))
        }
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{key}:{}", go_value(value)));
            format!("map[{}]", entries.collect::<Vec<_>>().join(" "))
        }
    }
}

/// `%#v`.
pub(super) fn go_quoted(value: &Value) -> String {
    match as_foreign(value) {
        // An enumeration's number.
        Some(("structpb.NullValue", _)) => return "0".to_owned(),
        Some((BYTES, shown)) => {
            let bytes: Vec<_> = bytes(shown).iter().map(|byte| format!("{byte:#x}")).collect();
            return format!("[]byte{{{}}}", bytes.join(", "));
        }
        Some((_, shown)) => return shown.to_owned(),
        None => {}
    }
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => value.to_string(),
        Value::String(value) => quoted(value),
        Value::Array(items) => {
            let items = items.iter().map(go_quoted).collect::<Vec<_>>().join(", ");
            format!("[]interface {{}}{{{items}}}")
        }
        Value::Object(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| format!("{}:{}", quoted(key), go_quoted(value)))
                .collect::<Vec<_>>();
            format!("map[string]interface {{}}{{{}}}", entries.join(", "))
        }
    }
}
