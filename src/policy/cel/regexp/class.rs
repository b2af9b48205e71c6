//! Classes of characters, by Go's rules.

use std::fmt::Write as _;

/// The scripts that Go finds: those whose name is one word.
const SCRIPTS: &str = "\
    Adlam Ahom Arabic Armenian Avestan Balinese Bamum Batak Bengali Bhaiksuki Bopomofo Brahmi \
    Braille Buginese Buhid Carian Chakma Cham Cherokee Chorasmian Common Coptic Cuneiform Cypriot \
    Cyrillic Deseret Devanagari Dogra Duployan Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic \
    Grantha Greek Gujarati Gurmukhi Han Hangul Hanunoo Hatran Hebrew Hiragana Inherited Javanese \
    Kaithi Kannada Katakana Kawi Kharoshthi Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Lisu \
    Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen Medefaidrin Miao Modi \
    Mongolian Mro Multani Myanmar Nabataean Nandinagari Newa Nko Nushu Ogham Oriya Osage Osmanya \
    Palmyrene Phoenician Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham Sinhala Sogdian \
    Soyombo Sundanese Syriac Tagalog Tagbanwa Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan \
    Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Yezidi Yi";

const CATEGORIES: [&str; 37] = [
    "C", "Cc", "Cf", "Cn", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn",
    "N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm",
    "So", "Z", "Zl", "Zp", "Zs",
];

/// The long names of categories, as Go folds them.
const LONG_CATEGORIES: [(&str, &str); 41] = [
    ("Casedletter", "LC"),
    ("Closepunctuation", "Pe"),
    ("Combiningmark", "M"),
    ("Connectorpunctuation", "Pc"),
    ("Control", "Cc"),
    ("Currencysymbol", "Sc"),
    ("Dashpunctuation", "Pd"),
    ("Decimalnumber", "Nd"),
    ("Enclosingmark", "Me"),
    ("Finalpunctuation", "Pf"),
    ("Format", "Cf"),
    ("Initialpunctuation", "Pi"),
    ("Letter", "L"),
    ("Letternumber", "Nl"),
    ("Lineseparator", "Zl"),
    ("Lowercaseletter", "Ll"),
    ("Mark", "M"),
    ("Mathsymbol", "Sm"),
    ("Modifierletter", "Lm"),
    ("Modifiersymbol", "Sk"),
    ("Nonspacingmark", "Mn"),
    ("Number", "N"),
    ("Openpunctuation", "Ps"),
    ("Other", "C"),
    ("Otherletter", "Lo"),
    ("Othernumber", "No"),
    ("Otherpunctuation", "Po"),
    ("Othersymbol", "So"),
    ("Paragraphseparator", "Zp"),
    ("Privateuse", "Co"),
    ("Punctuation", "P"),
    ("Separator", "Z"),
    ("Spaceseparator", "Zs"),
    ("Spacingmark", "Mc"),
    ("Surrogate", "Cs"),
    ("Symbol", "S"),
    ("Titlecaseletter", "Lt"),
    ("Unassigned", "Cn"),
    ("Uppercaseletter", "Lu"),
    ("Cntrl", "Cc"),
    ("Digit", "Nd"),
];

/// A class without characters.
pub(super) const NOTHING: &str = "[^\\x{0}-\\x{10ffff}]";

/// Half a pair of UTF-16, which Go can name and no text holds.
pub(super) fn is_surrogate(c: u32) -> bool {
    (0xd800..=0xdfff).contains(&c)
}

/// `[a-z\d[:alpha:]]`: the class and the length of its text.
pub(super) fn bracketed(start: &str) -> Result<(String, usize), String> {
    let missing = || format!("missing closing ]: `{start}`");
    let mut out = String::from("[");
    let mut at = 1;
    if start[at..].starts_with('^') {
        out.push('^');
        at += 1;
    }
    let mut first = true;
    loop {
        let rest = &start[at..];
        if rest.starts_with(']') && !first {
            break;
        }
        first = false;
        if rest.len() > 2
            && let Some(inner) = rest.strip_prefix("[:")
            && let Some(end) = inner.find(":]")
        {
            let name = &rest[..end + 4];
            if !is_posix(&inner[..end]) {
                return Err(format!("invalid character class range: `{name}`"));
            }
            out.push_str(name);
            at += name.len();
            continue;
        }
        if let Some(escape) = rest.strip_prefix('\\') {
            if escape.starts_with(['p', 'P']) {
                let (text, length) = unicode(rest)?;
                out.push_str(&text);
                at += length;
                continue;
            }
            if let Some(class) = escape.chars().next().and_then(perl) {
                let _ = write!(out, "[{class}]");
                at += 2;
                continue;
            }
        }
        let (low, length) = class_char(rest).map_err(|e| e.unwrap_or_else(missing))?;
        at += length;
        let after = &start[at..];
        let mut high = low;
        if after.len() >= 2 && after.starts_with('-') && !after.starts_with("-]") {
            let (end, length) = class_char(&after[1..]).map_err(|e| e.unwrap_or_else(missing))?;
            high = end;
            at += 1 + length;
            if high < low {
                let text = &rest[..rest.len() - start[at..].len()];
                return Err(format!("invalid character class range: `{text}`"));
            }
        }
        // Half a pair of UTF-16 can be named, but is in no text.
        let low = if is_surrogate(low) { 0xe000 } else { low };
        let high = if is_surrogate(high) { 0xd7ff } else { high };
        if low <= high {
            let _ = write!(out, "\\x{{{low:x}}}-\\x{{{high:x}}}");
        }
    }
    out.push(']');
    Ok((if out == "[]" { NOTHING.to_owned() } else { out }, at + 1))
}

