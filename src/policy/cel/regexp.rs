//! Patterns: RE2's syntax as Go's `regexp` takes it, run by crate `regex`, which is linear too.
//!
//! The two differ in spelling (`\Q…\E`, octal, `{,5}`), in what `\d`, `\w`, `\s` and `\b` mean (ASCII in
//! Go) and in what is refused. So a pattern is read by Go's rules, with Go's messages, and written anew.

use regex::{Regex, RegexBuilder};
use std::fmt::Write as _;

/// Enough for any sane pattern, little enough for a hostile one.
const SIZE_LIMIT: usize = 4 << 20;
/// Go's limit on a repeat count.
const MOST: u32 = 1_000;

/// Compiles a pattern, or gives Go's message.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = translate(pattern).map_err(|text| format!("error parsing regexp: {text}"))?;
    RegexBuilder::new(&translated)
        .size_limit(SIZE_LIMIT)
        .nest_limit(1_000)
        .build()
        .map_err(|_| format!("error parsing regexp: expression too large: `{pattern}`"))
}

/// The pattern in the other spelling.
fn translate(pattern: &str) -> Result<String, String> {
    let mut reader = Reader {
        whole: pattern,
        rest: pattern,
        out: String::with_capacity(pattern.len() + 16),
        groups: Vec::new(),
        repeatable: false,
        repeated: None,
        repeats: Vec::new(),
        last_count: 1,
    };
    reader.read()?;
    Ok(reader.out)
}

struct Reader<'a> {
    whole: &'a str,
    rest: &'a str,
    out: String,
    /// What was open before each group: the counts of repeats inside of it.
    groups: Vec<u32>,
    /// Whether a repetition has something to repeat.
    repeatable: bool,
    /// Where the repetition before began, if the last thing was one.
    repeated: Option<&'a str>,
    /// The largest product of counts in each open group.
    repeats: Vec<u32>,
    /// The product of counts of the last atom.
    last_count: u32,
}

impl<'a> Reader<'a> {
    fn read(&mut self) -> Result<(), String> {
        self.repeats.push(1);
        while let Some(c) = self.rest.chars().next() {
            let repeated = self.repeated.take();
            match c {
                '(' => self.open()?,
                ')' => self.close()?,
                '|' => {
                    self.plain("|", 1);
                    self.repeatable = false;
                }
                '*' | '+' | '?' => self.repeat(1, repeated, 1)?,
                '{' => match self.counts() {
                    Some(Ok((length, count))) => self.repeat(length, repeated, count)?,
                    Some(Err(length)) => {
                        return Err(format!("invalid repeat count: `{}`", &self.rest[..length]));
                    }
                    None => self.atom("\\{", 1),
                },
                '[' => self.class()?,
                '\\' => self.escape()?,
                '^' | '$' | '.' => {
                    let text = c.to_string();
                    self.atom(&text, 1);
                }
                c => {
                    let literal = literal(c);
                    self.atom(&literal, c.len_utf8());
                }
            }
        }
        if self.groups.is_empty() {
            return Ok(());
        }
        Err(format!("missing closing ): `{}`", self.whole))
    }

    fn plain(&mut self, text: &str, length: usize) {
        self.out.push_str(text);
        self.rest = &self.rest[length..];
    }

    fn atom(&mut self, text: &str, length: usize) {
        self.plain(text, length);
        self.repeatable = true;
        self.last_count = 1;
    }

    fn open(&mut self) -> Result<(), String> {
        if self.rest.starts_with("(?") {
            return self.flags();
        }
        self.plain("(", 1);
        self.enter();
        Ok(())
    }

    fn enter(&mut self) {
        self.groups.push(0);
        self.repeats.push(1);
        self.repeatable = false;
    }

    fn close(&mut self) -> Result<(), String> {
        if self.groups.pop().is_none() {
            return Err(format!("unexpected ): `{}`", self.whole));
        }
        self.plain(")", 1);
        self.repeatable = true;
        self.last_count = self.repeats.pop().unwrap_or(1);
        self.note(self.last_count);
        Ok(())
    }

    fn note(&mut self, count: u32) {
        if let Some(top) = self.repeats.last_mut() {
            *top = (*top).max(count);
        }
    }

