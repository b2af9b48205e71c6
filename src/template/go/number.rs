//! Go's numbers: what a literal in a template means.

use super::{
    integer::{parse_int, parse_uint, underscores_are_right},
    quote::{SYNTAX, Unit, quoted, unquote_character},
    text::lossy,
};

/// A literal, as every type that can hold it: which one is meant depends on where it stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Number {
    pub int: Option<i64>,
    pub is_uint: bool,
    pub float: Option<f64>,
    pub complex: Option<(f64, f64)>,
}

/// Which literal the lexer took it for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Literal {
    Character,
    Complex,
    Plain,
}

/// Reads a literal, or says what is wrong with it in Go's words.
pub(crate) fn read(text: &str, literal: Literal) -> Result<Number, String> {
    match literal {
        Literal::Character => character(text),
        Literal::Complex => complex(text).map(of_complex),
        Literal::Plain => plain(text),
    }
}

fn character(text: &str) -> Result<Number, String> {
    let inside = text.strip_prefix('\'').and_then(|inside| unquote_character(inside, b'\''));
    let (unit, tail) = inside.ok_or(SYNTAX)?;
    if tail != "'" {
        return Err(format!("malformed character constant: {text}"));
    }
    let code = match unit {
        Unit::Byte(byte) => u32::from(byte),
        Unit::Character(character) => u32::from(character),
    };
    let float = Some(f64::from(code));
    Ok(Number { int: Some(code.into()), is_uint: true, float, complex: None })
}

fn plain(text: &str) -> Result<Number, String> {
    if let Some(imaginary) = text.strip_suffix('i').and_then(|text| parse_float(text).ok()) {
        return Ok(of_complex((0.0, imaginary)));
    }
    let unsigned = parse_uint(text).ok();
    if let Ok(int) = parse_int(text) {
        #[allow(clippy::cast_precision_loss, reason = "as Go's conversion")]
        let float = Some(int as f64);
        let is_uint = unsigned.is_some() || int == 0;
        return Ok(Number { int: Some(int), is_uint, float, complex: None });
    }
    if let Some(unsigned) = unsigned {
        #[allow(clippy::cast_precision_loss, reason = "as Go's conversion")]
        let float = Some(unsigned as f64);
        return Ok(Number { int: None, is_uint: true, float, complex: None });
    }
    match parse_float(text) {
        Ok(_) if !looks_like_float(text) => Err(format!("integer overflow: {}", shown(text))),
        Ok(float) => Ok(of_float(float)),
        Err(_) => Err(format!("illegal number syntax: {}", shown(text))),
    }
}

/// Whether a literal is written as a float.
pub(crate) fn looks_like_float(text: &str) -> bool {
    text.contains(['.', 'e', 'E', 'p', 'P'])
}

fn shown(text: &str) -> String {
    lossy(&quoted(text.as_bytes()))
}

fn of_complex((real, imaginary): (f64, f64)) -> Number {
    let number = if imaginary == 0.0 { of_float(real) } else { Number::default() };
    Number { complex: Some((real, imaginary)), ..number }
}

fn of_float(float: f64) -> Number {
    let whole = float.fract() == 0.0;
    let fits =
        whole && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&float);
    #[allow(clippy::cast_possible_truncation, reason = "within the range of an int")]
    let int = fits.then_some(float as i64);
    let is_uint = whole && (0.0..18_446_744_073_709_551_616.0).contains(&float);
    Number { int, is_uint, float: Some(float), complex: None }
}

/// Both parts as `fmt.Sscan` reads them.
fn complex(text: &str) -> Result<(f64, f64), String> {
    const ERROR: &str = "syntax error scanning complex number";
    let (real, rest) = float_token(text);
    if !rest.starts_with(['+', '-']) {
        return Err(ERROR.to_owned());
    }
    let (unsigned, end) = float_token(&rest[1..]);
    if !end.starts_with('i') {
        return Err(ERROR.to_owned());
    }
    let imaginary = &rest[..=unsigned.len()];
    let convert = |text: &str| {
        parse_float(text)
            .map_err(|error| format!("strconv.ParseFloat: parsing {}: {error}", shown(text)))
    };
    Ok((convert(real)?, convert(imaginary)?))
}

/// The longest beginning that could be a float, and the rest.
fn float_token(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let mut end = 0;
    let accept = |end: &mut usize, set: &[u8]| {
        let is_next = bytes.get(*end).is_some_and(|byte| set.contains(byte));
        *end += usize::from(is_next);
        is_next
    };
    accept(&mut end, b"+-");
    // It might have been an infinity.
    accept(&mut end, b"iI");
    let is_hex = accept(&mut end, b"0") && accept(&mut end, b"xX");
    let digits: &[u8] = if is_hex { b"0123456789abcdefABCDEF_" } else { b"0123456789_" };
    while accept(&mut end, digits) {}
    if accept(&mut end, b".") {
        while accept(&mut end, digits) {}
    }
    if accept(&mut end, if is_hex { b"pP" } else { b"eEpP" }) {
        accept(&mut end, b"+-");
        while accept(&mut end, b"0123456789_") {}
    }
    text.split_at(end)
}

