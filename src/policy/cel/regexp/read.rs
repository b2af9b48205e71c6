//! Go's parser of patterns, as far as it decides what is refused and with which words.

use super::class;

/// Go's limit on a repeat count.
const MOST: u64 = 1_000;
/// Go's limits on the program: instructions of 40 octets in 128 MiB, and how deep it nests.
const MOST_INSTRUCTIONS: u64 = (128 << 20) / 40;
const DEEPEST: u64 = 1_000;

/// A pattern in crate `regex`'s spelling, and its size in Go.
pub(super) struct Read {
    pub text: String,
    pub size: u64,
    pub height: u64,
}

pub(super) fn read(pattern: &str) -> Result<Read, String> {
    let mut reader =
        Reader { whole: pattern, rest: pattern, stack: Vec::new(), flags: Flags::default() };
    reader.read()?;
    let done = reader.stack.pop().map_or_else(Part::empty, |item| match item {
        Item::Part(part) => part,
        Item::Open { .. } | Item::Bar(_) => Part::empty(),
    });
    Ok(Read { text: done.text, size: done.size, height: done.height })
}

/// Go's flags, each on or off by itself.
#[allow(clippy::struct_excessive_bools, reason = "each is a letter of `(?imsU)`")]
#[derive(Clone, Copy, Default)]
pub(super) struct Flags {
    pub fold: bool,
    lines: bool,
    dot_all: bool,
    lazy: bool,
}

/// A piece of the pattern, written anew.
struct Part {
    text: String,
    size: u64,
    height: u64,
    /// The product of the counts of nested repeats.
    repeats: u64,
    kind: Kind,
}

/// How a piece may stand next to others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    One,
    Repeat,
    Sequence,
    Choice,
}

impl Part {
    fn empty() -> Self {
        Self::one(String::from("(?:)"))
    }

    fn one(text: String) -> Self {
        Self { text, size: 1, height: 1, repeats: 0, kind: Kind::One }
    }

    /// Several pieces as one.
    fn joined(parts: Vec<Self>, kind: Kind) -> Self {
        let between = if kind == Kind::Choice { "|" } else { "" };
        let mut all = Self { text: String::new(), size: 0, height: 0, repeats: 0, kind };
        for (index, part) in parts.into_iter().enumerate() {
            if index > 0 {
                all.text.push_str(between);
                all.size += u64::from(kind == Kind::Choice);
            }
            all.text.push_str(&part.text);
            all.size = all.size.saturating_add(part.size);
            all.height = all.height.max(part.height + 1);
            all.repeats = all.repeats.max(part.repeats);
        }
        all
    }
}

enum Item {
    Part(Part),
    /// An open group: whether it captures, and the flags around it.
    Open {
        captures: bool,
        around: Flags,
    },
    /// The alternatives so far.
    Bar(Vec<Part>),
}

struct Reader<'a> {
    whole: &'a str,
    rest: &'a str,
    stack: Vec<Item>,
    flags: Flags,
}

impl<'a> Reader<'a> {
    fn read(&mut self) -> Result<(), String> {
        let mut last_repeat: Option<&'a str> = None;
        while let Some(c) = self.rest.chars().next() {
            let before = self.rest;
            let mut repeat = None;
            match c {
                '(' => self.open()?,
                ')' => self.close()?,
                '|' => self.bar(),
                '*' | '+' | '?' => {
                    self.repeat(c, 1, (0, None), last_repeat)?;
                    repeat = Some(before);
                }
                '{' => match counts(before) {
                    Some((length, low, high)) => {
                        let valid = low.is_some_and(|low| {
                            low <= MOST && high.is_none_or(|high| high <= MOST && low <= high)
                        });
                        let (true, Some(low)) = (valid, low) else {
                            return Err(format!("invalid repeat count: `{}`", &before[..length]));
                        };
                        self.repeat(c, length, (low, high), last_repeat)?;
                        repeat = Some(before);
                    }
                    None => self.literal('{', 1)?,
                },
                '[' => {
                    let (text, length) = class::bracketed(before)?;
                    self.set(text, length)?;
                }
                '\\' => self.escape()?,
                '^' | '$' => {
                    let text = if self.flags.lines { format!("(?m:{c})") } else { c.to_string() };
                    self.part(Part::one(text), 1)?;
                }
                '.' => {
                    let text = if self.flags.dot_all { "(?s:.)" } else { "." };
                    self.part(Part::one(text.to_owned()), 1)?;
                }
                c => self.literal(c, c.len_utf8())?,
            }
            last_repeat = repeat;
        }
        self.finish();
        if let [Item::Part(_)] = self.stack.as_slice() {
            return Ok(());
        }
        Err(format!("missing closing ): `{}`", self.whole))
    }

