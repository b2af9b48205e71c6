//! `/livez` and `/readyz` for the kubelet, on a plain port.
//!
//! They answer different questions. Alive is a process that answers at all: restarting it helps nobody when
//! a kind is missing from the cluster. Ready is one that has all it needs; if not, the answer says what is missing.

use anyhow::{Context, Result};
use axum::{Router, extract::State, http::StatusCode, routing::get};
use std::net::SocketAddr;
use tokio::{net::TcpListener, sync::watch};
use tokio_util::sync::CancellationToken;

/// What stands in the way of being ready, in words; ready if nothing does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    /// One line for each thing that is missing.
    pub missing: Vec<String>,
}

impl Readiness {
    /// Before anything is known of the cluster.
    #[must_use]
    pub fn starting() -> Self {
        Self { missing: vec!["the cluster has not been looked at yet".into()] }
    }

    fn answer(&self) -> (StatusCode, String) {
        match self.missing.as_slice() {
            [] => (StatusCode::OK, "ok\n".into()),
            missing => (StatusCode::SERVICE_UNAVAILABLE, missing.join("\n") + "\n"),
        }
    }
}

/// Takes the port, so that a port in use is an error before anything else is started.
pub async fn bind(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address)
        .await
        .with_context(|| format!("could not listen on {address} (--probe-address)"))
}

/// Answers until told to stop.
pub async fn serve(
    listener: TcpListener,
    readiness: watch::Receiver<Readiness>,
    stop: CancellationToken,
) {
    let served = axum::serve(listener, router(readiness))
        .with_graceful_shutdown(stop.cancelled_owned())
        .await;
    if let Err(error) = served {
        tracing::error!(%error, "the probes can no longer be answered");
    }
}

fn router(readiness: watch::Receiver<Readiness>) -> Router {
    let ready = |State(readiness): State<watch::Receiver<Readiness>>| async move {
        readiness.borrow().answer()
    };
    Router::new()
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .with_state(readiness)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_is_when_nothing_is_missing() {
        let ready = Readiness { missing: Vec::new() };
        assert_eq!(ready.answer(), (StatusCode::OK, "ok\n".into()));
    }

    #[test]
    fn all_that_is_missing_is_said_at_once() {
        let missing = Readiness { missing: vec!["no cluster".into(), "no kinds".into()] };
        let expected = (StatusCode::SERVICE_UNAVAILABLE, "no cluster\nno kinds\n".into());
        assert_eq!(missing.answer(), expected);
    }
}
