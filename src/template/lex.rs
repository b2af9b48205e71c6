//! From text to tokens, as text/template/parse cuts it, mistakes included.

use super::go::{
    quote::{quote, quoted},
    text::{lossy, push},
    unicode::{is_alphanumeric, is_print},
};

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Error,
    Bool,
    /// A printable character that means nothing else.
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    Eof,
    Field,
    Identifier,
    LeftDelim,
    LeftParen,
    Number,
    Pipe,
    RawString,
    RightDelim,
    RightParen,
    Space,
    String,
    Text,
    Variable,
    Block,
    Break,
    Continue,
    Dot,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

impl Kind {
    fn keyword(word: &str) -> Option<Self> {
        Some(match word {
            "block" => Self::Block,
            "break" => Self::Break,
            "continue" => Self::Continue,
            "define" => Self::Define,
            "else" => Self::Else,
            "end" => Self::End,
            "if" => Self::If,
            "range" => Self::Range,
            "nil" => Self::Nil,
            "template" => Self::Template,
            "with" => Self::With,
            _ => return None,
        })
    }

    fn is_keyword(self) -> bool {
        use Kind::{
            Block, Break, Continue, Define, Dot, Else, End, If, Nil, Range, Template, With,
        };
        matches!(
            self,
            Block
                | Break
                | Continue
                | Dot
                | Define
                | Else
                | End
                | If
                | Nil
                | Range
                | Template
                | With
        )
    }
}

/// A token. Of an error, `text` is what was being read and `message` what is wrong with it.
#[derive(Debug, Clone)]
pub(crate) struct Token<'s> {
    pub kind: Kind,
    pub at: usize,
    pub line: usize,
    pub text: &'s str,
    pub message: String,
}

impl Token<'_> {
    /// As messages show it.
    pub fn shown(&self) -> String {
        match self.kind {
            Kind::Eof => "EOF".to_owned(),
            Kind::Error => self.message.clone(),
            kind if kind.is_keyword() => format!("<{}>", self.text),
            _ if self.text.len() > 10 => {
                let start: String = self.text.chars().take(10).collect();
                format!("{}...", lossy(&quoted(start.as_bytes())))
            }
            _ => lossy(&quoted(self.text.as_bytes())),
        }
    }
}

const LEFT: &str = "{{";
const RIGHT: &str = "}}";
const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];
/// A trim marker with its space.
const MARKER: usize = 2;

/// Reads one token at a time; what the parser has not asked for is not looked at.
#[derive(Debug)]
pub(crate) struct Lexer<'s> {
    input: &'s str,
    at: usize,
    start: usize,
    line: usize,
    start_line: usize,
    parens: usize,
    inside_action: bool,
}

impl<'s> Lexer<'s> {
    pub fn new(input: &'s str) -> Self {
        Self { input, at: 0, start: 0, line: 1, start_line: 1, parens: 0, inside_action: false }
    }

