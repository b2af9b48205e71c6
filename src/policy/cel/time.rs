//! Durations and timestamps: Go's notations, cel-go's arithmetic.

use super::value::Timestamp;
use jiff::tz::TimeZoneDatabase;
use std::{fmt::Write as _, sync::LazyLock};

/// 0001-01-01T00:00:00Z.
pub(crate) const MIN_SECONDS: i64 = -62_135_596_800;
/// 9999-12-31T23:59:59Z.
pub(crate) const MAX_SECONDS: i64 = 253_402_300_799;

const SECOND: i64 = 1_000_000_000;

/// The database that is compiled in: a decision must not depend on the machine.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A point in time, taken apart in some zone.
pub(crate) struct Civil {
    pub year: i64,
    /// From 1.
    pub month: i64,
    /// From 1.
    pub day: i64,
    /// From 1.
    pub year_day: i64,
    /// From Sunday, 0.
    pub week_day: i64,
    pub hour: i64,
    pub minute: i64,
    pub second: i64,
}

pub(crate) fn civil(seconds: i64, offset: i32) -> Civil {
    let local = seconds + i64::from(offset);
    let (days, rest) = (local.div_euclid(86_400), local.rem_euclid(86_400));
    // Days from 0000-03-01, in cycles of 400 years.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Civil {
        year,
        month,
        day,
        year_day: days - days_from_civil(year, 1, 1) + 1,
        week_day: (days + 4).rem_euclid(7),
        hour: rest / 3_600,
        minute: rest / 60 % 60,
        second: rest % 60,
    }
}

fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted = (month + 9) % 12;
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The offset of a zone at a time: a name, or `+01:30`.
pub(crate) fn offset_in(zone: &str, seconds: i64) -> Result<i32, String> {
    if let Some(colon) = zone.find(':') {
        let hours = atoi(&zone[..colon])?;
        let minutes = atoi(&zone[colon + 1..])?;
        let total = if zone.starts_with('-') {
            hours.wrapping_mul(60).wrapping_sub(minutes)
        } else {
            hours.wrapping_mul(60).wrapping_add(minutes)
        };
        return Ok(i32::try_from(total.saturating_mul(60)).unwrap_or_default());
    }
    if matches!(zone, "" | "UTC" | "Local") {
        return Ok(0);
    }
    if zone.contains("..") || zone.starts_with(['/', '\\']) {
        return Err("time: invalid location name".to_owned());
    }
    if zone.contains('\0') {
        // What the system says of such a file name.
        return Err("invalid argument".to_owned());
    }
    let unknown = || format!("unknown time zone {zone}");
    let name = file_name(zone)?;
    if let Some(offset) = plain_offset(&name, seconds) {
        return Ok(offset);
    }
    let found = ZONES.get(&name).map_err(|_| unknown())?;
    if found.iana_name() != Some(&*name) {
        return Err(unknown());
    }
    // The crate's times end two hours before cel-go's; no zone changes its mind in these.
    let last = jiff::Timestamp::MAX.as_second();
    let at = jiff::Timestamp::from_second(seconds.min(last)).map_err(|_| unknown())?;
    Ok(found.to_offset(at).seconds())
}

/// The name is that of a file to Go: a path may be written in other ways, and what the system says of one
/// that is no file is the error.
fn file_name(zone: &str) -> Result<String, String> {
    /// The longest name of a file, and of a path to one.
    const LONGEST: (usize, usize) = (255, 4_000);
    let parts: Vec<&str> = zone.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if zone.len() > LONGEST.1 || parts.iter().any(|part| part.len() > LONGEST.0) {
        return Err("file name too long".to_owned());
    }
    let name = parts.join("/");
    let is_zone = |name: &str| ZONES.get(name).is_ok_and(|zone| zone.iana_name() == Some(name));
    let inside = (1..parts.len()).any(|count| is_zone(&parts[..count].join("/")));
    let as_folder = zone.ends_with('/') || zone.ends_with("/.");
    if inside || (as_folder && is_zone(&name)) {
        return Err("not a directory".to_owned());
    }
    let folder = format!("{name}/");
    if name.is_empty() || ZONES.available().any(|zone| zone.as_str().starts_with(&folder)) {
        return Err("is a directory".to_owned());
    }
    Ok(name)
}

/// Zones that are rules rather than places. The newest database gives them the history of a city; systems,
/// and so Kubernetes, have them without one until the rules begin.
fn plain_offset(name: &str, seconds: i64) -> Option<i32> {
    const ALWAYS: i64 = i64::MAX;
    const SUMMER_OF_1918: i64 = -1_633_280_400;
    const SUMMER_OF_1916: i64 = -1_693_706_400;
    const SUMMER_OF_1977: i64 = 228_877_200;
    let (hours, until) = match name {
        "EST" => (-5, ALWAYS),
        "MST" => (-7, ALWAYS),
        "HST" => (-10, ALWAYS),
        "EST5EDT" => (-5, SUMMER_OF_1918),
        "CST6CDT" => (-6, SUMMER_OF_1918),
        "MST7MDT" => (-7, SUMMER_OF_1918),
        "PST8PDT" => (-8, SUMMER_OF_1918),
        "CET" | "MET" => (1, SUMMER_OF_1916),
        "WET" => (0, SUMMER_OF_1977),
        "EET" => (2, SUMMER_OF_1977),
        _ => return None,
    };
    (seconds < until).then_some(hours * 3_600)
}

