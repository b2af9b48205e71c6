//! Go's literals: `strconv.Quote` and its kin, and the way back.

use super::{
    text::{REPLACEMENT, characters, first, push},
    unicode::is_print,
};

/// Go's word for a literal that is none.
pub(crate) const SYNTAX: &str = "invalid syntax";

/// `strconv.Quote`.
pub(crate) fn quoted(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    quote(&mut out, text, false);
    out
}

/// Appends the text in double quotes; `ascii` escapes every other character.
pub(crate) fn quote(out: &mut Vec<u8>, text: &[u8], ascii: bool) {
    out.push(b'"');
    for (character, bytes) in characters(text) {
        match character {
            Some(character) => escape(out, character, '"', ascii),
            None => out.extend(bytes.iter().flat_map(|byte| format!("\\x{byte:02x}").into_bytes())),
        }
    }
    out.push(b'"');
}

/// Appends the character in single quotes.
pub(crate) fn quote_character(out: &mut Vec<u8>, character: char, ascii: bool) {
    out.push(b'\'');
    escape(out, character, '\'', ascii);
    out.push(b'\'');
}

fn escape(out: &mut Vec<u8>, character: char, quote: char, ascii: bool) {
    if character == quote || character == '\\' {
        out.push(b'\\');
        return push(out, character);
    }
    if is_print(character) && (character.is_ascii() || !ascii) {
        return push(out, character);
    }
    let escaped = match character {
        '\u{7}' => "\\a".to_owned(),
        '\u{8}' => "\\b".to_owned(),
        '\u{c}' => "\\f".to_owned(),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        '\u{b}' => "\\v".to_owned(),
        _ => match u32::from(character) {
            code @ (..0x20 | 0x7F) => format!("\\x{code:02x}"),
            code @ ..0x10000 => format!("\\u{code:04x}"),
            code => format!("\\U{code:08x}"),
        },
    };
    out.extend_from_slice(escaped.as_bytes());
}

/// `strconv.CanBackquote`.
pub(crate) fn can_backquote(text: &[u8]) -> bool {
    characters(text).all(|(character, _)| match character {
        None | Some('\u{feff}' | '`' | '\u{7f}') => false,
        Some(character) => character >= ' ' || character == '\t',
    })
}

/// `strconv.Unquote` of a literal that the lexer found, in double quotes or backquotes.
pub(crate) fn unquote(literal: &str) -> Option<Vec<u8>> {
    if let Some(raw) = literal.strip_prefix('`') {
        let raw = raw.strip_suffix('`')?;
        return Some(raw.bytes().filter(|byte| *byte != b'\r').collect());
    }
    let mut rest = literal.strip_prefix('"')?;
    let mut out = Vec::with_capacity(rest.len());
    while !rest.is_empty() && !rest.starts_with('"') {
        let (unit, after) = unquote_character(rest, b'"').filter(|_| !rest.starts_with('\n'))?;
        match unit {
            Unit::Byte(byte) => out.push(byte),
            Unit::Character(character) => push(&mut out, character),
        }
        rest = after;
    }
    (rest == "\"").then_some(out)
}

/// What an escape stands for: in a string, `\xff` is a byte and `\u00ff` a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Byte(u8),
    Character(char),
}

/// `strconv.UnquoteChar`: the first character of what stands in quotes, and the rest.
pub(crate) fn unquote_character(text: &str, quote: u8) -> Option<(Unit, &str)> {
    let lead = *text.as_bytes().first()?;
    if lead == quote {
        return None;
    }
    if lead != b'\\' {
        let (character, length) = first(text.as_bytes());
        return Some((Unit::Character(character.unwrap_or(REPLACEMENT)), text.get(length..)?));
    }
    let kind = *text.as_bytes().get(1)?;
    let rest = text.get(2..)?;
    let byte = |byte: u8| Some((Unit::Byte(byte), rest));
    match kind {
        b'a' => byte(7),
        b'b' => byte(8),
        b'f' => byte(12),
        b'n' => byte(b'\n'),
        b'r' => byte(b'\r'),
        b't' => byte(b'\t'),
        b'v' => byte(11),
        b'\\' => byte(b'\\'),
        b'\'' | b'"' if kind == quote => byte(kind),
        b'x' => {
            let code = hex(rest, 2)?;
            Some((Unit::Byte(u8::try_from(code).ok()?), &rest[2..]))
        }
        b'u' => Some((Unit::Character(char::from_u32(hex(rest, 4)?)?), &rest[4..])),
        b'U' => Some((Unit::Character(char::from_u32(hex(rest, 8)?)?), &rest[8..])),
        b'0'..=b'7' => {
            let digits = text.get(1..4).filter(|digits| digits.bytes().all(|d| d.is_ascii_digit()));
            let code = u8::from_str_radix(digits?, 8).ok()?;
            Some((Unit::Byte(code), text.get(4..)?))
        }
        _ => None,
    }
}

fn hex(text: &str, length: usize) -> Option<u32> {
    let digits = text.get(..length).filter(|text| text.bytes().all(|d| d.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::plain("\"a\"", Some("a".as_bytes()))]
    #[case::byte(r#""\xff""#, Some(b"\xff".as_slice()))]
    #[case::character(r#""\u00ff""#, Some("ÿ".as_bytes()))]
    #[case::octal(r#""\101""#, Some(b"A".as_slice()))]
    #[case::too_large(r#""\400""#, None)]
    #[case::surrogate(r#""\ud800""#, None)]
    #[case::other_quote(r#""\'""#, None)]
    #[case::raw("`a\\\r\n`", Some(b"a\\\n".as_slice()))]
    fn literals_are_read(#[case] literal: &str, #[case] want: Option<&[u8]>) {
        assert_eq!(unquote(literal).as_deref(), want);
    }

    #[test]
    fn what_does_not_print_is_escaped() {
        assert_eq!(quoted("a\"\\\n\u{1}\u{a0}é\u{e000}\u{f0000}".as_bytes()), br#""a\"\\\n\x01\u00a0"#.iter().copied()
            .chain("é".bytes()).chain(*br#"\ue000\U000f0000""#).collect::<Vec<u8>>());
        assert_eq!(quoted(b"\xff"), br#""\xff""#);
    }
}
