//! What is counted of the traffic with Ironic, for Prometheus.

use std::time::Duration;

use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};

use crate::ironic::error::{Error, Kind};

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum Outcome {
    /// With what was asked for.
    Ok,
    /// The node was locked, or Ironic had its hands full.
    Busy,
    /// Ironic said no.
    Refused,
    /// Ironic failed.
    Failed,
    /// There was no connection or no answer.
    Unreachable,
}

const OUTCOMES: [Outcome; 5] =
    [Outcome::Ok, Outcome::Busy, Outcome::Refused, Outcome::Failed, Outcome::Unreachable];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    method: String,
    outcome: Outcome,
}

/// The counters.
#[derive(Debug, Clone)]
pub struct Metrics {
    requests: Family<Request, Counter>,
    ticks: Histogram,
    read_at: Gauge,
    nodes: Gauge,
}

impl Metrics {
    /// New ones, in the registry.
    pub fn new(registry: &mut Registry) -> Self {
        let metrics = Self {
            requests: Family::default(),
            ticks: Histogram::new(exponential_buckets(0.01, 2.0, 14)),
            read_at: Gauge::default(),
            nodes: Gauge::default(),
        };
        let registry = registry.sub_registry_with_prefix("ironward_ironic");
        registry.register(
            "requests",
            "Requests to Ironic, by method and how they ended",
            metrics.requests.clone(),
        );
        // From the start, for Prometheus sees no increase in a counter that begins with 1.
        for outcome in OUTCOMES {
            let read = Request { method: "GET".to_owned(), outcome };
            drop(metrics.requests.get_or_create(&read));
        }
        registry.register(
            "snapshot_duration_seconds",
            "How long it took to read all nodes once",
            metrics.ticks.clone(),
        );
        registry.register(
            "snapshot_timestamp_seconds",
            "When all nodes were last read, in seconds since 1970; time() minus this is the age",
            metrics.read_at.clone(),
        );
        registry.register("nodes", "Nodes that Ironic has", metrics.nodes.clone());
        metrics
    }

    pub(super) fn asked(&self, method: &str, error: Option<&Error>) {
        let request = Request { method: method.to_owned(), outcome: outcome(error) };
        self.requests.get_or_create(&request).inc();
    }

    pub(super) fn read(&self, took: Duration, at: i64, nodes: usize) {
        self.ticks.observe(took.as_secs_f64());
        self.read_at.set(at);
        self.nodes.set(i64::try_from(nodes).unwrap_or(i64::MAX));
    }

    /// How many requests there were, of whatever kind.
    #[must_use]
    pub fn requests(&self) -> u64 {
        let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"];
        let count = |method: &str, outcome| {
            let request = Request { method: method.to_owned(), outcome };
            self.requests.get(&request).map_or(0, |counter| counter.get())
        };
        let each =
            |method: &&str| OUTCOMES.iter().map(|outcome| count(method, *outcome)).sum::<u64>();
        methods.iter().map(each).sum()
    }
}

fn outcome(error: Option<&Error>) -> Outcome {
    match error {
        None => Outcome::Ok,
        Some(Error::Unreachable { .. } | Error::Unanswered { .. }) => Outcome::Unreachable,
        Some(Error::Unreadable { .. } | Error::Version(_)) => Outcome::Failed,
        Some(Error::Refused(refusal)) => match refusal.kind {
            Kind::Busy => Outcome::Busy,
            Kind::Broken => Outcome::Failed,
            Kind::Conflict
            | Kind::Invalid
            | Kind::Unauthorized
            | Kind::Forbidden
            | Kind::NotFound
            | Kind::Version => Outcome::Refused,
        },
    }
}
