//! From text to syntax tree, by hand.
//!
//! Not the parser of crate `cel`: that ANTLR port overflows the stack on long sums, and neither its
//! positions nor its messages are cel-go's. The grammar is small; written out, depth is counted where
//! cel-go counts it, positions are exact, and ANTLR's messages can be given for the common mistakes.

use super::{
    ast::{Expr, Kind, Literal, MapEntry, StructField},
    lex::{Tok, Token, tokens},
    macros,
    source::Raised,
    unescape::unescape,
};
use std::sync::Arc;

/// cel-go's limit on recursion, of its parser and of its visitor.
const DEPTH: usize = 250;

const RESERVED: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "package",
    "namespace",
    "null",
    "return",
    "true",
    "var",
    "void",
    "while",
];

const START: [Tok; 15] = [
    Tok::LBracket,
    Tok::LBrace,
    Tok::LParen,
    Tok::Dot,
    Tok::Minus,
    Tok::Not,
    Tok::True,
    Tok::False,
    Tok::Null,
    Tok::Float,
    Tok::Int,
    Tok::Uint,
    Tok::String,
    Tok::Bytes,
    Tok::Ident,
];

/// The tree, with macros expanded, and how many ids it uses.
pub(crate) struct Parsed {
    pub root: Expr,
    pub ids: usize,
}

/// Reads an expression, or says everything that is wrong with its syntax.
pub(crate) fn parse(source: &str) -> Result<Parsed, Vec<Raised>> {
    let (tokens, errors) = tokens(source);
    let mut parser =
        Parser { tokens, pos: 0, ids: 0, errors, depth: Depths::default(), exhausted: false };
    let root = parser.start();
    if parser.exhausted {
        return Err(vec![Raised::whole(format!("expression recursion limit exceeded: {DEPTH}"))]);
    }
    if !parser.errors.is_empty() {
        return Err(parser.errors);
    }
    match root {
        Ok(node) if node.visits > DEPTH => Err(vec![Raised::whole("max recursion depth exceeded")]),
        Ok(node) => Ok(Parsed { root: node.expr, ids: parser.ids }),
        Err(Stop) => Err(vec![Raised::whole("unknown parse element encountered")]),
    }
}

/// The syntax is beyond recovery; what is wrong has been noted.
struct Stop;

/// A tree and how deep cel-go's visitor goes to visit it.
struct Node {
    expr: Expr,
    visits: usize,
}

#[derive(Default)]
struct Depths {
    expr: usize,
    relation: usize,
    calc: usize,
}

pub(crate) struct Parser {
    tokens: Vec<Token>,
    pos: usize,
    ids: usize,
    errors: Vec<Raised>,
    depth: Depths,
    exhausted: bool,
}

impl Parser {
    pub(crate) fn node(&mut self, at: usize, kind: Kind) -> Expr {
        let id = self.ids;
        self.ids += 1;
        Expr { id, at, kind }
    }

    pub(crate) fn fresh(&mut self) -> usize {
        self.ids += 1;
        self.ids - 1
    }

    pub(crate) fn raise(&mut self, at: usize, message: impl Into<String>) {
        self.errors.push(Raised::at(at, message));
    }

    fn kind(&self) -> Tok {
        self.ahead(0)
    }

    fn ahead(&self, n: usize) -> Tok {
        self.tokens.get(self.pos + n).map_or(Tok::End, |t| t.kind)
    }

    fn token(&self) -> &Token {
        let last = self.tokens.len() - 1;
        &self.tokens[self.pos.min(last)]
    }

    fn bump(&mut self) -> Token {
        let token = self.token().clone();
        if self.pos + 1 < self.tokens.len() {
            self.pos += 1;
        }
        token
    }

    fn eat(&mut self, kind: Tok) -> Option<Token> {
        (self.kind() == kind).then(|| self.bump())
    }

