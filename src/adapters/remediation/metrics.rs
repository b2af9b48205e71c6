//! What is counted of remediation, for Prometheus.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

use crate::{
    adapters::passes::Passes,
    api::hosthistory::RemediationOutcome,
    controllers::remediation::{
        events::{Event, Reason},
        plan::Action,
    },
};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Came {
    outcome: &'static str,
}

/// The counters.
#[derive(Debug, Clone)]
pub struct Metrics {
    pub(super) passes: Passes,
    outcomes: Family<Came, Counter>,
    switched_off: Counter,
    given_up: Counter,
    delayed: Counter,
}

impl Metrics {
    /// New ones, in the registry.
    pub fn new(registry: &mut Registry) -> Self {
        let registry = registry.sub_registry_with_prefix("ironward_remediation");
        let metrics = Self {
            passes: Passes::new(registry, "a remediation"),
            outcomes: Family::default(),
            switched_off: Counter::default(),
            given_up: Counter::default(),
            delayed: Counter::default(),
        };
        registry.register(
            "attempts",
            "Attempts that are over, by outcome",
            metrics.outcomes.clone(),
        );
        // From the start, for Prometheus sees no increase in a counter that begins with 1.
        for outcome in [
            RemediationOutcome::Recovered,
            RemediationOutcome::TimedOut,
            RemediationOutcome::Replaced,
            RemediationOutcome::Failed,
            RemediationOutcome::Cancelled,
        ] {
            drop(metrics.outcomes.get_or_create(&Came { outcome: word(outcome) }));
        }
        registry.register(
            "hosts_switched_off",
            "Hosts that were asked to go off and on",
            metrics.switched_off.clone(),
        );
        registry.register(
            "hosts_given_up",
            "Hosts that were taken out of use, because nothing helped",
            metrics.given_up.clone(),
        );
        registry.register(
            "delayed",
            "Remediations that waited because enough others were at work",
            metrics.delayed.clone(),
        );
        metrics
    }

    /// What the history did not say before.
    pub(super) fn outcome(&self, outcome: RemediationOutcome) {
        self.outcomes.get_or_create(&Came { outcome: word(outcome) }).inc();
    }

    /// What was done.
    pub(super) fn done(&self, action: &Action) {
        if *action == Action::SwitchOff {
            self.switched_off.inc();
        }
        if *action == Action::GiveUpHost {
            self.given_up.inc();
        }
    }

    /// What people were told.
    pub(super) fn told(&self, events: &[Event]) {
        if events.iter().any(|event| event.reason == Reason::RemediationDelayed) {
            self.delayed.inc();
        }
    }
}

fn word(outcome: RemediationOutcome) -> &'static str {
    match outcome {
        RemediationOutcome::Recovered => "Recovered",
        RemediationOutcome::TimedOut => "TimedOut",
        RemediationOutcome::Replaced => "Replaced",
        RemediationOutcome::Failed => "Failed",
        RemediationOutcome::Cancelled => "Cancelled",
    }
}
