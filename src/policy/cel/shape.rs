//! `request` and `namespaceObject` in the shape in which the API server binds them.
//!
//! Their types are declared, but at run time they are maps, with the keys that Go's encoding keeps.

use serde_json::{Map, Value as Json, json};

/// The variable `request`, from the `request` of an AdmissionReview.
#[must_use]
pub fn request(review: &Json) -> Json {
    let text = |key: &str| review.get(key).and_then(Json::as_str).unwrap_or_default();
    let mut out = Map::new();
    out.insert("uid".to_owned(), json!(""));
    out.insert("kind".to_owned(), names(review.get("kind"), "kind"));
    out.insert("resource".to_owned(), names(review.get("resource"), "resource"));
    let or =
        |key: &str, other: &str| review.get(key).filter(|v| !v.is_null()).or(review.get(other));
    out.insert("requestKind".to_owned(), names(or("requestKind", "kind"), "kind"));
    out.insert("requestResource".to_owned(), names(or("requestResource", "resource"), "resource"));
    for (key, value) in [
        ("subResource", text("subResource")),
        ("requestSubResource", text("subResource")),
        ("name", text("name")),
        ("namespace", text("namespace")),
    ] {
        if !value.is_empty() {
            out.insert(key.to_owned(), json!(value));
        }
    }
    out.insert("operation".to_owned(), json!(text("operation")));
    out.insert("userInfo".to_owned(), user(review.get("userInfo")));
    out.insert("object".to_owned(), Json::Null);
    out.insert("oldObject".to_owned(), Json::Null);
    let dry = review.get("dryRun").and_then(Json::as_bool).unwrap_or_default();
    out.insert("dryRun".to_owned(), json!(dry));
    out.insert("options".to_owned(), review.get("options").cloned().unwrap_or_default());
    Json::Object(out)
}

/// `group`, `version` and `kind` or `resource`, all present.
fn names(given: Option<&Json>, last: &str) -> Json {
    let text =
        |key: &str| given.and_then(|g| g.get(key)).and_then(Json::as_str).unwrap_or_default();
    json!({"group": text("group"), "version": text("version"), last: text(last)})
}

fn user(given: Option<&Json>) -> Json {
    let mut out = Map::new();
    for key in ["username", "uid", "groups", "extra"] {
        let value = given.and_then(|g| g.get(key));
        let empty = match value {
            None | Some(Json::Null) => true,
            Some(Json::String(text)) => text.is_empty(),
            Some(Json::Array(items)) => items.is_empty(),
            Some(Json::Object(map)) => map.is_empty(),
            Some(Json::Bool(_) | Json::Number(_)) => false,
        };
        if let Some(value) = value
            && !empty
        {
            out.insert(key.to_owned(), value.clone());
        }
    }
    Json::Object(out)
}

/// The variable `namespaceObject` of validations and message expressions: the listed fields only.
/// Audit annotations and mutations see the namespace as it is stored.
#[must_use]
pub fn namespace(stored: &Json) -> Json {
    const KEPT: [&str; 12] = [
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "finalizers",
    ];
    let mut metadata = Map::new();
    for key in KEPT {
        if let Some(value) = stored.pointer(&format!("/metadata/{key}")) {
            metadata.insert(key.to_owned(), value.clone());
        }
    }
    let part = |key: &str| stored.get(key).cloned().unwrap_or_else(|| json!({}));
    json!({"metadata": metadata, "spec": part("spec"), "status": part("status")})
}

/// The name of a variable as Kubernetes reads it in a field: `__dash__` is a dash, and what looks like
/// such a name and is none is no name at all.
pub(crate) fn unescape(field: &str) -> Option<std::borrow::Cow<'_, str>> {
    const RESERVED: [&str; 21] = [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "false",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "namespace",
        "null",
        "package",
        "return",
        "true",
        "var",
        "void",
        "while",
    ];
    if !field.contains("__") {
        return Some(field.into());
    }
    let mut out = String::new();
    let mut rest = field;
    while let Some(open) = rest.find("__") {
        let inside = &rest[open + 2..];
        let length = inside.find('_').unwrap_or(inside.len());
        if length == 0 || !inside[length..].starts_with("__") {
            out.push_str(&rest[..=open]);
            rest = &rest[open + 1..];
            continue;
        }
        out.push_str(&rest[..open]);
        match &inside[..length] {
            "underscores" => out.push_str("__"),
            "dot" => out.push('.'),
            "dash" => out.push('-'),
            "slash" => out.push('/'),
            word if RESERVED.contains(&word) && field.len() == length + 4 => out.push_str(word),
            _ => return None,
        }
        rest = &inside[length + 2..];
    }
    out.push_str(rest);
    Some(out.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unescaped_as_kubernetes_does() {
        assert_eq!(unescape("a__dash__b").as_deref(), Some("a-b"));
        assert_eq!(unescape("__if__").as_deref(), Some("if"));
        assert_eq!(unescape("a__b").as_deref(), Some("a__b"));
        assert_eq!(unescape("__x__"), None);
    }
}
