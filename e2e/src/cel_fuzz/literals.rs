//! Literals of every type, with the values at the edges, and strings that mean something to the function they go to.

use super::random::Random;
use std::{collections::BTreeMap, fmt::Write as _, sync::LazyLock};

static LISTS: LazyLock<BTreeMap<String, Vec<String>>> =
    LazyLock::new(|| serde_json::from_str(include_str!("literals.json")).unwrap_or_default());

fn list(name: &str) -> &'static [String] {
    LISTS.get(name).map_or(&[], Vec::as_slice)
}

fn one_of(list: &'static [String], random: &mut Random) -> &'static str {
    random.choose(list).map_or("", String::as_str)
}

/// A token, or what is none.
pub fn noise(random: &mut Random) -> &'static str {
    one_of(list("noise"), random)
}

/// The strings that a function's argument is about, if it is about any.
#[must_use]
pub fn meant_for(function: &str, argument: usize) -> Option<&'static [String]> {
    Some(match (function, argument) {
        ("int" | "uint" | "double", 0) => list("numbers"),
        ("bool", 0) => list("bools"),
        ("duration", 0) => list("durations"),
        ("timestamp", 0) => list("times"),
        (name, 1) if name.starts_with("get") => list("zones"),
        ("quantity" | "isQuantity", 0) => list("quantities"),
        ("ip" | "isIP" | "ip.isCanonical", 0) | ("containsIP", 1) => list("addresses"),
        ("cidr" | "isCIDR", 0) | ("containsCIDR", 1) => list("networks"),
        ("url" | "isURL", 0) => list("urls"),
        ("semver" | "isSemver", 0) => list("versions"),
        ("matches" | "find" | "findAll", 1) => list("patterns"),
        ("format", 0) => list("formats"),
        ("format.named", 0) => list("named"),
        ("validate", 1) => list("names"),
        (
            "split" | "join" | "replace" | "indexOf" | "lastIndexOf" | "contains" | "startsWith"
            | "endsWith",
            1..,
        ) => list("separators"),
        ("fieldSelector", 1) => list("fieldSelectors"),
        ("labelSelector", 1) => list("labelSelectors"),
        ("check", 1) => list("verbs"),
        ("path", 1) => list("httpPaths"),
        ("group" | "resource" | "subresource" | "namespace" | "name" | "serviceAccount", 1..) => {
            list("resources")
        }
        ("op", 0) => list("operations"),
        ("path" | "from", 0) => list("pointers"),
        _ => return None,
    })
}

/// An integer; a small one where a large one only asks for memory.
pub fn int(random: &mut Random, small: bool) -> String {
    if small || random.percent(60) {
        return one_of(list("small"), random).to_owned();
    }
    if random.percent(10) {
        return (random.draw().cast_signed() >> random.below(64)).to_string();
    }
    one_of(list("ints"), random).to_owned()
}

/// An unsigned integer.
pub fn uint(random: &mut Random) -> String {
    one_of(list("uints"), random).to_owned()
}

/// A floating-point number.
pub fn double(random: &mut Random) -> String {
    if random.percent(10) {
        let any = f64::from_bits(random.draw());
        if any.is_finite() {
            return format!("{any:e}");
        }
    }
    one_of(list("doubles"), random).to_owned()
}

/// A string for a function, mostly one that it understands, sometimes one letter off.
pub fn content(random: &mut Random, function: &str, argument: usize) -> String {
    // These two are checked when they are compiled: one that is wrong hides all the rest.
    let checked = matches!(function, "duration" | "timestamp");
    if !checked
        && random.percent(25)
        && let Some(made) = invented(random, function, argument)
    {
        return made;
    }
    let chosen = match meant_for(function, argument) {
        Some(meant) if checked && random.percent(85) => one_of(&meant[..6], random),
        Some(meant) if random.percent(92) => one_of(meant, random),
        _ => one_of(list("words"), random),
    };
    if !random.percent(if checked { 3 } else { 12 }) {
        return chosen.to_owned();
    }
    let mut chars: Vec<char> = chosen.chars().collect();
    let other = one_of(list("words"), random).chars().next().unwrap_or('0');
    let at = random.below(chars.len() + 1);
    match random.below(4) {
        0 if at < chars.len() => drop(chars.remove(at)),
        1 if at < chars.len() => chars[at] = other,
        2 if at < chars.len() => chars.insert(at, chars[at]),
        _ => chars.insert(at, other),
    }
    chars.into_iter().collect()
}

