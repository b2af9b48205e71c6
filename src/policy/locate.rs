//! From a place inside a text value (a fault in an expression) to the place in the file: block
//! scalars are indented, folded ones re-wrapped, quoted ones escaped.

use super::yaml::Place;

/// The place in `source` of the `index`-th character of `value`, whose first one stands at `at`.
pub(crate) fn inside(source: &str, at: Place, value: &str, index: usize) -> Place {
    let mut cursor = Cursor { rest: source.get(at.offset..).unwrap_or(""), place: at };
    cursor.skip_opening_quote(value);
    for wanted in value.chars().take(index) {
        cursor.advance_over(wanted);
    }
    // A value that goes on after indentation points at its text, not at the margin before it.
    if let Some(wanted) = value.chars().nth(index).filter(|wanted| !wanted.is_whitespace()) {
        cursor.skip_blanks_before(wanted);
    }
    cursor.place
}

struct Cursor<'a> {
    rest: &'a str,
    place: Place,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn step(&mut self) {
        let Some(next) = self.peek() else { return };
        self.rest = &self.rest[next.len_utf8()..];
        self.place.offset += next.len_utf8();
        if next == '\n' {
            self.place.line += 1;
            self.place.column = 1;
        } else {
            self.place.column += 1;
        }
    }

    fn skip_opening_quote(&mut self, value: &str) {
        if let Some(quote @ ('"' | '\'')) = self.peek()
            && (!value.starts_with(quote) || self.is_quoted(quote))
        {
            self.step();
        }
    }

    /// A value that begins with a quote itself has its own quote doubled or escaped.
    fn is_quoted(&self, quote: char) -> bool {
        let inner = &self.rest[1..];
        inner.starts_with(quote) || inner.starts_with('\\')
    }

    fn advance_over(&mut self, wanted: char) {
        match self.peek() {
            Some('\\') if wanted != '\\' => self.skip_escape(),
            Some(next) if next == wanted => {
                let doubled = matches!(wanted, '\'' | '\\') && self.rest[1..].starts_with(wanted);
                self.step();
                if doubled {
                    self.step();
                }
            }
            Some(next) if wanted.is_whitespace() && next.is_whitespace() => {
                while self.peek().is_some_and(char::is_whitespace) {
                    self.step();
                }
            }
            Some(_) if !wanted.is_whitespace() => {
                self.skip_blanks_before(wanted);
                self.step();
            }
            _ => {}
        }
    }

    fn skip_escape(&mut self) {
        self.step();
        let digits = match self.peek() {
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            _ => 0,
        };
        for _ in 0..=digits {
            self.step();
        }
    }

    fn skip_blanks_before(&mut self, wanted: char) {
        while self.peek().is_some_and(|next| next != wanted && next.is_whitespace()) {
            self.step();
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::policy::yaml::{Tree, read};

    /// The place of `@` in the file is where the value's `@` must be found.
    #[rstest]
    #[case::plain("a: b + @c\n")]
    #[case::plain_wrapped("a: b +\n  c +\n    @d\n")]
    #[case::literal("a: |\n  b\n    && c\n\n  || @d\n")]
    #[case::literal_stripped("- a: |-\n    b &&\n    @c\n")]
    #[case::folded("a: >\n  b\n  c\n\n  d @e\n")]
    #[case::single_quoted("a: 'it''s @x'\n")]
    #[case::double_quoted("a: \"b\\n \\\"c\\\" @d\"\n")]
    #[case::starts_with_a_quote("a: '''x'' @y'\n")]
    #[case::unicode("a: é ü @x\n")]
    fn a_fault_in_a_value_is_found_in_the_file(#[case] source: &str) {
        let documents = read(source).unwrap();
        let root = &documents[0];
        let holder = if let Tree::List(items) = &root.tree { &items[0] } else { root };
        let node = &holder.get("a").unwrap().node;
        let Tree::Text(value) = &node.tree else { panic!("a text") };
        let index = value.chars().position(|c| c == '@').unwrap();
        let got = inside(source, node.place, value, index);
        let before = &source[..source.find('@').unwrap()];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
        assert_eq!((got.line, got.column), (line, column));
    }
}