/// ASCII only, as in Go.
pub(super) fn perl(c: char) -> Option<&'static str> {
    Some(match c {
        'd' => "0-9",
        'D' => "^0-9",
        's' => "\\t\\n\\x0c\\r ",
        'S' => "^\\t\\n\\x0c\\r ",
        'w' => "0-9A-Za-z_",
        'W' => "^0-9A-Za-z_",
        _ => return None,
    })
}

fn is_posix(name: &str) -> bool {
    let name = name.strip_prefix('^').unwrap_or(name);
    [
        "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
        "space", "upper", "word", "xdigit",
    ]
    .contains(&name)
}

/// `\pN`, `\p{Greek}`, `\P{^Lu}`.
pub(super) fn unicode(rest: &str) -> Result<(String, usize), String> {
    let bad = |text: &str| format!("invalid character class range: `{text}`");
    let mut negated = rest.starts_with("\\P");
    // Without a name Go has nothing to decode, and says so of what there is.
    let Some(c) = rest[2..].chars().next() else { return Err(bad(rest)) };
    let (name, length) = if c == '{' {
        let Some(end) = rest.find('}') else { return Err(bad(rest)) };
        (&rest[3..end], end + 1)
    } else {
        (&rest[2..2 + c.len_utf8()], 2 + c.len_utf8())
    };
    let name = match name.strip_prefix('^') {
        Some(name) => {
            negated = !negated;
            name
        }
        None => name,
    };
    let sign = if negated { "^" } else { "" };
    let name = canonical(name);
    let everything = |inverted: bool| {
        if inverted { NOTHING.to_owned() } else { "[\\x{0}-\\x{10ffff}]".to_owned() }
    };
    let long = LONG_CATEGORIES.iter().find(|(long, _)| *long == name).map(|(_, short)| *short);
    let category = CATEGORIES.iter().find(|known| **known == name).copied().or(long);
    let text = match name.as_str() {
        "Any" => everything(negated),
        "Assigned" => format!("[{sign}\\P{{Cn}}]"),
        "Ascii" => format!("[{sign}\\x{{0}}-\\x{{7f}}]"),
        "Lc" => format!("[{sign}\\p{{LC}}]"),
        "Punct" => format!("[{sign}\\p{{P}}]"),
        // No character of a text is one.
        _ if category == Some("Cs") => everything(!negated),
        _ => match category {
            Some(category) => format!("[{sign}\\p{{{category}}}]"),
            None if SCRIPTS.split_ascii_whitespace().any(|known| known == name) => {
                format!("[{sign}\\p{{sc={name}}}]")
            }
            None => return Err(bad(&rest[..length])),
        },
    };
    Ok((text, length))
}

/// A name without what Go does not look at: the first letter large, the others small.
fn canonical(name: &str) -> String {
    let mut first = true;
    name.chars()
        .filter(|c| !matches!(c, '_' | '-' | ' '))
        .map(|c| {
            let c = if first { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
            first = false;
            c
        })
        .collect()
}

/// A character of a class; `Err(None)`: the class is not closed.
fn class_char(rest: &str) -> Result<(u32, usize), Option<String>> {
    match rest.chars().next() {
        None => Err(None),
        Some('\\') => escaped_char(rest).map_err(Some),
        Some(c) => Ok((u32::from(c), c.len_utf8())),
    }
}

/// `\n`, `\x41`, `\x{41}`, `\012`, `\.`: the character and the length of the escape.
pub(super) fn escaped_char(rest: &str) -> Result<(u32, usize), String> {
    let invalid = |length: usize| Err(format!("invalid escape sequence: `{}`", &rest[..length]));
    let Some(c) = rest[1..].chars().next() else {
        return Err("trailing backslash at end of expression: ``".to_owned());
    };
    let octal = |from: usize, most: usize| {
        rest[from..].bytes().take(most).take_while(|b| (b'0'..=b'7').contains(b)).count()
    };
    let simple = |c: char| Ok((u32::from(c), 2));
    match c {
        '1'..='7' if octal(2, 1) == 0 => invalid(2),
        '0'..='7' => {
            let digits = 1 + octal(2, 2);
            let value = u32::from_str_radix(&rest[1..=digits], 8).unwrap_or_default();
            Ok((value, 1 + digits))
        }
        'x' => hex_char(rest).or_else(invalid),
        'a' => simple('\u{7}'),
        'f' => simple('\u{c}'),
        'n' => simple('\n'),
        'r' => simple('\r'),
        't' => simple('\t'),
        'v' => simple('\u{b}'),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => simple(c),
        c => invalid(1 + c.len_utf8()),
    }
}

/// The character and the length, or how far Go reads until it gives up.
fn hex_char(rest: &str) -> Result<(u32, usize), usize> {
    let mut at = 2;
    let mut next = || {
        let c = rest[at..].chars().next();
        at += c.map_or(0, char::len_utf8);
        (c, at)
    };
    let (first, end) = next();
    if first != Some('{') {
        let Some(high) = first else { return Err(end) };
        let (low, end) = next();
        // Two digits; the second is read even if the first is none.
        return match (high.to_digit(16), low.and_then(|low| low.to_digit(16))) {
            (Some(high), Some(low)) => Ok((high * 16 + low, end)),
            _ => Err(end),
        };
    }
    let mut value = 0_u32;
    let mut digits = 0;
    loop {
        let (c, end) = next();
        match c.map(|c| (c, c.to_digit(16))) {
            Some(('}', _)) if digits > 0 => return Ok((value, end)),
            Some((_, Some(digit))) if value * 16 + digit <= 0x10_ffff => {
                value = value * 16 + digit;
                digits += 1;
            }
            _ => return Err(end),
        }
    }
}
