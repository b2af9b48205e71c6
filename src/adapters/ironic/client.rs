//! The client: one method for each request that Ironic is sent.

#[cfg(test)]
mod tests;

use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use reqwest::Method;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

use super::{
    connection::{AT_ONCE, Login, Settings},
    metrics::Metrics,
    on_behalf,
};
use crate::ironic::{
    error::{Error, Kind},
    inventory::Inventory,
    node::{Node, PAGE, Port, fields},
    patch::Patch,
    power::PowerTarget,
    redact::{redact, secrets_in},
    step::Verb,
    version::{Version, negotiate},
};

const VERSION_HEADER: &str = "X-OpenStack-Ironic-API-Version";

/// Speaks with one Ironic.
#[derive(Debug)]
pub struct Client {
    http: reqwest::Client,
    root: String,
    login: Mutex<Option<Login>>,
    version: Mutex<Option<Version>>,
    permits: Semaphore,
    metrics: Metrics,
}

/// A request.
#[derive(Clone)]
struct Request<'a> {
    method: Method,
    path: &'a str,
    query: &'a [(&'a str, &'a str)],
    body: Option<Value>,
}

impl Client {
    /// A client; nothing is sent yet.
    pub fn new(settings: &Settings, metrics: Metrics) -> Result<Self> {
        Ok(Self {
            http: settings.http()?,
            root: settings.root()?,
            login: Mutex::new(settings.login.clone()),
            version: Mutex::default(),
            permits: Semaphore::new(AT_ONCE),
            metrics,
        })
    }

    /// The version of the API that is spoken; asked for once.
    pub async fn version(&self) -> Result<Version, Error> {
        if let Some(version) = *self.spoken() {
            return Ok(version);
        }
        let root = self.exchange(None, &Request::get("/v1", &[])).await?;
        let said = |field: &str| root.pointer(field).and_then(Value::as_str);
        let version = negotiate(said("/version/min_version"), said("/version/version"))?;
        *self.spoken() = Some(version);
        tracing::info!(%version, "speaking with Ironic");
        Ok(version)
    }

    /// All nodes.
    pub async fn nodes(&self) -> Result<Vec<Node>, Error> {
        let fields = fields(self.version().await?);
        self.pages("/v1/nodes", "nodes", &fields, |node: &Node| &node.uuid).await
    }

    /// The nodes that Ironic has written last, the last first: so many, of up to as many as it gives in one answer.
    pub async fn written_last(&self, count: usize) -> Result<Vec<Node>, Error> {
        let (fields, limit) = (fields(self.version().await?), count.to_string());
        let order = [("sort_key", "updated_at"), ("sort_dir", "desc")];
        let query = [("fields", fields.as_str()), ("limit", &limit), order[0], order[1]];
        let mut page = self.ask(Request::get("/v1/nodes", &query)).await?;
        read(page.get_mut("nodes").map(Value::take).unwrap_or_default())
    }

    /// All ports.
    pub async fn ports(&self) -> Result<Vec<Port>, Error> {
        let fields = "uuid,address,node_uuid,pxe_enabled";
        self.pages("/v1/ports", "ports", fields, |port: &Port| &port.uuid).await
    }

    /// The ports with a MAC address: one, or none.
    pub async fn ports_with(&self, address: &str) -> Result<Vec<Port>, Error> {
        let query = [("address", address), ("fields", "uuid,address,node_uuid,pxe_enabled")];
        let mut page = self.ask(Request::get("/v1/ports", &query)).await?;
        read(page.get_mut("ports").map(Value::take).unwrap_or_default())
    }

