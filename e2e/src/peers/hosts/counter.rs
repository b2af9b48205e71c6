//! A way to Ironic on which requests are counted: the same for every operator, and no operator's own account.

use anyhow::{Context, Result};
use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::{Request, State},
    http::{Method, StatusCode, header, request::Parts},
    response::Response,
};
use reqwest::Client;
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{net::TcpListener, runtime::Runtime, sync::Semaphore};

/// Requests that Ironic has before it at a time. Its own server takes five new connections and lets others time out; where it is
/// installed for good a web server stands in front of it and has them wait, as this does.
const AT_ONCE: usize = 8;
/// Ironic closes connections that were idle for ten seconds.
const IDLE: Duration = Duration::from_secs(5);

/// Requests by what they ask for: `GET /v1/nodes/{node}`.
pub type Asked = BTreeMap<String, usize>;

/// The way. It ends with this value.
pub(super) struct Counter {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
    /// Its threads.
    _runtime: Runtime,
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counter").field("address", &self.address).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Seen {
    asked: Asked,
    /// The nodes that answers were about.
    nodes: BTreeSet<String>,
}

#[derive(Clone)]
struct Way {
    ironic: String,
    client: Client,
    permits: Arc<Semaphore>,
    seen: Arc<Mutex<Seen>>,
}

impl Counter {
    /// Opens one to the Ironic at this address.
    pub fn open(ironic: &str) -> Result<Self> {
        let client = Client::builder().no_proxy().pool_idle_timeout(IDLE).build()?;
        let seen = Arc::<Mutex<Seen>>::default();
        let permits = Arc::new(Semaphore::new(AT_ONCE));
        let way = Way { ironic: ironic.to_owned(), client, permits, seen: seen.clone() };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .context("no threads for the way to Ironic")?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        let router = Router::new().fallback(pass).with_state(way);
        runtime.spawn(async { axum::serve(listener, router).await });
        Ok(Self { address, seen, _runtime: runtime })
    }

    /// Its own address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What has come by so far.
    pub fn asked(&self) -> Asked {
        lock(&self.seen).asked.clone()
    }

    /// Of how many nodes Ironic has told since [`Self::forget`].
    pub fn told_of(&self) -> usize {
        lock(&self.seen).nodes.len()
    }

    /// Begins anew with the nodes that were told of.
    pub fn forget(&self) {
        lock(&self.seen).nodes.clear();
    }
}

/// Those that came by after the others.
pub(super) fn since(after: Asked, before: &Asked) -> Asked {
    let left = |(what, count): (String, usize)| {
        let new = count - before.get(&what).copied().unwrap_or_default();
        (new > 0).then_some((what, new))
    };
    after.into_iter().filter_map(left).collect()
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn pass(State(way): State<Way>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    *lock(&way.seen).asked.entry(shape(&parts.method, parts.uri.path())).or_default() += 1;
    way.ask(parts, body).await.unwrap_or_else(|error| {
        eprintln!("a request has not reached Ironic: {error:#}");
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::BAD_GATEWAY;
        response
    })
}

impl Way {
    async fn ask(&self, parts: Parts, body: Body) -> Result<Response> {
        let body: Bytes = to_bytes(body, usize::MAX).await?;
        let path = parts.uri.path_and_query().map_or("/", |it| it.as_str());
        let is_about_nodes = parts.method == Method::GET && path.starts_with("/v1/nodes");
        let permit = self.permits.acquire().await?;
        // With the name that it was called by, so that the addresses of further pages lead this way too.
        let request = self.client.request(parts.method, format!("{}{path}", self.ironic));
        let answer = request.headers(parts.headers).body(body).send().await?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let body = answer.bytes().await?;
        drop(permit);
        if is_about_nodes && status.is_success() {
            self.note(&body);
        }
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        // It is sent whole.
        response.headers_mut().remove(header::TRANSFER_ENCODING);
        Ok(response)
    }

    /// A node, or a list of them; other answers have neither.
    fn note(&self, answer: &[u8]) {
        #[derive(Deserialize)]
        struct Node {
            uuid: String,
        }

        #[derive(Deserialize)]
        struct Told {
            uuid: Option<String>,
            #[serde(default)]
            nodes: Vec<Node>,
        }

        let Ok(told) = serde_json::from_slice::<Told>(answer) else { return };
        let nodes = told.nodes.into_iter().map(|node| node.uuid);
        lock(&self.seen).nodes.extend(nodes.chain(told.uuid));
    }
}

/// What a request asks for, whichever node or port that is about.
fn shape(method: &Method, path: &str) -> String {
    let mut shape = method.to_string();
    let mut before = "";
    for part in path.split('/').filter(|part| !part.is_empty()) {
        if shape.ends_with(method.as_str()) {
            shape.push(' ');
        }
        shape.push('/');
        shape.push_str(match before {
            "nodes" if part != "detail" => "{node}",
            "ports" if part != "detail" => "{port}",
            _ => part,
        });
        before = part;
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart_by_what_they_ask_for() {
        assert_eq!(shape(&Method::GET, "/v1/nodes/a~b/bios"), "GET /v1/nodes/{node}/bios");
        assert_eq!(shape(&Method::GET, "/v1/nodes/"), "GET /v1/nodes");
        assert_eq!(shape(&Method::PATCH, "/v1/ports/17"), "PATCH /v1/ports/{port}");
        assert_eq!(shape(&Method::GET, "/"), "GET");
    }

    #[test]
    fn what_came_before_is_not_counted() {
        let asked = |counts: &[(&str, usize)]| -> Asked {
            counts.iter().map(|(what, count)| ((*what).to_owned(), *count)).collect()
        };
        let after = asked(&[("GET /v1", 3), ("GET /v1/nodes", 2), ("GET /v1/ports", 1)]);
        let before = asked(&[("GET /v1", 1), ("GET /v1/nodes", 2)]);
        assert_eq!(since(after, &before), asked(&[("GET /v1", 2), ("GET /v1/ports", 1)]));
    }
}
