//! What is counted of the work on machines, for Prometheus.

use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue},
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use crate::{adapters::passes::Passes, controllers::reservation::Why};

/// How a host came to a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
pub(super) enum How {
    /// It was anybody's.
    Chosen,
    /// It was reserved for the machine's pool.
    Reused,
    /// Somebody else was faster, and another is chosen.
    Outrun,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Claimed {
    how: How,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Released {
    why: &'static str,
}

/// The counters.
#[derive(Debug, Clone)]
pub struct Metrics {
    pub(super) passes: Passes,
    claims: Family<Claimed, Counter>,
    waiting: Gauge,
    releases: Family<Released, Counter>,
}

impl Metrics {
    /// New ones, in the registry.
    pub fn new(registry: &mut Registry) -> Self {
        let registry = registry.sub_registry_with_prefix("ironward_machine");
        let metrics = Self {
            passes: Passes::new(registry, "a machine"),
            claims: Family::default(),
            waiting: Gauge::default(),
            releases: Family::default(),
        };
        registry.register("claims", "Hosts that were taken, by how", metrics.claims.clone());
        // From the start, for Prometheus sees no increase in a counter that begins with 1.
        for how in [How::Chosen, How::Reused, How::Outrun] {
            drop(metrics.claims.get_or_create(&Claimed { how }));
        }
        registry.register("waiting", "Machines that wait for a host", metrics.waiting.clone());
        registry.register(
            "reservations_released",
            "Reservations of hosts that ended without a machine, by the reason",
            metrics.releases.clone(),
        );
        for why in [Why::PoolGone, Why::NotNeeded, Why::Unhealthy, Why::Unlabelled] {
            drop(metrics.releases.get_or_create(&Released { why: why.word() }));
        }
        metrics
    }

    pub(super) fn claim(&self, how: How) {
        self.claims.get_or_create(&Claimed { how }).inc();
    }

    /// Machines wait until what is returned is dropped: who keeps them no longer knows of none that does.
    pub(super) fn keeping(&self) -> Keeping {
        Keeping(self.waiting.clone())
    }

    pub(super) fn waiting(&self, machines: usize) {
        self.waiting.set(machines.try_into().unwrap_or(i64::MAX));
    }

    pub(super) fn release(&self, why: Why) {
        self.releases.get_or_create(&Released { why: why.word() }).inc();
    }
}

/// While it is there, machines are kept.
pub(super) struct Keeping(Gauge);

impl Drop for Keeping {
    fn drop(&mut self) {
        self.0.set(0);
    }
}
