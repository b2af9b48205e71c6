//! `strconv.FormatFloat`: the digits are Rust's, which are as exact as Go's; the form is Go's.

/// Past so many digits there are only zeros.
const EXACT: usize = 1100;

/// Significant digits without zeros at the end, and where the point is among them.
struct Decimal {
    digits: Vec<u8>,
    point: i32,
}

/// `strconv.FormatFloat` with 64 bits; without a precision, as many digits as tell the number from all others.
pub(crate) fn format(number: f64, verb: u8, precision: Option<usize>) -> Vec<u8> {
    if number.is_nan() {
        return b"NaN".to_vec();
    }
    if number.is_infinite() {
        return if number > 0.0 { b"+Inf".to_vec() } else { b"-Inf".to_vec() };
    }
    let mut out = Vec::new();
    if number.is_sign_negative() {
        out.push(b'-');
    }
    let magnitude = number.abs();
    match verb {
        b'b' => binary(&mut out, magnitude),
        b'x' | b'X' => hexadecimal(&mut out, magnitude, verb, precision),
        b'f' => {
            let Some(precision) = precision else {
                let decimal = decimal(magnitude, None);
                let places =
                    i32::try_from(decimal.digits.len()).unwrap_or_default() - decimal.point;
                fixed(&mut out, &decimal, usize::try_from(places).unwrap_or_default());
                return out;
            };
            out.extend(format!("{magnitude:.*}", precision.min(EXACT)).into_bytes());
            out.resize(out.len() + precision.saturating_sub(EXACT), b'0');
        }
        b'e' | b'E' => {
            let decimal = decimal(magnitude, precision.map(|precision| precision + 1));
            let places = precision.unwrap_or_else(|| decimal.digits.len().saturating_sub(1));
            exponential(&mut out, &decimal, places, verb);
        }
        _ => general(&mut out, magnitude, verb, precision),
    }
    out
}

