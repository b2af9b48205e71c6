//! `Strategy`: what to try, how often, and how long to wait each time.

use jiff::SignedDuration;
use strum::{Display, EnumString, VariantNames};
use thiserror::Error;

use crate::domain::text::{UnknownWord, vocabulary};

/// How often to try, unless told.
pub const DEFAULT_RETRY_LIMIT: u32 = 1;

/// The least that Metal3 accepts.
pub const MIN_RETRY_LIMIT: u32 = 1;

/// How long to wait for a Node to become healthy, unless told.
pub const DEFAULT_TIMEOUT: SignedDuration = SignedDuration::from_secs(600);

/// The least that Metal3 accepts: no server boots faster.
pub const MIN_TIMEOUT: SignedDuration = SignedDuration::from_secs(100);

/// What to try. The proposal's `reboot` is read, Metal3's `Reboot` is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Display, EnumString, VariantNames)]
#[strum(parse_err_ty = UnknownWord, parse_err_fn = StrategyType::unknown)]
pub enum StrategyType {
    /// Switch the host off and on again.
    #[default]
    #[strum(to_string = "Reboot", serialize = "reboot")]
    Reboot,
}

vocabulary!(StrategyType, "a remediation strategy");

/// What to try, how often, and how long to wait each time; within Metal3's bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strategy {
    kind: StrategyType,
    retry_limit: u32,
    timeout: SignedDuration,
}

/// Why a strategy is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum StrategyError {
    /// It would never try.
    #[error("a retry limit of {given} is too low, it is at least {MIN_RETRY_LIMIT}")]
    RetryLimit {
        /// The limit.
        given: i32,
    },
    /// It would give up before a server can have booted.
    #[error("a timeout of {given} s is too short, it is at least {} s", MIN_TIMEOUT.as_secs())]
    Timeout {
        /// The timeout, in seconds.
        given: i32,
    },
}

impl Strategy {
    /// From the numbers as they are on the wire; what is not given has Metal3's default. Fails with
    /// all that is out of bounds.
    pub fn new(
        kind: StrategyType,
        retry_limit: Option<i32>,
        timeout_seconds: Option<i32>,
    ) -> Result<Self, Vec<StrategyError>> {
        let retries = retry_limit.map(|given| {
            let limit = u32::try_from(given).ok().filter(|limit| *limit >= MIN_RETRY_LIMIT);
            limit.ok_or(StrategyError::RetryLimit { given })
        });
        let timeout = timeout_seconds.map(|given| {
            let timeout = SignedDuration::from_secs(given.into());
            if timeout < MIN_TIMEOUT { Err(StrategyError::Timeout { given }) } else { Ok(timeout) }
        });
        match (retries.unwrap_or(Ok(DEFAULT_RETRY_LIMIT)), timeout.unwrap_or(Ok(DEFAULT_TIMEOUT))) {
            (Ok(retry_limit), Ok(timeout)) => Ok(Self { kind, retry_limit, timeout }),
            (retries, timeout) => Err(retries.err().into_iter().chain(timeout.err()).collect()),
        }
    }

    /// What to try.
    #[must_use]
    pub fn kind(&self) -> StrategyType {
        self.kind
    }

    /// How often to try at most.
    #[must_use]
    pub fn retry_limit(&self) -> u32 {
        self.retry_limit
    }

    /// How long to wait, each time, for the Node to become healthy.
    #[must_use]
    pub fn timeout(&self) -> SignedDuration {
        self.timeout
    }
}

impl Default for Strategy {
    fn default() -> Self {
        Self {
            kind: StrategyType::default(),
            retry_limit: DEFAULT_RETRY_LIMIT,
            timeout: DEFAULT_TIMEOUT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{prop_assert, proptest};
    use rstest::rstest;

    #[test]
    fn both_spellings_are_read_and_metal3s_is_written() {
        for text in [r#""Reboot""#, r#""reboot""#] {
            let kind: StrategyType = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&kind).unwrap(), r#""Reboot""#);
        }
        assert_eq!(
            "Reprovision".parse::<StrategyType>().unwrap_err().to_string(),
            "`Reprovision` is not a remediation strategy, which is `Reboot`"
        );
    }

    #[test]
    fn what_is_not_given_has_metal3s_default() {
        let strategy = Strategy::new(StrategyType::Reboot, None, None).unwrap();
        assert_eq!(strategy, Strategy::default());
        assert_eq!(strategy.retry_limit(), 1);
        assert_eq!(strategy.timeout(), SignedDuration::from_mins(10));
    }

    #[test]
    fn what_is_given_is_kept() {
        let strategy = Strategy::new(StrategyType::Reboot, Some(3), Some(300)).unwrap();
        assert_eq!(strategy.kind(), StrategyType::Reboot);
        assert_eq!(strategy.retry_limit(), 3);
        assert_eq!(strategy.timeout(), SignedDuration::from_mins(5));
    }

    #[rstest]
    #[case::just_enough(Some(1), Some(100), &[])]
    #[case::never(Some(0), None, &["a retry limit of 0 is too low, it is at least 1"])]
    #[case::less_than_never(Some(-1), None, &["a retry limit of -1 is too low, it is at least 1"])]
    #[case::too_short(None, Some(99), &["a timeout of 99 s is too short, it is at least 100 s"])]
    #[case::both(
        Some(0),
        Some(0),
        &[
            "a retry limit of 0 is too low, it is at least 1",
            "a timeout of 0 s is too short, it is at least 100 s",
        ]
    )]
    fn all_that_is_out_of_bounds_is_said(
        #[case] retry_limit: Option<i32>,
        #[case] timeout_seconds: Option<i32>,
        #[case] expected: &[&str],
    ) {
        let made = Strategy::new(StrategyType::Reboot, retry_limit, timeout_seconds);
        let messages: Vec<String> =
            made.err().unwrap_or_default().iter().map(ToString::to_string).collect();
        assert_eq!(messages, expected);
    }

    proptest! {
        #[test]
        fn a_strategy_is_within_bounds(retry_limit: Option<i32>, timeout_seconds: Option<i32>) {
            let made = Strategy::new(StrategyType::Reboot, retry_limit, timeout_seconds);
            if let Ok(strategy) = made {
                prop_assert!(strategy.retry_limit() >= MIN_RETRY_LIMIT);
                prop_assert!(strategy.timeout() >= MIN_TIMEOUT);
            }
        }
    }
}