    pub fn next(&mut self) -> Token<'s> {
        if self.inside_action { self.in_action() } else { self.in_text() }
    }

    fn rest(&self) -> &'s str {
        &self.input[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.at += character.len_utf8();
        self.line += usize::from(character == '\n');
        Some(character)
    }

    fn accept(&mut self, set: &str) -> bool {
        let is_next = self.peek().is_some_and(|character| set.contains(character));
        if is_next {
            self.bump();
        }
        is_next
    }

    fn accept_run(&mut self, set: &str) {
        while self.accept(set) {}
    }

    fn emit(&mut self, kind: Kind) -> Token<'s> {
        let text = &self.input[self.start..self.at];
        let token =
            Token { kind, at: self.start, line: self.start_line, text, message: String::new() };
        self.start = self.at;
        self.start_line = self.line;
        token
    }

    /// Skips what was passed without `bump`.
    fn ignore(&mut self) {
        self.line += newlines(&self.input[self.start..self.at]);
        self.start = self.at;
        self.start_line = self.line;
    }

    fn error(&mut self, message: impl Into<String>) -> Token<'s> {
        Token { message: message.into(), ..self.emit(Kind::Error) }
    }

    fn in_text(&mut self) -> Token<'s> {
        loop {
            let Some(length) = self.rest().find(LEFT) else {
                self.at = self.input.len();
                self.line += newlines(&self.input[self.start..self.at]);
                let is_end = self.at == self.start;
                return self.emit(if is_end { Kind::Eof } else { Kind::Text });
            };
            if length > 0 {
                let delimiter = self.at + length;
                let text = &self.input[self.start..delimiter];
                let trims = has_left_marker(&self.input[delimiter + LEFT.len()..]);
                let kept = if trims { text.trim_end_matches(SPACES).len() } else { text.len() };
                self.at = self.start + kept;
                self.line += newlines(&self.input[self.start..self.at]);
                let token = self.emit(Kind::Text);
                self.at = delimiter;
                self.ignore();
                if !token.text.is_empty() {
                    return token;
                }
            }
            if let Some(token) = self.left_delimiter() {
                return token;
            }
        }
    }

    /// Nothing for a comment, which has then been skipped.
    fn left_delimiter(&mut self) -> Option<Token<'s>> {
        self.at += LEFT.len();
        let marker = if has_left_marker(self.rest()) { MARKER } else { 0 };
        if self.input[self.at + marker..].starts_with("/*") {
            self.at += marker;
            self.ignore();
            return self.comment();
        }
        let token = self.emit(Kind::LeftDelim);
        self.inside_action = true;
        self.at += marker;
        self.ignore();
        self.parens = 0;
        Some(token)
    }

    fn comment(&mut self) -> Option<Token<'s>> {
        self.at += 2;
        let Some(length) = self.rest().find("*/") else {
            return Some(self.error("unclosed comment"));
        };
        self.at += length + 2;
        let Some(trims) = self.at_right_delimiter() else {
            return Some(self.error("comment ends before closing delimiter"));
        };
        self.line += newlines(&self.input[self.start..self.at]);
        self.emit(Kind::Text);
        self.at += RIGHT.len();
        if trims {
            self.at += MARKER;
            self.at += spaces(self.rest());
        }
        self.ignore();
        None
    }

    /// Whether a delimiter is next, and if so, whether it trims what follows.
    fn at_right_delimiter(&self) -> Option<bool> {
        if has_right_marker(self.rest()) && self.rest()[MARKER..].starts_with(RIGHT) {
            return Some(true);
        }
        self.rest().starts_with(RIGHT).then_some(false)
    }

    fn right_delimiter(&mut self) -> Token<'s> {
        let trims = self.at_right_delimiter() == Some(true);
        if trims {
            self.at += MARKER;
            self.ignore();
        }
        self.at += RIGHT.len();
        let token = self.emit(Kind::RightDelim);
        if trims {
            self.at += spaces(self.rest());
            self.ignore();
        }
        self.inside_action = false;
        token
    }

    fn in_action(&mut self) -> Token<'s> {
        if self.at_right_delimiter().is_some() {
            if self.parens == 0 {
                return self.right_delimiter();
            }
            return self.error("unclosed left paren");
        }
        let before = self.at;
        let Some(character) = self.bump() else {
            return self.error("unclosed action");
        };
        match character {
            ' ' | '\t' | '\r' | '\n' => self.space(),
            '=' => self.emit(Kind::Assign),
            ':' if self.bump() == Some('=') => self.emit(Kind::Declare),
            ':' => self.error("expected :="),
            '|' => self.emit(Kind::Pipe),
            '"' => self.quoted('"', Kind::String, "unterminated quoted string"),
            '\'' => self.quoted('\'', Kind::CharConstant, "unterminated character constant"),
            '`' => self.raw(),
            '$' => self.field_or_variable(Kind::Variable, Kind::Variable),
            '.' if self.rest().starts_with(|c: char| !c.is_ascii_digit()) => {
                self.field_or_variable(Kind::Field, Kind::Dot)
            }
            '.' | '+' | '-' | '0'..='9' => {
                self.at = before;
                self.number()
            }
            '(' => {
                self.parens += 1;
                self.emit(Kind::LeftParen)
            }
            ')' => match self.parens.checked_sub(1) {
                Some(left) => {
                    self.parens = left;
                    self.emit(Kind::RightParen)
                }
                None => self.error("unexpected right paren"),
            },
            _ if is_alphanumeric(character) => self.identifier(),
            ' '..='~' => self.emit(Kind::Char),
            _ => self.error(format!("unrecognized character in action: {}", code(Some(character)))),
        }
    }

    fn space(&mut self) -> Token<'s> {
        let mut count = 1;
        while self.peek().is_some_and(is_space) {
            self.bump();
            count += 1;
        }
        // The last space may belong to a trim marker.
        let last = &self.input[self.at - 1..];
        if has_right_marker(last) && last[MARKER..].starts_with(RIGHT) {
            self.at -= 1;
            self.line -= usize::from(last.starts_with('\n'));
            if count == 1 {
                return self.right_delimiter();
            }
        }
        self.emit(Kind::Space)
    }

    fn identifier(&mut self) -> Token<'s> {
        while self.peek().is_some_and(is_alphanumeric) {
            self.bump();
        }
        if !self.at_terminator() {
            return self.bad_character();
        }
        let kind = match &self.input[self.start..self.at] {
            "true" | "false" => Kind::Bool,
            word => Kind::keyword(word).unwrap_or(Kind::Identifier),
        };
        self.emit(kind)
    }

    fn field_or_variable(&mut self, kind: Kind, alone: Kind) -> Token<'s> {
        if self.at_terminator() {
            return self.emit(alone);
        }
        while self.peek().is_some_and(is_alphanumeric) {
            self.bump();
        }
        if !self.at_terminator() {
            return self.bad_character();
        }
        self.emit(kind)
    }

    fn bad_character(&mut self) -> Token<'s> {
        let message = format!("bad character {}", code(self.peek()));
        self.error(message)
    }

    fn at_terminator(&self) -> bool {
        self.rest().starts_with(RIGHT)
            || self
                .peek()
                .is_none_or(|c| is_space(c) || matches!(c, '.' | ',' | '|' | ':' | ')' | '('))
    }

    fn quoted(&mut self, end: char, kind: Kind, unterminated: &str) -> Token<'s> {
        loop {
            let mut character = self.bump();
            if character == end.into() {
                return self.emit(kind);
            }
            if character == Some('\\') {
                character = self.bump();
            }
            if matches!(character, None | Some('\n')) {
                return self.error(unterminated);
            }
        }
    }

    fn raw(&mut self) -> Token<'s> {
        while let Some(character) = self.bump() {
            if character == '`' {
                return self.emit(Kind::RawString);
            }
        }
        self.error("unterminated raw quoted string")
    }

    fn number(&mut self) -> Token<'s> {
        if !self.scan_number() {
            return self.bad_number();
        }
        if !matches!(self.peek(), Some('+' | '-')) {
            return self.emit(Kind::Number);
        }
        if !self.scan_number() || !self.input[..self.at].ends_with('i') {
            return self.bad_number();
        }
        self.emit(Kind::Complex)
    }

    fn bad_number(&mut self) -> Token<'s> {
        let mut message = b"bad number syntax: ".to_vec();
        quote(&mut message, &self.input.as_bytes()[self.start..self.at], false);
        self.error(lossy(&message))
    }

    fn scan_number(&mut self) -> bool {
        const DECIMAL: &str = "0123456789_";
        const HEXADECIMAL: &str = "0123456789abcdefABCDEF_";
        self.accept("+-");
        let mut digits = DECIMAL;
        if self.accept("0") {
            if self.accept("xX") {
                digits = HEXADECIMAL;
            } else if self.accept("oO") {
                digits = "01234567_";
            } else if self.accept("bB") {
                digits = "01_";
            }
        }
        self.accept_run(digits);
        if self.accept(".") {
            self.accept_run(digits);
        }
        if digits == DECIMAL && self.accept("eE") || digits == HEXADECIMAL && self.accept("pP") {
            self.accept("+-");
            self.accept_run(DECIMAL);
        }
        self.accept("i");
        if self.peek().is_some_and(is_alphanumeric) {
            self.bump();
            return false;
        }
        true
    }
}

fn newlines(text: &str) -> usize {
    text.matches('\n').count()
}

fn is_space(character: char) -> bool {
    SPACES.contains(&character)
}

fn spaces(text: &str) -> usize {
    text.len() - text.trim_start_matches(SPACES).len()
}

fn has_left_marker(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(|after| after.starts_with(SPACES))
}

fn has_right_marker(text: &str) -> bool {
    text.strip_prefix(SPACES).is_some_and(|after| after.starts_with('-'))
}

/// `%#U`; the end of the input is -1 to Go.
fn code(character: Option<char>) -> String {
    let Some(character) = character else { return "U+FFFFFFFFFFFFFFFF".to_owned() };
    let mut out = format!("U+{:04X}", u32::from(character)).into_bytes();
    if is_print(character) {
        out.extend_from_slice(b" '");
        push(&mut out, character);
        out.push(b'\'');
    }
    lossy(&out)
}