/// `strconv.ParseFloat`, without the names of infinities, which no literal has.
fn parse_float(text: &str) -> Result<f64, &'static str> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_hex = unsigned.len() > 2 && (unsigned.starts_with("0x") || unsigned.starts_with("0X"));
    let is_digit =
        |byte: u8| byte.is_ascii_digit() || byte == b'_' || is_hex && byte.is_ascii_hexdigit();
    let proper = if is_hex { &unsigned[2..] } else { unsigned };
    let end_of = |from: usize| {
        proper.bytes().skip(from).position(|b| !is_digit(b)).map_or(proper.len(), |at| from + at)
    };
    let mut end = end_of(0);
    if proper.as_bytes().get(end) == Some(&b'.') {
        end = end_of(end + 1);
    }
    let (mantissa, exponent) = proper.split_at(end);
    let exponent = if exponent.is_empty() { None } else { Some(read_exponent(exponent, is_hex)?) };
    let has_digits = mantissa.bytes().any(|byte| byte.is_ascii_hexdigit());
    if !has_digits || is_hex && exponent.is_none() {
        return Err(SYNTAX);
    }
    if text.contains('_') && !underscores_are_right(text) {
        return Err(SYNTAX);
    }
    let magnitude = if is_hex {
        hexadecimal(mantissa, exponent.unwrap_or_default())
    } else {
        unsigned.replace('_', "").parse().map_err(|_| SYNTAX)?
    };
    if magnitude.is_infinite() {
        return Err("value out of range");
    }
    Ok(if text.starts_with('-') { -magnitude } else { magnitude })
}

fn read_exponent(text: &str, is_hex: bool) -> Result<i32, &'static str> {
    let digits = text.strip_prefix(if is_hex { ['p', 'P'] } else { ['e', 'E'] }).ok_or(SYNTAX)?;
    let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(digits);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(SYNTAX);
    }
    let mut exponent = 0;
    for byte in unsigned.bytes().filter(|byte| *byte != b'_') {
        if !byte.is_ascii_digit() {
            return Err(SYNTAX);
        }
        if exponent < 10_000 {
            exponent = exponent * 10 + i32::from(byte - b'0');
        }
    }
    Ok(if digits.starts_with('-') { -exponent } else { exponent })
}

/// Digits with a point among them, times two to the power of the exponent, rounded to even.
fn hexadecimal(mantissa: &str, exponent: i32) -> f64 {
    let (mut bits, mut lost, mut power, mut after_point) =
        (0_u64, false, i64::from(exponent), false);
    for character in mantissa.chars().filter(|c| *c != '_') {
        let Some(digit) = character.to_digit(16) else {
            after_point = true;
            continue;
        };
        if bits >> 60 == 0 {
            bits = bits << 4 | u64::from(digit);
            power -= if after_point { 4 } else { 0 };
        } else {
            lost |= digit != 0;
            power += if after_point { 0 } else { 4 };
        }
    }
    if bits == 0 {
        return 0.0;
    }
    // 55 bits are exact in the sum below but for the sticky one, which decides a tie.
    let shift = 9 - i64::from(bits.leading_zeros());
    let scaled = if shift > 0 {
        lost |= bits & ((1 << shift) - 1) != 0;
        bits >> shift
    } else {
        bits << -shift
    };
    scale(scaled | u64::from(lost), power + shift)
}

/// `bits`, of which there are 55, times two to the power; the last of them stands for all that follow.
fn scale(bits: u64, power: i64) -> f64 {
    // The value is below two to the power of `top`; a float keeps 53 bits of it, fewer if it is tiny.
    let top = power + 55;
    let kept = (top + 1074).min(53);
    if kept < 0 {
        return 0.0;
    }
    let drop = 55 - kept;
    let half = 1_u64 << (drop - 1);
    let (whole, rest) = (bits >> drop, bits & ((1 << drop) - 1));
    let rounded = whole + u64::from(rest > half || rest == half && whole & 1 == 1);
    if top > 1025 {
        return f64::INFINITY;
    }
    #[allow(clippy::cast_precision_loss, reason = "at most 53 bits, or a power of two")]
    let mut value = rounded as f64;
    let mut left = power + drop;
    while left != 0 {
        let step = left.clamp(-1000, 1000);
        value *= 2_f64.powi(i32::try_from(step).unwrap_or_default());
        left -= step;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("1", 1.0)]
    #[case("0x1p4", 16.0)]
    #[case("-0X1.8P+1", -3.0)]
    #[case("1_000.5e-1", 100.05)]
    #[case("0x1p-1074", 5e-324)]
    #[case("0x1p-1075", 0.0)]
    #[case("0x1.8p-1074", 1e-323)]
    #[case("0x1.fffffffffffffp1023", f64::MAX)]
    #[case("0x1.00000000000008p0", 1.0)]
    #[case("0x1.000000000000080000000000001p0", 1.000_000_000_000_000_2)]
    fn floats_are_read(#[case] text: &str, #[case] want: f64) {
        assert_eq!(parse_float(text).map(f64::to_bits), Ok(want.to_bits()));
    }

    #[rstest]
    #[case("1e400", "value out of range")]
    #[case("0x1p1024", "value out of range")]
    #[case("0x1", "invalid syntax")]
    #[case("1__0", "invalid syntax")]
    #[case("1e", "invalid syntax")]
    #[case("", "invalid syntax")]
    fn others_are_not(#[case] text: &str, #[case] want: &str) {
        assert_eq!(parse_float(text), Err(want));
    }
}
