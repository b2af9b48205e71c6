//! One value in one verb: what package fmt does between a `%` and the next.

use super::{
    float,
    quote::{can_backquote, quote, quote_character},
    text::{REPLACEMENT, characters, push},
    unicode::is_print,
};
use crate::template::value::Value;

const LOWER: &[u8; 16] = b"0123456789abcdef";
const UPPER: &[u8; 16] = b"0123456789ABCDEF";

/// What stands between `%` and the verb.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the format")]
pub(crate) struct Flags {
    pub width: Option<usize>,
    pub precision: Option<usize>,
    pub minus: bool,
    pub plus: bool,
    pub sharp: bool,
    pub space: bool,
    pub zero: bool,
    /// `%#v`: as Go source.
    pub go_syntax: bool,
}

/// Prints until it has printed too much.
pub(crate) struct Printer {
    pub out: Vec<u8>,
    pub flags: Flags,
    most: usize,
    overflowed: bool,
}

impl Printer {
    /// Prints no more than so many bytes.
    pub fn new(most: usize) -> Self {
        Self { out: Vec::new(), flags: Flags::default(), most, overflowed: false }
    }

    /// What was printed; nothing if it would have been too much.
    pub fn finish(self) -> Option<Vec<u8>> {
        (!self.overflowed).then_some(self.out)
    }

    pub fn write(&mut self, bytes: &[u8]) {
        if self.fits(bytes.len()) {
            self.out.extend_from_slice(bytes);
        }
    }

    fn fits(&mut self, more: usize) -> bool {
        self.overflowed |= self.out.len().saturating_add(more) > self.most;
        !self.overflowed
    }

    fn padding(&mut self, count: usize) {
        if self.fits(count) {
            let byte = if self.flags.zero && !self.flags.minus { b'0' } else { b' ' };
            self.out.resize(self.out.len() + count, byte);
        }
    }

    fn pad(&mut self, text: &[u8]) {
        let Some(width) = self.flags.width.filter(|width| *width > 0) else {
            return self.write(text);
        };
        let left = width.saturating_sub(characters(text).count());
        if self.flags.minus {
            self.write(text);
            self.padding(left);
        } else {
            self.padding(left);
            self.write(text);
        }
    }

    /// Zeros have been put before the digits already, and are not for what has none.
    fn pad_without_zeros(&mut self, text: &[u8]) {
        let zero = std::mem::replace(&mut self.flags.zero, false);
        self.pad(text);
        self.flags.zero = zero;
    }

    /// An argument of a function of package fmt.
    pub fn argument(&mut self, value: &Value, verb: char) {
        match (value, verb) {
            (Value::Nil, 'T' | 'v') => self.pad(b"<nil>"),
            (_, 'T') => {
                let name = value.type_name().as_bytes();
                let name = self.truncated(name);
                self.pad(name);
            }
            (Value::Nil, _) | (_, 'p' | 'w') => self.bad_verb(value, verb),
            _ => self.value(value, verb),
        }
    }

    /// `%!d(string=hi)`
    fn bad_verb(&mut self, value: &Value, verb: char) {
        self.write(b"%!");
        self.write(verb.encode_utf8(&mut [0; 4]).as_bytes());
        self.write(b"(");
        self.write(value.type_name().as_bytes());
        if !matches!(value, Value::Nil) {
            self.write(b"=");
            self.value(value, 'v');
        }
        self.write(b")");
    }

    fn value(&mut self, value: &Value, verb: char) {
        if self.overflowed {
            return;
        }
        match value {
            Value::Nil if self.flags.go_syntax => self.write(b"interface {}(nil)"),
            Value::Nil => self.write(b"<nil>"),
            Value::Bool(truth) if matches!(verb, 't' | 'v') => {
                self.pad(if *truth { b"true" } else { b"false" });
            }
            Value::Bool(_) => self.bad_verb(value, verb),
            Value::Int(number) => self.integer(value, number.unsigned_abs(), *number < 0, verb),
            Value::Byte(number) if verb == 'v' && self.flags.go_syntax => {
                let sharp = std::mem::replace(&mut self.flags.sharp, true);
                self.digits((*number).into(), false, 16, 'v');
                self.flags.sharp = sharp;
            }
            Value::Byte(number) => self.integer(value, (*number).into(), false, verb),
            Value::Float(number) => match float_verb(verb) {
                Some((verb, precision)) => self.float(*number, verb, precision),
                None => self.bad_verb(value, verb),
            },
            Value::Complex(real, imaginary) => match float_verb(verb) {
                Some((verb, precision)) => self.complex((*real, *imaginary), verb, precision),
                None => self.bad_verb(value, verb),
            },
            Value::Text(text) => self.text(value, text, verb),
            Value::List(list) => {
                let (start, between, end) = self.brackets(value, b"[");
                self.write(start);
                for (i, item) in list.as_slice().iter().enumerate() {
                    self.write(if i > 0 { between } else { b"" });
                    self.value(item, verb);
                }
                self.write(end);
            }
            Value::Map(map) => {
                let (start, between, end) = self.brackets(value, b"map[");
                self.write(start);
                for (i, (key, item)) in map.iter().enumerate() {
                    self.write(if i > 0 { between } else { b"" });
                    self.value(&key.as_str().into(), verb);
                    self.write(b":");
                    self.value(item, verb);
                }
                self.write(end);
            }
        }
    }

