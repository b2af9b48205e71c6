//! How often Ironic is read, and how much of it: often while something moves, seldom while nothing does, and the slower
//! it is, the less.

use std::time::Duration;

use super::node::PAGE;

/// While something moves.
const FAST: Duration = Duration::from_secs(2);
/// While nothing does: machines that are switched on by hand, and nodes that others make, are seen
/// this late.
const IDLE: Duration = Duration::from_secs(30);
/// While Ironic fails, at most.
const SLOWEST: Duration = Duration::from_mins(2);
/// A read that took long is followed by a pause so many times as long: at most a fifth of the time is
/// spent on reading.
const PATIENCE: u32 = 4;
/// No fewer of the nodes that were written last are looked at, for others have nodes written, too.
const FEWEST: usize = 50;

/// What the pace depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// How long the last read took, well or badly.
    pub took: Duration,
    /// How many reads have failed in a row.
    pub failures: u32,
    /// How many nodes move, or were asked to.
    pub moving: usize,
}

/// How long to pause before the next read.
#[must_use]
pub fn pause(tick: Tick) -> Duration {
    let pace = if tick.moving > 0 { FAST } else { IDLE };
    let doubled = FAST.saturating_mul(1_u32.checked_shl(tick.failures).unwrap_or(u32::MAX));
    let pace = if tick.failures > 0 { doubled } else { pace };
    pace.max(tick.took.saturating_mul(PATIENCE)).min(SLOWEST)
}

/// How many of the nodes that Ironic has written last are looked at instead of all, while so many of so many move: those, and as many
/// that others move. None if that is not much less than all.
#[must_use]
pub fn glance(moving: usize, all: usize) -> Option<usize> {
    let count = moving.saturating_mul(2).max(FEWEST);
    (moving > 0 && count <= PAGE && count <= all / 2).then_some(count)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn after(took: u64, failures: u32, moves: bool) -> u64 {
        pause(Tick { took: Duration::from_secs(took), failures, moving: moves.into() }).as_secs()
    }

    #[rstest]
    #[case::nothing_moves(0, 10_000, None)]
    #[case::one_of_many(1, 10_000, Some(50))]
    #[case::some_of_many(40, 10_000, Some(80))]
    #[case::one_of_few(1, 99, None)]
    #[case::one_of_some(1, 100, Some(50))]
    #[case::a_quarter(25, 100, Some(50))]
    #[case::more_than_a_quarter(26, 100, None)]
    #[case::as_many_as_fit_in_an_answer(500, 10_000, Some(1000))]
    #[case::more_than_fit_in_an_answer(501, 10_000, None)]
    fn what_moves_is_looked_at_alone(
        #[case] moving: usize,
        #[case] all: usize,
        #[case] expected: Option<usize>,
    ) {
        assert_eq!(glance(moving, all), expected);
    }

    #[rstest]
    #[case::moving(0, 0, true, 2)]
    #[case::idle(0, 0, false, 30)]
    #[case::slow_while_moving(3, 0, true, 12)]
    #[case::slow_while_idle(3, 0, false, 30)]
    #[case::failed_once(0, 1, true, 4)]
    #[case::failed_thrice(0, 3, false, 16)]
    #[case::failed_for_long(0, 40, true, 120)]
    #[case::timed_out(30, 1, true, 120)]
    fn the_pause_fits(
        #[case] took: u64,
        #[case] failures: u32,
        #[case] moves: bool,
        #[case] expected: u64,
    ) {
        assert_eq!(after(took, failures, moves), expected);
    }

    proptest! {
        #[test]
        fn a_slower_or_worse_ironic_is_never_read_more_often(
            took in 0_u64..1000, more in 0_u64..1000, failures in 1_u32..100, moves: bool,
        ) {
            prop_assert!(after(took + more, failures, moves) >= after(took, failures, moves));
            prop_assert!(after(took, failures + 1, moves) >= after(took, failures, moves));
            prop_assert!((FAST.as_secs()..=SLOWEST.as_secs()).contains(&after(took, failures, moves)));
        }
    }
}
