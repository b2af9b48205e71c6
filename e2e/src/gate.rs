//! A gate between Ironward and the API server: it lets everything pass, and holds the one request that a test waits for,
//! before the API server has seen it or before Ironward knows that it has. Whoever is killed then is killed at that step.

use anyhow::{Context, Result};
use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::{Request, State},
    http::{Method, StatusCode, header},
    response::Response,
};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use std::{
    fmt, fs,
    future::pending,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

/// When a request is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The API server never sees it.
    Before,
    /// The API server has done it, and nobody hears of that.
    After,
}

type Matches = Box<dyn Fn(&Method, &str, &[u8]) -> bool + Send>;

/// The request that is waited for.
struct Wanted {
    moment: Moment,
    matches: Matches,
    reached: Sender<()>,
}

/// The gate. It ends with the process.
#[derive(Clone)]
pub struct Gate {
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
        let (opened, gate) = channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
            let served = runtime.map_err(anyhow::Error::from).and_then(|runtime| {
                runtime.block_on(async {
                    let options = KubeConfigOptions::default();
                    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
                    // Watches last.
                    config.read_timeout = None;
                    let client = Client::try_from(config)?;
                    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
                    let wanted = Arc::default();
                    let gate = Self { address: listener.local_addr()?, wanted };
                    let _ = opened.send(gate.clone());
                    let router = Router::new().fallback(pass).with_state((gate, client));
                    axum::serve(listener, router).await?;
                    Ok(())
                })
            });
            if let Err(error) = served {
                eprintln!("the gate is shut: {error:#}");
            }
        });
        gate.recv().context("the gate did not open")
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
        let (reached, held) = channel();
        let matches = Box::new(matches);
        *self.wanted() = Some(Wanted { moment, matches, reached });
        Held(held)
    }

    fn wanted(&self) -> std::sync::MutexGuard<'_, Option<Wanted>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the request is to be held at this moment; if so, the test hears of it.
    fn holds(&self, moment: Moment, method: &Method, path: &str, body: &[u8]) -> bool {
        let mut wanted = self.wanted();
        let is_it = |it: &Wanted| it.moment == moment && (it.matches)(method, path, body);
        if !wanted.as_ref().is_some_and(is_it) {
            return false;
        }
        if let Some(wanted) = wanted.take() {
            let _ = wanted.reached.send(());
        }
        true
    }
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

async fn pass(State((gate, client)): State<(Gate, Client)>, request: Request) -> Response {
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
    let request = Request::from_parts(parts, kube::client::Body::from(body.to_vec()));
    match client.send(request).await {
        Ok(_) if gate.holds(Moment::After, &method, &path, &body) => pending().await,
        Ok(response) => response.map(Body::new),
        Err(error) => refused(error.to_string()),
    }
}