fn decimal(magnitude: f64, significant: Option<usize>) -> Decimal {
    if magnitude == 0.0 {
        return Decimal { digits: Vec::new(), point: 0 };
    }
    let text = match significant {
        None => format!("{magnitude:e}"),
        Some(count) => format!("{magnitude:.*e}", count.saturating_sub(1).min(EXACT)),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mut digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    while digits.last() == Some(&b'0') {
        digits.pop();
    }
    Decimal { digits, point: exponent.parse::<i32>().unwrap_or_default() + 1 }
}

fn general(out: &mut Vec<u8>, magnitude: f64, verb: u8, precision: Option<usize>) {
    let significant = precision.map(|precision| precision.max(1));
    let decimal = decimal(magnitude, significant);
    let count = decimal.digits.len();
    let mut precision = significant.unwrap_or(count);
    let point = usize::try_from(decimal.point).unwrap_or_default();
    let mut largest = precision;
    if largest > count && (decimal.point <= 0 || count >= point) {
        largest = count;
    }
    if significant.is_none() {
        largest = 6;
    }
    let exponent = decimal.point - 1;
    if exponent < -4 || usize::try_from(exponent).is_ok_and(|exponent| exponent >= largest) {
        precision = precision.min(count);
        let letter = if verb == b'G' { b'E' } else { b'e' };
        return exponential(out, &decimal, precision.saturating_sub(1), letter);
    }
    if decimal.point < 0 || precision > point {
        precision = count;
    }
    let places = i32::try_from(precision).unwrap_or(i32::MAX) - decimal.point;
    fixed(out, &decimal, usize::try_from(places).unwrap_or_default());
}

fn exponential(out: &mut Vec<u8>, decimal: &Decimal, places: usize, verb: u8) {
    let digits = &decimal.digits;
    out.push(digits.first().copied().unwrap_or(b'0'));
    if places > 0 {
        out.push(b'.');
        let shown = digits.get(1..digits.len().min(places + 1)).unwrap_or_default();
        out.extend_from_slice(shown);
        out.resize(out.len() + places - shown.len(), b'0');
    }
    let exponent = if digits.is_empty() { 0 } else { decimal.point - 1 };
    let sign = if exponent < 0 { '-' } else { '+' };
    out.extend(format!("{}{sign}{:02}", char::from(verb), exponent.abs()).into_bytes());
}

fn fixed(out: &mut Vec<u8>, decimal: &Decimal, places: usize) {
    let digit = |at: i32| {
        let at = usize::try_from(at).ok();
        at.and_then(|at| decimal.digits.get(at)).copied().unwrap_or(b'0')
    };
    if decimal.point > 0 {
        out.extend((0..decimal.point).map(digit));
    } else {
        out.push(b'0');
    }
    if places > 0 {
        out.push(b'.');
        let places = i32::try_from(places).unwrap_or(i32::MAX - 2000);
        out.extend((0..places).map(|place| digit(decimal.point + place)));
    }
}

/// The bits of the mantissa and the power of two.
fn parts(magnitude: f64) -> (u64, i64) {
    let bits = magnitude.to_bits();
    let (exponent, mantissa) = (bits >> 52, bits & ((1 << 52) - 1));
    let exponent = i64::try_from(exponent).unwrap_or_default();
    if exponent == 0 { (mantissa, -1022) } else { (mantissa | 1 << 52, exponent - 1023) }
}

fn binary(out: &mut Vec<u8>, magnitude: f64) {
    let (mantissa, exponent) = parts(magnitude);
    out.extend(format!("{mantissa}p{:+}", exponent - 52).into_bytes());
}

fn hexadecimal(out: &mut Vec<u8>, magnitude: f64, verb: u8, precision: Option<usize>) {
    let (mut mantissa, mut exponent) = parts(magnitude);
    if mantissa == 0 {
        exponent = 0;
    } else {
        // The leading one goes to bit 60.
        let shift = mantissa.leading_zeros() - 3;
        mantissa <<= shift;
        exponent -= i64::from(shift) - 8;
    }
    if let Some(precision @ ..15) = precision {
        let shift = precision * 4;
        let extra = (mantissa << shift) & ((1 << 60) - 1);
        mantissa >>= 60 - shift;
        mantissa += u64::from(extra | (mantissa & 1) > 1 << 59);
        mantissa <<= 60 - shift;
        if mantissa & (1 << 61) != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let (alphabet, power) =
        if verb == b'x' { (b"0123456789abcdef", 'p') } else { (b"0123456789ABCDEF", 'P') };
    out.extend_from_slice(&[b'0', verb, if mantissa >> 60 & 1 == 1 { b'1' } else { b'0' }]);
    mantissa <<= 4;
    let places = precision.unwrap_or_else(|| 16 - (mantissa.trailing_zeros() / 4).min(16) as usize);
    if places > 0 {
        out.push(b'.');
        for _ in 0..places {
            out.push(alphabet[usize::try_from(mantissa >> 60).unwrap_or_default()]);
            mantissa <<= 4;
        }
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    out.extend(format!("{power}{sign}{:02}", exponent.abs()).into_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(1.0, b'g', None, "1")]
    #[case(1e6, b'g', None, "1e+06")]
    #[case(123_456.0, b'g', None, "123456")]
    #[case(0.0001, b'g', None, "0.0001")]
    #[case(1.5, b'g', Some(10), "1.5")]
    #[case(100_000.0, b'g', Some(3), "1e+05")]
    #[case(-0.0, b'e', Some(2), "-0.00e+00")]
    #[case(2.5, b'f', Some(0), "2")]
    #[case(1.0, b'x', None, "0x1p+00")]
    #[case(-1.5, b'X', Some(1), "-0X1.8P+00")]
    #[case(1.0, b'b', None, "4503599627370496p-52")]
    #[case(5e-324, b'x', None, "0x1p-1074")]
    #[case(f64::INFINITY, b'g', None, "+Inf")]
    fn floats_are_written_as_go_writes_them(
        #[case] number: f64,
        #[case] verb: u8,
        #[case] precision: Option<usize>,
        #[case] want: &str,
    ) {
        assert_eq!(String::from_utf8(format(number, verb, precision)).unwrap(), want);
    }
}
