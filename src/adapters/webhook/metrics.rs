//! What is counted of admission, for Prometheus.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

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

use crate::{
    admission::{Phase, Status},
    page::NO_POLICY,
    policy::OneVerdict,
};

/// Of how many questions one is measured policy by policy: that takes as long again as the answer.
const SAMPLE: u64 = 128;

/// How a question was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum Outcome {
    /// The request goes on.
    Allowed,
    /// The request goes on, changed.
    Changed,
    /// A rule was broken, or could not be evaluated.
    Denied,
    /// There was no answer.
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answer {
    phase: &'static str,
    outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Denied {
    policy: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Judged {
    policy: String,
    verdict: &'static str,
}

/// The counters of admission.
#[derive(Debug, Clone)]
pub struct Metrics {
    duration: Family<Answer, Histogram>,
    denials: Family<Denied, Counter>,
    policy_duration: Family<Judged, Histogram>,
    questions: Arc<AtomicU64>,
    /// Warnings given.
    pub warnings: Counter,
    /// How often the policies have changed.
    pub generation: Gauge,
    /// 1 while the policy directory holds something that is refused.
    pub refused: Gauge,
    /// When the serving certificate ends, in seconds since 1970.
    pub certificate_expiry: Gauge,
}

impl Metrics {
    /// New ones, in the registry.
    pub fn new(registry: &mut Registry) -> Self {
        let duration: Family<Answer, Histogram> =
            Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.000_05, 2.0, 16)));
        let metrics = Self {
            duration,
            denials: Family::default(),
            policy_duration: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.000_001, 2.0, 16))
            }),
            questions: Arc::default(),
            warnings: Counter::default(),
            generation: Gauge::default(),
            refused: Gauge::default(),
            certificate_expiry: Gauge::default(),
        };
        let registry = registry.sub_registry_with_prefix("ironward_admission");
        registry.register(
            "duration_seconds",
            "How long an answer to the API server took, look-ups included",
            metrics.duration.clone(),
        );
        // From the start, for Prometheus sees no increase in a counter that begins with 1.
        for phase in [Phase::Mutate, Phase::Validate] {
            let failed = Answer { phase: phase.into(), outcome: Outcome::Failed };
            drop(metrics.duration.get_or_create(&failed));
        }
        registry.register(
            "denials",
            "Findings for which requests were refused, by the policy that has them",
            metrics.denials.clone(),
        );
        registry.register(
            "policy_duration_seconds",
            "How long one policy took by itself, by what it said; measured of every 128th question",
            metrics.policy_duration.clone(),
        );
        registry.register("warnings", "Warnings given to users", metrics.warnings.clone());
        registry.register(
            "policy_generation",
            "How often the policies in force have changed since the start",
            metrics.generation.clone(),
        );
        registry.register(
            "policies_refused",
            "1 while the policy directory holds a set that is not in force because of a mistake in it",
            metrics.refused.clone(),
        );
        registry.register(
            "certificate_expiry_timestamp_seconds",
            "When the serving certificate ends, in seconds since 1970",
            metrics.certificate_expiry.clone(),
        );
        metrics
    }

    /// One answer.
    pub fn answered(&self, phase: Phase, outcome: Outcome, took: Duration) {
        let answer = Answer { phase: phase.into(), outcome };
        self.duration.get_or_create(&answer).observe(took.as_secs_f64());
    }

    /// A request was refused: who by, once for each finding.
    pub fn denied(&self, status: &Status) {
        let count = |policy: &str| {
            self.denials.get_or_create(&Denied { policy: policy.to_owned() }).inc();
        };
        match &status.details {
            Some(details) => details.causes.iter().for_each(|cause| count(&cause.policy)),
            None => count(NO_POLICY),
        }
    }

    /// Whether this question is one of those of which each policy is measured. The first is.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.questions.fetch_add(1, Ordering::Relaxed).is_multiple_of(SAMPLE)
    }

    /// Has one policy judge, and measures that.
    pub fn judged(&self, policy: &str, judge: &mut dyn FnMut() -> Option<OneVerdict>) {
        let start = Instant::now();
        if let Some(verdict) = judge() {
            let judged = Judged { policy: policy.to_owned(), verdict: verdict.into() };
            let seconds = start.elapsed().as_secs_f64();
            self.policy_duration.get_or_create(&judged).observe(seconds);
        }
    }
}