    /// `(?P<name>`, `(?<name>`, `(?i)`, `(?i:`.
    fn flags(&mut self) -> Result<(), String> {
        let rest = self.rest;
        let name_at = if rest.starts_with("(?P<") {
            Some(4)
        } else if rest.starts_with("(?<") {
            Some(3)
        } else {
            None
        };
        if let Some(from) = name_at {
            let Some(end) = rest.find('>') else {
                return Err(format!("invalid named capture: `{rest}`"));
            };
            let name = &rest[from..end];
            let valid =
                !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
            if !valid {
                return Err(format!("invalid named capture: `{}`", &rest[..=end]));
            }
            if self.whole.matches(&format!("<{name}>")).count() > 1 {
                return Err(format!("duplicate capture group name: `{name}`"));
            }
            // Names do not matter to a match, and a leading digit is not taken by both.
            self.plain("(", end + 1);
            self.enter();
            return Ok(());
        }
        let (mut negative, mut seen) = (false, false);
        for (at, c) in rest[2..].char_indices() {
            let at = at + 2;
            match c {
                'i' | 'm' | 's' | 'U' => seen = true,
                '-' if !negative => {
                    negative = true;
                    seen = false;
                }
                ':' | ')' if !negative || seen => {
                    let text = rest[..=at].to_owned();
                    self.plain(&text, at + 1);
                    if c == ':' {
                        self.enter();
                    } else {
                        if text == "(?)" {
                            let keep = self.out.len() - 3;
                            self.out.truncate(keep);
                        }
                        self.repeatable = false;
                    }
                    return Ok(());
                }
                c => {
                    let end = at + c.len_utf8();
                    return Err(format!("invalid or unsupported Perl syntax: `{}`", &rest[..end]));
                }
            }
        }
        Err(format!("missing closing ): `{}`", self.whole))
    }

    /// `{2}`, `{2,}`, `{2,3}`: the length and the count, or the length of one that is out of range.
    fn counts(&self) -> Option<Result<(usize, u32), usize>> {
        let end = self.rest.find('}')?;
        let inside = &self.rest[1..end];
        let (low, high) = match inside.split_once(',') {
            Some((low, "")) => (low, None),
            Some((low, high)) => (low, Some(high)),
            None => (inside, Some(inside)),
        };
        let digits = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|b| b.is_ascii_digit())
                && (text.len() == 1 || !text.starts_with('0'))
        };
        if !digits(low) || !high.is_none_or(digits) {
            return None;
        }
        let number = |text: &str| text.parse::<u32>().ok().filter(|n| *n <= MOST);
        let length = end + 1;
        let (Some(low), Some(high)) = (number(low), high.map_or(Some(0), number)) else {
            return Some(Err(length));
        };
        if inside.ends_with(',') {
            return Some(Ok((length, low.max(1))));
        }
        if low > high { Some(Err(length)) } else { Some(Ok((length, high.max(1)))) }
    }

    fn repeat(
        &mut self,
        length: usize,
        repeated: Option<&'a str>,
        count: u32,
    ) -> Result<(), String> {
        let start = self.rest;
        let lazy = usize::from(start[length..].starts_with('?'));
        if let Some(before) = repeated {
            let end = before.len() - start.len() + length + lazy;
            return Err(format!("invalid nested repetition operator: `{}`", &before[..end]));
        }
        if !self.repeatable {
            return Err(format!(
                "missing argument to repetition operator: `{}`",
                &start[..length + lazy]
            ));
        }
        let product = self.last_count.saturating_mul(count);
        if product > MOST {
            return Err(format!("invalid repeat count: `{}`", &start[..length]));
        }
        self.last_count = product;
        self.note(product);
        let text = start[..length + lazy].to_owned();
        self.plain(&text, length + lazy);
        self.repeated = Some(start);
        Ok(())
    }

    fn escape(&mut self) -> Result<(), String> {
        let rest = self.rest;
        let Some(c) = rest[1..].chars().next() else {
            return Err("trailing backslash at end of expression: ``".to_owned());
        };
        if let Some(class) = perl_class(c) {
            self.atom(&format!("[{class}]"), 2);
            return Ok(());
        }
        match c {
            'A' => self.atom("\\A", 2),
            'z' => self.atom("\\z", 2),
            'b' => self.atom("(?-u:\\b)", 2),
            'B' => return Err("\\B is not supported: `\\B`".to_owned()),
            'C' => return Err("invalid escape sequence: `\\C`".to_owned()),
            'Q' => {
                let body = &rest[2..];
                let end = body.find("\\E").unwrap_or(body.len());
                let length = (2 + end + 2).min(rest.len());
                self.rest = &rest[length..];
                for c in body[..end].chars() {
                    self.out.push_str(&literal(c));
                    self.repeatable = true;
                    self.last_count = 1;
                }
            }
            'p' | 'P' => {
                let (text, length) = unicode_class(rest)?;
                self.atom(&text, length);
            }
            _ => {
                let (c, length) = escaped_char(rest)?;
                self.atom(&literal(c), length);
            }
        }
        Ok(())
    }

    fn class(&mut self) -> Result<(), String> {
        let start = self.rest;
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
            let Some(c) = rest.chars().next() else { return Err(missing()) };
            if c == ']' && !first {
                break;
            }
            if c == '-' && !first && !rest.starts_with("-]") && rest.len() > 1 {
                // A dash is taken for itself only at either end.
                let next = rest[1..].chars().next().map_or(0, char::len_utf8);
                return Err(format!("invalid character class range: `{}`", &rest[..=next]));
            }
            first = false;
            if rest.starts_with("[:")
                && let Some(end) = rest.find(":]")
            {
                let name = &rest[..end + 2];
                if !is_posix(name) {
                    return Err(format!("invalid character class range: `{name}`"));
                }
                out.push_str(name);
                at += end + 2;
                continue;
            }
            if let Some(escape) = rest.strip_prefix('\\') {
                if let Some(class) = escape.chars().next().and_then(perl_class) {
                    let _ = write!(out, "[{class}]");
                    at += 2;
                    continue;
                }
                if escape.starts_with(['p', 'P']) {
                    let (text, length) = unicode_class(rest)?;
                    out.push_str(&text);
                    at += length;
                    continue;
                }
            }
            let (low, length) = class_char(rest).map_err(|e| e.unwrap_or_else(missing))?;
            at += length;
            let after = &start[at..];
            let mut high = low;
            if after.starts_with('-') && !after.starts_with("-]") && after.len() > 1 {
                let (end, length) =
                    class_char(&after[1..]).map_err(|e| e.unwrap_or_else(missing))?;
                high = end;
                at += 1 + length;
                if high < low {
                    let text = &rest[..rest.len() - start[at..].len()];
                    return Err(format!("invalid character class range: `{text}`"));
                }
            }
            out.push_str(&class_literal(low));
            if high > low {
                out.push('-');
                out.push_str(&class_literal(high));
            }
        }
        out.push(']');
        self.atom(&out, at + 1);
        Ok(())
    }
}

