//! A gate between Ironward and the API server, or Ironic: it lets everything pass, and holds the one request that a test waits for,
//! before the other side has seen it or before Ironward knows that it has. Whoever is killed then is killed at that step.

use crate::certificates::Authority;
use anyhow::{Context, Result};
use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::{Request, State},
    http::{Method, StatusCode, header},
    response::Response,
};
use axum_server::tls_rustls::RustlsConfig;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};
use std::{
    fmt, fs,
    future::pending,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

/// When a request is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The other side never sees it.
    Before,
    /// The other side has done it, and nobody hears of that.
    After,
}

type Matches = Box<dyn Fn(Moment, &Method, &str, &[u8]) -> bool + Send>;

/// The request that is waited for.
struct Wanted {
    matches: Matches,
    reached: Sender<()>,
}

/// The gate. It ends with the process.
#[derive(Clone)]
pub struct Gate {
    scheme: &'static str,
    address: SocketAddr,
    wanted: Arc<Mutex<Option<Wanted>>>,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Gate {
    /// Opens one to the API server of a kubeconfig, as its user.
    pub fn open(kubeconfig: &Path) -> Result<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
        Self::serve(None, async {
            let options = KubeConfigOptions::default();
            let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
            // Watches last.
            config.read_timeout = None;
            Ok(Beyond::ApiServer(Client::try_from(config)?))
        })
    }

    /// Opens one to a server that speaks plain HTTP.
    pub fn open_to(url: &str) -> Result<Self> {
        let (url, client) = (url.to_owned(), reqwest::Client::builder().no_proxy());
        Self::serve(None, async { Ok(Beyond::Server { url, client: client.build()? }) })
    }

    /// Opens one to a server with a certificate of `ca_pem`, that lets in nobody without a certificate of this authority. Its own is of
    /// the same.
    pub fn open_to_certified(url: &str, ca_pem: &str, authority: &Authority) -> Result<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let ca = reqwest::Certificate::from_pem(ca_pem.as_bytes())?;
        let client = reqwest::Client::builder().no_proxy().tls_certs_only([ca]);
        let (url, tls) = (url.to_owned(), asking_for_certificates(authority)?);
        Self::serve(Some(tls), async { Ok(Beyond::Server { url, client: client.build()? }) })
    }

    fn serve(
        tls: Option<RustlsConfig>,
        beyond: impl Future<Output = Result<Beyond>> + Send + 'static,
    ) -> Result<Self> {
        let (opened, gate) = channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
            let served = runtime.map_err(anyhow::Error::from).and_then(|runtime| {
                runtime.block_on(async {
                    let beyond = beyond.await?;
                    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
                    let wanted = Arc::default();
                    let scheme = if tls.is_some() { "https" } else { "http" };
                    let gate = Self { scheme, address: listener.local_addr()?, wanted };
                    let _ = opened.send(gate.clone());
                    let router = Router::new().fallback(pass).with_state((gate, beyond));
                    if let Some(tls) = tls {
                        let server = axum_server::from_tcp_rustls(listener.into_std()?, tls)?;
                        server.serve(router.into_make_service()).await?;
                    } else {
                        axum::serve(listener, router).await?;
                    }
                    Ok(())
                })
            });
            if let Err(error) = served {
                eprintln!("the gate is shut: {error:#}");
            }
        });
        gate.recv().context("the gate did not open")
    }

    /// Its own address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// A kubeconfig that leads through it.
    pub fn kubeconfig(&self, dir: &Path) -> Result<PathBuf> {
        let path = dir.join(format!("gate-{}.kubeconfig", self.address.port()));
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: gate\n\
             clusters: [{{name: gate, cluster: {{server: 'http://{}'}}}}]\n\
             users: [{{name: gate, user: {{}}}}]\n\
             contexts: [{{name: gate, context: {{cluster: gate, user: gate}}}}]\n",
            self.address
        );
        fs::write(&path, text)?;
        Ok(path)
    }

    /// Holds the next request that matches by method, path and body.
    pub fn hold(
        &self,
        moment: Moment,
        matches: impl Fn(&Method, &str, &[u8]) -> bool + Send + 'static,
    ) -> Held {
        let is_held = AtomicBool::new(false);
        self.hold_all(move |at, method, path, body| {
            at == moment && matches(method, path, body) && !is_held.swap(true, Ordering::Relaxed)
        })
    }

    /// Holds every request that matches at either moment: each is asked about first before it passes, and then after it.
    pub fn hold_all(
        &self,
        matches: impl Fn(Moment, &Method, &str, &[u8]) -> bool + Send + 'static,
    ) -> Held {
        let (reached, held) = channel();
        *self.wanted() = Some(Wanted { matches: Box::new(matches), reached });
        Held(held)
    }

    /// Lets everything pass that comes from now on.
    pub fn let_pass(&self) {
        *self.wanted() = None;
    }

    fn wanted(&self) -> std::sync::MutexGuard<'_, Option<Wanted>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the request is to be held at this moment; if so, the test hears of it.
    fn holds(&self, moment: Moment, method: &Method, path: &str, body: &[u8]) -> bool {
        let wanted = self.wanted();
        let is_it = |it: &&Wanted| (it.matches)(moment, method, path, body);
        let Some(wanted) = wanted.as_ref().filter(is_it) else { return false };
        // Nobody listens any more.
        let _ = wanted.reached.send(());
        true
    }
}

