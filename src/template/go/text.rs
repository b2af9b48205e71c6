//! Go's strings: bytes that are usually UTF-8, read a character at a time whatever they are.

/// What stands for bytes that are no character.
pub(crate) const REPLACEMENT: char = '\u{FFFD}';

/// The first character and how many bytes it takes; `None` in place of a character for a byte that begins none.
pub(crate) fn first(text: &[u8]) -> (Option<char>, usize) {
    let Some(lead) = text.first() else { return (None, 0) };
    let length = match lead {
        0..=0x7F => return (Some(char::from(*lead)), 1),
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return (None, 1),
    };
    let decoded = text.get(..length).and_then(|bytes| std::str::from_utf8(bytes).ok());
    decoded.and_then(|text| text.chars().next()).map_or((None, 1), |c| (Some(c), length))
}

/// The characters, each with the bytes it is made of.
pub(crate) fn characters(text: &[u8]) -> impl Iterator<Item = (Option<char>, &[u8])> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (character, length) = first(rest);
        let (bytes, after) = rest.split_at_checked(length).filter(|_| length > 0)?;
        rest = after;
        Some((character, bytes))
    })
}

/// The text, with each byte that is no character replaced, as Go's JSON encoder does.
pub(crate) fn lossy(text: &[u8]) -> String {
    std::str::from_utf8(text).map_or_else(
        |_| characters(text).map(|(character, _)| character.unwrap_or(REPLACEMENT)).collect(),
        ToOwned::to_owned,
    )
}

pub(crate) fn push(out: &mut Vec<u8>, character: char) {
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_stray_byte_is_replaced_on_its_own() {
        assert_eq!(lossy(b"a\xE4\xB8b\xFF"), "a\u{FFFD}\u{FFFD}b\u{FFFD}");
        assert_eq!(lossy(b"\xED\xA0\x80"), "\u{FFFD}\u{FFFD}\u{FFFD}");
    }

    proptest! {
        #[test]
        fn no_byte_is_lost(bytes: Vec<u8>) {
            let joined: Vec<u8> = characters(&bytes).flat_map(|(_, part)| part.to_vec()).collect();
            prop_assert_eq!(joined, bytes);
        }
    }
}