    fn part(&mut self, part: Part, length: usize) -> Result<(), String> {
        self.rest = &self.rest[length..];
        self.check(&part)?;
        self.stack.push(Item::Part(part));
        Ok(())
    }

    fn check(&self, part: &Part) -> Result<(), String> {
        if part.size > MOST_INSTRUCTIONS {
            return Err(format!("expression too large: `{}`", self.whole));
        }
        if part.height > DEEPEST {
            return Err(format!("expression nests too deeply: `{}`", self.whole));
        }
        Ok(())
    }

    fn literal(&mut self, c: char, length: usize) -> Result<(), String> {
        let text = regex::escape(c.encode_utf8(&mut [0; 4]));
        let text = if self.flags.fold { format!("(?i:{text})") } else { text };
        self.part(Part::one(text), length)
    }

    fn set(&mut self, text: String, length: usize) -> Result<(), String> {
        let text = if self.flags.fold { format!("(?i:{text})") } else { text };
        self.part(Part::one(text), length)
    }

    fn open(&mut self) -> Result<(), String> {
        if self.rest.starts_with("(?") {
            return self.perl_group();
        }
        self.rest = &self.rest[1..];
        self.stack.push(Item::Open { captures: true, around: self.flags });
        Ok(())
    }

    /// What stands since the last bar or parenthesis becomes one piece.
    fn sequence(&mut self) -> Part {
        let from = self.stack.iter().rposition(|item| !matches!(item, Item::Part(_)));
        let from = from.map_or(0, |at| at + 1);
        let mut parts: Vec<Part> = Vec::new();
        for item in self.stack.drain(from..) {
            if let Item::Part(part) = item {
                parts.push(part);
            }
        }
        match (parts.len(), parts.pop()) {
            (1, Some(one)) => one,
            (_, Some(last)) => {
                parts.push(last);
                Part::joined(parts, Kind::Sequence)
            }
            (_, None) => Part::empty(),
        }
    }

    fn bar(&mut self) {
        self.rest = &self.rest[1..];
        let part = self.sequence();
        if let Some(Item::Bar(parts)) = self.stack.last_mut() {
            parts.push(part);
        } else {
            self.stack.push(Item::Bar(vec![part]));
        }
    }

    /// Everything since the last parenthesis becomes one piece.
    fn finish(&mut self) {
        let last = self.sequence();
        let part = if let Some(Item::Bar(_)) = self.stack.last()
            && let Some(Item::Bar(mut parts)) = self.stack.pop()
        {
            parts.push(last);
            Part::joined(parts, Kind::Choice)
        } else {
            last
        };
        self.stack.push(Item::Part(part));
    }

    fn close(&mut self) -> Result<(), String> {
        self.finish();
        let inner = self.stack.pop();
        let (Some(Item::Part(inner)), Some(Item::Open { captures, around })) =
            (inner, self.stack.pop())
        else {
            return Err(format!("unexpected ): `{}`", self.whole));
        };
        self.flags = around;
        let mut part = inner;
        if captures {
            part.text = format!("({})", part.text);
            part.size = part.size.saturating_add(2);
            part.height += 1;
        } else if part.kind != Kind::One {
            part.text = format!("(?:{})", part.text);
        }
        part.kind = Kind::One;
        self.part(part, 1)
    }

    /// `(?P<name>`, `(?<name>`, `(?i)`, `(?i:`.
    fn perl_group(&mut self) -> Result<(), String> {
        let rest = self.rest;
        let named = if rest.starts_with("(?P<") && rest.len() > 4 {
            Some(4)
        } else if rest.starts_with("(?<") && rest.len() > 3 {
            Some(3)
        } else {
            None
        };
        if let Some(from) = named {
            let Some(end) = rest.find('>') else {
                return Err(format!("invalid named capture: `{rest}`"));
            };
            let name = rest.get(from..end).unwrap_or_default();
            let valid =
                !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
            if !valid {
                return Err(format!("invalid named capture: `{}`", &rest[..=end]));
            }
            // The name does not matter to a match.
            self.rest = &rest[end + 1..];
            self.stack.push(Item::Open { captures: true, around: self.flags });
            return Ok(());
        }
        let mut flags = self.flags;
        let (mut on, mut seen) = (true, false);
        let mut end = 2;
        for c in rest[2..].chars() {
            end += c.len_utf8();
            match c {
                'i' => flags.fold = on,
                'm' => flags.lines = on,
                's' => flags.dot_all = on,
                'U' => flags.lazy = on,
                '-' if on => {
                    (on, seen) = (false, false);
                    continue;
                }
                ':' | ')' if on || seen => {
                    if c == ':' {
                        self.stack.push(Item::Open { captures: false, around: self.flags });
                    }
                    self.flags = flags;
                    self.rest = &rest[end..];
                    return Ok(());
                }
                _ => break,
            }
            seen = true;
        }
        Err(format!("invalid or unsupported Perl syntax: `{}`", &rest[..end]))
    }