    /// What stands before, between and after the items; before them in Go source, the type.
    fn brackets(
        &mut self,
        value: &Value,
        plain: &'static [u8],
    ) -> (&'static [u8], &'static [u8], &'static [u8]) {
        if self.flags.go_syntax {
            self.write(value.type_name().as_bytes());
            return (b"{", b", ", b"}");
        }
        (plain, b" ", b"]")
    }

    fn text(&mut self, value: &Value, text: &[u8], verb: char) {
        match verb {
            'v' if self.flags.go_syntax => self.quoted(text),
            'v' | 's' => {
                let text = self.truncated(text);
                self.pad(text);
            }
            'x' => self.hexadecimal(text, LOWER, b'x'),
            'X' => self.hexadecimal(text, UPPER, b'X'),
            'q' => self.quoted(text),
            _ => self.bad_verb(value, verb),
        }
    }

    fn truncated<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        let Some(precision) = self.flags.precision else { return text };
        let length = characters(text).take(precision).map(|(_, bytes)| bytes.len()).sum();
        text.get(..length).unwrap_or(text)
    }

    fn quoted(&mut self, text: &[u8]) {
        let text = self.truncated(text);
        // Four bytes at most become ten.
        if !self.fits(text.len()) {
            return;
        }
        if self.flags.sharp && can_backquote(text) {
            return self.pad(&[b"`", text, b"`"].concat());
        }
        let mut out = Vec::with_capacity(text.len() + 2);
        quote(&mut out, text, self.flags.plus);
        self.pad(&out);
    }

    fn hexadecimal(&mut self, text: &[u8], alphabet: &[u8; 16], x: u8) {
        let length = self.flags.precision.map_or(text.len(), |most| most.min(text.len()));
        let Flags { space, sharp, minus, width, .. } = self.flags;
        if length == 0 {
            return self.padding(width.unwrap_or_default());
        }
        let mut total = 2 * length;
        if space {
            total = total * if sharp { 2 } else { 1 } + length - 1;
        } else if sharp {
            total += 2;
        }
        let left = width.unwrap_or_default().saturating_sub(total);
        if !minus {
            self.padding(left);
        }
        if !self.fits(total) {
            return;
        }
        for (i, byte) in text.iter().take(length).enumerate() {
            if space && i > 0 {
                self.out.push(b' ');
            }
            if sharp && (space || i == 0) {
                self.out.extend_from_slice(&[b'0', x]);
            }
            self.out.extend([byte >> 4, byte & 15].map(|digit| alphabet[usize::from(digit)]));
        }
        if minus {
            self.padding(left);
        }
    }

    fn integer(&mut self, value: &Value, magnitude: u64, negative: bool, verb: char) {
        // Go takes the bits of a negative number for a large one.
        let code = if negative { magnitude.wrapping_neg() } else { magnitude };
        match verb {
            'v' | 'd' => self.digits(magnitude, negative, 10, verb),
            'b' => self.digits(magnitude, negative, 2, verb),
            'o' | 'O' => self.digits(magnitude, negative, 8, verb),
            'x' | 'X' => self.digits(magnitude, negative, 16, verb),
            'c' => self.pad(character(code).encode_utf8(&mut [0; 4]).as_bytes()),
            'q' => {
                let mut out = Vec::new();
                quote_character(&mut out, character(code), self.flags.plus);
                self.pad(&out);
            }
            'U' => self.code_point(code),
            _ => self.bad_verb(value, verb),
        }
    }

    fn digits(&mut self, magnitude: u64, negative: bool, base: u32, verb: char) {
        let Flags { width, precision, minus, plus, sharp, space, zero, .. } = self.flags;
        if precision == Some(0) && magnitude == 0 {
            let zero = std::mem::replace(&mut self.flags.zero, false);
            self.padding(width.unwrap_or_default());
            self.flags.zero = zero;
            return;
        }
        let digits = match (base, verb) {
            (2, _) => format!("{magnitude:b}"),
            (8, _) => format!("{magnitude:o}"),
            (16, 'X') => format!("{magnitude:X}"),
            (16, _) => format!("{magnitude:x}"),
            _ => magnitude.to_string(),
        };
        let least = match (precision, width) {
            (Some(precision), _) => precision,
            (None, Some(width)) if zero && !minus => {
                width.saturating_sub(usize::from(negative || plus || space))
            }
            _ => 0,
        };
        let zeros = least.saturating_sub(digits.len());
        if !self.fits(zeros) {
            return;
        }
        let mut out: Vec<u8> = Vec::with_capacity(digits.len() + zeros + 4);
        out.extend(if negative {
            Some(b'-')
        } else if plus {
            Some(b'+')
        } else {
            space.then_some(b' ')
        });
        if verb == 'O' {
            out.extend_from_slice(b"0o");
        }
        match base {
            2 if sharp => out.extend_from_slice(b"0b"),
            8 if sharp && zeros == 0 && !digits.starts_with('0') => out.push(b'0'),
            16 if sharp => out.extend_from_slice(if verb == 'X' { b"0X" } else { b"0x" }),
            _ => {}
        }
        out.resize(out.len() + zeros, b'0');
        out.extend_from_slice(digits.as_bytes());
        self.pad_without_zeros(&out);
    }

    /// `U+0078`, or `U+0078 'x'`.
    fn code_point(&mut self, code: u64) {
        let digits = self.flags.precision.unwrap_or_default().max(4);
        if !self.fits(digits) {
            return;
        }
        let hex = format!("{code:X}");
        let mut out = b"U+".to_vec();
        out.resize(2 + digits.saturating_sub(hex.len()), b'0');
        out.extend_from_slice(hex.as_bytes());
        let shown = u32::try_from(code).ok().and_then(char::from_u32).filter(|c| is_print(*c));
        if let Some(character) = shown.filter(|_| self.flags.sharp) {
            out.extend_from_slice(b" '");
            push(&mut out, character);
            out.push(b'\'');
        }
        self.pad_without_zeros(&out);
    }

    fn complex(&mut self, (real, imaginary): (f64, f64), verb: u8, precision: Option<usize>) {
        self.write(b"(");
        self.float(real, verb, precision);
        let plus = std::mem::replace(&mut self.flags.plus, true);
        self.float(imaginary, verb, precision);
        self.write(b"i)");
        self.flags.plus = plus;
    }

    fn float(&mut self, number: f64, verb: u8, precision: Option<usize>) {
        let Flags { width, minus, plus, sharp, space, zero, .. } = self.flags;
        let precision = self.flags.precision.or(precision);
        if !self.fits(precision.unwrap_or_default()) {
            return;
        }
        let mut text = float::format(number, verb, precision);
        let sign = match text.first() {
            Some(sign @ (b'+' | b'-')) => *sign,
            _ => b'+',
        };
        if matches!(text.first(), Some(b'+' | b'-')) {
            text.remove(0);
        }
        let sign = if space && sign == b'+' && !plus { b' ' } else { sign };
        if number.is_nan() || number.is_infinite() {
            let shows_sign = number.is_infinite() || space || plus;
            let shown = if shows_sign { [&[sign], text.as_slice()].concat() } else { text };
            // An infinity without a flag keeps its sign only if that is not a plus.
            return self.pad_without_zeros(&shown);
        }
        if sharp && verb != b'b' {
            text = with_point(&text, verb, precision);
        }
        if plus || sign != b'+' {
            let total = text.len() + 1;
            if let Some(width) = width.filter(|width| zero && !minus && *width > total) {
                self.write(&[sign]);
                self.padding(width - total);
                return self.write(&text);
            }
            text.insert(0, sign);
        }
        self.pad(&text);
    }
}

