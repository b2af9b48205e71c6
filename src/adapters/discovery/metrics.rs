//! What is counted of discovery, for Prometheus.

use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue},
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

/// What came of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
pub(super) enum Fate {
    /// It has a host.
    Created,
    /// The API server has refused the host.
    Denied,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Tried {
    outcome: Fate,
}

/// The counters.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    hosts: Family<Tried, Counter>,
    reports: Counter,
}

impl Metrics {
    /// New ones, in the registry.
    pub fn new(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let registry = registry.sub_registry_with_prefix("ironward_discovery");
        registry.register(
            "hosts",
            "BareMetalHosts that discovery has created, or tried to, by what came of it",
            metrics.hosts.clone(),
        );
        // From the start, for Prometheus sees no increase in a counter that begins with 1.
        for outcome in [Fate::Created, Fate::Denied] {
            drop(metrics.hosts.get_or_create(&Tried { outcome }));
        }
        registry.register(
            "reports",
            "Reports of machines that were asked for in Ironic: one for each new node",
            metrics.reports.clone(),
        );
        metrics
    }

    pub(super) fn tried(&self, outcome: Fate) {
        self.hosts.get_or_create(&Tried { outcome }).inc();
    }

    pub(super) fn asked(&self) {
        self.reports.inc();
    }
}
