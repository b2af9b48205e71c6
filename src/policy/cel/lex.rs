//! Tokens, by the longest match as ANTLR's lexer finds it, with its errors.

use super::source::Raised;

/// The kinds of token, in the order of cel-go's grammar (messages list them so).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tok {
    Equals,
    NotEquals,
    In,
    Less,
    LessEquals,
    GreaterEquals,
    Greater,
    And,
    Or,
    LBracket,
    RBracket,
    LBrace,
    RBrace,
    LParen,
    RParen,
    Dot,
    Comma,
    Minus,
    Not,
    Question,
    Colon,
    Plus,
    Star,
    Slash,
    Percent,
    True,
    False,
    Null,
    Float,
    Int,
    Uint,
    String,
    Bytes,
    Ident,
    Escaped,
    End,
}

impl Tok {
    /// In the order of messages.
    pub(crate) const ALL: [Self; 36] = [
        Self::Equals,
        Self::NotEquals,
        Self::In,
        Self::Less,
        Self::LessEquals,
        Self::GreaterEquals,
        Self::Greater,
        Self::And,
        Self::Or,
        Self::LBracket,
        Self::RBracket,
        Self::LBrace,
        Self::RBrace,
        Self::LParen,
        Self::RParen,
        Self::Dot,
        Self::Comma,
        Self::Minus,
        Self::Not,
        Self::Question,
        Self::Colon,
        Self::Plus,
        Self::Star,
        Self::Slash,
        Self::Percent,
        Self::True,
        Self::False,
        Self::Null,
        Self::Float,
        Self::Int,
        Self::Uint,
        Self::String,
        Self::Bytes,
        Self::Ident,
        Self::Escaped,
        Self::End,
    ];

    /// As messages name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Equals => "'=='",
            Self::NotEquals => "'!='",
            Self::In => "'in'",
            Self::Less => "'<'",
            Self::LessEquals => "'<='",
            Self::GreaterEquals => "'>='",
            Self::Greater => "'>'",
            Self::And => "'&&'",
            Self::Or => "'||'",
            Self::LBracket => "'['",
            Self::RBracket => "']'",
            Self::LBrace => "'{'",
            Self::RBrace => "'}'",
            Self::LParen => "'('",
            Self::RParen => "')'",
            Self::Dot => "'.'",
            Self::Comma => "','",
            Self::Minus => "'-'",
            Self::Not => "'!'",
            Self::Question => "'?'",
            Self::Colon => "':'",
            Self::Plus => "'+'",
            Self::Star => "'*'",
            Self::Slash => "'/'",
            Self::Percent => "'%'",
            Self::True => "'true'",
            Self::False => "'false'",
            Self::Null => "'null'",
            Self::Float => "NUM_FLOAT",
            Self::Int => "NUM_INT",
            Self::Uint => "NUM_UINT",
            Self::String => "STRING",
            Self::Bytes => "BYTES",
            Self::Ident => "IDENTIFIER",
            Self::Escaped => "ESC_IDENTIFIER",
            Self::End => "<EOF>",
        }
    }
}

/// A token and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub kind: Tok,
    pub at: usize,
    pub text: String,
    /// Space and comments before it.
    pub hidden: String,
}

/// All tokens, the end last, and what is no token, each with the number of the token behind it.
pub(crate) fn tokens(source: &str) -> (Vec<Token>, Vec<(usize, Raised)>) {
    let chars: Vec<char> = source.chars().collect();
    let mut lexer = Lexer { chars: &chars, at: 0 };
    let mut found = Vec::new();
    let mut errors = Vec::new();
    let mut hidden = String::new();
    while lexer.at < chars.len() {
        let start = lexer.at;
        match lexer.next() {
            Ok(Some(kind)) => {
                let text = chars[start..lexer.at].iter().collect();
                found.push(Token { kind, at: start, text, hidden: std::mem::take(&mut hidden) });
            }
            Ok(None) => hidden.extend(&chars[start..lexer.at]),
            Err(failed) => {
                let end = (failed + 1).min(chars.len());
                let text: String = chars[start..end].iter().collect();
                let text = format!("Syntax error: token recognition error at: '{text}'");
                errors.push((found.len(), Raised::at(start, text)));
                lexer.at = end;
            }
        }
    }
    found.push(Token { kind: Tok::End, at: chars.len(), text: "<EOF>".to_owned(), hidden });
    (found, errors)
}