    /// ANTLR's single-token repairs: drop one that is too much, imagine one that is missing.
    fn expect(&mut self, kind: Tok, follows: &[Tok]) -> Result<Token, Stop> {
        if self.kind() == kind {
            return Ok(self.bump());
        }
        if self.ahead(1) == kind && self.kind() != Tok::End {
            self.extraneous(&[kind]);
            self.bump();
            return Ok(self.bump());
        }
        let token = self.token().clone();
        if follows.contains(&token.kind) {
            let message =
                format!("Syntax error: missing {} at '{}'", kind.name(), shown(&token.text));
            self.raise(token.at, message);
            return Ok(Token { kind, at: token.at, text: String::new() });
        }
        Err(self.mismatched(&[kind]))
    }

    /// At a choice: what comes must be one of these.
    fn sync(&mut self, expected: &[Tok]) -> Result<(), Stop> {
        if expected.contains(&self.kind()) {
            return Ok(());
        }
        if self.kind() != Tok::End && expected.contains(&self.ahead(1)) {
            self.extraneous(expected);
            self.bump();
            return Ok(());
        }
        Err(self.mismatched(expected))
    }

    fn extraneous(&mut self, expected: &[Tok]) {
        let token = self.token().clone();
        let message = format!(
            "Syntax error: extraneous input '{}' expecting {}",
            shown(&token.text),
            set(expected)
        );
        self.raise(token.at, message);
    }

    fn mismatched(&mut self, expected: &[Tok]) -> Stop {
        let token = self.token().clone();
        let message = format!(
            "Syntax error: mismatched input '{}' expecting {}",
            shown(&token.text),
            set(expected)
        );
        self.raise(token.at, message);
        Stop
    }

    fn start(&mut self) -> Result<Node, Stop> {
        let node = self.expr()?;
        self.expect(Tok::End, &[])?;
        Ok(node)
    }

    fn too_deep(&mut self, depth: usize) -> Result<(), Stop> {
        if depth > DEPTH {
            self.exhausted = true;
            return Err(Stop);
        }
        Ok(())
    }

    fn expr(&mut self) -> Result<Node, Stop> {
        self.depth.expr += 1;
        self.too_deep(self.depth.expr)?;
        let node = self.ternary();
        self.depth.expr -= 1;
        node
    }

    fn ternary(&mut self) -> Result<Node, Stop> {
        let condition = self.or()?;
        let Some(question) = self.eat(Tok::Question) else { return Ok(condition) };
        let yes = self.or()?;
        self.expect(Tok::Colon, &START)?;
        let no = self.expr()?;
        let visits = 1 + condition.visits.max(yes.visits).max(no.visits);
        let args = vec![condition.expr, yes.expr, no.expr];
        Ok(Node { expr: self.call(question.at, "_?_:_", args), visits })
    }

    fn call(&mut self, at: usize, function: &str, args: Vec<Expr>) -> Expr {
        self.node(at, Kind::Call { function: Arc::from(function), target: None, args })
    }

    fn or(&mut self) -> Result<Node, Stop> {
        self.logic(Tok::Or, "_||_", Self::and)
    }

    fn and(&mut self) -> Result<Node, Stop> {
        self.logic(Tok::And, "_&&_", |parser| parser.relation(1))
    }

    fn logic(
        &mut self,
        operator: Tok,
        function: &str,
        next: fn(&mut Self) -> Result<Node, Stop>,
    ) -> Result<Node, Stop> {
        let first = next(self)?;
        if self.kind() != operator {
            return Ok(first);
        }
        let mut visits = first.visits;
        let mut terms = vec![Some(first.expr)];
        let mut places = Vec::new();
        while let Some(token) = self.eat(operator) {
            let term = next(self)?;
            visits = visits.max(term.visits);
            terms.push(Some(term.expr));
            places.push(token.at);
        }
        let expr = self.balanced(function, &mut terms, &places, 0, places.len() - 1);
        Ok(Node { expr, visits })
    }

