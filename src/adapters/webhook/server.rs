//! The webhook's server: AdmissionReviews over TLS.
//!
//! What is not an answer is an HTTP error, so that the API server does what the webhook's failurePolicy
//! says: a body that is no review, one that is too large, a look-up that took too long.

use std::{
    net::TcpListener,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use axum::{
    Router,
    body::Body,
    extract::{Request as HttpRequest, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response as HttpResponse},
    routing::post,
};
use axum_server::{
    Handle,
    accept::NoDelayAcceptor,
    tls_rustls::{RustlsAcceptor, RustlsConfig},
};
use tokio::{
    runtime,
    sync::{Semaphore, oneshot, watch},
};
use tokio_util::sync::CancellationToken;

use super::{
    metrics::{Metrics, Outcome},
    policies::InForce,
    sources::Sources,
};
use crate::{
    adapters::{clock, listening, page::Tell, uniqueness::Guard},
    admission::{Phase, Response, Review, Webhook},
    page::Denial,
    policy::{KnownFacts, PolicySet, Request, Schemas, Spoken},
};

/// An object of the largest size that the API server takes, twice, and what comes with it.
pub const LARGEST_BODY: usize = 8 << 20;
/// All bodies that are read at one time.
const ALL_BODIES: usize = 64 << 20;
/// What is counted of them.
const UNIT: usize = 1 << 10;
/// How long the API server is asked to wait for us.
pub const TIMEOUT_SECONDS: u8 = 5;
/// Before the API server gives up, so that the user is told why.
const DEADLINE: Duration = Duration::from_millis(4500);
/// How many questions one connection carries at a time. The API server opens another when it has more, and the
/// Service sends that to another replica: one connection for all would leave the others idle.
const ON_ONE_CONNECTION: u32 = 16;
/// How long answers under way have after we were told to stop.
const DRAIN: Duration = Duration::from_secs(10);

/// What an answer is made from.
pub struct Desk {
    /// The policies in force.
    pub policies: watch::Receiver<InForce>,
    /// The kinds of the cluster, to merge by.
    pub schemas: watch::Receiver<Arc<Schemas>>,
    /// Where questions are answered.
    pub sources: Sources,
    /// Who we are to the API server.
    pub own_name: Option<String>,
    /// What is counted.
    pub metrics: Metrics,
    /// What must not be had twice.
    pub uniqueness: Guard,
    /// Who wants to hear of those that were refused.
    pub denials: Option<Tell>,
    bodies: Semaphore,
}

impl Desk {
    /// A desk.
    #[must_use]
    pub fn new(
        policies: watch::Receiver<InForce>,
        schemas: watch::Receiver<Arc<Schemas>>,
        sources: Sources,
        own_name: Option<String>,
        metrics: Metrics,
        uniqueness: Guard,
    ) -> Self {
        let bodies = Semaphore::new(ALL_BODIES / UNIT);
        let denials = None;
        Self { policies, schemas, sources, own_name, metrics, uniqueness, denials, bodies }
    }
}

/// Follows the policies in force: what is counted of them, and which params they still want.
pub async fn follow_policies(desk: Arc<Desk>) {
    let mut policies = desk.policies.clone();
    loop {
        let InForce { policies: set, refused, generation } = policies.borrow_and_update().clone();
        desk.metrics.generation.set(i64::try_from(generation).unwrap_or(i64::MAX));
        desk.metrics.refused.set(i64::from(refused.is_some()));
        desk.sources.forget_params_but(set.param_kinds());
        if policies.changed().await.is_err() {
            return;
        }
    }
}

/// Takes the port, so that a port in use is an error before anything else is started.
pub fn bind(address: std::net::SocketAddr) -> Result<TcpListener> {
    listening::bind(address, "--webhook-address")
}

/// Starts to answer, until told to stop, and then what is under way. The answers have threads of their own: what controllers compute,
/// which takes longer the larger the fleet is, keeps nobody waiting who creates a host. Each thread has its own connections, so that
/// none has to wake another. Resolves when the last of them is done.
pub fn serve(
    listener: &TcpListener,
    certificate: &RustlsConfig,
    desk: &Arc<Desk>,
    stop: &CancellationToken,
    threads: usize,
) -> Result<impl Future<Output = ()> + use<>> {
    let mut under_way = Vec::new();
    for number in 0..threads {
        let (listener, certificate) = (listener.try_clone()?, certificate.clone());
        let (desk, stop) = (Arc::clone(desk), stop.clone());
        let (done, is_done) = oneshot::channel();
        let answers = async move {
            answer_until_stopped(listener, certificate, desk, stop).await;
            // Nobody listens if all else has ended before.
            let _ = done.send(());
            // Whoever asks the API server by a connection that was made here still can.
            std::future::pending::<()>().await;
        };
        // Made where it is used: it must not be dropped where others wait.
        let answers = move || match runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(answers),
            Err(error) => tracing::error!(%error, "a thread that answers could not be started"),
        };
        let thread = thread::Builder::new().name(format!("answers-{number}"));
        thread.spawn(answers).context("could not start a thread that answers")?;
        under_way.push(is_done);
    }
    Ok(async {
        for is_done in under_way {
            // One that is gone is done.
            let _ = is_done.await;
        }
    })
}

