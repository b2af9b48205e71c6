//! Text made safe for HTML, JavaScript and the query of a URL.

use super::go::{
    text::{REPLACEMENT, characters},
    unicode::is_print,
};

pub(crate) fn html(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            0 => out.extend_from_slice("\u{FFFD}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            _ => out.push(*byte),
        }
    }
    out
}

pub(crate) fn js(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for (character, bytes) in characters(text) {
        match character.unwrap_or(REPLACEMENT) {
            '\\' => out.extend_from_slice(b"\\\\"),
            '\'' => out.extend_from_slice(b"\\'"),
            '"' => out.extend_from_slice(b"\\\""),
            c @ ('<' | '>' | '&' | '=' | ..' ') => {
                out.extend(format!("\\u{:04X}", u32::from(c)).into_bytes());
            }
            c if c.is_ascii() || is_print(c) => out.extend_from_slice(bytes),
            c => out.extend(format!("\\u{:04X}", u32::from(c)).into_bytes()),
        }
    }
    out
}

pub(crate) fn url_query(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(*byte),
            b' ' => out.push(b'+'),
            _ => out.extend(format!("%{byte:02X}").into_bytes()),
        }
    }
    out
}
