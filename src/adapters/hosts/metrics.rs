//! What is counted of the work on hosts, for Prometheus.

use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue},
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

use crate::{
    adapters::passes::Passes,
    controllers::host::provisioner::{Error, Operation, Outcome},
};

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
struct Asked {
    operation: &'static str,
    outcome: Progress,
}

/// The counters.
#[derive(Debug, Clone)]
pub struct Metrics {
    pub(super) passes: Passes,
    operations: Family<Asked, Counter>,
}

impl Metrics {
    /// New ones, in the registry.
    pub fn new(registry: &mut Registry) -> Self {
        let registry = registry.sub_registry_with_prefix("ironward_host");
        let metrics =
            Self { passes: Passes::new(registry, "a host"), operations: Family::default() };
        registry.register(
            "operations",
            "Operations of the provisioner, each time they were asked for, by how far they were",
            metrics.operations.clone(),
        );
        metrics
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
