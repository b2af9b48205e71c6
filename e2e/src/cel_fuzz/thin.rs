//! Objects with fewer entries, to see whether an answer depends on their order.

use serde_json::Value as Json;

/// So many entries that the expression does not name stay in each map: all orders of them come up in a few questions.
const LEFT: usize = 2;

/// The bindings with few entries in each map, and those whose names are in the expression.
#[must_use]
pub fn thin(json: &Json, expression: &str) -> Json {
    match json {
        Json::Object(map) => {
            let named = |key: &str| !key.is_empty() && expression.contains(key);
            let (mut stay, others): (Vec<_>, Vec<_>) = map.iter().partition(|(key, _)| named(key));
            stay.extend(others.into_iter().take(LEFT));
            let thinned =
                stay.into_iter().map(|(key, value)| (key.clone(), thin(value, expression)));
            Json::Object(thinned.collect())
        }
        Json::Array(items) => items.iter().map(|item| thin(item, expression)).collect(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => json.clone(),
    }
}
