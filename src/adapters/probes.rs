//! `/livez` and `/readyz` for the kubelet and `/metrics` for Prometheus, on a plain port.
//!
//! They answer different questions. Alive is a process that answers at all: restarting it helps nobody when
//! a kind is missing from the cluster. Ready is one that has all it needs; if not, the answer says what is missing.

use anyhow::{Context, Result};
use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric, text::encode},
    metrics::{MetricType, gauge::ConstGauge},
    registry::Registry,
};
use std::{net::SocketAddr, sync::Arc};
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

    /// Before something is there that is waited for.
    #[must_use]
    pub fn waiting(what: &str) -> Self {
        Self { missing: vec![what.to_owned()] }
    }

    /// Whether nothing is missing.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.missing.is_empty()
    }

    fn answer(&self) -> (StatusCode, String) {
        match self.missing.as_slice() {
            [] => (StatusCode::OK, "ok\n".into()),
            missing => (StatusCode::SERVICE_UNAVAILABLE, missing.join("\n") + "\n"),
        }
    }
}

/// Ready is when all of these are. What one said last counts for good once it can say no more.
pub async fn combine(mut parts: Vec<watch::Receiver<Readiness>>, all: watch::Sender<Readiness>) {
    let mut silent = Vec::new();
    loop {
        let every = parts.iter_mut().chain(&mut silent);
        let missing = every.flat_map(|part| part.borrow_and_update().missing.clone());
        all.send_replace(Readiness { missing: missing.collect() });
        if parts.is_empty() {
            return std::future::pending().await;
        }
        let changes = parts.iter_mut().map(|part| Box::pin(part.changed()));
        let (outcome, index, _) = futures::future::select_all(changes).await;
        if outcome.is_err() {
            silent.push(parts.swap_remove(index));
        }
    }
}

/// Takes the port, so that a port in use is an error before anything else is started.
pub async fn bind(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address)
        .await
        .with_context(|| format!("could not listen on {address} (--probe-address)"))
}

/// What Prometheus is told of it, and in which words.
pub const READY: [&str; 2] =
    ["ironward_ready", "1 while this replica has all it needs, as /readyz says"];

/// The same for Prometheus, which does not ask `/readyz`.
#[derive(Debug)]
struct Ready(watch::Receiver<Readiness>);

impl Collector for Ready {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        let [name, help] = READY;
        let encoder = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        ConstGauge::new(i64::from(self.0.borrow().is_ready())).encode(encoder)
    }
}

/// Answers until told to stop.
pub async fn serve(
    listener: TcpListener,
    readiness: watch::Receiver<Readiness>,
    mut metrics: Registry,
    stop: CancellationToken,
) {
    metrics.register_collector(Box::new(Ready(readiness.clone())));
    let served = axum::serve(listener, router(readiness, metrics))
        .with_graceful_shutdown(stop.cancelled_owned())
        .await;
    if let Err(error) = served {
        tracing::error!(%error, "the probes can no longer be answered");
    }
}

fn router(readiness: watch::Receiver<Readiness>, metrics: Registry) -> Router {
    let metrics = Arc::new(metrics);
    let ready = |State(readiness): State<watch::Receiver<Readiness>>| async move {
        readiness.borrow().answer()
    };
    Router::new()
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(async move || scraped(&metrics)))
        .with_state(readiness)
}

fn scraped(metrics: &Registry) -> axum::response::Response {
    const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let mut text = String::new();
    match encode(&mut text, metrics) {
        Ok(()) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_is_when_nothing_is_missing() {
        let ready = Readiness { missing: Vec::new() };
        assert_eq!(ready.answer(), (StatusCode::OK, "ok\n".into()));
    }

    #[tokio::test]
    async fn ready_is_when_all_are_also_when_some_have_gone_silent() {
        let [one, other] =
            ["one", "other"].map(|what| watch::Sender::new(Readiness::waiting(what)));
        let (all, mut is_ready) = watch::channel(Readiness::starting());
        tokio::spawn(combine(vec![one.subscribe(), other.subscribe()], all));
        is_ready.wait_for(|it| it.missing == ["one", "other"]).await.unwrap();
        one.send_replace(Readiness { missing: Vec::new() });
        drop(one);
        is_ready.wait_for(|it| it.missing == ["other"]).await.unwrap();
        other.send_replace(Readiness { missing: Vec::new() });
        drop(other);
        is_ready.wait_for(Readiness::is_ready).await.unwrap();
    }

    #[test]
    fn all_that_is_missing_is_said_at_once() {
        let missing = Readiness { missing: vec!["no cluster".into(), "no kinds".into()] };
        let expected = (StatusCode::SERVICE_UNAVAILABLE, "no cluster\nno kinds\n".into());
        assert_eq!(missing.answer(), expected);
    }
}
