//! How many hosts of a cluster may be remediated at one time. When half of a data centre loses its network, switching it off does not help.

use std::str::FromStr;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use thiserror::Error;

use crate::api::cluster_api::TriggerIf;

/// What holds where nobody has said anything.
pub const DEFAULT: Limit = Limit::Percent(20);

/// A number of hosts, or a share of a cluster's machines. In either case at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// This many.
    Number(u32),
    /// This share of all, rounded down.
    Percent(u32),
}

/// It is neither a number nor a share.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` is neither a number of hosts, such as 5, nor a share of the machines of a cluster, such as 20%, of at least 1"
)]
pub struct LimitError(String);

impl Limit {
    /// How many that are, of this many machines.
    #[must_use]
    pub fn of(self, machines: usize) -> usize {
        let limit = match self {
            Self::Number(number) => usize::try_from(number).unwrap_or(usize::MAX),
            Self::Percent(share) => {
                machines.saturating_mul(usize::try_from(share).unwrap_or(100)) / 100
            }
        };
        limit.max(1)
    }
}

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let error = || LimitError(text.to_owned());
        let (digits, make): (_, fn(u32) -> Self) = match text.strip_suffix('%') {
            Some(digits) => (digits, Self::Percent),
            None => (text, Self::Number),
        };
        let number = digits.parse().map_err(|_| error())?;
        if number == 0 { Err(error()) } else { Ok(make(number)) }
    }
}

/// The most that a MachineHealthCheck remediates at all, which is then also the most at one time. None if it does not say.
#[must_use]
pub fn said(trigger: &TriggerIf) -> Option<Limit> {
    let range = trigger.unhealthy_in_range.as_deref().and_then(|range| {
        let (_, most) = range.strip_prefix('[')?.strip_suffix(']')?.split_once('-')?;
        most.parse().ok()
    });
    let most = || match trigger.unhealthy_less_than_or_equal_to.as_ref()? {
        IntOrString::Int(number) => number.to_string().parse().ok(),
        IntOrString::String(text) => text.parse().ok(),
    };
    range.or_else(most)
}

/// How many may be remediated at one time: what people have set, otherwise the least that a MachineHealthCheck of the machine says,
/// otherwise [`DEFAULT`].
#[must_use]
pub fn limit(set: Option<Limit>, checks: &[TriggerIf], machines: usize) -> usize {
    let said = checks.iter().filter_map(said).map(|limit| limit.of(machines)).min();
    match (set, said) {
        (Some(set), _) => set.of(machines),
        (None, Some(said)) => said,
        (None, None) => DEFAULT.of(machines),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::number("5", Ok(5))]
    #[case::share("20%", Ok(20))]
    #[case::share_of_little("1%", Ok(1))]
    #[case::nothing("0", Err(()))]
    #[case::nothing_of_all("0%", Err(()))]
    #[case::words("many", Err(()))]
    #[case::negative("-1", Err(()))]
    #[case::empty("", Err(()))]
    fn a_limit_is_read(#[case] text: &str, #[case] of_a_hundred: Result<usize, ()>) {
        assert_eq!(text.parse::<Limit>().map(|limit| limit.of(100)).map_err(|_| ()), of_a_hundred);
    }

    #[test]
    fn one_is_always_allowed() {
        assert_eq!(Limit::Percent(20).of(0), 1);
        assert_eq!(Limit::Percent(20).of(4), 1);
        assert_eq!(Limit::Percent(40).of(5), 2);
    }

    #[rstest]
    #[case::nobody_says(None, None, None, 20)]
    #[case::said(None, Some("40%"), None, 40)]
    #[case::range_goes_first(None, Some("40%"), Some("[3-5]"), 5)]
    #[case::set_goes_before_all(Some(Limit::Number(7)), Some("40%"), Some("[3-5]"), 7)]
    #[case::not_understood(None, Some("half"), Some("3-5"), 20)]
    fn people_then_health_checks_then_a_default(
        #[case] set: Option<Limit>,
        #[case] most: Option<&str>,
        #[case] range: Option<&str>,
        #[case] expected: usize,
    ) {
        let check = TriggerIf {
            unhealthy_less_than_or_equal_to: most.map(|most| IntOrString::String(most.to_owned())),
            unhealthy_in_range: range.map(str::to_owned),
        };
        assert_eq!(limit(set, &[check, TriggerIf::default()], 100), expected);
    }
}
