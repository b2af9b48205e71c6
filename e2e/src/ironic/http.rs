//! Plain, blocking HTTP with JSON to one server on the loopback address.

use super::settings::Credentials;
use crate::http;
use anyhow::{Context, Result};
use reqwest::{Certificate, blocking, header::HeaderMap};
use serde_json::Value;
use std::time::Duration;

pub use reqwest::Method;

const TIMEOUT: Duration = Duration::from_mins(1);
/// Ironic closes connections that were idle for ten seconds.
const IDLE: Duration = Duration::from_secs(5);

/// A client of one server.
#[derive(Debug, Clone)]
pub struct Http {
    client: blocking::Client,
    url: String,
    credentials: Option<Credentials>,
    header: Option<(&'static str, String)>,
}

/// What a server said, good or bad.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status code.
    pub status: u16,
    /// The HTTP headers.
    pub headers: HeaderMap,
    /// What came with it: `null` for nothing, a string for what is not JSON.
    pub body: Value,
}

impl Http {
    /// A client that trusts the given authority and no other, or those that the system trusts.
    pub fn new(url: &str, ca_pem: Option<&str>) -> Result<Self> {
        let mut client = http::builder().timeout(TIMEOUT).pool_idle_timeout(IDLE);
        if let Some(pem) = ca_pem {
            let authority = Certificate::from_pem(pem.as_bytes())
                .context("could not read the authority's certificate")?;
            client = client.tls_certs_only([authority]);
        }
        let client = client.build().context("could not make an HTTP client")?;
        Ok(Self { client, url: url.into(), credentials: None, header: None })
    }

    /// The same client, logged in.
    #[must_use]
    pub fn logged_in(&self, credentials: &Credentials) -> Self {
        Self { credentials: Some(credentials.clone()), ..self.clone() }
    }

    /// The same client, sending a header with every request.
    #[must_use]
    pub fn with_header(&self, name: &'static str, value: &str) -> Self {
        Self { header: Some((name, value.into())), ..self.clone() }
    }

    /// Sends a request; any answer is a good one.
    pub fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer> {
        let what = format!("{method} {}{path}", self.url);
        self.send(method, path, body).with_context(|| format!("no answer to {what}"))
    }

    fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer> {
        let mut request = self.client.request(method, format!("{}{path}", self.url));
        if let Some((name, value)) = &self.header {
            request = request.header(*name, value);
        }
        if let Some(Credentials { username, password }) = &self.credentials {
            request = request.basic_auth(username, Some(password));
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send()?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = match response.text()?.as_str() {
            "" => Value::Null,
            text => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        };
        Ok(Answer { status, headers, body })
    }
}