async fn answer_until_stopped(
    listener: TcpListener,
    certificate: RustlsConfig,
    desk: Arc<Desk>,
    stop: CancellationToken,
) {
    let handle = Handle::new();
    let own = handle.clone();
    // Without NoDelay, answers on one connection wait for each other's acknowledgement.
    let acceptor = RustlsAcceptor::new(certificate).acceptor(NoDelayAcceptor::new());
    let answering = async {
        let mut server = axum_server::from_tcp(listener)?.acceptor(acceptor).handle(own);
        server.http_builder().http2().max_concurrent_streams(ON_ONE_CONNECTION);
        server.serve(router(desk).into_make_service()).await
    };
    if let Err(error) = listening::until_stopped(answering, handle, stop, DRAIN).await {
        tracing::error!(%error, "admission can no longer be served");
    }
}

fn router(desk: Arc<Desk>) -> Router {
    let mut router = Router::new();
    for webhook in Webhook::all() {
        let answer = async move |State(desk): State<Arc<Desk>>, request: HttpRequest| {
            answer(webhook, &desk, request).await
        };
        router = router.route(&webhook.path(), post(answer));
    }
    router.with_state(desk)
}

/// Why there is no answer.
struct Failure(StatusCode, String);

impl IntoResponse for Failure {
    fn into_response(self) -> HttpResponse {
        (self.0, self.1 + "\n").into_response()
    }
}

async fn answer(webhook: Webhook, desk: &Desk, request: HttpRequest) -> HttpResponse {
    let start = Instant::now();
    let answered = tokio::time::timeout(DEADLINE, admit(webhook, desk, request)).await;
    let answered = answered.unwrap_or_else(|_| {
        let text = format!(
            "ironward could not look up what its policies ask about the cluster within {DEADLINE:?}; \
             try again"
        );
        Err(Failure(StatusCode::GATEWAY_TIMEOUT, Spoken::NotLookedUp.said(text)))
    });
    let outcome = match &answered {
        Ok(response) if !response.allowed => Outcome::Denied,
        Ok(response) if response.patch.is_some() => Outcome::Changed,
        Ok(_) => Outcome::Allowed,
        Err(_) => Outcome::Failed,
    };
    desk.metrics.answered(webhook.phase, outcome, start.elapsed());
    answered.and_then(|response| written(&response)).unwrap_or_else(|failure| {
        tracing::warn!(phase = %webhook.phase, status = %failure.0, text = failure.1, "no answer");
        failure.into_response()
    })
}

fn written(response: &Response) -> Result<HttpResponse, Failure> {
    let body = response
        .to_json()
        .map_err(|error| Failure(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

async fn admit(webhook: Webhook, desk: &Desk, request: HttpRequest) -> Result<Response, Failure> {
    let body = body(desk, request).await?;
    let bad = |error: &dyn std::error::Error| Failure(StatusCode::BAD_REQUEST, error.to_string());
    let policies = Arc::clone(&desk.policies.borrow().policies);
    let review = Review::from_json(&body.bytes, policies.reads()).map_err(|error| bad(&error))?;
    let request = review.request().map_err(|error| bad(&error))?;
    let schemas = Arc::clone(&desk.schemas.borrow());
    let own_name = desk.own_name.as_deref();
    let is_sampled = desk.metrics.is_sampled();
    let evaluate = |known: &KnownFacts| {
        let answer = webhook.answer(&policies, &schemas, own_name, &review, &request, known);
        // Once, when nothing is left to ask.
        if is_sampled && answer.is_ok() {
            measure(webhook, desk, &policies, &schemas, &request, known);
        }
        answer
    };
    let not_now = |error: anyhow::Error| {
        let text = Spoken::NotNow.said(format!("{error:#}; try again"));
        Failure(StatusCode::SERVICE_UNAVAILABLE, text)
    };
    let mut response = desk.sources.settle(&request, evaluate).await.map_err(not_now)?;
    // Last, for a claim is a write: nothing is claimed for what is refused anyway.
    if webhook.phase == Phase::Validate && response.allowed {
        let denials = desk.uniqueness.admit(&policies, webhook.concerned, &request).await;
        let denials = denials.map_err(not_now)?;
        if !denials.is_empty() {
            response = Webhook::taken(&review, &request, response, denials);
        }
    }
    note(webhook.phase, desk, &review, &request, &response);
    Ok(response)
}

/// How long each policy takes by itself.
fn measure(
    webhook: Webhook,
    desk: &Desk,
    policies: &PolicySet,
    schemas: &Schemas,
    request: &Request<'_>,
    known: &KnownFacts,
) {
    let (concerned, metrics) = (webhook.concerned, &desk.metrics);
    match webhook.phase {
        Phase::Validate => {
            policies.validate_one_by_one(concerned, request, known, |name, judge| {
                metrics.judged(name, judge);
            });
        }
        Phase::Mutate => {
            policies.mutate_one_by_one(concerned, request, known, schemas, |name, judge| {
                metrics.judged(name, judge);
            });
        }
    }
}

fn note(
    phase: Phase,
    desk: &Desk,
    review: &Review<'_>,
    request: &Request<'_>,
    response: &Response,
) {
    desk.metrics.warnings.inc_by(response.warnings.len() as u64);
    let Some(status) = &response.status else {
        tracing::debug!(%phase, id = id(request), uid = review.uid(), "admitted");
        return;
    };
    tracing::info!(%phase, id = id(request), uid = review.uid(), code = status.code, message = status.message, "denied");
    desk.metrics.denied(status);
    if let Some(tell) = &desk.denials
        && let Some(denial) = Denial::of(request, status, clock::now())
    {
        // Too many at one time are not all shown; an answer never waits for that.
        let _ = tell.try_send(denial);
    }
}

/// The id by which everything about an object is found again: its uid, which it has before it is stored.
fn id<'a>(request: &Request<'a>) -> &'a str {
    let object = request.object.or(request.old_object);
    let uid = object.and_then(|object| object.get("metadata")?.get("uid")?.as_str());
    uid.unwrap_or_default()
}

/// A body, and its share of all that may be read at one time.
struct ReadBody<'a> {
    bytes: axum::body::Bytes,
    _share: tokio::sync::SemaphorePermit<'a>,
}