    fn repeat(
        &mut self,
        operator: char,
        length: usize,
        (low, high): (u64, Option<u64>),
        last_repeat: Option<&str>,
    ) -> Result<(), String> {
        let before = self.rest;
        let question = before[length..].starts_with('?');
        let after = &before[length + usize::from(question)..];
        if let Some(last) = last_repeat {
            let text = &last[..last.len() - after.len()];
            return Err(format!("invalid nested repetition operator: `{text}`"));
        }
        let written = &before[..before.len() - after.len()];
        let Some(Item::Part(_)) = self.stack.last() else {
            return Err(format!("missing argument to repetition operator: `{written}`"));
        };
        let Some(Item::Part(mut part)) = self.stack.pop() else { return Ok(()) };
        if part.kind != Kind::One {
            part.text = format!("(?:{})", part.text);
        }
        part.text.push_str(&before[..length]);
        if question != self.flags.lazy {
            part.text.push('?');
        }
        // A repeat of a repeat has to be one of a group.
        part.kind = Kind::Repeat;
        part.height += 1;
        part.size = match (operator, high) {
            ('*', _) => part.size.saturating_add(2),
            ('+' | '?', _) => part.size.saturating_add(1),
            (_, None) if low == 0 => part.size.saturating_add(2),
            (_, None) => part.size.saturating_mul(low).saturating_add(1),
            (_, Some(high)) => part.size.saturating_mul(high).saturating_add(high - low).max(1),
        };
        if operator == '{' {
            part.repeats = match high {
                Some(0) => 0,
                Some(count) => count.saturating_mul(part.repeats.max(1)),
                None if low == 0 => part.repeats,
                None => low.saturating_mul(part.repeats.max(1)),
            };
        }
        self.check(&part)?;
        let counted = operator == '{' && (low >= 2 || high.is_some_and(|high| high >= 2));
        if counted && part.repeats > MOST {
            return Err(format!("invalid repeat count: `{written}`"));
        }
        self.stack.push(Item::Part(part));
        self.rest = after;
        Ok(())
    }

    fn escape(&mut self) -> Result<(), String> {
        let rest = self.rest;
        let next = rest[1..].chars().next();
        match next {
            Some('A') => return self.part(Part::one("\\A".to_owned()), 2),
            Some('z') => return self.part(Part::one("\\z".to_owned()), 2),
            Some('b') => return self.part(Part::one("(?-u:\\b)".to_owned()), 2),
            Some('B') => return Err("\\B is not supported: `\\B`".to_owned()),
            Some('C') => return Err("invalid escape sequence: `\\C`".to_owned()),
            Some('Q') => {
                let body = &rest[2..];
                let (quoted, after) = body.split_once("\\E").unwrap_or((body, ""));
                for c in quoted.chars() {
                    self.literal(c, 0)?;
                }
                self.rest = after;
                return Ok(());
            }
            _ => {}
        }
        if matches!(next, Some('p' | 'P')) {
            let (text, length) = class::unicode(rest)?;
            return self.set(text, length);
        }
        if let Some(inner) = next.and_then(class::perl) {
            return self.set(format!("[{inner}]"), 2);
        }
        let (c, length) = class::escaped_char(rest)?;
        match char::from_u32(c) {
            Some(c) => self.literal(c, length),
            None => self.part(Part::one(class::NOTHING.to_owned()), length),
        }
    }
}

/// `{2}`, `{2,}`, `{2,3}`: the length, the least (none: a number too big), the most (none: no end).
fn counts(text: &str) -> Option<(usize, Option<u64>, Option<u64>)> {
    let end = text.find('}')?;
    let inside = &text[1..end];
    let digits = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|b| b.is_ascii_digit())
            && (text.len() == 1 || !text.starts_with('0'))
    };
    let number = |text: &str| text.parse::<u64>().ok().filter(|n| *n < 100_000_000);
    let (low, high) = match inside.split_once(',') {
        Some((low, "")) => (low, None),
        Some((low, high)) => (low, Some(high)),
        None => (inside, Some(inside)),
    };
    if !digits(low) || !high.is_none_or(digits) {
        return None;
    }
    let least = number(low).filter(|_| high.is_none_or(|high| number(high).is_some()));
    Some((end + 1, least, high.and_then(number)))
}
