//! When a discovery looks again.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::{api::BareMetalHostDiscovery, domain::remediation::whole_seconds};

/// Where nothing is said.
const DEFAULT: i32 = 60;
/// Where less is said than the API server lets pass.
const SHORTEST: i32 = 10;

/// How long it is until its next poll; none at all if it is due, or has changed since the last.
#[must_use]
pub fn until_due(discovery: &BareMetalHostDiscovery, now: Timestamp) -> Duration {
    let status = discovery.status.as_ref();
    let is_changed = status.and_then(|it| it.observed_generation) != discovery.metadata.generation;
    let last = status.and_then(|it| it.last_poll.as_ref()).map(|time| time.0);
    let Some(last) = last.filter(|_| !is_changed) else { return Duration::ZERO };
    let said = discovery.spec.interval.as_deref().and_then(|text| whole_seconds(text).ok());
    let interval = SignedDuration::from_secs(said.unwrap_or(DEFAULT).max(SHORTEST).into());
    let left = interval - now.duration_since(last);
    // A clock that was set back is no reason to wait for it.
    if left > SignedDuration::ZERO && left <= interval {
        left.unsigned_abs()
    } else {
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::discovery::testing::discovery;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use rstest::rstest;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[rstest]
    #[case::never_polled(None, None, 0)]
    #[case::polled_just_now(None, Some(1_000), 60)]
    #[case::half_way(None, Some(970), 30)]
    #[case::due(None, Some(940), 0)]
    #[case::long_due(None, Some(0), 0)]
    #[case::its_own_interval(Some("5m"), Some(1_000), 300)]
    #[case::shorter_than_allowed(Some("1s"), Some(1_000), 10)]
    #[case::in_the_future(None, Some(2_000), 0)]
    fn it_is_due_after_its_interval(
        #[case] interval: Option<&str>,
        #[case] last: Option<i64>,
        #[case] left: u64,
    ) {
        let mut object = discovery("a").object;
        object.spec.interval = interval.map(str::to_owned);
        let status = object.status.get_or_insert_default();
        status.last_poll = last.map(|second| Time(at(second)));
        status.observed_generation = object.metadata.generation;
        assert_eq!(until_due(&object, at(1_000)).as_secs(), left);
    }

    #[test]
    fn one_that_was_changed_is_due_at_once() {
        let mut object = discovery("a").object;
        let status = object.status.get_or_insert_default();
        status.last_poll = Some(Time(at(1_000)));
        status.observed_generation = Some(0);
        assert_eq!(until_due(&object, at(1_000)), Duration::ZERO);
    }
}
