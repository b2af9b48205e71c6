//! What is counted of pools that follow hosts, for Prometheus.

use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue},
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
pub(super) enum Direction {
    Up,
    Down,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Scaled {
    direction: Direction,
}

/// The counters.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    scalings: Family<Scaled, Counter>,
}

impl Metrics {
    /// New ones, in the registry.
    pub fn new(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let registry = registry.sub_registry_with_prefix("ironward_autoscale");
        registry.register(
            "scalings",
            "How often the replicas of a pool were changed because hosts came or went",
            metrics.scalings.clone(),
        );
        // From the start, for Prometheus sees no increase in a counter that begins with 1.
        for direction in [Direction::Up, Direction::Down] {
            drop(metrics.scalings.get_or_create(&Scaled { direction }));
        }
        metrics
    }

    pub(super) fn scaled(&self, direction: Direction) {
        self.scalings.get_or_create(&Scaled { direction }).inc();
    }
}