/// `strconv.Atoi`, with its message.
fn atoi(text: &str) -> Result<i64, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("strconv.Atoi: parsing {}: invalid syntax", super::gofmt::quote(text)));
    }
    text.parse().map_err(|_| {
        format!("strconv.Atoi: parsing {}: value out of range", super::gofmt::quote(text))
    })
}

/// RFC 3339 as Go's `time.Parse` takes it.
pub(crate) fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = bytes.get(from..to)?;
        digits.iter().all(u8::is_ascii_digit).then_some(())?;
        text.get(from..to)?.parse().ok()
    };
    let is = |at: usize, c: u8| bytes.get(at) == Some(&c);
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    if !(is(4, b'-') && is(7, b'-') && is(10, b'T')) {
        return None;
    }
    // Go's parser takes one digit for the hour.
    let (hour, mut at) = match number(11, 13) {
        Some(hour) => (hour, 13),
        None => (number(11, 12)?, 12),
    };
    let (minute, second) = (number(at + 1, at + 3)?, number(at + 4, at + 6)?);
    if !(is(at, b':') && is(at + 3, b':')) {
        return None;
    }
    at += 6;
    let mut nanos = 0_u32;
    if (is(at, b'.') || is(at, b',')) && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) {
        let digits = bytes[at + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
        let mut scale = 100_000_000;
        for digit in &bytes[at + 1..at + 1 + digits.min(9)] {
            nanos += u32::from(digit - b'0') * scale;
            scale /= 10;
        }
        at += 1 + digits;
    }
    let offset = if is(at, b'Z') && at + 1 == bytes.len() {
        0
    } else {
        let sign = match bytes.get(at)? {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let (hours, minutes) = (number(at + 1, at + 3)?, number(at + 4, at + 6)?);
        if !is(at + 3, b':') || at + 6 != bytes.len() || hours > 24 || minutes > 60 {
            return None;
        }
        sign * (hours * 3_600 + minutes * 60)
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return None,
    };
    if day < 1 || day > length || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds =
        days_from_civil(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - offset;
    Some(Timestamp { seconds, nanos, offset: i32::try_from(offset).ok()? })
}

/// `time.RFC3339Nano`.
pub(crate) fn rfc3339(t: Timestamp) -> String {
    let mut out = date_time(t, 'T');
    if t.offset == 0 {
        out.push('Z');
    } else {
        let sign = if t.offset < 0 { '-' } else { '+' };
        let minutes = t.offset.abs() / 60;
        let _ = write!(out, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
    }
    out
}

/// `time.Time.String()`.
pub(crate) fn go_time(t: Timestamp) -> String {
    let mut out = date_time(t, ' ');
    let sign = if t.offset < 0 { '-' } else { '+' };
    let minutes = t.offset.abs() / 60;
    let _ = write!(out, " {sign}{:02}{:02} ", minutes / 60, minutes % 60);
    if t.offset == 0 {
        out.push_str("UTC");
    } else {
        let _ = write!(out, "{sign}{:02}{:02}", minutes / 60, minutes % 60);
    }
    out
}

fn date_time(t: Timestamp, between: char) -> String {
    let c = civil(t.seconds, t.offset);
    let mut out = format!(
        "{:04}-{:02}-{:02}{between}{:02}:{:02}:{:02}",
        c.year, c.month, c.day, c.hour, c.minute, c.second
    );
    if t.nanos != 0 {
        let fraction = format!("{:09}", t.nanos);
        out.push('.');
        out.push_str(fraction.trim_end_matches('0'));
    }
    out
}

/// `time.Duration.String()`.
pub(crate) fn go_duration(nanos: i64) -> String {
    let magnitude = nanos.unsigned_abs();
    let sign = if nanos < 0 { "-" } else { "" };
    if magnitude == 0 {
        return "0s".to_owned();
    }
    let fraction = |value: u64, digits: usize| {
        let unit = 10_u64.pow(u32::try_from(digits).unwrap_or_default());
        let (whole, rest) = (value / unit, value % unit);
        if rest == 0 {
            whole.to_string()
        } else {
            let rest = format!("{rest:0digits$}");
            format!("{whole}.{}", rest.trim_end_matches('0'))
        }
    };
    if magnitude < 1_000 {
        return format!("{sign}{magnitude}ns");
    }
    if magnitude < 1_000_000 {
        return format!("{sign}{}µs", fraction(magnitude, 3));
    }
    if magnitude < 1_000_000_000 {
        return format!("{sign}{}ms", fraction(magnitude, 6));
    }
    let seconds = magnitude / 1_000_000_000;
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    let rest = magnitude - (hours * 3_600 + minutes * 60) * 1_000_000_000;
    let tail = format!("{}s", fraction(rest, 9));
    match (hours, minutes) {
        (0, 0) => format!("{sign}{tail}"),
        (0, m) => format!("{sign}{m}m{tail}"),
        (h, m) => format!("{sign}{h}h{m}m{tail}"),
    }
}

/// The seconds of a duration as the double that Go computes.
pub(crate) fn duration_seconds(nanos: i64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "as Go's Duration.Seconds does")]
    let (whole, rest) = ((nanos / SECOND) as f64, (nanos % SECOND) as f64);
    whole + rest / 1e9
}

/// `time.ParseDuration`.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0_u64;
    while !rest.is_empty() {
        let whole_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let whole: u64 = if whole_digits == 0 { 0 } else { rest[..whole_digits].parse().ok()? };
        if whole > 1 << 63 {
            return None;
        }
        rest = &rest[whole_digits..];
        let (mut fraction, mut scale, mut fraction_digits) = (0_u64, 1_f64, 0);
        if let Some(after) = rest.strip_prefix('.') {
            fraction_digits = after.bytes().take_while(u8::is_ascii_digit).count();
            for digit in after[..fraction_digits].bytes() {
                // Further digits no longer count, as in Go.
                if fraction > ((1 << 63) - 1) / 10 {
                    break;
                }
                let next = fraction * 10 + u64::from(digit - b'0');
                if next > 1 << 63 {
                    break;
                }
                fraction = next;
                scale *= 10.0;
            }
            rest = &after[fraction_digits..];
        }
        if whole_digits == 0 && fraction_digits == 0 {
            return None;
        }
        let unit_length = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
        let unit: u64 = match &rest[..unit_length] {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        rest = &rest[unit_length..];
        let mut part = whole.checked_mul(unit).filter(|v| *v <= 1 << 63)?;
        if fraction > 0 {
            #[allow(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "Go computes the fraction in floating point"
            )]
            let extra = (fraction as f64 * (unit as f64 / scale)) as u64;
            part += extra;
            if part > 1 << 63 {
                return None;
            }
        }
        total = total.checked_add(part).filter(|v| *v <= 1 << 63)?;
    }
    if negative {
        return Some(0_i64.wrapping_sub_unsigned(total));
    }
    i64::try_from(total).ok()
}