async fn body(desk: &Desk, request: HttpRequest) -> Result<ReadBody<'_>, Failure> {
    let length = request
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<usize>().ok())
        .ok_or_else(|| {
            Failure(StatusCode::LENGTH_REQUIRED, "the request has no Content-Length".to_owned())
        })?;
    if length > LARGEST_BODY {
        let text =
            format!("the body has {length} bytes; {LARGEST_BODY} are the most that are read");
        return Err(Failure(StatusCode::PAYLOAD_TOO_LARGE, Spoken::TooLarge.said(text)));
    }
    let share = u32::try_from(length.div_ceil(UNIT)).unwrap_or(u32::MAX);
    let share = desk
        .bodies
        .acquire_many(share)
        .await
        .map_err(|error| Failure(StatusCode::SERVICE_UNAVAILABLE, error.to_string()))?;
    let read = axum::body::to_bytes(Body::new(request.into_body()), length).await;
    let bytes = read.map_err(|error| {
        Failure(StatusCode::BAD_REQUEST, format!("the body could not be read: {error}"))
    })?;
    Ok(ReadBody { bytes, _share: share })
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{Ipv4Addr, TcpStream},
    };

    use jiff::SignedDuration;
    use kube::{Client, Config};
    use prometheus_client::registry::Registry;
    use rcgen::{CertifiedKey, generate_simple_self_signed};
    use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

    use super::*;
    use crate::adapters::{
        uniqueness::{Claims, Occupants},
        webhook::policies::Policies,
    };

    const PATIENCE: Duration = Duration::from_secs(30);

    /// With a cluster that nobody reaches.
    fn desk() -> Desk {
        let nowhere = Config::new("https://127.0.0.1:9".parse().unwrap());
        let client = Client::try_from(nowhere).unwrap();
        let occupants = Arc::new(Occupants::new(client.clone()));
        let claims = Claims::new(client.clone(), "ironward-system", SignedDuration::from_secs(1));
        let policies = Policies::load(None).unwrap().subscribe();
        let schemas = watch::channel(Arc::default()).1;
        let metrics = Metrics::new(&mut Registry::default());
        let guard = Guard { occupants, claims };
        Desk::new(policies, schemas, Sources::new(client), None, metrics, guard)
    }

    /// Whoever serves has no other thread than this one, which does nothing but wait for an answer.
    #[tokio::test]
    async fn nobody_waits_for_what_the_other_threads_do() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let (certificate, key) = (cert.pem().into_bytes(), signing_key.serialize_pem());
        let certificate = RustlsConfig::from_pem(certificate, key.into_bytes()).await.unwrap();
        let listener = bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let address = listener.local_addr().unwrap();
        let (desk, stop) = (Arc::new(desk()), CancellationToken::new());
        let ended = serve(&listener, &certificate, &desk, &stop, 2).unwrap();

        let mut roots = RootCertStore::empty();
        roots.add(cert.der().clone()).unwrap();
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let tls = ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
        let connection = TcpStream::connect(address).unwrap();
        connection.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut connection = StreamOwned::new(tls, connection);
        connection.write_all(b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = [0; 12];
        connection.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 404");

        drop(connection);
        stop.cancel();
        tokio::time::timeout(PATIENCE, ended).await.unwrap();
    }
}