    /// A long chain becomes a flat tree, as cel-go makes it.
    fn balanced(
        &mut self,
        function: &str,
        terms: &mut [Option<Expr>],
        places: &[usize],
        lo: usize,
        hi: usize,
    ) -> Expr {
        let mid = (lo + hi).div_ceil(2);
        let left = if mid == lo {
            self.take(terms, mid)
        } else {
            self.balanced(function, terms, places, lo, mid - 1)
        };
        let right = if mid == hi {
            self.take(terms, mid + 1)
        } else {
            self.balanced(function, terms, places, mid + 1, hi)
        };
        self.call(places[mid], function, vec![left, right])
    }

    fn take(&mut self, terms: &mut [Option<Expr>], index: usize) -> Expr {
        match terms.get_mut(index).and_then(Option::take) {
            Some(expr) => expr,
            None => self.node(0, Kind::Literal(Literal::Null)),
        }
    }

    fn relation(&mut self, level: usize) -> Result<Node, Stop> {
        self.depth.relation += 1;
        self.too_deep(self.depth.relation)?;
        let mut left = self.calc(1)?;
        while level <= 1
            && let Some(function) = relation_of(self.kind())
        {
            let at = self.bump().at;
            let right = self.relation(2)?;
            let visits = 1 + left.visits.max(right.visits);
            left = Node { expr: self.call(at, function, vec![left.expr, right.expr]), visits };
        }
        self.depth.relation -= 1;
        Ok(left)
    }

    fn calc(&mut self, level: usize) -> Result<Node, Stop> {
        self.depth.calc += 1;
        self.too_deep(self.depth.calc)?;
        let mut left = self.unary()?;
        while let Some((function, strength)) = calc_of(self.kind())
            && strength >= level
        {
            let at = self.bump().at;
            let right = self.calc(strength + 1)?;
            let visits = 1 + left.visits.max(right.visits);
            left = Node { expr: self.call(at, function, vec![left.expr, right.expr]), visits };
        }
        self.depth.calc -= 1;
        Ok(left)
    }

    fn unary(&mut self) -> Result<Node, Stop> {
        self.sync(&START)?;
        let operator = self.kind();
        let signed = operator == Tok::Minus && matches!(self.ahead(1), Tok::Int | Tok::Float);
        if signed || !matches!(operator, Tok::Not | Tok::Minus) {
            return self.member();
        }
        let at = self.token().at;
        let mut count = 0_usize;
        while self.kind() == operator {
            self.bump();
            count += 1;
        }
        let literal = self.kind() == Tok::Minus && matches!(self.ahead(1), Tok::Int | Tok::Float);
        if !literal
            && (!START.contains(&self.kind()) || matches!(self.kind(), Tok::Not | Tok::Minus))
        {
            self.extraneous(&START);
            return Err(Stop);
        }
        let member = self.member()?;
        if count % 2 == 0 {
            return Ok(member);
        }
        let function = if operator == Tok::Not { "!_" } else { "-_" };
        let visits = member.visits;
        Ok(Node { expr: self.call(at, function, vec![member.expr]), visits })
    }

    fn member(&mut self) -> Result<Node, Stop> {
        let mut node = self.primary()?;
        loop {
            match self.kind() {
                Tok::Dot => {
                    let dot = self.bump();
                    node = self.select_or_call(node, &dot)?;
                }
                Tok::LBracket => {
                    let at = self.bump().at;
                    let optional = self.eat(Tok::Question).is_some();
                    let index = self.expr()?;
                    self.expect(Tok::RBracket, &AFTER_OPERAND)?;
                    let function = if optional { "_[?_]" } else { "_[_]" };
                    let visits = 1 + node.visits.max(index.visits);
                    let expr = self.call(at, function, vec![node.expr, index.expr]);
                    node = Node { expr, visits };
                }
                _ => return Ok(node),
            }
        }
    }

