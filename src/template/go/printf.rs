//! `fmt.Sprint`, `Sprintln` and `Sprintf`.

use super::{
    print::{Flags, Printer},
    text::{REPLACEMENT, first},
};
use crate::template::value::Value;

/// Go's own bound on width and precision.
const TOO_LARGE: i64 = 1_000_000;

/// `fmt.Sprint`; nothing if it is more than `most` bytes.
pub(crate) fn sprint(arguments: &[Value], most: usize) -> Option<Vec<u8>> {
    let mut printer = Printer::new(most);
    let mut after_text = true;
    for argument in arguments {
        let is_text = matches!(argument, Value::Text(_));
        if !is_text && !after_text {
            printer.write(b" ");
        }
        printer.argument(argument, 'v');
        after_text = is_text;
    }
    printer.finish()
}

/// `fmt.Sprintln`.
pub(crate) fn sprintln(arguments: &[Value], most: usize) -> Option<Vec<u8>> {
    let mut printer = Printer::new(most);
    for (i, argument) in arguments.iter().enumerate() {
        printer.write(if i > 0 { b" " } else { b"" });
        printer.argument(argument, 'v');
    }
    printer.write(b"\n");
    printer.finish()
}

/// `fmt.Sprintf`.
pub(crate) fn sprintf(format: &[u8], arguments: &[Value], most: usize) -> Option<Vec<u8>> {
    let mut reader = Reader {
        printer: Printer::new(most),
        format,
        at: 0,
        arguments,
        next: 0,
        reordered: false,
        index_is_good: true,
    };
    reader.run();
    reader.printer.finish()
}

/// `%v` of one value, for a message.
pub(crate) fn shown(value: &Value, verb: char, most: usize) -> Vec<u8> {
    let mut printer = Printer::new(most);
    printer.argument(value, verb);
    printer.finish().unwrap_or_else(|| b"...".to_vec())
}

struct Reader<'a> {
    printer: Printer,
    format: &'a [u8],
    at: usize,
    arguments: &'a [Value],
    /// The argument that the next verb takes.
    next: usize,
    reordered: bool,
    index_is_good: bool,
}

