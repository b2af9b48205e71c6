//! What becomes of a host when something about it fails: how it is counted, and when it is tried again.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::{
    api::baremetalhost::BareMetalHostStatus,
    domain::{host_status::ErrorType, kubernetes_name::hash},
};

use super::events::Reason;

/// More failures than this, and a deletion goes on without what fails.
pub const PATIENCE_WHEN_DELETING: i64 = 3;
/// Beyond this the pause does not grow: 2⁹ minutes are eight and a half hours.
const LARGEST_EXPONENT: i64 = 9;

/// How long to wait after that many failures in a row: 2ⁿ minutes, of which up to a half is taken off by the host's own share, so that
/// a rack that failed at one time is not tried at one time.
#[must_use]
pub fn backoff(uid: &str, errors: i64) -> Duration {
    let exponent = errors.clamp(0, LARGEST_EXPONENT);
    let longest = 60_000_u64 << exponent.unsigned_abs();
    let share = u64::from_str_radix(&hash(&format!("{uid} {errors}"), 4), 16).unwrap_or_default();
    Duration::from_millis(longest - longest / 2 * share / 0xffff)
}

/// How much of that is left.
#[must_use]
pub fn held_back(uid: &str, status: &BareMetalHostStatus, now: Timestamp) -> Option<Duration> {
    let failed = status.last_updated.as_ref()?.0;
    let due = failed.checked_add(backoff(uid, status.error_count)).ok()?;
    let left = due.duration_since(now);
    (status.error_type.is_some() && status.error_count > 0 && left > SignedDuration::ZERO)
        .then(|| left.unsigned_abs())
}

/// The event that tells of a failure.
#[must_use]
pub fn reason(error: ErrorType) -> Reason {
    match error {
        ErrorType::ProvisionedRegistration => Reason::ProvisionedRegistrationError,
        ErrorType::Registration => Reason::RegistrationError,
        ErrorType::Inspection => Reason::InspectionError,
        ErrorType::Preparation => Reason::PreparationError,
        ErrorType::Provisioning => Reason::ProvisioningError,
        ErrorType::PowerManagement => Reason::PowerManagementError,
        ErrorType::Detach => Reason::DetachError,
        ErrorType::Servicing => Reason::ServicingError,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_pause_is_longer_each_time_until_it_is_long_enough() {
        let minutes = |errors| backoff("u", errors).as_secs() / 60;
        assert!((1..=2).contains(&minutes(1)), "{}", minutes(1));
        assert!((256..=512).contains(&minutes(9)));
        assert!((256..=512).contains(&minutes(1_000)));
    }

    proptest! {
        #[test]
        fn between_a_half_and_the_whole_of_it(uid in ".{0,9}", errors in any::<i64>()) {
            let longest = 60_000_u64 << errors.clamp(0, 9).unsigned_abs();
            let pause = u64::try_from(backoff(&uid, errors).as_millis()).unwrap();
            prop_assert!((longest / 2..=longest).contains(&pause));
        }
    }
}