    fn select_or_call(&mut self, operand: Node, dot: &Token) -> Result<Node, Stop> {
        if self.eat(Tok::Question).is_some() {
            self.sync(&[Tok::Ident, Tok::Escaped])?;
            let id = self.bump();
            let field = self.field_name(&id);
            let visits = operand.visits + 1;
            let name = self.node(id.at, Kind::Literal(Literal::String(field)));
            let expr = self.call(dot.at, "_?._", vec![operand.expr, name]);
            return Ok(Node { expr, visits });
        }
        if !matches!(self.kind(), Tok::Ident | Tok::Escaped) {
            return Err(self.no_viable());
        }
        let id = self.bump();
        if id.kind == Tok::Ident && self.kind() == Tok::LParen {
            let open = self.bump();
            let (args, inner) = self.arguments()?;
            let visits = 1 + operand.visits.max(inner);
            let expr = macros::receiver(self, open.at, &id.text, operand.expr, args);
            return Ok(Node { expr, visits });
        }
        let field = self.field_name(&id);
        let visits = operand.visits + 1;
        let kind = Kind::Select { operand: Box::new(operand.expr), field, test_only: false };
        Ok(Node { expr: self.node(dot.at, kind), visits })
    }

    fn field_name(&mut self, id: &Token) -> Arc<str> {
        if id.kind == Tok::Escaped {
            self.raise(id.at, "unsupported syntax: '`'");
        }
        Arc::from(id.text.as_str())
    }

    fn no_viable(&mut self) -> Stop {
        let token = self.token().clone();
        let text = if token.kind == Tok::End { "" } else { token.text.as_str() };
        let message = match token.kind {
            Tok::True | Tok::False | Tok::Null => {
                format!("Syntax error: mismatched input '{text}' expecting IDENTIFIER")
            }
            _ => format!("Syntax error: no viable alternative at input '.{}'", shown(text)),
        };
        self.raise(token.at, message);
        Stop
    }

    fn arguments(&mut self) -> Result<(Vec<Expr>, usize), Stop> {
        let mut args = Vec::new();
        let mut visits = 0;
        let mut open = START.to_vec();
        open.push(Tok::RParen);
        open.sort_unstable();
        self.sync(&open)?;
        if self.kind() != Tok::RParen {
            loop {
                let arg = self.expr()?;
                visits = visits.max(arg.visits);
                args.push(arg.expr);
                if self.eat(Tok::Comma).is_none() {
                    break;
                }
            }
        }
        self.expect(Tok::RParen, &AFTER_OPERAND)?;
        Ok((args, visits))
    }

    fn primary(&mut self) -> Result<Node, Stop> {
        let token = self.token().clone();
        match token.kind {
            Tok::Dot | Tok::Ident => self.name(&token),
            Tok::LParen => {
                self.bump();
                let inner = self.expr()?;
                self.expect(Tok::RParen, &AFTER_OPERAND)?;
                Ok(inner)
            }
            Tok::LBracket => self.list(),
            Tok::LBrace => self.map(),
            Tok::Minus
            | Tok::Int
            | Tok::Uint
            | Tok::Float
            | Tok::String
            | Tok::Bytes
            | Tok::True
            | Tok::False
            | Tok::Null => {
                let literal = self.literal();
                Ok(Node { expr: self.node(token.at, Kind::Literal(literal)), visits: 0 })
            }
            _ => Err(self.mismatched(&START)),
        }
    }