fn asking_for_certificates(authority: &Authority) -> Result<RustlsConfig> {
    let own = authority.for_server("gate", &["127.0.0.1"])?;
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority.certificate())?)?;
    let config = ServerConfig::builder()
        .with_client_cert_verifier(WebPkiClientVerifier::builder(Arc::new(roots)).build()?)
        .with_single_cert(
            vec![CertificateDer::from_pem_file(own.certificate)?],
            PrivateKeyDer::from_pem_file(own.key)?,
        )?;
    Ok(RustlsConfig::from_config(Arc::new(config)))
}

/// A request that will be held.
#[derive(Debug)]
pub struct Held(Receiver<()>);

impl Held {
    /// Waits until it is.
    pub fn wait(&self, patience: Duration) -> Result<()> {
        self.0.recv_timeout(patience).context("the request that is waited for did not come")
    }
}

/// What is behind the gate.
#[derive(Clone)]
enum Beyond {
    ApiServer(Client),
    Server { url: String, client: reqwest::Client },
}

impl Beyond {
    async fn ask(&self, request: Request<Bytes>) -> Result<Response> {
        match self {
            Self::ApiServer(client) => {
                let request = request.map(|body| kube::client::Body::from(body.to_vec()));
                Ok(client.send(request).await?.map(Body::new))
            }
            Self::Server { url, client } => {
                let (parts, body) = request.into_parts();
                let path = parts.uri.path_and_query().map_or("/", |it| it.as_str());
                let request = client.request(parts.method, format!("{url}{path}"));
                let answer = request.headers(parts.headers).body(body).send().await?;
                let mut response = Response::new(Body::empty());
                *response.status_mut() = answer.status();
                response.headers_mut().clone_from(answer.headers());
                // It is sent whole.
                response.headers_mut().remove(header::TRANSFER_ENCODING);
                *response.body_mut() = Body::from(answer.bytes().await?);
                Ok(response)
            }
        }
    }
}

async fn pass(State((gate, beyond)): State<(Gate, Beyond)>, request: Request) -> Response {
    let refused = |error: String| {
        let mut response = Response::new(Body::from(error));
        *response.status_mut() = StatusCode::BAD_GATEWAY;
        response
    };
    let (mut parts, body) = request.into_parts();
    let body: Bytes = match to_bytes(body, usize::MAX).await {
        Ok(body) => body,
        Err(error) => return refused(error.to_string()),
    };
    let (method, path) = (parts.method.clone(), parts.uri.path().to_owned());
    if gate.holds(Moment::Before, &method, &path, &body) {
        return pending().await;
    }
    parts.headers.remove(header::HOST);
    match beyond.ask(Request::from_parts(parts, body.clone())).await {
        Ok(_) if gate.holds(Moment::After, &method, &path, &body) => pending().await,
        Ok(response) => response,
        Err(error) => refused(format!("{error:#}")),
    }
}
