//! Kubernetes' quantities, exact: small numbers in 64 bits with a power of ten, all others as big
//! decimals, and which of the two it is shows (`isInteger` is false for big ones).

use super::{Binding, Function, Opaque, int, text};
use crate::policy::cel::{
    error::{Error, Failure, fail, no_overload},
    eval::opaque,
    value::Value,
};
use num_bigint::{BigInt, Sign};
use std::{cmp::Ordering, fmt, sync::Arc};

const FORMAT: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const NUMERIC: &str = "unable to parse numeric part of quantity";
const SUFFIX: &str = "unable to parse quantity's suffix";

/// Powers of ten beyond this are compared by magnitude and not computed with.
const MAX_POWER: i64 = 10_000;

/// An amount and how it is written.
#[derive(Debug, Clone)]
pub struct Quantity {
    amount: Amount,
    notation: Notation,
    /// As it was given, where that is canonical already.
    given: Option<Arc<str>>,
}

#[derive(Debug, Clone)]
enum Amount {
    /// `value × 10^scale`.
    Small { value: i64, scale: i32 },
    /// `unscaled × 10^-scale`.
    Big { unscaled: BigInt, scale: i32 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notation {
    DecimalSi,
    BinarySi,
    Exponent,
}

/// What is written, taken apart.
struct Parts<'a> {
    positive: bool,
    value: &'a str,
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

fn take_apart(given: &str) -> Result<Parts<'_>, &'static str> {
    let positive = !given.starts_with('-');
    let signless = given.strip_prefix(['-', '+']).unwrap_or(given);
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let zeros = signless.bytes().take_while(|b| *b == b'0').count();
    let rest = &signless[zeros..];
    if rest.is_empty() {
        return Ok(Parts { positive, value: "0", whole: "0", fraction: "", suffix: "" });
    }
    let count = digits(rest);
    let whole = &rest[..count];
    let mut rest = &rest[count..];
    if rest.is_empty() {
        return Ok(Parts { positive, value: given, whole, fraction: "", suffix: "" });
    }
    let whole = if whole.is_empty() { "0" } else { whole };
    let mut fraction = "";
    if let Some(after) = rest.strip_prefix('.') {
        let count = digits(after);
        fraction = &after[..count];
        rest = &after[count..];
    }
    let value = &given[..given.len() - rest.len()];
    let letters = rest.bytes().take_while(|b| b"eEinumkKMGTP".contains(b)).count();
    let tail = rest[letters..].strip_prefix(['-', '+']).unwrap_or(&rest[letters..]);
    if digits(tail) != tail.len() {
        return Err(FORMAT);
    }
    Ok(Parts { positive, value, whole, fraction, suffix: rest })
}

/// Base, exponent and notation of a suffix.
fn interpret(suffix: &str) -> Option<(u32, i32, Notation)> {
    let si = |exponent| Some((10, exponent, Notation::DecimalSi));
    let binary = |exponent| Some((2, exponent, Notation::BinarySi));
    match suffix {
        "" => si(0),
        "n" => si(-9),
        "u" => si(-6),
        "m" => si(-3),
        "k" => si(3),
        "M" => si(6),
        "G" => si(9),
        "T" => si(12),
        "P" => si(15),
        "E" => si(18),
        "Ki" => binary(10),
        "Mi" => binary(20),
        "Gi" => binary(30),
        "Ti" => binary(40),
        "Pi" => binary(50),
        "Ei" => binary(60),
        _ => {
            let digits = suffix.strip_prefix(['e', 'E']).filter(|d| !d.is_empty())?;
            let parsed: i64 = digits.parse().ok()?;
            #[allow(clippy::cast_possible_truncation, reason = "Kubernetes truncates too")]
            Some((10, parsed as i32, Notation::Exponent))
        }
    }
}

impl Quantity {
    /// Kubernetes' `ParseQuantity`.
    pub fn parse(given: &str) -> Result<Self, &'static str> {
        if given.is_empty() {
            return Err(FORMAT);
        }
        if given == "0" {
            let amount = Amount::Small { value: 0, scale: 0 };
            let given = Some(Arc::from(given));
            return Ok(Self { amount, notation: Notation::DecimalSi, given });
        }
        let parts = take_apart(given)?;
        let (base, exponent, notation) = interpret(parts.suffix).ok_or(SUFFIX)?;
        if let Some(small) = Self::small(given, &parts, exponent, notation)? {
            return Ok(small);
        }
        Self::big(&parts, base, exponent, notation)
    }

    fn small(
        given: &str,
        parts: &Parts<'_>,
        exponent: i32,
        notation: Notation,
    ) -> Result<Option<Self>, &'static str> {
        let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
        let (whole, fraction) = (length(parts.whole), length(parts.fraction));
        let (scale, multiplier, precision) = match notation {
            Notation::DecimalSi | Notation::Exponent => {
                (i64::from(exponent), 1_i64, 18 - whole - fraction)
            }
            Notation::BinarySi if exponent >= 0 && parts.fraction.is_empty() => {
                let digits = i64::from(exponent) * 3 / 10;
                (0, 1_i64 << exponent, 15 - whole - digits - 1)
            }
            Notation::BinarySi => (0, 1, -1),
        };
        let scale = scale - fraction;
        if precision < 0 || scale < -9 {
            return Ok(None);
        }
        let shifted = format!("{}{}", parts.whole, parts.fraction);
        let value: i64 = shifted.parse().map_err(|_| NUMERIC)?;
        let Some(product) = value.checked_mul(multiplier) else { return Ok(None) };
        let signed = if parts.positive { product } else { -product };
        let canonical = match notation {
            Notation::BinarySi => exponent % 10 == 0 && value & 0x07 != 0,
            Notation::DecimalSi | Notation::Exponent => {
                scale % 3 == 0 && !shifted.ends_with("000") && !shifted.starts_with('0')
            }
        };
        let scale = i32::try_from(scale).unwrap_or(i32::MAX);
        Ok(Some(Self {
            amount: Amount::Small { value: signed, scale },
            notation,
            given: canonical.then(|| Arc::from(given)),
        }))
    }

