//! From tokens to trees, as text/template/parse builds them: the same trees, the same first mistake.
//!
//! Go recurses as deep as the text nests; here depth is counted, and bounded.

mod control;
mod pipeline;

use super::{
    ast::{List, Node, Trees},
    error::{Kind as ErrorKind, ParseError, place},
    functions::Functions,
    go::{quote::quoted, text::lossy},
    lex::{Kind, Lexer, Token},
    limits::Limits,
    problem::Problem,
};

pub(crate) type Result<T> = std::result::Result<T, Box<ParseError>>;

/// Reads a source. With a place for problems, what needs not stop the parser is noted there and read on.
pub(crate) fn parse(
    name: &str,
    source: &str,
    functions: &Functions,
    limits: &Limits,
    problems: Option<&mut Vec<Problem>>,
) -> Result<Trees> {
    if source.len() > limits.source {
        return Err(Box::new(ParseError {
            name: name.to_owned(),
            line: 1,
            column: 1,
            text: String::new(),
            message: format!(
                "the template has {} bytes, more than the {} that are allowed",
                source.len(),
                limits.source
            ),
            kind: ErrorKind::Limit,
        }));
    }
    let mut shared = Shared {
        name,
        source,
        lexer: Lexer::new(source),
        functions,
        limits,
        trees: Trees::new(),
        nesting: 0,
        problems,
    };
    let mut parser = Parser::new(&mut shared);
    let root = parser.root()?;
    parser.add(name.as_bytes(), root)?;
    Ok(shared.trees)
}

/// What all trees of a source have in common while they are read.
struct Shared<'s, 'p> {
    name: &'s str,
    source: &'s str,
    lexer: Lexer<'s>,
    functions: &'p Functions,
    limits: &'p Limits,
    trees: Trees,
    nesting: usize,
    problems: Option<&'p mut Vec<Problem>>,
}

/// Reads one tree: the source's own, or that of a `define` or `block`, which sees no variables around it.
struct Parser<'s, 'p, 'm> {
    shared: &'m mut Shared<'s, 'p>,
    /// Tokens that were read ahead, the last of them first.
    tokens: [Token<'s>; 3],
    ahead: usize,
    variables: Vec<&'s str>,
    action_line: Option<usize>,
    ranges: usize,
}

/// What ends a list.
enum End {
    End,
    Else,
}

impl End {
    fn shown(&self) -> &'static str {
        match self {
            Self::End => "{{end}}",
            Self::Else => "{{else}}",
        }
    }
}

/// A node, or what ends the list that it would be in.
enum Item {
    Node(Node),
    End(End),
}

impl<'s, 'p, 'm> Parser<'s, 'p, 'm> {
    fn new(shared: &'m mut Shared<'s, 'p>) -> Self {
        let none = || Token { kind: Kind::Eof, at: 0, line: 1, text: "", message: String::new() };
        let tokens = [none(), none(), none()];
        Self { shared, tokens, ahead: 0, variables: vec!["$"], action_line: None, ranges: 0 }
    }

    fn next(&mut self) -> Token<'s> {
        if self.ahead > 0 {
            self.ahead -= 1;
        } else {
            self.tokens[0] = self.shared.lexer.next();
        }
        self.tokens[self.ahead].clone()
    }

    fn back(&mut self) {
        self.ahead += 1;
    }

    fn back_two(&mut self, first: Token<'s>) {
        self.tokens[1] = first;
        self.ahead = 2;
    }

    fn back_three(&mut self, first: Token<'s>, second: Token<'s>) {
        self.tokens[1] = second;
        self.tokens[2] = first;
        self.ahead = 3;
    }

    fn peek(&mut self) -> Token<'s> {
        let token = self.next();
        self.back();
        token
    }

    fn next_but_space(&mut self) -> Token<'s> {
        loop {
            let token = self.next();
            if token.kind != Kind::Space {
                return token;
            }
        }
    }

    fn peek_but_space(&mut self) -> Token<'s> {
        let token = self.next_but_space();
        self.back();
        token
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Result<Token<'s>> {
        let token = self.next_but_space();
        if token.kind == kind { Ok(token) } else { Err(self.unexpected(&token, context)) }
    }

    fn unexpected(&self, token: &Token<'s>, context: &str) -> Box<ParseError> {
        if token.kind != Kind::Error {
            return self.error(token, format!("unexpected {} in {context}", token.shown()));
        }
        let mut message = token.message.clone();
        if let Some(line) = self.action_line.filter(|line| *line != token.line) {
            // Not "unclosed action in action started at".
            let joint = if message.ends_with(" action") { "" } else { " in action" };
            message = format!("{message}{joint} started at {}:{line}", self.shared.name);
        }
        self.error(token, message)
    }

    /// An error about a token. Go gives the line of the token that was read last.
    fn error(&self, token: &Token<'s>, message: impl Into<String>) -> Box<ParseError> {
        self.failure(token, message.into(), ErrorKind::Fault)
    }

    /// An error that no single token is to blame for.
    fn error_here(&self, message: impl Into<String>) -> Box<ParseError> {
        self.error(&self.tokens[0], message)
    }

    fn failure(&self, token: &Token<'s>, message: String, kind: ErrorKind) -> Box<ParseError> {
        let last = &self.tokens[0];
        let token = if token.line == last.line { token } else { last };
        Box::new(ParseError {
            name: self.shared.name.to_owned(),
            line: last.line,
            column: place(self.shared.source, token.at).1,
            text: token.text.to_owned(),
            message,
            kind,
        })
    }

    /// A mistake that the parser can read past: the end of it, unless all problems are wanted.
    fn recoverable(
        &mut self,
        token: &Token<'s>,
        message: String,
        suggestion: Option<String>,
    ) -> Result<()> {
        let (line, column) = place(self.shared.source, token.at);
        match &mut self.shared.problems {
            Some(problems) => {
                let text = token.text.to_owned();
                problems.push(Problem { line, column, text, message, suggestion });
                Ok(())
            }
            None => Err(self.error(token, message)),
        }
    }

    /// Reads something that stands inside something else.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let most = self.shared.limits.nesting;
        if self.shared.nesting >= most {
            let message = format!("nested more than {most} deep");
            return Err(self.failure(&self.tokens[0], message, ErrorKind::Limit));
        }
        self.shared.nesting += 1;
        let result = read(self);
        self.shared.nesting -= 1;
        result
    }

    fn add(&mut self, name: &[u8], list: List) -> Result<()> {
        if self.shared.trees.get(name).is_none_or(List::is_blank) {
            self.shared.trees.insert(name.into(), list);
            return Ok(());
        }
        if list.is_blank() {
            return Ok(());
        }
        let name = lossy(&quoted(name));
        Err(self.error_here(format!("template: multiple definition of template {name}")))
    }
}
