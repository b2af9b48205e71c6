//! What a plain YAML scalar means: Kubernetes' reader is YAML 1.1, where `yes`, `on` and `0x1F`
//! are not strings. A file that means one thing to kubectl must not mean another here.

use serde_json::Number;

/// A scalar without quotes, resolved.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Number(Number),
    Text,
    /// Infinity or not a number: legal in YAML, without a form in JSON.
    NotJson,
}

/// Resolves a plain scalar.
pub(crate) fn resolve(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Scalar::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Scalar::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF"
        | "-.inf" | "-.Inf" | "-.INF" => return Scalar::NotJson,
        _ => {}
    }
    match text.as_bytes().first() {
        Some(b'.') if is_float(text) => float(text),
        Some(b'0'..=b'9' | b'+' | b'-') => {
            let plain = text.replace('_', "");
            integer(&plain)
                .map(Scalar::Number)
                .or_else(|| is_float(&plain).then(|| float(&plain)))
                .unwrap_or(Scalar::Text)
        }
        _ => Scalar::Text,
    }
}

fn float(text: &str) -> Scalar {
    text.parse::<f64>().ok().and_then(Number::from_f64).map_or(Scalar::Text, Scalar::Number)
}

fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, &digits[2..]),
        Some("0o" | "0O") => (8, &digits[2..]),
        Some("0b" | "0B") => (2, &digits[2..]),
        Some(_) if digits.starts_with('0') => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    if negative {
        0i64.checked_sub_unsigned(magnitude).map(Number::from)
    } else {
        Some(Number::from(magnitude))
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = unsigned
        .split_once(['e', 'E'])
        .map_or((unsigned, None), |(mantissa, exponent)| (mantissa, Some(exponent)));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_fits = match mantissa.split_once('.') {
        Some(("", fraction)) => !fraction.is_empty() && digits(fraction),
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    mantissa_fits && exponent_fits
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case::empty("", json!(null))]
    #[case::tilde("~", json!(null))]
    #[case::yes("yes", json!(true))]
    #[case::on("On", json!(true))]
    #[case::off("off", json!(false))]
    #[case::mixed_case_is_text("yEs", json!("yEs"))]
    #[case::decimal("12", json!(12))]
    #[case::signed("-12", json!(-12))]
    #[case::grouped("1_000", json!(1000))]
    #[case::octal("017", json!(15))]
    #[case::new_octal("0o17", json!(15))]
    #[case::not_octal("018", json!(18.0))]
    #[case::hexadecimal("0x1F", json!(31))]
    #[case::binary("0b101", json!(5))]
    #[case::float("1.5", json!(1.5))]
    #[case::bare_fraction(".5", json!(0.5))]
    #[case::exponent("1e3", json!(1000.0))]
    #[case::version("v1", json!("v1"))]
    #[case::dotted("1.2.3", json!("1.2.3"))]
    #[case::date("2001-01-01", json!("2001-01-01"))]
    #[case::dash("-", json!("-"))]
    fn plain_scalars_mean_what_they_mean_to_kubernetes(#[case] text: &str, #[case] want: Value) {
        let got = match resolve(text) {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => Value::Bool(value),
            Scalar::Number(value) => Value::Number(value),
            Scalar::Text => Value::String(text.to_owned()),
            Scalar::NotJson => panic!("not JSON"),
        };
        assert_eq!(got, want);
    }

    #[test]
    fn infinity_has_no_json_form() {
        assert_eq!(resolve("-.inf"), Scalar::NotJson);
    }
}