    fn big(
        parts: &Parts<'_>,
        base: u32,
        exponent: i32,
        mut notation: Notation,
    ) -> Result<Self, &'static str> {
        let signless = parts.value.strip_prefix(['-', '+']).unwrap_or(parts.value);
        let digits: String = signless.chars().filter(|c| *c != '.').collect();
        let mut unscaled: BigInt = digits.parse().map_err(|_| NUMERIC)?;
        let mut scale = i64::try_from(parts.fraction.len()).unwrap_or(i64::MAX);
        if base == 10 {
            scale -= i64::from(exponent);
        } else {
            unscaled <<= usize::try_from(exponent).unwrap_or_default();
        }
        let zero = unscaled.sign() == Sign::NoSign;
        if !zero {
            unscaled = rescaled_up(&unscaled, scale, 9);
            scale = 9;
        }
        let one = BigInt::from(1_000_000_000_i64);
        if notation == Notation::BinarySi {
            let most = BigInt::from(i64::MAX) * &one;
            if !zero && unscaled > most {
                unscaled = BigInt::from(i64::MAX);
                scale = 0;
            } else if !zero && unscaled < one {
                notation = Notation::DecimalSi;
            }
        }
        if !parts.positive {
            unscaled = -unscaled;
        }
        let scale = i32::try_from(scale).unwrap_or_default();
        Ok(Self { amount: Amount::Big { unscaled, scale }, notation, given: None })
    }

    /// In the one form that equal amounts of a notation share.
    #[must_use]
    pub fn canonical(&self) -> String {
        Self { given: None, ..self.clone() }.to_string()
    }

    fn is_zero(&self) -> bool {
        match &self.amount {
            Amount::Small { value, .. } => *value == 0,
            Amount::Big { unscaled, .. } => unscaled.sign() == Sign::NoSign,
        }
    }

    fn sign(&self) -> i64 {
        match &self.amount {
            Amount::Small { value, .. } => value.signum(),
            Amount::Big { unscaled, .. } => match unscaled.sign() {
                Sign::Minus => -1,
                Sign::NoSign => 0,
                Sign::Plus => 1,
            },
        }
    }

    /// `unscaled × 10^-scale`.
    fn decimal(&self) -> (BigInt, i64) {
        match &self.amount {
            Amount::Small { value, scale } => (BigInt::from(*value), -i64::from(*scale)),
            Amount::Big { unscaled, scale } => (unscaled.clone(), i64::from(*scale)),
        }
    }

    /// Order by amount.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        let signs = self.sign().cmp(&other.sign());
        if signs.is_ne() || self.sign() == 0 {
            return signs;
        }
        let ((a, a_scale), (b, b_scale)) = (self.decimal(), other.decimal());
        if (a_scale - b_scale).abs() > MAX_POWER {
            // So far apart that the number of digits decides.
            let length = |n: &BigInt, scale: i64| {
                i64::try_from(n.magnitude().to_string().len()).unwrap_or(i64::MAX) - scale
            };
            let order = length(&a, a_scale).cmp(&length(&b, b_scale));
            return if self.sign() < 0 { order.reverse() } else { order };
        }
        let common = a_scale.max(b_scale);
        (a * power(common - a_scale)).cmp(&(b * power(common - b_scale)))
    }

    /// A sum, or none where it would take absurdly many digits.
    fn add(&self, other: &Self, subtract: bool) -> Option<Self> {
        let notation = if self.is_zero() { other.notation } else { self.notation };
        if let (Amount::Small { value, scale }, Amount::Small { value: b, scale: b_scale }) =
            (&self.amount, &other.amount)
        {
            let b = if subtract { b.wrapping_neg() } else { *b };
            if let Some(amount) = add_small((*value, *scale), (b, *b_scale)) {
                return Some(Self { amount, notation, given: None });
            }
        }
        let ((a, a_scale), (b, b_scale)) = (self.decimal(), other.decimal());
        let common = a_scale.max(b_scale);
        if (a_scale - b_scale).abs() > MAX_POWER {
            return None;
        }
        let (a, b) = (a * power(common - a_scale), b * power(common - b_scale));
        let unscaled = if subtract { a - b } else { a + b };
        let scale = i32::try_from(common).unwrap_or_default();
        Some(Self { amount: Amount::Big { unscaled, scale }, notation, given: None })
    }

    fn as_int(&self) -> Option<i64> {
        match self.amount {
            Amount::Small { value, scale: 0 } => Some(value),
            Amount::Small { value, scale } if scale > 0 => scaled(value, scale),
            Amount::Small { .. } | Amount::Big { .. } => None,
        }
    }

    fn as_float(&self) -> f64 {
        let (base, exponent): (f64, i64) = match &self.amount {
            #[allow(clippy::cast_precision_loss, reason = "it is approximate")]
            Amount::Small { value, scale } => (*value as f64, i64::from(*scale)),
            Amount::Big { unscaled, scale } => {
                (unscaled.to_string().parse().unwrap_or(f64::NAN), -i64::from(*scale))
            }
        };
        if exponent == 0 { base } else { base * go_pow10(exponent) }
    }
}

