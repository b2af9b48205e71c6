//! A controller's looks at its objects, counted and timed by how they ended: the same in all controllers.

use std::{pin::Pin, time::Duration};

use anyhow::Result;
use kube::runtime::controller::Action;
use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue},
    metrics::{
        family::Family,
        gauge::Gauge,
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
pub(super) struct Passes {
    seconds: Family<Ended, Histogram>,
    running: Gauge,
}

/// One that is under way, for as long as this is there.
struct Running<'a>(&'a Gauge);

impl<'a> Running<'a> {
    fn begin(running: &'a Gauge) -> Self {
        running.inc();
        Self(running)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}

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
        let running = Gauge::default();
        registry.register(
            "passes_running",
            format!("Looks at {what} that are under way; while it stays at its limit, others wait in line"),
            running.clone(),
        );
        Self { seconds, running }
    }

    /// Makes one, boxed by who has it made: it holds an object and all that is known of it. That somebody else was faster is no failure: it is decided anew, from what is there now.
    pub async fn counted(
        &self,
        pass: Pin<Box<impl Future<Output = Result<Action>>>>,
    ) -> Result<Action> {
        let start = Instant::now();
        let _running = Running::begin(&self.running);
        let (outcome, action) = match pass.await {
            Err(error) if is_conflict(&error) => {
                (Pass::Outrun, Ok(Action::requeue(Duration::ZERO)))
            }
            Err(error) => (Pass::Failed, Err(error)),
            Ok(action) => (Pass::Made, Ok(action)),
        };
        self.seconds.get_or_create(&Ended { outcome }).observe(start.elapsed().as_secs_f64());
        action
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{future::pending, task::Context};

    #[tokio::test]
    async fn a_pass_is_under_way_until_it_ends_or_is_given_up() {
        let passes = Passes::new(&mut Registry::default(), "a host");
        let mut endless = Box::pin(passes.counted(Box::pin(pending())));
        assert_eq!(passes.running.get(), 0);
        let begun = endless.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop()));
        assert!(begun.is_pending());
        assert_eq!(passes.running.get(), 1);
        drop(endless);
        assert_eq!(passes.running.get(), 0);
        let made = passes.counted(Box::pin(async { Ok(Action::await_change()) })).await;
        assert!(made.is_ok());
        assert_eq!(passes.running.get(), 0);
    }
}
