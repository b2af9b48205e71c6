//! The requests of the cases on the wire.

use super::{
    case::Ask,
    wire::{Message, Reply, Wire},
};
use anyhow::Result;
use http::Method;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// What stands in the recordings for the end of a name that the API server made up.
const MADE_UP: &str = "xxxxx";

/// Sends a request of a case, whatever comes of it.
pub(super) async fn perform(wire: &Wire, ask: &Ask, audit_id: Option<&str>) -> Result<Reply> {
    let mut uri = match (ask.operation, ask.subresource.as_str()) {
        ("CREATE", "") if ask.patch.is_none() => path(ask, ""),
        (_, "") => path(ask, &ask.name),
        (_, subresource) => format!("{}/{subresource}", path(ask, &ask.name)),
    };
    let mut query = Vec::new();
    if ask.dry_run {
        query.push("dryRun=All");
    }
    if matches!(ask.operation, "CREATE" | "UPDATE") {
        query.push("fieldManager=judge");
    }
    if !ask.query.is_empty() {
        query.push(&ask.query);
    }
    if !query.is_empty() {
        uri = format!("{uri}?{}", query.join("&"));
    }
    let (method, body) = match (ask.operation, &ask.patch) {
        (_, Some(_)) => (Method::PATCH, ask.object.clone()),
        ("CREATE", None) => (Method::POST, ask.object.clone()),
        ("UPDATE", None) => (Method::PUT, Some(as_read_before(wire, ask).await?)),
        ("DELETE", None) => (Method::DELETE, None),
        _ => (Method::POST, None),
    };
    let patch = ask.patch.as_deref();
    let message = Message { method: &method, uri: &uri, body: body.as_ref(), patch, audit_id };
    wire.send(&ask.user, message).await
}

/// With what the API server keeps in an object, as it is sent by everyone who read it before.
async fn as_read_before(wire: &Wire, ask: &Ask) -> Result<Value> {
    let found = wire.must(Message::get(&path(ask, &ask.name))).await?;
    let mut object = ask.object.clone().unwrap_or_default();
    for field in ["creationTimestamp", "resourceVersion", "uid"] {
        object["metadata"][field] = found["metadata"][field].clone();
    }
    Ok(object)
}

/// The same with a name that the API server made up made equal for every run.
pub(super) fn named<T: Serialize + DeserializeOwned>(ask: &Ask, value: &T) -> Result<T> {
    let mut text = serde_json::to_string(value)?;
    let prefix = ask.object.as_ref().and_then(|object| object["metadata"]["generateName"].as_str());
    if let (Some(prefix), true) = (prefix, ask.name.is_empty()) {
        let mut made_equal = String::new();
        let mut parts = text.split(prefix);
        made_equal.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let suffix = part
                .get(..MADE_UP.len())
                .filter(|suffix| suffix.bytes().all(|b| b.is_ascii_alphanumeric()));
            made_equal.push_str(prefix);
            made_equal.push_str(if suffix.is_some() { MADE_UP } else { "" });
            made_equal.push_str(suffix.map_or(part, |suffix| &part[suffix.len()..]));
        }
        text = made_equal;
    }
    Ok(serde_json::from_str(&text)?)
}

/// The path of an object, or of its collection if it has no name.
pub(super) fn path(ask: &Ask, name: &str) -> String {
    let collection = ask.kind.collection(&ask.version, &ask.namespace);
    if name.is_empty() { collection } else { format!("{collection}/{name}") }
}

/// The options of the API call, as policies see them.
pub(super) fn options(ask: &Ask) -> Option<Value> {
    let kind = match ask.operation {
        "CREATE" => "CreateOptions",
        "UPDATE" => "UpdateOptions",
        "DELETE" => "DeleteOptions",
        _ => return None,
    };
    let mut options = json!({ "apiVersion": "meta.k8s.io/v1", "kind": kind });
    if ask.dry_run {
        options["dryRun"] = json!(["All"]);
    }
    if ask.operation != "DELETE" {
        options["fieldManager"] = "judge".into();
    }
    let query = ask.query.split('&').filter_map(|option| option.split_once('='));
    // To force is known to patches only, and they show the options of an update.
    for (name, value) in query.filter(|(name, _)| *name != "force") {
        options[name] = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    }
    Some(options)
}