/// Rounds away from zero to the wanted scale.
fn rescaled_up(unscaled: &BigInt, scale: i64, wanted: i64) -> BigInt {
    if scale <= wanted {
        return unscaled * power(wanted - scale);
    }
    let digits = i64::try_from(unscaled.magnitude().to_string().len()).unwrap_or(i64::MAX);
    if scale - wanted > digits {
        return BigInt::from(if unscaled.sign() == Sign::Minus { -1 } else { 1 });
    }
    let divisor = power(scale - wanted);
    let quotient = unscaled / &divisor;
    let rest = unscaled % &divisor;
    match rest.sign() {
        Sign::NoSign => quotient,
        Sign::Plus => quotient + 1,
        Sign::Minus => quotient - 1,
    }
}

fn power(exponent: i64) -> BigInt {
    BigInt::from(10).pow(u32::try_from(exponent.clamp(0, MAX_POWER)).unwrap_or_default())
}

/// `value × 10^scale`, if it fits.
fn scaled(value: i64, scale: i32) -> Option<i64> {
    if value == 0 {
        return Some(0);
    }
    10_i64.checked_pow(u32::try_from(scale).ok()?).and_then(|p| value.checked_mul(p))
}

fn add_small(a: (i64, i32), b: (i64, i32)) -> Option<Amount> {
    let small = |value, scale| Some(Amount::Small { value, scale });
    if b.0 == 0 {
        return small(a.0, a.1);
    }
    if a.0 == 0 {
        return small(b.0, b.1);
    }
    let scale = a.1.min(b.1);
    let (x, y) = (scaled(a.0, a.1.checked_sub(scale)?)?, scaled(b.0, b.1.checked_sub(scale)?)?);
    small(x.checked_add(y)?, scale)
}

/// `math.Pow10`: a product of two table entries, each correctly rounded.
fn go_pow10(n: i64) -> f64 {
    let entry = |n: i64| format!("1e{n}").parse::<f64>().unwrap_or(f64::NAN);
    match n {
        0..=308 => entry(n / 32 * 32) * entry(n % 32),
        -323..=-1 => entry(n / 32 * 32) / entry(-n % 32),
        n if n > 308 => f64::INFINITY,
        _ => 0.0,
    }
}

