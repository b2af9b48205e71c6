//! Go's way to write a duration, as in the proposal's `timeout: 300s`, for the `timeoutSeconds`
//! that took its place.

use thiserror::Error;

use crate::domain::text::Excerpt;

/// Longer than anything that is meant as a duration.
const MAX_LENGTH: usize = 64;

const NANOSECONDS_PER_SECOND: u128 = 1_000_000_000;

/// Go's units, in nanoseconds. The two that look like `µs` begin with different characters.
const UNITS: &[(&str, u128)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", NANOSECONDS_PER_SECOND),
    ("m", 60 * NANOSECONDS_PER_SECOND),
    ("h", 3_600 * NANOSECONDS_PER_SECOND),
];

/// Why a text is not a duration that could be a timeout.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DurationError {
    /// Nothing was given.
    #[error("the duration is empty, write for example `300s`")]
    Empty,
    /// Not worth reading.
    #[error("{start} has {length} characters, a duration is written like `300s`")]
    TooLong {
        /// How it begins.
        start: Excerpt,
        /// Of all of it, in bytes.
        length: usize,
    },
    /// A duration into the past.
    #[error("{given} is negative, a timeout is not")]
    Negative {
        /// The text.
        given: Excerpt,
    },
    /// A unit without a number before it.
    #[error("{given} has no number before {rest}, a duration is written like `1h30m` or `300s`")]
    NoNumber {
        /// The text.
        given: Excerpt,
        /// From where the number is missing.
        rest: Excerpt,
    },
    /// A number without a unit after it.
    #[error("{given} has no unit after {number}, write `{number}s` for seconds")]
    NoUnit {
        /// The text.
        given: Excerpt,
        /// The number.
        number: String,
    },
    /// A unit that Go does not have.
    #[error("{unit} is not a unit of time in {given}, which is `h`, `m`, `s`, `ms`, `us` or `ns`")]
    UnknownUnit {
        /// The text.
        given: Excerpt,
        /// What stands where a unit would be.
        unit: Excerpt,
    },
    /// More seconds than the field can hold.
    #[error("{given} is too long, a timeout is at most {max} s", max = i32::MAX)]
    OutOfRange {
        /// The text.
        given: Excerpt,
    },
}

/// The whole seconds of a duration that is written as Go writes it: `300s`, `5m`, `1h2m3.5s`. What
/// is left of a second is dropped, as Cluster API does when it converts such fields.
pub fn whole_seconds(text: &str) -> Result<i32, DurationError> {
    if text.is_empty() {
        return Err(DurationError::Empty);
    }
    if text.len() > MAX_LENGTH {
        return Err(DurationError::TooLong { start: text.into(), length: text.len() });
    }
    if text.starts_with('-') {
        return Err(DurationError::Negative { given: text.into() });
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Ok(0);
    }
    let mut total: u128 = 0;
    loop {
        let (nanoseconds, after) = leading_term(text, rest)?;
        total = total.saturating_add(nanoseconds);
        rest = after;
        if rest.is_empty() {
            let seconds = i32::try_from(total / NANOSECONDS_PER_SECOND);
            return seconds.map_err(|_| DurationError::OutOfRange { given: text.into() });
        }
    }
}

