//! `strconv.ParseUint` and `ParseInt`, with the base in the literal.

use super::quote::SYNTAX;

/// Go's word for a number that does not fit.
const RANGE: &str = "value out of range";

pub(crate) fn parse_uint(text: &str) -> Result<u64, &'static str> {
    if text.is_empty() {
        return Err(SYNTAX);
    }
    let lower = text.get(..2).map(str::to_ascii_lowercase);
    let (base, digits) = match lower.as_deref().filter(|_| text.len() >= 3) {
        Some("0b") => (2, &text[2..]),
        Some("0o") => (8, &text[2..]),
        Some("0x") => (16, &text[2..]),
        _ if text.starts_with('0') => (8, &text[1..]),
        _ => (10, text),
    };
    let mut number: u64 = 0;
    for character in digits.chars().filter(|character| *character != '_') {
        let digit = character.to_digit(base).ok_or(SYNTAX)?;
        number = number.checked_mul(base.into()).ok_or(RANGE)?;
        number = number.checked_add(digit.into()).ok_or(RANGE)?;
    }
    if text.contains('_') && !underscores_are_right(text) {
        return Err(SYNTAX);
    }
    Ok(number)
}

pub(crate) fn parse_int(text: &str) -> Result<i64, &'static str> {
    let magnitude = parse_uint(text.strip_prefix(['+', '-']).unwrap_or(text))?;
    let number = i128::from(magnitude);
    let signed = if text.starts_with('-') { -number } else { number };
    i64::try_from(signed).map_err(|_| RANGE)
}

/// Whether each underscore stands between digits, or between a base and a digit.
pub(crate) fn underscores_are_right(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let prefix = unsigned.get(..2).map(str::to_ascii_lowercase);
    let has_base = matches!(prefix.as_deref(), Some("0b" | "0o" | "0x"));
    let is_hex = prefix.as_deref() == Some("0x");
    let proper = if has_base { &unsigned[2..] } else { unsigned };
    let mut after_digit = has_base;
    let mut after_underscore = false;
    for byte in proper.bytes() {
        let is_digit = byte.is_ascii_digit() || is_hex && byte.is_ascii_hexdigit();
        let is_underscore = byte == b'_';
        if is_underscore && !after_digit || after_underscore && !is_digit {
            return false;
        }
        (after_digit, after_underscore) = (is_digit, is_underscore);
    }
    !after_underscore
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("0", Ok(0))]
    #[case("017", Ok(15))]
    #[case("0o17", Ok(15))]
    #[case("0b11", Ok(3))]
    #[case("-0x_F", Ok(-15))]
    #[case("+1_000", Ok(1000))]
    #[case("1__0", Err(SYNTAX))]
    #[case("089", Err(SYNTAX))]
    #[case("-9223372036854775808", Ok(i64::MIN))]
    #[case("9223372036854775808", Err(RANGE))]
    #[case("0x", Err(SYNTAX))]
    fn integers_are_read(#[case] text: &str, #[case] want: Result<i64, &'static str>) {
        assert_eq!(parse_int(text), want);
    }
}