    /// A node, by UUID or name.
    pub async fn node(&self, node: &str) -> Result<Option<Node>, Error> {
        let fields = fields(self.version().await?);
        let path = format!("/v1/nodes/{node}");
        match self.ask(Request::get(&path, &[("fields", &fields)])).await {
            Ok(found) => read(found).map(Some),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Enrols a node.
    pub async fn create_node(&self, node: Value) -> Result<Node, Error> {
        read(self.ask(Request::new(Method::POST, "/v1/nodes", node)).await?)
    }

    /// Gives a node a network card.
    pub async fn create_port(&self, node: &str, address: &str, boots: bool) -> Result<(), Error> {
        let port = json!({"node_uuid": node, "address": address, "pxe_enabled": boots});
        self.ask(Request::new(Method::POST, "/v1/ports", port)).await.map(drop)
    }

    /// Changes a node, and gives it back as it is then.
    pub async fn change(
        &self,
        node: &str,
        patch: &Patch,
        reset_interfaces: bool,
    ) -> Result<Node, Error> {
        let address = format!("/v1/nodes/{node}");
        let query: &[_] = if reset_interfaces { &[("reset_interfaces", "true")] } else { &[] };
        let body = serde_json::to_value(patch).unwrap_or_default();
        let request = Request { query, ..Request::new(Method::PATCH, &address, body) };
        let changed: Node = read(self.ask(request).await?)?;
        // The lock that it shows is that of this very change, which has ended.
        Ok(Node { reservation: None, ..changed })
    }

    /// Asks for another provision state.
    pub async fn provision(&self, node: &str, verb: &Verb) -> Result<(), Error> {
        self.put(node, "states/provision", verb.request()).await
    }

    /// Asks for another power state.
    pub async fn power(&self, node: &str, target: PowerTarget) -> Result<(), Error> {
        let request = serde_json::to_value(target.request()).unwrap_or_default();
        self.put(node, "states/power", request).await
    }

    /// Says which volumes `create_configuration` is to build.
    pub async fn set_raid(&self, node: &str, target: &Map<String, Value>) -> Result<(), Error> {
        self.put(node, "states/raid", Value::Object(target.clone())).await
    }

    /// Has Ironic leave a node alone.
    pub async fn set_maintenance(&self, node: &str, reason: &str) -> Result<(), Error> {
        self.put(node, "maintenance", json!({"reason": reason})).await
    }

    /// Has Ironic see to a node again.
    pub async fn clear_maintenance(&self, node: &str) -> Result<(), Error> {
        let path = format!("/v1/nodes/{node}/maintenance");
        self.ask(Request::bare(Method::DELETE, &path)).await.map(drop)
    }

    /// Deletes a node; also well if there is none.
    pub async fn delete_node(&self, node: &str) -> Result<(), Error> {
        let path = format!("/v1/nodes/{node}");
        match self.ask(Request::bare(Method::DELETE, &path)).await {
            Err(error) if !error.is_not_found() => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// What inspection found, if there was one.
    pub async fn inventory(&self, node: &str) -> Result<Option<Inventory>, Error> {
        let path = format!("/v1/nodes/{node}/inventory");
        match self.ask(Request::get(&path, &[])).await {
            Ok(found) => read(found).map(Some),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What last went wrong with a node. `last_error` does not keep it: the next look at the power
    /// wipes it out.
    pub async fn last_failure(&self, node: &str) -> Result<Option<String>, Error> {
        let path = format!("/v1/nodes/{node}/history");
        let history = self.ask(Request::get(&path, &[("detail", "true")])).await?;
        let entries = history.get("history").and_then(Value::as_array);
        let said = |entry: &'_ Value, field: &str| {
            entry.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let failures =
            entries.into_iter().flatten().filter(|entry| said(entry, "severity") == "ERROR");
        let last = failures.max_by_key(|entry| said(entry, "created_at"));
        Ok(last.map(|entry| said(entry, "event")))
    }

    async fn put(&self, node: &str, what: &str, body: Value) -> Result<(), Error> {
        let path = format!("/v1/nodes/{node}/{what}");
        self.ask(Request::new(Method::PUT, &path, body)).await.map(drop)
    }

    async fn pages<T: DeserializeOwned>(
        &self,
        path: &str,
        list: &str,
        fields: &str,
        id: impl Fn(&T) -> &String,
    ) -> Result<Vec<T>, Error> {
        let limit = PAGE.to_string();
        let mut all: Vec<T> = Vec::new();
        loop {
            let marker = all.last().map(&id).cloned();
            let mut query = vec![("fields", fields), ("limit", &limit)];
            if let Some(marker) = &marker {
                query.push(("marker", marker));
            }
            let mut page = self.ask(Request::get(path, &query)).await?;
            let items: Vec<T> = read(page.get_mut(list).map(Value::take).unwrap_or_default())?;
            // A last page that is full also says that there is another.
            let is_last = items.is_empty() || page.get("next").is_none();
            all.extend(items);
            if is_last {
                return Ok(all);
            }
        }
    }

    async fn ask(&self, request: Request<'_>) -> Result<Value, Error> {
        let version = self.version().await?;
        let mut answer = self.exchange(Some(version), &request).await;
        // A connection that was closed while it was idle looks like this. What changes something is
        // not sent twice: it may have arrived.
        if matches!(answer, Err(Error::Unanswered { .. })) && request.method == Method::GET {
            answer = self.exchange(Some(version), &request).await;
        }
        match answer.as_ref().err().and_then(Error::kind) {
            // It is another Ironic than before.
            Some(Kind::Version) => *self.spoken() = None,
            // Nothing was done of what was asked, so that it can be asked again.
            Some(Kind::Unauthorized) if self.logs_in_anew() => {
                answer = self.exchange(Some(version), &request).await;
            }
            Some(_) | None => {}
        }
        answer
    }

    fn logs_in_anew(&self) -> bool {
        let mut login = self.login.lock().unwrap_or_else(PoisonError::into_inner);
        let newer = login.as_ref().and_then(Login::newer);
        let is_newer = newer.is_some();
        if is_newer {
            *login = newer;
        }
        is_newer
    }

    fn login(&self) -> Option<Login> {
        self.login.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn exchange(
        &self,
        version: Option<Version>,
        request: &Request<'_>,
    ) -> Result<Value, Error> {
        let Ok(_permit) = self.permits.acquire().await else {
            return Err(Error::Unreachable { reason: "the client has ended".into() });
        };
        let answer = self.send(version, request).await;
        self.metrics.asked(request.method.as_str(), answer.as_ref().err());
        let path = request.path;
        match &answer {
            Ok(_) => tracing::trace!(method = %request.method, path, "asked Ironic"),
            Err(error) => tracing::debug!(method = %request.method, path, %error, "asked Ironic"),
        }
        answer
    }

    async fn send(&self, version: Option<Version>, request: &Request<'_>) -> Result<Value, Error> {
        let url = format!("{}{}", self.root, request.path);
        let mut sent = self.http.request(request.method.clone(), url).query(request.query);
        if let Some(version) = version {
            sent = sent.header(VERSION_HEADER, version.to_string());
        }
        if let Some(id) = on_behalf::request_id() {
            sent = sent.header(on_behalf::HEADER, id);
        }
        let login = self.login();
        if let Some(login) = &login {
            sent = sent.basic_auth(&login.username, Some(login.password.reveal()));
        }
        if let Some(body) = &request.body {
            sent = sent.json(body);
        }
        let mut secrets = request.body.as_ref().map(secrets_in).unwrap_or_default();
        secrets.extend(login.iter().map(|login| login.password.reveal().clone()));
        let response = sent.send().await.map_err(|error| unsent(error, &secrets))?;
        let status = response.status();
        let text = response.text().await.map_err(|error| unsent(error, &secrets))?;
        if !status.is_success() {
            return Err(Error::refused(status.as_u16(), &text, &secrets));
        }
        if text.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_str(&text).map_err(|_| Error::Unreadable {
            reason: "it is not JSON; is the address that of Ironic's API?".into(),
        })
    }

    fn spoken(&self) -> std::sync::MutexGuard<'_, Option<Version>> {
        self.version.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Request<'a> {
    fn get(path: &'a str, query: &'a [(&'a str, &'a str)]) -> Self {
        Self { method: Method::GET, path, query, body: None }
    }

    fn new(method: Method, path: &'a str, body: Value) -> Self {
        Self { method, path, query: &[], body: Some(body) }
    }

    fn bare(method: Method, path: &'a str) -> Self {
        Self { method, path, query: &[], body: None }
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, Error> {
    serde_json::from_value(value).map_err(|error| Error::Unreadable { reason: error.to_string() })
}

/// Without the URL, which people know, and with the innermost cause, which says most.
fn unsent(error: reqwest::Error, secrets: &[String]) -> Error {
    let (connects, timed_out) = (error.is_connect(), error.is_timeout());
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let reason = match cause.to_string() {
        _ if timed_out => "it took too long".to_owned(),
        said => redact(&said, secrets),
    };
    if connects { Error::Unreachable { reason } } else { Error::Unanswered { reason } }
}
