//! The defaults of a CRD's schema, filled in as the API server fills them in.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::json::{Json, Tree};

/// Fills in what the schema has a default for and the value lacks.
pub(crate) fn fill(value: &mut Tree<'_>, schema: &Value) {
    match value {
        Tree::Object(entries) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            for (name, property) in properties.into_iter().flatten() {
                let Some(default) = default_of(property) else { continue };
                if entries.get(name).is_none_or(|value| is_stray_null(value, property)) {
                    entries.insert(Cow::Owned(name.clone()), Tree::owned(default.clone()));
                }
            }
            let additional = schema.get("additionalProperties").filter(|it| it.is_object());
            for (name, value) in entries.iter_mut() {
                if let Some(property) = properties.and_then(|properties| properties.get(name)) {
                    fill(value, property);
                } else if let Some(additional) = additional {
                    refill(value, additional);
                    fill(value, additional);
                }
            }
        }
        Tree::List(items) => {
            let Some(schema) = schema.get("items") else { return };
            for item in items {
                refill(item, schema);
                fill(item, schema);
            }
        }
        Tree::Null | Tree::Bool(_) | Tree::Number(_) | Tree::Text(_) => {}
    }
}

/// Whether there is anything to fill in; most objects have been through it already.
pub(crate) fn lacks(value: Json<'_>, schema: &Value) -> bool {
    let is_stray_null = |value: Json<'_>, schema: &Value| value.is_null() && !is_nullable(schema);
    if let Some(items) = value.items() {
        return schema.get("items").is_some_and(|schema| {
            items.iter().any(|item| is_stray_null(item, schema) || lacks(item, schema))
        });
    }
    let Some(entries) = value.fields() else { return false };
    let properties = schema.get("properties").and_then(Value::as_object);
    let is_missing = |(name, property): (&String, &Value)| {
        default_of(property).is_some()
            && entries.get(name).is_none_or(|value| is_stray_null(value, property))
    };
    if properties.into_iter().flatten().any(is_missing) {
        return true;
    }
    let additional = schema.get("additionalProperties").filter(|it| it.is_object());
    if additional.is_none() && properties.is_none() {
        return false;
    }
    entries.iter().any(|(name, value)| {
        match properties.and_then(|properties| properties.get(name)) {
            Some(property) => lacks(value, property),
            None => additional.is_some_and(|it| is_stray_null(value, it) || lacks(value, it)),
        }
    })
}

/// The part of a schema that defaults come from: a kind has hundreds of fields, and few of them have one.
pub(crate) fn of(schema: &Value) -> Value {
    part_of(schema).unwrap_or_else(|| Value::Object(Map::new()))
}

fn part_of(schema: &Value) -> Option<Value> {
    let mut part = Map::new();
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let children = properties.iter();
        let children: Map<_, _> =
            children.filter_map(|(name, it)| Some((name.clone(), part_of(it)?))).collect();
        if !children.is_empty() {
            part.insert("properties".to_owned(), Value::Object(children));
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(child) = schema.get(key).and_then(part_of) {
            part.insert(key.to_owned(), child);
        }
    }
    if let Some(default) = default_of(schema) {
        part.insert("default".to_owned(), default.clone());
    }
    if part.is_empty() {
        return None;
    }
    if let Some(nullable) = schema.get("nullable") {
        part.insert("nullable".to_owned(), nullable.clone());
    }
    Some(Value::Object(part))
}

fn default_of(schema: &Value) -> Option<&Value> {
    schema.get("default").filter(|default| !default.is_null())
}

fn is_nullable(schema: &Value) -> bool {
    schema.get("nullable") == Some(&Value::Bool(true))
}

fn is_stray_null(value: &Tree<'_>, schema: &Value) -> bool {
    *value == Tree::Null && !is_nullable(schema)
}

fn refill(value: &mut Tree<'_>, schema: &Value) {
    if is_stray_null(value, schema) {
        *value = default_of(schema).map_or(Tree::Null, |default| Tree::owned(default.clone()));
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::absent(json!({}), json!({"mode": "metadata"}))]
    #[case::present(json!({"mode": "disabled"}), json!({"mode": "disabled"}))]
    #[case::null(json!({"mode": null}), json!({"mode": "metadata"}))]
    #[case::nullable(json!({"free": null}), json!({"free": null, "mode": "metadata"}))]
    #[case::nested(json!({"list": [{}]}), json!({"list": [{"on": true}], "mode": "metadata"}))]
    #[case::no_parent_no_default(json!({"sub": null}), json!({"sub": null, "mode": "metadata"}))]
    #[case::additional(json!({"map": {"x": {}}}), json!({"map": {"x": {"on": true}}, "mode": "metadata"}))]
    fn defaults_are_filled_in(#[case] mut value: Value, #[case] want: Value) {
        let item =
            json!({"type": "object", "properties": {"on": {"type": "boolean", "default": true}}});
        let schema = json!({"type": "object", "properties": {
            "mode": {"type": "string", "default": "metadata"},
            "free": {"type": "string", "nullable": true, "default": "x"},
            "sub": item,
            "list": {"type": "array", "items": item},
            "map": {"type": "object", "additionalProperties": item}}});
        if want.get("free").is_none() {
            value["free"] = json!("x");
        }
        let mut want = want;
        if want.get("free").is_none() {
            want["free"] = json!("x");
        }
        let mut filled = Tree::owned(value.clone());
        let (mut by_part, wanted) = (filled.clone(), Tree::owned(want.clone()));
        assert_eq!(lacks(Json::Value(&value), &schema), value != want);
        fill(&mut filled, &schema);
        assert!(!lacks(Json::from(&filled), &schema));
        assert_eq!(filled, wanted);
        fill(&mut by_part, &of(&schema));
        assert_eq!(by_part, wanted);
    }
}
