//! Letters, digits and printable characters, by the version of Unicode that Go has.
//!
//! Rust's own tables are newer, and have no general categories. `unicode.txt` is what
//! `template-oracle unicode` prints.

use std::sync::LazyLock;

/// Ranges of characters, sorted.
struct Table(Vec<(u32, u32)>);

impl Table {
    fn has(&self, character: char) -> bool {
        let code = u32::from(character);
        let after = self.0.partition_point(|(first, _)| *first <= code);
        after > 0 && self.0[after - 1].1 >= code
    }
}

static TABLES: LazyLock<[Table; 3]> = LazyLock::new(|| {
    let text = include_str!("unicode.txt");
    ["letter ", "digit ", "print "].map(|name| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        Table(line.split(' ').filter_map(range).collect())
    })
});

fn range(text: &str) -> Option<(u32, u32)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((u32::from_str_radix(first, 16).ok()?, u32::from_str_radix(last, 16).ok()?))
}

/// `unicode.IsLetter`, `unicode.IsDigit` or an underscore: what names are made of.
pub(crate) fn is_alphanumeric(character: char) -> bool {
    if character.is_ascii() {
        return character == '_' || character.is_ascii_alphanumeric();
    }
    TABLES[0].has(character) || TABLES[1].has(character)
}

/// `unicode.IsPrint`.
pub(crate) fn is_print(character: char) -> bool {
    if character.is_ascii() {
        return matches!(character, ' '..='~');
    }
    TABLES[2].has(character)
}

/// `unicode.ToLower`: one character for one, whatever the language.
pub(crate) fn to_lower(character: char) -> char {
    // The dotted capital I has a longer lower case in full, and this one in short.
    if character == '\u{130}' { 'i' } else { in_time(character, only(character.to_lowercase())) }
}

/// `unicode.ToUpper`.
pub(crate) fn to_upper(character: char) -> char {
    let upper = only(character.to_uppercase()).or_else(|| {
        // Greek letters with an iota below: in full two characters, in short the one with an iota beside.
        let code = u32::from(character);
        match code {
            0x1F80..=0x1F87 | 0x1F90..=0x1F97 | 0x1FA0..=0x1FA7 => char::from_u32(code + 8),
            0x1FB3 | 0x1FC3 | 0x1FF3 => char::from_u32(code + 9),
            _ => None,
        }
    });
    in_time(character, upper)
}

/// The other case of a character, unless one of the two is newer than Go's Unicode.
fn in_time(character: char, other: Option<char>) -> char {
    other.filter(|other| is_print(character) && is_print(*other)).unwrap_or(character)
}

fn only(mut characters: impl Iterator<Item = char>) -> Option<char> {
    characters.next().filter(|_| characters.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::letter('é', true, true)]
    #[case::digit('٣', true, true)]
    #[case::letter_of_a_later_unicode('\u{10D50}', false, false)]
    #[case::symbol('☃', false, true)]
    #[case::space('\u{a0}', false, false)]
    #[case::underscore('_', true, true)]
    #[case::roman_numeral('Ⅷ', false, true)]
    fn characters_are_what_go_says(#[case] c: char, #[case] in_names: bool, #[case] prints: bool) {
        assert_eq!((is_alphanumeric(c), is_print(c)), (in_names, prints));
    }

    #[rstest]
    #[case('ß', 'ß')]
    #[case('ǰ', 'ǰ')]
    #[case('ᾀ', 'ᾈ')]
    #[case('ᾳ', 'ᾼ')]
    #[case('ä', 'Ä')]
    #[case::upper_case_is_of_a_later_unicode('\u{19b}', '\u{19b}')]
    fn upper_case_is_one_character(#[case] lower: char, #[case] upper: char) {
        assert_eq!(to_upper(lower), upper);
    }
}
