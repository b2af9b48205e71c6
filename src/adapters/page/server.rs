//! The page's server. Without a token there is the form to sign in with, and nothing else.

use std::{
    convert::Infallible,
    net::{SocketAddr, TcpListener},
    sync::{Arc, LazyLock},
    time::Duration,
};

use anyhow::{Result, bail};
use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Path, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use axum_server::{
    Handle,
    tls_rustls::{RustlsAcceptor, RustlsConfig},
};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use futures::stream;
use kube::Api;
use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::{Page, gate::May};
use crate::{
    adapters::listening,
    api::{BareMetalHost, HostHistory},
    page::{self, Filter},
};

const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");
const FRAME: &str = include_str!("page.html");

/// Changes that come at once are told at once: nobody reads faster.
const PAUSE: Duration = Duration::from_millis(300);
/// How often a browser hears something although nothing has changed; and how often it is asked whether it still may.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// How long what is under way has after we were told to stop. Who watches would watch for ever.
const DRAIN: Duration = Duration::from_secs(1);
const GONE: &str = "there is no such host, or no more";
/// Denials that are given out.
const DENIALS: usize = 100;

/// The port, and by what it is kept secret.
pub struct Listener {
    listener: TcpListener,
}

/// Takes the port, so that a port in use is an error before anything else is started.
pub fn bind(address: SocketAddr, is_encrypted: bool) -> Result<Listener> {
    if !is_encrypted && !address.ip().is_loopback() {
        bail!(
            "the page at {address} (--page-address) would send tokens in the clear: give Ironward a certificate (--tls-cert-file, --self-signed-secret), or \
             an address that is this machine's alone, such as 127.0.0.1:{}",
            address.port()
        );
    }
    Ok(Listener { listener: listening::bind(address, "--page-address")? })
}

/// Shows the page until told to stop.
pub async fn serve(
    Listener { listener }: Listener,
    certificate: Option<RustlsConfig>,
    page: Arc<Page>,
    stop: CancellationToken,
) {
    let handle = Handle::new();
    let own = handle.clone();
    let router = router(page).into_make_service();
    let showing = async {
        let server = axum_server::from_tcp(listener)?.handle(own);
        match certificate {
            Some(tls) => server.acceptor(RustlsAcceptor::new(tls)).serve(router).await,
            None => server.serve(router).await,
        }
    };
    if let Err(error) = listening::until_stopped(showing, handle, stop, DRAIN).await {
        tracing::error!(%error, "the page can no longer be shown");
    }
}

fn router(page: Arc<Page>) -> Router {
    Router::new()
        .route("/api/summary", get(summary))
        .route("/api/hosts", get(hosts))
        .route("/api/hosts/{namespace}/{name}", get(host))
        .route("/api/denials", get(denials))
        .route("/api/live", get(live))
        .route("/", get(async || frame(StatusCode::OK)))
        .fallback(async || problem(StatusCode::NOT_FOUND, "there is nothing here"))
        .layer(middleware::from_fn_with_state(Arc::clone(&page), guarded))
        .layer(middleware::map_response(async |mut answer: Response| {
            answer.headers_mut().extend(HEADERS.iter().cloned());
            answer
        }))
        .with_state(page)
}

/// Nobody comes past it without a token. Routes that are none are no exception.
async fn guarded(State(page): State<Arc<Page>>, request: Request, next: Next) -> Response {
    match page.gate.may(request.headers()).await {
        Ok(May::Look) => next.run(request).await,
        Ok(May::NotLook) => {
            let text = "this token may not list BareMetalHosts in all namespaces";
            problem(StatusCode::FORBIDDEN, text)
        }
        Ok(May::Nothing) if request.uri().path() == "/" => frame(StatusCode::UNAUTHORIZED),
        Ok(May::Nothing) => {
            problem(StatusCode::UNAUTHORIZED, "the API server does not know this token")
        }
        Err(error) => {
            tracing::warn!(%error, "the API server could not be asked who looks at the page");
            let text =
                "the API server could not be asked about the token; the log of Ironward says why";
            problem(StatusCode::SERVICE_UNAVAILABLE, text)
        }
    }
}

fn problem(status: StatusCode, text: &str) -> Response {
    json_answer(status, &json!({ "problem": text }))
}