fn character(code: u64) -> char {
    u32::try_from(code).ok().and_then(char::from_u32).unwrap_or(REPLACEMENT)
}

/// The verb of strconv and its precision, for a verb that prints floats.
fn float_verb(verb: char) -> Option<(u8, Option<usize>)> {
    Some(match verb {
        'v' => (b'g', None),
        'b' | 'g' | 'G' | 'x' | 'X' => (u8::try_from(verb).ok()?, None),
        'f' | 'e' | 'E' => (u8::try_from(verb).ok()?, Some(6)),
        'F' => (b'f', Some(6)),
        _ => return None,
    })
}

/// The sharp flag: with a point, and with the zeros that the precision asks for.
fn with_point(text: &[u8], verb: u8, precision: Option<usize>) -> Vec<u8> {
    let mut missing = match verb {
        b'g' | b'G' | b'x' => precision.unwrap_or(6),
        _ => 0,
    };
    let is_hex = matches!(verb, b'x' | b'X');
    let is_tail = |byte: u8| matches!(byte, b'p' | b'P') || !is_hex && matches!(byte, b'e' | b'E');
    let end = text.iter().position(|byte| is_tail(*byte)).unwrap_or(text.len());
    let (number, tail) = text.split_at(end);
    let mut significant = false;
    for byte in number.iter().filter(|byte| **byte != b'.') {
        significant |= *byte != b'0';
        missing = missing.saturating_sub(usize::from(significant));
    }
    let mut out = number.to_vec();
    if !number.contains(&b'.') {
        if number == b"0" {
            missing = missing.saturating_sub(1);
        }
        out.push(b'.');
    }
    out.resize(out.len() + missing, b'0');
    out.extend_from_slice(tail);
    out
}
