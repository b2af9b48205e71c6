//! Where a problem is in the source, and how cel-go shows it.

use std::fmt;

/// A problem in an expression, placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// From 1; -1 where cel-go has no place.
    pub line: i32,
    /// From 1, in code points.
    pub column: i32,
    /// What cel-go says.
    pub message: String,
    /// For people: what was probably meant.
    pub suggestion: Option<String>,
    /// The message with the line and a caret under the place, as the API server prints it.
    pub display: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display)
    }
}

/// The place of a node that stands for nothing: cel-go computes the column before the first.
pub(crate) const NOWHERE: usize = usize::MAX;

/// A problem while it is being collected.
#[derive(Debug, Clone)]
pub(crate) struct Raised {
    /// Offset in code points; none for problems of the whole.
    pub at: Option<usize>,
    pub message: String,
    pub suggestion: Option<String>,
}

impl Raised {
    pub(crate) fn at(at: usize, message: impl Into<String>) -> Self {
        Self { at: Some(at), message: message.into(), suggestion: None }
    }

    pub(crate) fn whole(message: impl Into<String>) -> Self {
        Self { at: None, message: message.into(), suggestion: None }
    }
}

/// What cel-go prints at most.
const SHOWN: usize = 100;

/// The text and where its lines begin.
pub(crate) struct Source<'a> {
    text: &'a str,
}

impl<'a> Source<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text }
    }

    /// In the order of their places, as cel-go sorts them (stable).
    pub(crate) fn problems(&self, mut raised: Vec<Raised>) -> Vec<Problem> {
        let total = raised.len();
        raised.truncate(SHOWN);
        let mut placed: Vec<Problem> = raised.into_iter().map(|r| self.place(r)).collect();
        placed.sort_by_key(|p| (p.line, p.column));
        if total > SHOWN {
            let text = format!("{} more errors were truncated", total - SHOWN);
            placed.push(Problem {
                line: -1,
                column: 0,
                message: text.clone(),
                suggestion: None,
                display: text,
            });
        }
        placed
    }

    fn place(&self, raised: Raised) -> Problem {
        let Some(at) = raised.at else {
            let display = format!("ERROR: <input>:-1:0: {}", raised.message);
            return Problem {
                line: -1,
                column: 0,
                message: raised.message,
                suggestion: raised.suggestion,
                display,
            };
        };
        let nowhere = at == NOWHERE;
        let (line, start) = if nowhere { (1, 0) } else { self.line_of(at) };
        let column = if nowhere { 0 } else { at - start };
        let snippet: String = self.text.chars().skip(start).take_while(|c| *c != '\n').collect();
        // Without a text there is no column.
        let shown = if nowhere || self.text.is_empty() { 0 } else { column + 1 };
        let mut display = format!("ERROR: <input>:{line}:{shown}: {}", raised.message);
        if !self.text.is_empty() && snippet.len() <= 16_384 {
            let snippet = snippet.replace('\t', " ");
            display.push_str("\n | ");
            display.push_str(&snippet);
            display.push_str("\n | ");
            let mut chars = snippet.chars();
            for c in chars.by_ref().take(column) {
                display.push(if c.len_utf8() > 1 { '\u{ff0e}' } else { '.' });
            }
            display.push(match chars.next() {
                Some(c) if c.len_utf8() > 1 => '\u{ff3e}',
                _ => '^',
            });
        }
        Problem {
            line: i32::try_from(line).unwrap_or(i32::MAX),
            column: if nowhere { 0 } else { i32::try_from(column + 1).unwrap_or(i32::MAX) },
            message: raised.message,
            suggestion: raised.suggestion,
            display,
        }
    }

    /// The line (from 1) that holds the offset, and the offset where it begins.
    fn line_of(&self, at: usize) -> (usize, usize) {
        let (mut line, mut start) = (1, 0);
        for (offset, c) in self.text.chars().enumerate().take(at) {
            if c == '\n' {
                line += 1;
                start = offset + 1;
            }
        }
        (line, start)
    }
}