const OVERFLOW: &str = "integer overflow";

/// A time and a duration later.
pub(crate) fn add(t: Timestamp, nanos: i64) -> Result<Timestamp, &'static str> {
    let mut seconds = t.seconds.checked_add(nanos / SECOND).ok_or(OVERFLOW)?;
    let mut rest = i64::from(t.nanos) + nanos % SECOND;
    if rest < 0 {
        seconds = seconds.checked_sub(1).ok_or(OVERFLOW)?;
        rest += SECOND;
    } else if rest >= SECOND {
        seconds = seconds.checked_add(1).ok_or(OVERFLOW)?;
        rest -= SECOND;
    }
    if !(MIN_SECONDS..=MAX_SECONDS).contains(&seconds) {
        return Err("timestamp overflow");
    }
    Ok(Timestamp { seconds, nanos: u32::try_from(rest).unwrap_or_default(), offset: t.offset })
}

/// The duration between two times.
pub(crate) fn between(a: Timestamp, b: Timestamp) -> Result<i64, &'static str> {
    let seconds = a.seconds.checked_sub(b.seconds).ok_or(OVERFLOW)?;
    let nanos = i64::from(a.nanos) - i64::from(b.nanos);
    seconds.checked_mul(SECOND).and_then(|s| s.checked_add(nanos)).ok_or(OVERFLOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_written_as_go_does() {
        assert_eq!(parse_duration("1h30m"), Some(5_400 * SECOND));
        assert_eq!(parse_duration("-1.5s"), Some(-1_500_000_000));
        assert_eq!(parse_duration("1"), None);
        assert_eq!(parse_duration("1d"), None);
        assert_eq!(go_duration(5_400 * SECOND), "1h30m0s");
        assert_eq!(go_duration(1_500), "1.5µs");
    }

    #[test]
    fn timestamps_keep_their_offset() {
        let t = parse_timestamp("2024-02-29T12:30:00.5+02:00").unwrap();
        assert_eq!(rfc3339(t), "2024-02-29T12:30:00.5+02:00");
        assert_eq!(civil(t.seconds, 0).hour, 10);
        assert_eq!(parse_timestamp("2023-02-29T12:30:00Z"), None);
    }
}
