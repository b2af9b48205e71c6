//! Measures the CPU that the thread took, not the time that passed: what is promised is CPU, and a machine
//! that does other things at the same time must not make it look worse.

use criterion::{
    Criterion,
    measurement::{Measurement, ValueFormatter, WallTime},
};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// CPU time of the thread.
#[derive(Debug)]
pub struct CpuTime;

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        now()
    }

    fn end(&self, start: Duration) -> Duration {
        now().saturating_sub(start)
    }

    fn add(&self, one: &Duration, other: &Duration) -> Duration {
        *one + *other
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    #[expect(clippy::cast_precision_loss, reason = "a benchmark of years has other problems")]
    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

fn now() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

/// What `criterion_group!` takes.
pub fn criterion() -> Criterion<CpuTime> {
    Criterion::default().with_measurement(CpuTime)
}