/// A character outside of classes that stands for itself.
fn literal(c: char) -> String {
    regex::escape(c.encode_utf8(&mut [0; 4]))
}

fn class_literal(c: char) -> String {
    format!("\\x{{{:x}}}", u32::from(c))
}

/// ASCII only, as in Go.
fn perl_class(c: char) -> Option<&'static str> {
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
    let inner = name.trim_start_matches("[:").trim_end_matches(":]");
    let inner = inner.strip_prefix('^').unwrap_or(inner);
    [
        "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
        "space", "upper", "word", "xdigit",
    ]
    .contains(&inner)
}

/// `\pN`, `\p{Greek}`, `\P{^Lu}`.
fn unicode_class(rest: &str) -> Result<(String, usize), String> {
    let bad = |text: &str| format!("invalid character class range: `{text}`");
    let mut negated = rest.starts_with("\\P");
    let Some(c) = rest[2..].chars().next() else { return Err(bad(rest)) };
    let (name, length) = if c == '{' {
        let Some(end) = rest.find('}') else { return Err(bad(rest)) };
        (&rest[3..end], end + 1)
    } else {
        (&rest[2..2 + c.len_utf8()], 2 + c.len_utf8())
    };
    let plain = match name.strip_prefix('^') {
        Some(name) => {
            negated = !negated;
            name
        }
        None => name,
    };
    let sign = if negated { 'P' } else { 'p' };
    let category = matches!(plain.len(), 1 | 2)
        && plain.starts_with(|c: char| "CLMNPSZ".contains(c))
        && plain[1..].chars().all(|c| c.is_ascii_lowercase());
    let script = plain.starts_with(|c: char| c.is_ascii_uppercase())
        && plain.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
    let text = if plain == "Any" {
        if negated { "[^\\x{0}-\\x{10ffff}]".to_owned() } else { "(?s:.)".to_owned() }
    } else if category {
        format!("\\{sign}{{{plain}}}")
    } else if script {
        format!("\\{sign}{{sc={plain}}}")
    } else {
        return Err(bad(&rest[..length]));
    };
    if Regex::new(&text).is_err() {
        return Err(bad(&rest[..length]));
    }
    Ok((text, length))
}

