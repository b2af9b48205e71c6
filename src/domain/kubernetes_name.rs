//! What Kubernetes accepts as an object's name and as a label's value.

use sha2::{Digest, Sha256};

/// Longest name of an object.
pub const MAX_SUBDOMAIN: usize = 253;

/// Longest value of a label.
pub const MAX_LABEL_VALUE: usize = 63;

/// Between the start of a label's value that does not fit and its hash. Labels may have it and names
/// of objects may not, so that what was shortened can never be mistaken for a name.
pub const CUT: char = '_';

/// Of the hash, as many hexadecimal digits as make an accident unthinkable.
const HASH_DIGITS: usize = 10;

/// The text as the value of a label. What does not fit is cut, and ends in the hash of the whole of
/// it, so that it is the same each time and another for every text.
#[must_use]
pub fn label_value(whole: &str) -> String {
    if is_label_value(whole) {
        return whole.to_owned();
    }
    let room = MAX_LABEL_VALUE - HASH_DIGITS - CUT.len_utf8();
    let is_legal = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let start: String = whole.chars().filter(is_legal).take(room).collect();
    let start = start.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let cut = if start.is_empty() { String::new() } else { format!("{start}{CUT}") };
    cut + &hash(whole, HASH_DIGITS)
}

/// The first digits of the text's SHA-256, in hexadecimal.
#[must_use]
pub fn hash(text: &str, digits: usize) -> String {
    let hash = Sha256::digest(text);
    let nibbles = hash.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    nibbles.filter_map(|nibble| char::from_digit(nibble.into(), 16)).take(digits).collect()
}

/// Whether Kubernetes takes it as the name of an object: an RFC 1123 subdomain, which is lower-case
/// letters, digits, `-` and `.`, with a letter or digit at both ends of each part between dots.
#[must_use]
pub fn is_subdomain(name: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |part: &str| {
        part.bytes().all(|byte| is_legal(byte) || byte == b'-')
            && part.bytes().next().is_some_and(is_legal)
            && part.bytes().next_back().is_some_and(is_legal)
    };
    name.len() <= MAX_SUBDOMAIN && name.split('.').all(is_part)
}

/// Whether Kubernetes takes it as the value of a label: empty, or letters, digits, `-`, `_` and `.`
/// with a letter or digit at both ends.
#[must_use]
pub fn is_label_value(value: &str) -> bool {
    let is_edge = |byte: u8| byte.is_ascii_alphanumeric();
    value.is_empty()
        || value.len() <= MAX_LABEL_VALUE
            && value.bytes().all(|byte| is_edge(byte) || matches!(byte, b'-' | b'_' | b'.'))
            && value.bytes().next().is_some_and(is_edge)
            && value.bytes().next_back().is_some_and(is_edge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::simple("worker-0", true)]
    #[case::dots_part_it("rack1.worker-0", true)]
    #[case::digits_may_lead("0a", true)]
    #[case::empty("", false)]
    #[case::upper_case("Worker", false)]
    #[case::underscore("a_b", false)]
    #[case::leading_dash("-a", false)]
    #[case::trailing_dash("a-", false)]
    #[case::dash_before_dot("a-.b", false)]
    #[case::dash_after_dot("a.-b", false)]
    #[case::two_dots("a..b", false)]
    #[case::trailing_dot("a.", false)]
    #[case::not_ascii("ä", false)]
    fn a_subdomain_is_what_kubernetes_says(#[case] name: &str, #[case] expected: bool) {
        assert_eq!(is_subdomain(name), expected);
    }

    #[rstest]
    #[case::empty("", true)]
    #[case::simple("md-pool1", true)]
    #[case::upper_case_underscore_and_dot("A_b.c", true)]
    #[case::leading_underscore("_a", false)]
    #[case::trailing_dot("a.", false)]
    #[case::slash("a/b", false)]
    #[case::not_ascii("ä", false)]
    fn a_label_value_is_what_kubernetes_says(#[case] value: &str, #[case] expected: bool) {
        assert_eq!(is_label_value(value), expected);
    }

    #[rstest]
    #[case::fits("unique-boot-mac", "unique-boot-mac")]
    #[case::nothing_legal("/", "8a5edab282")]
    #[case::no_letter_at_the_start("/-a", "a_baa92874d6")]
    fn any_text_becomes_a_label_value(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(label_value(text), expected);
        assert!(is_label_value(expected));
    }

    #[test]
    fn a_long_label_value_is_cut() {
        let value = label_value(&"a".repeat(64));
        assert!(is_label_value(&value) && value.contains(CUT), "{value}");
        assert_ne!(value, label_value(&"a".repeat(65)));
    }

    #[test]
    fn lengths_are_limited() {
        assert!(is_subdomain(&"a".repeat(253)));
        assert!(!is_subdomain(&"a".repeat(254)));
        assert!(is_label_value(&"a".repeat(63)));
        assert!(!is_label_value(&"a".repeat(64)));
    }
}