struct Lexer<'a> {
    chars: &'a [char],
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// A token, nothing (space, comment), or the offset where no rule could go on.
    fn next(&mut self) -> Result<Option<Tok>, usize> {
        let Some(c) = self.peek(0) else { return Ok(None) };
        match c {
            ' ' | '\t' | '\r' | '\n' | '\u{c}' => {
                self.at += 1;
                Ok(None)
            }
            '/' if self.peek(1) == Some('/') => {
                while self.peek(0).is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
                Ok(None)
            }
            '0'..='9' => Ok(Some(self.number())),
            '.' if self.peek(1).is_some_and(|c| c.is_ascii_digit()) => Ok(Some(self.number())),
            '"' | '\'' => self.string(0, false, Tok::String).map(Some),
            'a'..='z' | 'A'..='Z' | '_' => Ok(Some(self.word())),
            '`' => self.escaped().map(Some),
            _ => self.symbol(c).map(Some),
        }
    }

    fn symbol(&mut self, c: char) -> Result<Tok, usize> {
        let pair = self.peek(1);
        let (kind, length) = match (c, pair) {
            ('=', Some('=')) => (Tok::Equals, 2),
            ('!', Some('=')) => (Tok::NotEquals, 2),
            ('<', Some('=')) => (Tok::LessEquals, 2),
            ('>', Some('=')) => (Tok::GreaterEquals, 2),
            ('&', Some('&')) => (Tok::And, 2),
            ('|', Some('|')) => (Tok::Or, 2),
            ('=' | '&' | '|', _) => return Err(self.at + 1),
            ('<', _) => (Tok::Less, 1),
            ('>', _) => (Tok::Greater, 1),
            ('[', _) => (Tok::LBracket, 1),
            (']', _) => (Tok::RBracket, 1),
            ('{', _) => (Tok::LBrace, 1),
            ('}', _) => (Tok::RBrace, 1),
            ('(', _) => (Tok::LParen, 1),
            (')', _) => (Tok::RParen, 1),
            ('.', _) => (Tok::Dot, 1),
            (',', _) => (Tok::Comma, 1),
            ('-', _) => (Tok::Minus, 1),
            ('!', _) => (Tok::Not, 1),
            ('?', _) => (Tok::Question, 1),
            (':', _) => (Tok::Colon, 1),
            ('+', _) => (Tok::Plus, 1),
            ('*', _) => (Tok::Star, 1),
            ('/', _) => (Tok::Slash, 1),
            ('%', _) => (Tok::Percent, 1),
            _ => return Err(self.at),
        };
        self.at += length;
        Ok(kind)
    }

    fn word(&mut self) -> Tok {
        let lower = self.peek(0).map(|c| c.to_ascii_lowercase());
        let quoted = |c: Option<char>| matches!(c, Some('"' | '\''));
        let raw = |c: Option<char>| matches!(c, Some('r' | 'R'));
        if lower == Some('r') && quoted(self.peek(1)) {
            if let Ok(kind) = self.string(1, true, Tok::String) {
                return kind;
            }
        } else if lower == Some('b') && quoted(self.peek(1)) {
            if let Ok(kind) = self.string(1, false, Tok::Bytes) {
                return kind;
            }
        } else if lower == Some('b')
            && raw(self.peek(1))
            && quoted(self.peek(2))
            && let Ok(kind) = self.string(2, true, Tok::Bytes)
        {
            return kind;
        }
        let start = self.at;
        while self.peek(0).is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
            self.at += 1;
        }
        let word: String = self.chars[start..self.at].iter().collect();
        match word.as_str() {
            "in" => Tok::In,
            "true" => Tok::True,
            "false" => Tok::False,
            "null" => Tok::Null,
            _ => Tok::Ident,
        }
    }

    fn escaped(&mut self) -> Result<Tok, usize> {
        let mut end = self.at + 1;
        let allowed =
            |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ' ');
        while self.chars.get(end).is_some_and(allowed) {
            end += 1;
        }
        if end == self.at + 1 || self.chars.get(end) != Some(&'`') {
            return Err(end);
        }
        self.at = end + 1;
        Ok(Tok::Escaped)
    }

    fn number(&mut self) -> Tok {
        let digits =
            |from: usize| self.chars[from..].iter().take_while(|c| c.is_ascii_digit()).count();
        let exponent = |from: usize| {
            if !matches!(self.chars.get(from), Some('e' | 'E')) {
                return 0;
            }
            let sign = usize::from(matches!(self.chars.get(from + 1), Some('+' | '-')));
            let first = from + 1 + sign;
            if first > self.chars.len() {
                return 0;
            }
            match digits(first) {
                0 => 0,
                n => 1 + sign + n,
            }
        };
        let start = self.at;
        let whole = digits(start);
        let mut end = start + whole;
        let mut kind = Tok::Int;
        if self.chars.get(end) == Some(&'.') {
            let fraction = digits(end + 1);
            if fraction > 0 {
                end += 1 + fraction;
                end += exponent(end);
                kind = Tok::Float;
            }
        }
        if kind == Tok::Int {
            let power = exponent(end);
            if power > 0 {
                end += power;
                kind = Tok::Float;
            }
        }
        let hex =
            |from: usize| self.chars[from..].iter().take_while(|c| c.is_ascii_hexdigit()).count();
        if kind == Tok::Int
            && self.chars[start] == '0'
            && whole == 1
            && self.chars.get(start + 1) == Some(&'x')
            && hex(start + 2) > 0
        {
            end = start + 2 + hex(start + 2);
        }
        if kind == Tok::Int && matches!(self.chars.get(end), Some('u' | 'U')) {
            end += 1;
            kind = Tok::Uint;
        }
        self.at = end;
        kind
    }

    /// A string that opens at `skip` characters from here.
    fn string(&mut self, skip: usize, raw: bool, kind: Tok) -> Result<Tok, usize> {
        let open = self.at + skip;
        let quote = self.chars[open];
        let triple =
            self.chars.get(open + 1) == Some(&quote) && self.chars.get(open + 2) == Some(&quote);
        if triple {
            if let Ok(end) = self.body(open + 3, quote, true, raw) {
                self.at = end;
                return Ok(kind);
            }
            // The empty string, and then whatever follows.
            self.at = open + 2;
            return Ok(kind);
        }
        self.at = self.body(open + 1, quote, false, raw)?;
        Ok(kind)
    }

    fn body(&self, from: usize, quote: char, triple: bool, raw: bool) -> Result<usize, usize> {
        let mut at = from;
        loop {
            let Some(&c) = self.chars.get(at) else { return Err(at) };
            if c == quote {
                if !triple {
                    return Ok(at + 1);
                }
                if self.chars.get(at + 1) == Some(&quote) && self.chars.get(at + 2) == Some(&quote)
                {
                    return Ok(at + 3);
                }
                at += 1;
            } else if c == '\\' && !raw {
                at = self.escape(at)?;
            } else if !triple && matches!(c, '\n' | '\r') {
                return Err(at);
            } else {
                at += 1;
            }
        }
    }

    fn escape(&self, slash: usize) -> Result<usize, usize> {
        let at = slash + 1;
        let take = |count: usize, ok: fn(&char) -> bool| {
            for i in at + 1..=at + count {
                if !self.chars.get(i).is_some_and(ok) {
                    return Err(i);
                }
            }
            Ok(at + 1 + count)
        };
        match self.chars.get(at) {
            Some('a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '"' | '\'' | '\\' | '?' | '`') => {
                Ok(at + 1)
            }
            Some('0'..='3') => take(2, |c| matches!(c, '0'..='7')),
            Some('x' | 'X') => take(2, char::is_ascii_hexdigit),
            Some('u') => take(4, char::is_ascii_hexdigit),
            Some('U') => take(8, char::is_ascii_hexdigit),
            _ => Err(at),
        }
    }
}