fn json_answer(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => (status, [(header::CONTENT_TYPE, "application/json")], body).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// One document, so that nothing else has to be given to strangers.
static DOCUMENT: LazyLock<String> =
    LazyLock::new(|| FRAME.replace("/*STYLE*/", STYLE).replace("/*SCRIPT*/", SCRIPT));

fn frame(status: StatusCode) -> Response {
    let content = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
    (status, content, DOCUMENT.as_str()).into_response()
}

/// Only this script and this style run, nothing is fetched from elsewhere, and text can never become markup.
static HEADERS: LazyLock<Vec<(HeaderName, HeaderValue)>> = LazyLock::new(|| {
    let hash = |text: &str| format!("'sha256-{}'", BASE64.encode(Sha256::digest(text.as_bytes())));
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; connect-src 'self'; img-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        hash(SCRIPT),
        hash(STYLE)
    );
    let fixed = |name, value| (name, HeaderValue::from_static(value));
    let mut headers = vec![
        fixed(header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        fixed(header::X_FRAME_OPTIONS, "DENY"),
        fixed(header::REFERRER_POLICY, "no-referrer"),
        fixed(header::CACHE_CONTROL, "no-store"),
        fixed(HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        fixed(HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    headers.extend(
        HeaderValue::from_str(&policy).map(|value| (header::CONTENT_SECURITY_POLICY, value)),
    );
    headers
});

async fn summary(State(page): State<Arc<Page>>) -> Response {
    page.look(|sight| {
        let all = json!({
            "version": env!("CARGO_PKG_VERSION"), "isComplete": sight.is_complete,
            "summary": sight.hosts.summary(),
        });
        json_answer(StatusCode::OK, &all)
    })
}

async fn hosts(State(page): State<Arc<Page>>, uri: Uri) -> Response {
    let filter = filter(uri.query().unwrap_or_default());
    page.look(|sight| json_answer(StatusCode::OK, &sight.hosts.slice(&filter)))
}

fn filter(query: &str) -> Filter {
    let mut filter = Filter { limit: 100, ..Filter::default() };
    for (key, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match key.as_ref() {
            "state" => filter.state = Some(value.into_owned()),
            "trouble" => filter.trouble = Some(value.into_owned()),
            "waiting" => filter.is_waiting = value == "true",
            "q" => filter.words = value.into_owned(),
            "offset" => filter.offset = value.parse().unwrap_or_default(),
            "limit" => filter.limit = value.parse().unwrap_or(filter.limit),
            _ => {}
        }
    }
    filter
}

async fn host(
    State(page): State<Arc<Page>>,
    Path((namespace, name)): Path<(String, String)>,
) -> Response {
    // What is asked for becomes part of a path at the API server: nothing but the name of a host does.
    let key = (namespace, name);
    if !page.look(|sight| sight.hosts.0.contains_key(&key)) {
        return problem(StatusCode::NOT_FOUND, GONE);
    }
    let (namespace, name) = key;
    let hosts: Api<BareMetalHost> = Api::namespaced(page.client.clone(), &namespace);
    let histories: Api<HostHistory> = Api::namespaced(page.client.clone(), &namespace);
    let (host, history) = tokio::join!(hosts.get_opt(&name), histories.get_opt(&name));
    let host = match host {
        Ok(Some(host)) => host,
        Ok(None) => return problem(StatusCode::NOT_FOUND, GONE),
        Err(error) => {
            tracing::warn!(%error, namespace, name, "the page cannot read a host");
            return problem(
                StatusCode::BAD_GATEWAY,
                "the host could not be read; the log of Ironward says why",
            );
        }
    };
    let history = history.unwrap_or_else(|error| {
        tracing::warn!(%error, namespace, name, "the page cannot read the history of a host");
        None
    });
    page.look(|sight| {
        let seen = page::host(&host, history.as_ref(), sight.denials.latest());
        json_answer(StatusCode::OK, &seen)
    })
}

async fn denials(State(page): State<Arc<Page>>) -> Response {
    page.look(|sight| {
        let latest: Vec<_> = sight.denials.latest().take(DENIALS).collect();
        let all = json!({"byPolicy": sight.denials.by_policy(), "latest": latest});
        json_answer(StatusCode::OK, &all)
    })
}

/// Tells that something has changed, for as long as whoever listens may look.
async fn live(State(page): State<Arc<Page>>, headers: HeaderMap) -> Response {
    let changes = page.changes.subscribe();
    let told = stream::unfold(
        (page, changes, headers, true),
        |(page, mut changes, headers, is_first)| async move {
            if !is_first {
                tokio::time::sleep(PAUSE).await;
                let _ = tokio::time::timeout(HEARTBEAT, changes.changed()).await;
                if !matches!(page.gate.may(&headers).await, Ok(May::Look)) {
                    return None;
                }
            }
            let count = *changes.borrow_and_update();
            let text = Bytes::from(format!("event: change\ndata: {count}\n\n"));
            Some((Ok::<_, Infallible>(text), (page, changes, headers, false)))
        },
    );
    let content = [(header::CONTENT_TYPE, "text/event-stream")];
    (content, Body::from_stream(told)).into_response()
}
