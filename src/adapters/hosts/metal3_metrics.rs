//! What baremetal-operator counts, under the names that it has there. Two labels are left out that would grow with the fleet: of what
//! happens to every host all the time, or is a histogram, the namespace is said and the host is not.

use kube::ResourceExt;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::Registry,
};
use strum::IntoEnumIterator;

use crate::{
    api::BareMetalHost,
    controllers::host::{
        counted::{Counted, Plain, Timed},
        slots::Work,
    },
};

/// In seconds. A registration takes seconds, all else minutes.
const QUICK: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
const SLOW: [f64; 6] = [30.0, 90.0, 180.0, 360.0, 720.0, 1440.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Namespace {
    namespace: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Host {
    namespace: String,
    host: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Switched {
    namespace: String,
    host: String,
    on_off: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Failed {
    error_type: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateChange {
    prev_state: String,
    new_state: String,
}

type Durations = Family<Namespace, Histogram, fn() -> Histogram>;

/// The counters.
#[derive(Debug, Clone)]
pub(super) struct Metal3Metrics {
    reconciles: Family<Namespace, Counter>,
    reconcile_errors: Counter,
    errors: Family<Failed, Counter>,
    power_changes: Family<Switched, Counter>,
    state_changes: Family<StateChange, Counter>,
    delayed_provisioning: Family<Host, Counter>,
    delayed_deprovisioning: Family<Host, Counter>,
    durations: Vec<(Timed, Durations)>,
    plain: Vec<(Plain, Counter)>,
}

impl Metal3Metrics {
    pub fn new(registry: &mut Registry) -> Self {
        let registry = registry.sub_registry_with_prefix("metal3");
        let durations = Timed::iter().map(|timed| (timed, durations(registry, timed))).collect();
        let plain = Plain::iter().map(|plain| {
            let counter = Counter::default();
            let name: &str = plain.into();
            registry.register(name, help(plain), counter.clone());
            (plain, counter)
        });
        let plain = plain.collect();
        let metrics = Self {
            reconciles: Family::default(),
            reconcile_errors: Counter::default(),
            errors: Family::default(),
            power_changes: Family::default(),
            state_changes: Family::default(),
            delayed_provisioning: Family::default(),
            delayed_deprovisioning: Family::default(),
            durations,
            plain,
        };
        registry.register("reconcile", "Passes over hosts", metrics.reconciles.clone());
        registry.register(
            "reconcile_error",
            "Passes over hosts that could not be made",
            metrics.reconcile_errors.clone(),
        );
        registry.register(
            "host_error",
            "How often something failed on a host, by what",
            metrics.errors.clone(),
        );
        registry.register(
            "operation_power_change",
            "How often a host was switched on or off",
            metrics.power_changes.clone(),
        );
        registry.register(
            "provisioning_state_change",
            "How often a host went from one state to another",
            metrics.state_changes.clone(),
        );
        registry.register(
            // Two underscores, as baremetal-operator has it.
            "delayed__provisioning",
            "How often a host had to wait for its turn to be inspected or provisioned",
            metrics.delayed_provisioning.clone(),
        );
        registry.register(
            "delayed__deprovisioning",
            "How often a host had to wait for its turn to be deprovisioned",
            metrics.delayed_deprovisioning.clone(),
        );
        metrics
    }

    /// A pass was begun.
    pub fn pass(&self, namespace: &str) {
        self.reconciles.get_or_create(&Namespace { namespace: namespace.to_owned() }).inc();
    }

    /// It could not be made.
    pub fn failed_pass(&self) {
        self.reconcile_errors.inc();
    }

    /// A plan was stored, by which all this happened to a host.
    pub fn add(&self, host: &BareMetalHost, happened: &[Counted]) {
        let (namespace, name) = (host.namespace().unwrap_or_default(), host.name_any());
        let host = || Host { namespace: namespace.clone(), host: name.clone() };
        for one in happened {
            match one {
                Counted::StateChange { from, to } => {
                    let change = StateChange { prev_state: from.clone(), new_state: to.clone() };
                    self.state_changes.get_or_create(&change).inc();
                }
                Counted::Ended(timed, seconds) => {
                    let its = self.durations.iter().filter(|(it, _)| it == timed);
                    for (_, family) in its {
                        let labels = Namespace { namespace: namespace.clone() };
                        family.get_or_create(&labels).observe(*seconds);
                    }
                }
                Counted::Failed(error) => {
                    self.errors.get_or_create(&Failed { error_type: error.to_string() }).inc();
                }
                Counted::Delayed(Work::Deprovisioning) => {
                    self.delayed_deprovisioning.get_or_create(&host()).inc();
                }
                Counted::Delayed(Work::Provisioning | Work::Inspecting) => {
                    self.delayed_provisioning.get_or_create(&host()).inc();
                }
                Counted::Power { is_on } => {
                    let Host { namespace, host } = host();
                    let on_off = if *is_on { "on" } else { "off" };
                    self.power_changes.get_or_create(&Switched { namespace, host, on_off }).inc();
                }
                Counted::Once(plain) => {
                    for (_, counter) in self.plain.iter().filter(|(it, _)| it == plain) {
                        counter.inc();
                    }
                }
            }
        }
    }

    /// A host is no more: what was counted of it alone goes with it.
    pub fn forget(&self, host: &BareMetalHost) {
        let (namespace, host) = (host.namespace().unwrap_or_default(), host.name_any());
        for on_off in ["on", "off"] {
            let (namespace, host) = (namespace.clone(), host.clone());
            self.power_changes.remove(&Switched { namespace, host, on_off });
        }
        let host = Host { namespace, host };
        self.delayed_provisioning.remove(&host);
        self.delayed_deprovisioning.remove(&host);
    }
}

fn durations(registry: &mut Registry, timed: Timed) -> Durations {
    let (buckets, help): (fn() -> Histogram, _) = match timed {
        Timed::Register => (|| Histogram::new(QUICK), "How long a registration took"),
        Timed::Inspect => (|| Histogram::new(SLOW), "How long an inspection took"),
        Timed::Provision => (|| Histogram::new(SLOW), "How long it took to write an image"),
        Timed::Deprovision => (|| Histogram::new(SLOW), "How long it took to take an image away"),
    };
    let family = Durations::new_with_constructor(buckets);
    let name: &str = timed.into();
    registry.register(format!("operation_{name}_duration_seconds"), help, family.clone());
    family
}

fn help(plain: Plain) -> &'static str {
    match plain {
        Plain::CredentialsMissing => "How often a host was found to have no credentials",
        Plain::CredentialsInvalid => "How often a host's credentials could not be used",
        Plain::CredentialsUpdated => "How often a host's credentials have changed",
        Plain::HostRegistrationRequired => "How often a host had to be registered",
        Plain::HostUnmanaged => {
            "How often a host was found that nothing is known to manage it with"
        }
        Plain::DeleteWithoutDeprovisioning => {
            "How often a host was forgotten though its image could not be taken away"
        }
        Plain::DeleteWithoutPoweringOff => {
            "How often a host was forgotten though it could not be switched off"
        }
    }
}
