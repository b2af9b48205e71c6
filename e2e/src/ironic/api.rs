//! Ironic's API, as a test sees it: independent of the client that is tested.

use super::http::{Answer, Http, Method};
use crate::eventually::eventually;
use anyhow::{Context, Error, Result, bail};
use serde_json::{Value, json};
use std::time::Duration;

/// The version that requests ask for: the oldest that Ironward works with.
pub const API_VERSION: &str = "1.89";

const PATIENCE: Duration = Duration::from_mins(2);

/// A client of Ironic's API.
#[derive(Debug, Clone)]
pub struct Api {
    http: Http,
}

impl Api {
    /// A client of the Ironic that `http` leads to.
    #[must_use]
    pub fn new(http: &Http) -> Self {
        Self { http: http.clone() }.at_version(API_VERSION)
    }

    /// The same client, asking for another version of the API.
    #[must_use]
    pub fn at_version(&self, version: &str) -> Self {
        Self { http: self.http.with_header("X-OpenStack-Ironic-API-Version", version) }
    }

    /// Sends a request; any answer is a good one.
    pub fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer> {
        self.http.call(method, path, body)
    }

    /// Sends a request that must succeed; again while the node is locked or Ironic is busy.
    pub fn ask(&self, method: &Method, path: &str, body: Option<&Value>) -> Result<Value> {
        let accepted = || {
            let answer = match self.call(method.clone(), path, body) {
                Ok(answer) => answer,
                Err(error) => return Ok(Err(error)),
            };
            let said = words(&answer.body);
            let busy = match answer.status {
                200..300 => return Ok(Ok(answer.body)),
                503 => true,
                409 => said.contains("locked") || said.contains("in progress"),
                _ => false,
            };
            let refusal = format!("{method} {path} got {}: {said}", answer.status);
            if busy { Err(refusal) } else { Ok(Err(Error::msg(refusal))) }
        };
        eventually(PATIENCE, &format!("{method} {path} is accepted"), accepted)?
    }

    /// What is at a path.
    pub fn get(&self, path: &str) -> Result<Value> {
        self.ask(&Method::GET, path, None)
    }

    /// Enrols a node.
    pub fn create_node(&self, node: &Value) -> Result<Value> {
        self.ask(&Method::POST, "/v1/nodes", Some(node))
    }

    /// Deletes a node.
    pub fn delete_node(&self, node: &str) -> Result<()> {
        self.ask(&Method::DELETE, &format!("/v1/nodes/{node}"), None).map(drop)
    }

    /// A node, by name or UUID.
    pub fn node(&self, node: &str) -> Result<Value> {
        self.get(&format!("/v1/nodes/{node}"))
    }

    /// Sets a field of a node: `set(node, "/automated_clean", json!(false))`.
    pub fn set(&self, node: &str, field: &str, value: &Value) -> Result<Value> {
        let patch = json!([{"op": "add", "path": field, "value": value}]);
        self.ask(&Method::PATCH, &format!("/v1/nodes/{node}"), Some(&patch))
    }

    /// Sends a node on its way: `manage`, `inspect`, `provide`, `active`, `deleted`, …
    pub fn provision(&self, node: &str, target: &str) -> Result<()> {
        self.provision_with(node, &json!({"target": target}))
    }

    /// The same, with what goes with it: a config drive, clean steps.
    pub fn provision_with(&self, node: &str, request: &Value) -> Result<()> {
        let path = format!("/v1/nodes/{node}/states/provision");
        self.ask(&Method::PUT, &path, Some(request)).map(drop)
    }

    /// Waits until a node has reached a provision state. One that fails will not get there.
    pub fn wait_for(&self, node: &str, state: &str) -> Result<Value> {
        let reached = || {
            let found = self.node(node).map_err(|error| format!("{error:#}"))?;
            let now = found["provision_state"].as_str().unwrap_or_default();
            match now {
                now if now == state => Ok(Ok(found)),
                "error" => Ok(Err(found)),
                now if now.ends_with("failed") => Ok(Err(found)),
                now => Err(format!("it is {now}, last error: {}", found["last_error"])),
            }
        };
        let settled = eventually(PATIENCE, &format!("node {node} is {state}"), reached)?;
        settled.or_else(|found| {
            bail!(
                "node {node} did not become {state} but {}, last error: {}, history: {:#?}",
                found["provision_state"],
                found["last_error"],
                self.history(node).unwrap_or_default()
            )
        })
    }

    /// What happened to a node, oldest first. Ironic cuts long entries off.
    pub fn history(&self, node: &str) -> Result<Vec<String>> {
        let history = self.get(&format!("/v1/nodes/{node}/history"))?;
        let events = history["history"].as_array().context("a history without a list")?;
        Ok(events.iter().filter_map(|event| event["event"].as_str()).map(Into::into).collect())
    }
}

/// The message of an error. Most come as JSON in a string in JSON.
fn words(body: &Value) -> String {
    let message = &body["error_message"];
    let inner = message.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let detail = inner.as_ref().unwrap_or(message);
    let said = [&detail["faultstring"], &detail["description"], &body["error"]["message"], detail];
    said.into_iter().find_map(Value::as_str).map_or_else(|| body.to_string(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_an_error_is_found_wherever_ironic_puts_it() {
        let nested = r#"{"faultcode": "Client", "faultstring": "no such node", "debuginfo": null}"#;
        assert_eq!(words(&json!({"error_message": nested})), "no such node");
        let object = json!({"error_message": {"faultstring": "locked"}});
        assert_eq!(words(&object), "locked");
        let unauthorized = json!({"error": {"message": "Incorrect username", "code": 401}});
        assert_eq!(words(&unauthorized), "Incorrect username");
        assert_eq!(words(&json!("plain")), "\"plain\"");
    }
}