/// A number and its unit, in nanoseconds, and what follows them.
fn leading_term<'a>(text: &str, rest: &'a str) -> Result<(u128, &'a str), DurationError> {
    let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
    let (number, after) = rest.split_at(rest.find(|c| !is_of_number(c)).unwrap_or(rest.len()));
    let (unit, after) = after.split_at(after.find(is_of_number).unwrap_or(after.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(DurationError::NoNumber { given: text.into(), rest: rest.into() });
    }
    if unit.is_empty() {
        return Err(DurationError::NoUnit { given: text.into(), number: number.to_owned() });
    }
    let Some((_, length)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(DurationError::UnknownUnit { given: text.into(), unit: unit.into() });
    };
    let mut nanoseconds = 0_u128;
    for digit in whole.chars().filter_map(|c| c.to_digit(10)) {
        nanoseconds = nanoseconds.saturating_mul(10).saturating_add(u128::from(digit) * length);
    }
    let mut place = *length;
    for digit in fraction.chars().filter_map(|c| c.to_digit(10)) {
        place /= 10;
        nanoseconds = nanoseconds.saturating_add(u128::from(digit) * place);
    }
    Ok((nanoseconds, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing::hostile;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case::of_the_proposal("300s", 300)]
    #[case::minutes("5m", 300)]
    #[case::all_at_once("1h2m3.5s", 3723)]
    #[case::as_go_prints_ten_minutes("10m0s", 600)]
    #[case::fraction_of_an_hour("1.5h", 5400)]
    #[case::no_digit_before_the_point(".5m", 30)]
    #[case::no_digit_after_the_point("2.s", 2)]
    #[case::parts_of_seconds_add_up("500ms500000us", 1)]
    #[case::micro_sign("1000000µs", 1)]
    #[case::greek_letter("1000000μs", 1)]
    #[case::nanoseconds("1999999999ns", 1)]
    #[case::less_than_a_second_is_dropped("99.999s", 99)]
    #[case::explicit_plus("+1m", 60)]
    #[case::zero_needs_no_unit("0", 0)]
    #[case::longest("2147483647s", i32::MAX)]
    fn durations_are_read_as_go_reads_them(#[case] text: &str, #[case] seconds: i32) {
        assert_eq!(whole_seconds(text), Ok(seconds));
    }

    #[rstest]
    #[case::nothing("", "the duration is empty, write for example `300s`")]
    #[case::no_unit("300", "`300` has no unit after 300, write `300s` for seconds")]
    #[case::no_unit_at_the_end("1h30", "`1h30` has no unit after 30, write `30s` for seconds")]
    #[case::no_number(
        "s",
        "`s` has no number before `s`, a duration is written like `1h30m` or `300s`"
    )]
    #[case::only_a_point(
        "1h.s",
        "`1h.s` has no number before `.s`, a duration is written like `1h30m` or `300s`"
    )]
    #[case::two_points(
        "1.2.3s",
        "`1.2.3s` has no number before `1.2.3s`, a duration is written like `1h30m` or `300s`"
    )]
    #[case::days(
        "1d",
        "`d` is not a unit of time in `1d`, which is `h`, `m`, `s`, `ms`, `us` or `ns`"
    )]
    #[case::space(
        "5 m",
        "` m` is not a unit of time in `5 m`, which is `h`, `m`, `s`, `ms`, `us` or `ns`"
    )]
    #[case::negative("-5m", "`-5m` is negative, a timeout is not")]
    #[case::too_long("2147483648s", "`2147483648s` is too long, a timeout is at most 2147483647 s")]
    #[case::beyond_all_numbers(
        "999999999999999999999999999999999999999999h",
        "`999999999999999999999999999999999999999999h` is too long, a timeout is at most \
         2147483647 s"
    )]
    fn what_is_wrong_is_said(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(whole_seconds(text).unwrap_err().to_string(), expected);
    }

    #[test]
    fn endless_text_is_refused_unread() {
        let error = whole_seconds(&"1s".repeat(50)).unwrap_err().to_string();
        assert!(error.ends_with("…` has 100 characters, a duration is written like `300s`"));
    }

    proptest! {
        #[test]
        fn hours_minutes_and_seconds_add_up(
            hours in 0..1000_i32, minutes in 0..60_i32, seconds in 0..60_i32,
        ) {
            let text = format!("{hours}h{minutes}m{seconds}s");
            prop_assert_eq!(whole_seconds(&text), Ok(hours * 3600 + minutes * 60 + seconds));
        }

        #[test]
        fn no_text_panics_and_no_duration_is_negative(
            text in hostile("([0-9.]{1,20}(h|m|s|ms|µs)){1,3}"),
        ) {
            if let Ok(seconds) = whole_seconds(&text) {
                prop_assert!(seconds >= 0);
            }
        }
    }
}