    fn name(&mut self, first: &Token) -> Result<Node, Stop> {
        let leading = self.eat(Tok::Dot).is_some();
        if self.is_struct() {
            return self.structure(leading);
        }
        let Some(id) = self.eat(Tok::Ident) else { return Err(self.mismatched(&[Tok::Ident])) };
        let name: Arc<str> =
            if leading { Arc::from(format!(".{}", id.text)) } else { Arc::from(id.text.as_str()) };
        let reserved = RESERVED.contains(&id.text.as_str());
        if self.kind() == Tok::LParen {
            let open = self.bump();
            let (args, visits) = self.arguments()?;
            if reserved {
                self.raise(first.at, format!("reserved identifier: {}", id.text));
            }
            return Ok(Node { expr: macros::global(self, open.at, &name, args), visits });
        }
        if reserved {
            self.raise(first.at, format!("reserved identifier: {}", id.text));
        }
        Ok(Node { expr: self.node(id.at, Kind::Ident(name)), visits: 0 })
    }

    /// `a.b.c {` opens a struct; nothing shorter does.
    fn is_struct(&self) -> bool {
        let mut n = 0;
        loop {
            if self.ahead(n) != Tok::Ident {
                return false;
            }
            match self.ahead(n + 1) {
                Tok::LBrace => return true,
                Tok::Dot => n += 2,
                _ => return false,
            }
        }
    }

    fn structure(&mut self, leading: bool) -> Result<Node, Stop> {
        let mut name = String::new();
        if leading {
            name.push('.');
        }
        loop {
            name.push_str(&self.bump().text);
            if self.eat(Tok::Dot).is_none() {
                break;
            }
            name.push('.');
        }
        let brace = self.bump();
        let mut fields = Vec::new();
        let mut visits = 0;
        while !matches!(self.kind(), Tok::RBrace | Tok::End) {
            if self.kind() == Tok::Comma {
                break;
            }
            let optional = self.eat(Tok::Question).is_some();
            self.sync(&[Tok::Ident, Tok::Escaped])?;
            let id = self.bump();
            let field = self.field_name(&id);
            let colon = self.expect(Tok::Colon, &START)?;
            let value = self.expr()?;
            visits = visits.max(value.visits);
            let id = self.fresh();
            fields.push(StructField { id, at: colon.at, name: field, value: value.expr, optional });
            if self.kind() == Tok::Comma && self.ahead(1) != Tok::RBrace {
                self.bump();
            } else {
                break;
            }
        }
        self.close(Tok::RBrace)?;
        let kind = Kind::Struct { name: Arc::from(name), fields };
        Ok(Node { expr: self.node(brace.at, kind), visits })
    }

    fn close(&mut self, bracket: Tok) -> Result<(), Stop> {
        self.sync(&[bracket, Tok::Comma])?;
        self.eat(Tok::Comma);
        self.expect(bracket, &AFTER_OPERAND)?;
        Ok(())
    }

    fn list(&mut self) -> Result<Node, Stop> {
        let at = self.bump().at;
        let mut elements = Vec::new();
        let mut visits = 0;
        if !matches!(self.kind(), Tok::RBracket | Tok::Comma) {
            loop {
                let optional = self.eat(Tok::Question).is_some();
                let element = self.expr()?;
                visits = visits.max(element.visits);
                elements.push((element.expr, optional));
                if self.kind() == Tok::Comma && self.ahead(1) != Tok::RBracket {
                    self.bump();
                } else {
                    break;
                }
            }
        }
        self.close(Tok::RBracket)?;
        Ok(Node { expr: self.node(at, Kind::List(elements)), visits })
    }

    fn map(&mut self) -> Result<Node, Stop> {
        let at = self.bump().at;
        let mut entries = Vec::new();
        let mut visits = 0;
        if !matches!(self.kind(), Tok::RBrace | Tok::Comma) {
            loop {
                let optional = self.eat(Tok::Question).is_some();
                let key = self.expr()?;
                self.expect(Tok::Colon, &START)?;
                let value = self.expr()?;
                visits = visits.max(key.visits).max(value.visits);
                entries.push(MapEntry { key: key.expr, value: value.expr, optional });
                if self.kind() == Tok::Comma && self.ahead(1) != Tok::RBrace {
                    self.bump();
                } else {
                    break;
                }
            }
        }
        self.close(Tok::RBrace)?;
        Ok(Node { expr: self.node(at, Kind::Map(entries)), visits })
    }

