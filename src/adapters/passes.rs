//! A controller's looks at its objects, counted and timed by how they ended: the same in all controllers.

use std::{pin::Pin, time::Duration};

use anyhow::Result;
use kube::runtime::controller::Action;
use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue},
    metrics::{
        family::Family,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};
use tokio::time::Instant;

use super::patch::is_conflict;

/// How a pass ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
enum Pass {
    /// All that was decided is written and done.
    Made,
    /// Somebody else wrote first: it is made anew.
    Outrun,
    /// Something could not be read or written: it is tried again.
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    outcome: Pass,
}

/// The passes of one controller.
#[derive(Debug, Clone)]
pub(super) struct Passes(Family<Ended, Histogram>);

impl Passes {
    /// Those over `what`, such as "a host", in the controller's part of the registry.
    pub fn new(registry: &mut Registry, what: &str) -> Self {
        let seconds: Family<Ended, Histogram> =
            Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.001, 2.0, 18)));
        registry.register(
            "pass_duration_seconds",
            format!(
                "How long a look at {what} took, with all that was done about it, by how it ended"
            ),
            seconds.clone(),
        );
        // From the start, for Prometheus sees no increase in a counter that begins with 1.
        for outcome in [Pass::Made, Pass::Outrun, Pass::Failed] {
            drop(seconds.get_or_create(&Ended { outcome }));
        }
        Self(seconds)
    }

    /// Makes one, boxed by who has it made: it holds an object and all that is known of it. That somebody else was faster is no failure: it is decided anew, from what is there now.
    pub async fn counted(
        &self,
        pass: Pin<Box<impl Future<Output = Result<Action>>>>,
    ) -> Result<Action> {
        let start = Instant::now();
        let (outcome, action) = match pass.await {
            Err(error) if is_conflict(&error) => {
                (Pass::Outrun, Ok(Action::requeue(Duration::ZERO)))
            }
            Err(error) => (Pass::Failed, Err(error)),
            Ok(action) => (Pass::Made, Ok(action)),
        };
        self.0.get_or_create(&Ended { outcome }).observe(start.elapsed().as_secs_f64());
        action
    }
}
