//! What is counted of the work on hosts, for Prometheus.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use kube::runtime::reflector::Store;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, EncodeLabelValue, EncodeMetric},
    metrics::{MetricType, counter::Counter, family::Family, gauge::ConstGauge},
    registry::Registry,
};

use super::{
    followed::{self, Followed},
    metal3_metrics::Metal3Metrics,
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

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, EncodeLabelSet)]
struct Standing {
    state: String,
    operational_status: String,
}

/// What Prometheus is told of the fleet, and in which words.
pub const COUNT: [&str; 2] = ["ironward_host_count", "Hosts, by state and operational status"];

/// The hosts as they stand when somebody asks: there is nothing to keep in step. Empty in replicas that do not keep hosts.
#[derive(Clone, Default)]
pub(super) struct Fleet(Arc<Mutex<Option<Store<Followed>>>>);

impl Fleet {
    /// These, until what is returned is dropped: who keeps hosts no longer knows nothing of them.
    #[must_use]
    pub fn is(&self, hosts: Store<Followed>) -> Told {
        self.set(Some(hosts));
        Told(self.clone())
    }

    fn set(&self, hosts: Option<Store<Followed>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = hosts;
    }
}

/// While it is there, the fleet is told.
pub(super) struct Told(Fleet);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

impl std::fmt::Debug for Fleet {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Fleet")
    }
}

impl Collector for Fleet {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        let hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(hosts) = hosts else { return Ok(()) };
        let mut standings: BTreeMap<Standing, i64> = BTreeMap::new();
        for host in hosts.state() {
            let (state, operational_status) = followed::standing(&host);
            *standings.entry(Standing { state, operational_status }).or_default() += 1;
        }
        let [name, help] = COUNT;
        let kind = MetricType::Gauge;
        let mut encoder = encoder.encode_descriptor(name, help, None, kind)?;
        for (standing, count) in &standings {
            ConstGauge::new(*count).encode(encoder.encode_family(standing)?)?;
        }
        Ok(())
    }
}

/// The counters.
#[derive(Debug, Clone)]
pub struct Metrics {
    pub(super) passes: Passes,
    pub(super) metal3: Metal3Metrics,
    pub(super) fleet: Fleet,
    operations: Family<Asked, Counter>,
}

impl Metrics {
    /// New ones, in the registry.
    pub fn new(registry: &mut Registry) -> Self {
        let metal3 = Metal3Metrics::new(registry);
        let fleet = Fleet::default();
        registry.register_collector(Box::new(fleet.clone()));
        let registry = registry.sub_registry_with_prefix("ironward_host");
        let passes = Passes::new(registry, "a host");
        let metrics = Self { passes, metal3, fleet, operations: Family::default() };
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
