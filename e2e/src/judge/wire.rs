//! Requests to the API server with every header in hand.

use super::{
    case::judge,
    kind,
    recording::{Cause, Refusal, UserInfo},
};
use anyhow::{Context, Result, bail};
use http::{HeaderMap, Method, Request, header::WARNING};
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::Value;
use std::path::Path;

/// A connection as an administrator who speaks for others.
#[derive(Clone)]
pub struct Wire {
    client: Client,
}

/// A request, short of who asks.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// The verb of HTTP.
    pub method: &'a Method,
    /// Path and query.
    pub uri: &'a str,
    /// What is sent, if anything.
    pub body: Option<&'a Value>,
    /// What kind of patch it is, if it is one.
    pub patch: Option<&'a str>,
    /// A name for it in the audit log.
    pub audit_id: Option<&'a str>,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The HTTP status code.
    pub code: u16,
    /// The texts of the Warning headers.
    pub warnings: Vec<String>,
    /// The body; a string if it is no JSON.
    pub body: Value,
}

impl Wire {
    /// Connects with an administrator's kubeconfig.
    pub async fn connect(kubeconfig: &Path) -> Result<Self> {
        let file = Kubeconfig::read_from(kubeconfig).context("could not read the kubeconfig")?;
        let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
            .await
            .context("the kubeconfig is not usable")?;
        // What the API server answers is the result, whatever it is.
        config.default_retry = false;
        let client = Client::try_from(config).context("could not make a client")?;
        Ok(Self { client })
    }

    /// Sends a request for a user and returns what comes back, whatever it is.
    pub async fn send(&self, user: &UserInfo, message: Message<'_>) -> Result<Reply> {
        let Message { method, uri, body, patch, audit_id } = message;
        let mut request = Request::builder().method(method).uri(uri);
        request = request.header("Impersonate-User", &user.username);
        if !user.uid.is_empty() {
            request = request.header("Impersonate-Uid", &user.uid);
        }
        for group in &user.groups {
            request = request.header("Impersonate-Group", group);
        }
        for (key, value) in
            user.extra.iter().flat_map(|(key, all)| all.iter().map(move |v| (key, v)))
        {
            request = request.header(format!("Impersonate-Extra-{key}"), value);
        }
        if let Some(id) = audit_id {
            request = request.header("Audit-ID", id);
        }
        let body = match body {
            Some(body) => {
                request = request.header("Content-Type", patch.unwrap_or("application/json"));
                Body::from(serde_json::to_vec(body)?)
            }
            None => Body::empty(),
        };
        let request = request.body(body).with_context(|| format!("{uri} is no request"))?;
        let reply =
            self.client.send(request).await.with_context(|| format!("could not {method} {uri}"))?;
        let (code, warnings) = (reply.status().as_u16(), warnings(reply.headers()));
        let bytes = reply.into_body().collect_bytes().await.context("an answer broke off")?;
        let body = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
        Ok(Reply { code, warnings, body })
    }

    /// Sends a request that has to succeed, for one to whom nothing is forbidden.
    pub async fn must(&self, message: Message<'_>) -> Result<Value> {
        let reply = self.send(&judge(), message).await?;
        match reply.refusal() {
            None => Ok(reply.body),
            Some(refusal) => bail!("{} {}: {}", message.method, message.uri, refusal.message),
        }
    }

    /// Creates an object of one of the kinds that cases speak of, and returns it as it is stored.
    pub async fn create(&self, object: &Value) -> Result<Value> {
        self.must(Message::create(&kind::collection_of(object)?, object)).await
    }
}

impl<'a> Message<'a> {
    /// A creation.
    #[must_use]
    pub fn create(uri: &'a str, object: &'a Value) -> Self {
        Self { method: &Method::POST, uri, body: Some(object), patch: None, audit_id: None }
    }

    /// A question.
    #[must_use]
    pub fn get(uri: &'a str) -> Self {
        Self { method: &Method::GET, uri, body: None, patch: None, audit_id: None }
    }
}

impl Reply {
    /// Why it was refused, if it was.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        if self.code < 400 {
            return None;
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let cause = |cause: &Value| Cause {
            reason: text(&cause["reason"]),
            message: text(&cause["message"]),
            field: text(&cause["field"]),
        };
        let causes = self.body["details"]["causes"].as_array().into_iter().flatten();
        let message = if self.body.is_string() { &self.body } else { &self.body["message"] };
        Some(Refusal {
            code: self.code,
            reason: text(&self.body["reason"]),
            message: text(message),
            causes: causes.map(cause).collect(),
        })
    }
}

/// `299 - "text"`, with quotes and backslashes escaped.
fn warnings(headers: &HeaderMap) -> Vec<String> {
    let text = |header: &[u8]| {
        let header = String::from_utf8_lossy(header).into_owned();
        let quoted = header.trim_start_matches("299 - ");
        let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        inner.map_or(header.clone(), |text| text.replace("\\\"", "\"").replace("\\\\", "\\"))
    };
    headers.get_all(WARNING).iter().map(|header| text(header.as_bytes())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_read_without_its_quotes() {
        let mut headers = HeaderMap::new();
        let value = r#"299 - "say \"no\" to C:\\""#;
        headers.append(WARNING, value.parse().unwrap());
        assert_eq!(warnings(&headers), [r#"say "no" to C:\"#]);
    }
}