/// A string by the rules of what the function reads, which no list has.
fn invented(random: &mut Random, function: &str, argument: usize) -> Option<String> {
    Some(match (function, argument) {
        ("int" | "uint" | "double", 0) => number(random),
        ("quantity" | "isQuantity", 0) => {
            let suffix = random.pick(&[
                "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi",
                "Ei", "e3", "E-2", "e-9", "e+4",
            ]);
            number(random) + suffix
        }
        ("ip" | "isIP" | "ip.isCanonical", 0) | ("containsIP", 1) => address(random),
        ("cidr" | "isCIDR", 0) | ("containsCIDR", 1) => {
            format!("{}/{}", address(random), random.below(140))
        }
        ("semver" | "isSemver", 0) => {
            let tail = random.pick(&["", "", "-rc.1", "-alpha", "+b", "-0.x.7", "-a.01", "-1+2"]);
            format!("{}.{}.{}{tail}", random.below(30), random.below(30), random.below(30))
        }
        ("format", 0) => {
            let clauses = [
                "%s", "%d", "%f", "%e", "%x", "%X", "%o", "%b", "%.1f", "%.3e", "%%", "%.6f", " ",
                "a",
            ];
            (0..=random.below(3)).map(|_| clauses[random.below(clauses.len())]).collect()
        }
        ("matches" | "find" | "findAll", 1) => {
            let pieces = [
                "a", "b", ".", "*", "+", "?", "|", "(", ")", "[ab]", "[^a]", "\\d", "\\w", "\\b",
                "^", "$", "{2}", "{0,2}", "(?i)", "c", "é", "\\s", "[a-z]", "(?:", "*?", "+?",
                "\\.", "x",
            ];
            (0..=random.below(6)).map(|_| pieces[random.below(pieces.len())]).collect()
        }
        (name, 1) if name.starts_with("get") => {
            let sign = random.pick(&["", "+", "-"]);
            format!("{sign}{:02}:{:02}", random.below(26), random.below(62))
        }
        ("url" | "isURL", 0) => {
            let pieces = [
                "http", "://", "host", ":", "80", "/", "a", "?", "q=1", "&", "#", "%41", "@", "u",
                "[::1]", ".", "%", " ", ";", "é", "//", "+",
            ];
            (0..3 + random.below(7)).map(|_| pieces[random.below(pieces.len())]).collect()
        }
        _ => return None,
    })
}

fn number(random: &mut Random) -> String {
    let sign = random.pick(&["", "", "-", "+"]);
    let whole = random.draw() >> random.below(64);
    match random.below(4) {
        0 => format!("{sign}{whole}"),
        1 => format!("{sign}{}.{}", random.below(1000), whole),
        2 => format!("{sign}{}.{:03}", whole % 100_000, random.below(1000)),
        _ => format!("{sign}{}", random.below(100)),
    }
}

fn address(random: &mut Random) -> String {
    if random.percent(50) {
        let part = |random: &mut Random| random.below(300).to_string();
        return format!("{}.{}.{}.{}", part(random), part(random), part(random), part(random));
    }
    let parts: Vec<String> = (0..2 + random.below(7))
        .map(|_| {
            if random.percent(30) { String::new() } else { format!("{:x}", random.below(0x1_0fff)) }
        })
        .collect();
    parts.join(":")
}

/// A string literal, in any of the ways to write one.
pub fn quoted(random: &mut Random, content: &str) -> String {
    let way = random.below(20);
    let raw = !content.contains(['\'', '\n', '\r', '\\']);
    match way {
        0 if raw => format!("r'{content}'"),
        1 => format!("'''{}'''", escaped(content, '\'', random)),
        2 => format!("\"\"\"{}\"\"\"", escaped(content, '"', random)),
        3 if raw && !content.contains('"') => format!("R\"{content}\""),
        4..8 => format!("\"{}\"", escaped(content, '"', random)),
        _ => format!("'{}'", escaped(content, '\'', random)),
    }
}

/// A bytes literal.
pub fn bytes(random: &mut Random) -> String {
    let plain = random.pick(&[
        "",
        "a",
        "abc",
        "b",
        "ab",
        "\\xff",
        "\\x00",
        "\\377",
        "é",
        "\\303\\251",
        "hello",
        "\\xf0\\x9f",
    ]);
    let prefix = random.pick(&["b", "b", "b", "B"]);
    format!("{prefix}'{plain}'")
}

fn escaped(content: &str, quote: char, random: &mut Random) -> String {
    let mut out = String::new();
    for c in content.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if random.permille(15) => {
                let number = u32::from(c);
                let _ = match number {
                    0..=0o377 if random.percent(40) => write!(out, "\\{number:03o}"),
                    0..=0xff if random.percent(60) => write!(out, "\\x{number:02x}"),
                    0..=0xffff => write!(out, "\\u{number:04x}"),
                    _ => write!(out, "\\U{number:08X}"),
                };
            }
            c => out.push(c),
        }
    }
    out
}