    fn literal(&mut self) -> Literal {
        let first = self.bump();
        let (sign, token) =
            if first.kind == Tok::Minus { ("-", self.bump()) } else { ("", first.clone()) };
        let text = token.text.as_str();
        match token.kind {
            Tok::True => Literal::Bool(true),
            Tok::False => Literal::Bool(false),
            Tok::Int => {
                let value = match text.strip_prefix("0x") {
                    Some(hex) => i64::from_str_radix(&format!("{sign}{hex}"), 16),
                    None => format!("{sign}{text}").parse(),
                };
                Literal::Int(value.unwrap_or_else(|_| {
                    self.raise(first.at, "invalid int literal");
                    0
                }))
            }
            Tok::Uint => {
                let digits = &text[..text.len() - 1];
                let value = match digits.strip_prefix("0x") {
                    Some(hex) => u64::from_str_radix(hex, 16),
                    None => digits.parse(),
                };
                Literal::Uint(value.unwrap_or_else(|_| {
                    self.raise(first.at, "invalid uint literal");
                    0
                }))
            }
            Tok::Float => {
                let value: f64 = format!("{sign}{text}").parse().unwrap_or(f64::INFINITY);
                if value.is_infinite() {
                    self.raise(first.at, "invalid double literal");
                }
                Literal::Double(value)
            }
            Tok::String => match unescape(text, false) {
                Ok(bytes) => Literal::String(Arc::from(String::from_utf8_lossy(&bytes).as_ref())),
                Err(message) => {
                    self.raise(first.at, message);
                    Literal::Null
                }
            },
            Tok::Bytes => match unescape(&text[1..], true) {
                Ok(bytes) => Literal::Bytes(Arc::from(bytes)),
                Err(message) => {
                    self.raise(first.at, message);
                    Literal::Null
                }
            },
            _ => Literal::Null,
        }
    }
}

/// What may stand after a closed operand: a missing bracket before one of these is imagined.
const AFTER_OPERAND: [Tok; 23] = [
    Tok::Equals,
    Tok::NotEquals,
    Tok::In,
    Tok::Less,
    Tok::LessEquals,
    Tok::GreaterEquals,
    Tok::Greater,
    Tok::And,
    Tok::Or,
    Tok::LBracket,
    Tok::RBracket,
    Tok::RBrace,
    Tok::RParen,
    Tok::Dot,
    Tok::Comma,
    Tok::Minus,
    Tok::Question,
    Tok::Colon,
    Tok::Plus,
    Tok::Star,
    Tok::Slash,
    Tok::Percent,
    Tok::End,
];

fn relation_of(kind: Tok) -> Option<&'static str> {
    match kind {
        Tok::Less => Some("_<_"),
        Tok::LessEquals => Some("_<=_"),
        Tok::GreaterEquals => Some("_>=_"),
        Tok::Greater => Some("_>_"),
        Tok::Equals => Some("_==_"),
        Tok::NotEquals => Some("_!=_"),
        Tok::In => Some("@in"),
        _ => None,
    }
}

fn calc_of(kind: Tok) -> Option<(&'static str, usize)> {
    match kind {
        Tok::Star => Some(("_*_", 2)),
        Tok::Slash => Some(("_/_", 2)),
        Tok::Percent => Some(("_%_", 2)),
        Tok::Plus => Some(("_+_", 1)),
        Tok::Minus => Some(("_-_", 1)),
        _ => None,
    }
}

fn set(expected: &[Tok]) -> String {
    match expected {
        [one] => one.name().to_owned(),
        many => {
            let names: Vec<&str> = many.iter().map(|t| t.name()).collect();
            format!("{{{}}}", names.join(", "))
        }
    }
}

fn shown(text: &str) -> String {
    text.replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}
