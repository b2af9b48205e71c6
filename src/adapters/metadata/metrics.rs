//! What is counted of the work on metadata, for Prometheus.

use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue},
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

use crate::adapters::passes::Passes;

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
pub(super) enum Written {
    Metadata,
    Status,
    SecretCreated,
    SecretChanged,
    SecretDeleted,
    Machine,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct What {
    what: Written,
}

/// The counters.
#[derive(Debug, Clone)]
pub struct Metrics {
    pub(super) passes: Passes,
    writes: Family<What, Counter>,
}

impl Metrics {
    /// New ones, in the registry.
    pub fn new(registry: &mut Registry) -> Self {
        let registry = registry.sub_registry_with_prefix("ironward_metadata");
        let metrics =
            Self { passes: Passes::new(registry, "a Metal3Metadata"), writes: Family::default() };
        registry.register(
            "writes",
            "Writes to the API server that it did, by what was written",
            metrics.writes.clone(),
        );
        metrics
    }

    pub(super) fn written(&self, what: Written) {
        self.writes.get_or_create(&What { what }).inc();
    }
}