/// A character of a class; `Err(None)`: the class is not closed.
fn class_char(rest: &str) -> Result<(char, usize), Option<String>> {
    match rest.chars().next() {
        None => Err(None),
        Some('\\') => escaped_char(rest).map_err(Some),
        Some(c) => Ok((c, c.len_utf8())),
    }
}

/// `\n`, `\x41`, `\x{41}`, `\012`, `\.`: the character and the length of the escape.
fn escaped_char(rest: &str) -> Result<(char, usize), String> {
    let invalid = |length: usize| {
        let end = (length..=rest.len()).find(|at| rest.is_char_boundary(*at));
        format!("invalid escape sequence: `{}`", &rest[..end.unwrap_or(rest.len())])
    };
    let mut chars = rest[1..].chars();
    let Some(c) = chars.next() else {
        return Err("trailing backslash at end of expression: ``".to_owned());
    };
    let octal = |from: usize, most: usize| {
        rest[from..].bytes().take(most).take_while(|b| (b'0'..=b'7').contains(b)).count()
    };
    let simple = |c: char| Ok((c, 2));
    match c {
        '1'..='7' if octal(2, 1) == 0 => Err(invalid(2)),
        '0'..='7' => {
            let digits = 1 + octal(2, 2);
            let value = u32::from_str_radix(&rest[1..=digits], 8).unwrap_or_default();
            Ok((char::from_u32(value).unwrap_or_default(), 1 + digits))
        }
        'x' => hex_char(rest).ok_or_else(|| {
            let next = chars.next().map_or(0, char::len_utf8);
            invalid(2 + next)
        }),
        'a' => simple('\u{7}'),
        'f' => simple('\u{c}'),
        'n' => simple('\n'),
        'r' => simple('\r'),
        't' => simple('\t'),
        'v' => simple('\u{b}'),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => simple(c),
        c => Err(invalid(1 + c.len_utf8())),
    }
}

fn hex_char(rest: &str) -> Option<(char, usize)> {
    if let Some(braced) = rest.strip_prefix("\\x{") {
        let end = braced.find('}')?;
        let value = u32::from_str_radix(&braced[..end], 16).ok()?;
        return Some((char::from_u32(value)?, 3 + end + 1));
    }
    let digits = rest.get(2..4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
    Some((char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, 4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::class_is_ascii(r"^\w$", "é", false)]
    #[case::quoted(r"^\Qa.b\E$", "a.b", true)]
    #[case::octal(r"^\101$", "A", true)]
    #[case::literal_brace("^a{,2}$", "a{,2}", true)]
    #[case::bracket_in_class("^[[a]+$", "[a", true)]
    #[case::ampersands_in_class("^[a&&b]+$", "&", true)]
    #[case::angle_is_literal(r"^\<$", "<", true)]
    #[case::posix("^[[:alpha:]]+$", "aZ", true)]
    #[case::lazy("^(a+?)$", "aaa", true)]
    fn means_what_it_means_in_go(
        #[case] pattern: &str,
        #[case] subject: &str,
        #[case] expected: bool,
    ) {
        assert_eq!(compile(pattern).unwrap().is_match(subject), expected);
    }

    #[rstest]
    #[case::open("(", "missing closing ): `(`")]
    #[case::close("a)", "unexpected ): `a)`")]
    #[case::class("[a", "missing closing ]: `[a`")]
    #[case::star("*", "missing argument to repetition operator: `*`")]
    #[case::nested("a**", "invalid nested repetition operator: `**`")]
    #[case::count("a{1001}", "invalid repeat count: `{1001}`")]
    #[case::product("(a{100}){100}", "invalid repeat count: `{100}`")]
    #[case::backreference(r"(a)\1", r"invalid escape sequence: `\1`")]
    #[case::lookahead("(?=a)", "invalid or unsupported Perl syntax: `(?=`")]
    #[case::trailing("a\\", "trailing backslash at end of expression: ``")]
    #[case::range("[z-a]", "invalid character class range: `z-a`")]
    fn refuses_as_go_refuses(#[case] pattern: &str, #[case] text: &str) {
        assert_eq!(compile(pattern).unwrap_err(), format!("error parsing regexp: {text}"));
    }
}
