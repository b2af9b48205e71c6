//! What is counted of the work on hosts, for Prometheus.

use std::time::Duration;

use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue},
    metrics::{
        counter::Counter,
        family::Family,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};

use crate::controllers::host::provisioner::{Error, Operation, Outcome};

/// How a pass ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
pub(super) enum Pass {
    /// All that was decided is written and done.
    Made,
    /// Somebody else wrote first: it is made anew.
    Outrun,
    /// Something could not be read or written: it is tried again.
    Failed,
}

/// How far an operation was when it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
enum Progress {
    Done,
    Moving,
    Failed,
    /// It could not be tried.
    Untried,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    outcome: Pass,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Asked {
    operation: &'static str,
    outcome: Progress,
}

/// The counters.
#[derive(Debug, Clone)]
pub struct Metrics {
    passes: Family<Ended, Histogram>,
    operations: Family<Asked, Counter>,
}

impl Metrics {
    /// New ones, in the registry.
    pub fn new(registry: &mut Registry) -> Self {
        let passes: Family<Ended, Histogram> =
            Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.001, 2.0, 16)));
        let metrics = Self { passes, operations: Family::default() };
        let registry = registry.sub_registry_with_prefix("ironward_host");
        registry.register(
            "pass_duration_seconds",
            "How long a look at a host took, with all that was done about it, by how it ended",
            metrics.passes.clone(),
        );
        registry.register(
            "operations",
            "Operations of the provisioner, each time they were asked for, by how far they were",
            metrics.operations.clone(),
        );
        metrics
    }

    pub(super) fn pass(&self, outcome: Pass, took: Duration) {
        self.passes.get_or_create(&Ended { outcome }).observe(took.as_secs_f64());
    }

    pub(super) fn operation(&self, operation: &Operation, answer: &Result<Outcome, Error>) {
        let outcome = match answer {
            Ok(Outcome::Done(_)) => Progress::Done,
            Ok(Outcome::Moving { .. }) => Progress::Moving,
            Ok(Outcome::Failed { .. }) => Progress::Failed,
            Err(_) => Progress::Untried,
        };
        self.operations.get_or_create(&Asked { operation: operation.into(), outcome }).inc();
    }
}
