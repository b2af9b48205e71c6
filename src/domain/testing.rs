//! What the tests of several parsers share: input that wants to break them.

use proptest::{prelude::*, sample::Index};

/// Any text, long text, and valid text with one character changed, dropped, doubled or inserted.
pub(crate) fn hostile(valid: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let mutated = (valid, any::<Index>(), any::<char>(), 0..4_u8).prop_map(
        |(text, at, intruder, mutation)| {
            let mut chars: Vec<char> = text.chars().collect();
            if chars.is_empty() {
                return intruder.to_string();
            }
            let at = at.index(chars.len());
            match mutation {
                0 => chars[at] = intruder,
                1 => drop(chars.remove(at)),
                2 => chars.insert(at, chars[at]),
                _ => chars.insert(at, intruder),
            }
            chars.into_iter().collect()
        },
    );
    let long = (any::<String>(), 500..2_000_usize).prop_map(|(text, times)| text.repeat(times));
    prop_oneof![
        4 => mutated,
        2 => any::<String>(),
        2 => "[ -~]{0,80}",
        2 => r"[\[\]:/?%.\-a1]{0,40}",
        1 => long,
    ]
}