impl Reader<'_> {
    fn run(&mut self) {
        while self.at < self.format.len() {
            self.index_is_good = true;
            let rest = &self.format[self.at..];
            let plain = rest.iter().position(|byte| *byte == b'%').unwrap_or(rest.len());
            self.printer.write(&rest[..plain]);
            self.at += plain;
            if self.at < self.format.len() {
                self.at += 1;
                self.directive();
            }
        }
        if !self.reordered && self.next < self.arguments.len() {
            self.extra();
        }
    }

    fn peek(&self) -> Option<u8> {
        self.format.get(self.at).copied()
    }

    fn directive(&mut self) {
        self.flags();
        let mut after_index = self.index();
        if self.peek() == Some(b'*') {
            self.at += 1;
            self.width_from_argument();
            after_index = false;
        } else {
            self.printer.flags.width = self.number(self.format.len());
            if after_index && self.printer.flags.width.is_some() {
                self.index_is_good = false;
            }
        }
        if self.at + 1 < self.format.len() && self.peek() == Some(b'.') {
            self.at += 1;
            if after_index {
                self.index_is_good = false;
            }
            after_index = self.index();
            if self.peek() == Some(b'*') {
                self.at += 1;
                self.precision_from_argument();
                after_index = false;
            } else {
                let number = self.number(self.format.len());
                self.printer.flags.precision = Some(number.unwrap_or_default());
            }
        }
        if !after_index {
            self.index();
        }
        self.verb();
    }

    fn flags(&mut self) {
        self.printer.flags = Flags::default();
        let flags = &mut self.printer.flags;
        while let Some(byte) = self.format.get(self.at) {
            match byte {
                b'#' => flags.sharp = true,
                b'0' => flags.zero = true,
                b'+' => flags.plus = true,
                b'-' => flags.minus = true,
                b' ' => flags.space = true,
                _ => return,
            }
            self.at += 1;
        }
    }

    fn verb(&mut self) {
        if self.at >= self.format.len() {
            return self.printer.write(b"%!(NOVERB)");
        }
        let (verb, length) = first(&self.format[self.at..]);
        let verb = verb.unwrap_or(REPLACEMENT);
        self.at += length;
        let arguments = self.arguments;
        match arguments.get(self.next) {
            _ if verb == '%' => self.printer.write(b"%"),
            _ if !self.index_is_good => self.complaint(verb, b"(BADINDEX)"),
            None => self.complaint(verb, b"(MISSING)"),
            Some(argument) => {
                if matches!(verb, 'v' | 'w') {
                    let flags = &mut self.printer.flags;
                    flags.go_syntax = std::mem::replace(&mut flags.sharp, false);
                    flags.plus = false;
                }
                self.printer.argument(argument, verb);
                self.next += 1;
            }
        }
    }

    fn complaint(&mut self, verb: char, text: &[u8]) {
        self.printer.write(b"%!");
        self.printer.write(verb.encode_utf8(&mut [0; 4]).as_bytes());
        self.printer.write(text);
    }

    /// A number of the format, which ends at `end`; one that is too large spoils all of it.
    fn number(&mut self, end: usize) -> Option<usize> {
        if self.at >= end {
            self.at = end;
            return None;
        }
        let mut number: Option<i64> = None;
        while let Some(digit) = self.peek().filter(|byte| self.at < end && byte.is_ascii_digit()) {
            let before = number.unwrap_or_default();
            if before > TOO_LARGE {
                self.at = end;
                return None;
            }
            number = Some(before * 10 + i64::from(digit - b'0'));
            self.at += 1;
        }
        number.and_then(|number| usize::try_from(number).ok())
    }

    /// `[3]`: which argument is next. True if there was one that is a number.
    fn index(&mut self) -> bool {
        if self.peek() != Some(b'[') {
            return false;
        }
        self.reordered = true;
        let start = self.at;
        let rest = &self.format[start..];
        let close = rest.iter().position(|byte| *byte == b']').filter(|_| rest.len() >= 3);
        let Some(close) = close else {
            self.at = start + 1;
            self.index_is_good = false;
            return false;
        };
        self.at = start + 1;
        let number = self.number(start + close);
        let is_number = number.is_some() && self.at == start + close;
        self.at = start + close + 1;
        let index = number.filter(|_| is_number).and_then(|number| number.checked_sub(1));
        match index.filter(|index| *index < self.arguments.len()) {
            Some(index) => self.next = index,
            None => self.index_is_good = false,
        }
        is_number
    }

    /// The next argument as a width or precision.
    fn integer_argument(&mut self) -> Option<i64> {
        let argument = self.arguments.get(self.next)?;
        self.next += 1;
        let number = match argument {
            Value::Int(number) => *number,
            Value::Byte(number) => i64::from(*number),
            _ => return None,
        };
        (-TOO_LARGE..=TOO_LARGE).contains(&number).then_some(number)
    }

    fn width_from_argument(&mut self) {
        let Some(number) = self.integer_argument() else {
            return self.printer.write(b"%!(BADWIDTH)");
        };
        if number < 0 {
            self.printer.flags.minus = true;
            self.printer.flags.zero = false;
        }
        self.printer.flags.width = usize::try_from(number.unsigned_abs()).ok();
    }

    fn precision_from_argument(&mut self) {
        let number = self.integer_argument().and_then(|number| usize::try_from(number).ok());
        self.printer.flags.precision = number;
        if number.is_none() {
            self.printer.write(b"%!(BADPREC)");
        }
    }

    fn extra(&mut self) {
        self.printer.flags = Flags::default();
        self.printer.write(b"%!(EXTRA ");
        for (i, argument) in self.arguments.iter().skip(self.next).enumerate() {
            self.printer.write(if i > 0 { b", " } else { b"" });
            self.printer.write(argument.type_name().as_bytes());
            if !matches!(argument, Value::Nil) {
                self.printer.write(b"=");
                self.printer.argument(argument, 'v');
            }
        }
        self.printer.write(b")");
    }
}