/// As it was given, if that says it well; else in the canonical form.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(given) = &self.given {
            return f.write_str(given);
        }
        if self.is_zero() {
            return f.write_str("0");
        }
        let (unscaled, scale) = self.decimal();
        if self.notation == Notation::BinarySi && scale.abs() <= MAX_POWER {
            let whole = rescaled_up(&unscaled, scale, 0);
            let exact = scale <= 0 || &whole * power(scale) == unscaled;
            let kibi = BigInt::from(1024);
            if exact && (whole >= kibi || whole <= -&kibi) {
                let (number, times) = without_factor(whole, 1024);
                let suffix = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
                return write!(f, "{number}{}", suffix.get(times).unwrap_or(&""));
            }
        }
        let (mut number, times) = without_factor(unscaled, 10);
        let mut exponent = i64::try_from(times).unwrap_or_default() - scale;
        while exponent % 3 != 0 {
            number *= 10;
            exponent -= 1;
        }
        if self.notation == Notation::Exponent {
            return if exponent == 0 {
                write!(f, "{number}")
            } else {
                write!(f, "{number}e{exponent}")
            };
        }
        let suffix = match exponent {
            -9 => "n",
            -6 => "u",
            -3 => "m",
            3 => "k",
            6 => "M",
            9 => "G",
            12 => "T",
            15 => "P",
            18 => "E",
            _ => "",
        };
        write!(f, "{number}{suffix}")
    }
}

fn without_factor(mut number: BigInt, factor: u32) -> (BigInt, usize) {
    let mut times = 0;
    while number.sign() != Sign::NoSign && (&number % factor).sign() == Sign::NoSign {
        number /= factor;
        times += 1;
    }
    (number, times)
}

pub(crate) fn implementation(id: &str) -> Option<(Function, Binding)> {
    let body: Function = match id {
        "string_to_quantity" => |_, args| {
            let quantity = Quantity::parse(text(args, 0)?).map_err(fail)?;
            Ok(Value::Opaque(Arc::new(Opaque::Quantity(quantity, false))))
        },
        "is_quantity_string" => |_, args| Ok(Value::Bool(Quantity::parse(text(args, 0)?).is_ok())),
        "quantity_sign" => |_, args| Ok(Value::Int(quantity(args, 0)?.sign())),
        "quantity_is_greater_than" => |_, args| Ok(Value::Bool(order(args)?.is_gt())),
        "quantity_is_less_than" => |_, args| Ok(Value::Bool(order(args)?.is_lt())),
        "quantity_compare_to" => |_, args| Ok(Value::Int(order(args)? as i64)),
        "quantity_get_float" => |_, args| Ok(Value::Double(quantity(args, 0)?.as_float())),
        "quantity_get_int" => |_, args| {
            let value = quantity(args, 0)?.as_int();
            value.map(Value::Int).ok_or_else(|| fail("cannot convert value to integer"))
        },
        "quantity_is_integer" => |_, args| Ok(Value::Bool(quantity(args, 0)?.as_int().is_some())),
        "quantity_add" => |_, args| sum(quantity(args, 0)?, quantity(args, 1)?, false),
        "quantity_sub" => |_, args| sum(quantity(args, 0)?, quantity(args, 1)?, true),
        "quantity_add_int" => |_, args| sum(quantity(args, 0)?, &whole(int(args, 1)?), false),
        "quantity_sub_int" => |_, args| sum(quantity(args, 0)?, &whole(int(args, 1)?), true),
        _ => return None,
    };
    Some((body, Binding::Direct))
}

fn quantity<'v>(args: &'v [Value<'_>], at: usize) -> Result<&'v Quantity, Error> {
    match args.get(at).and_then(opaque) {
        Some(Opaque::Quantity(quantity, _)) => Ok(quantity),
        _ => Err(no_overload()),
    }
}

fn order(args: &[Value<'_>]) -> Result<Ordering, Error> {
    Ok(quantity(args, 0)?.compare(quantity(args, 1)?))
}

fn whole(value: i64) -> Quantity {
    let amount = Amount::Small { value, scale: 0 };
    Quantity { amount, notation: Notation::Exponent, given: None }
}

fn sum<'a>(a: &Quantity, b: &Quantity, subtract: bool) -> Result<Value<'a>, Error> {
    match a.add(b, subtract) {
        Some(sum) => Ok(Value::Opaque(Arc::new(Opaque::Quantity(sum, true)))),
        None => Err(Error::new(Failure::CostLimit)),
    }
}
