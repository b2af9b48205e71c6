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

/// A set of tokens, by their place in the order.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Set(u64);

const fn set(tokens: &[Tok]) -> Set {
    let mut bits = 0;
    let mut at = 0;
    while at < tokens.len() {
        bits |= 1 << tokens[at] as u64;
        at += 1;
    }
    Set(bits)
}

impl Set {
    fn has(self, token: Tok) -> bool {
        self.0 & (1 << token as u64) != 0
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// As messages list it.
    fn shown(self) -> String {
        let names: Vec<&str> =
            Tok::ALL.iter().filter(|t| self.has(**t)).map(|t| t.name()).collect();
        match names.as_slice() {
            [one] => (*one).to_owned(),
            many => format!("{{{}}}", many.join(", ")),
        }
    }
}

const NOTHING: Set = Set(0);
const START: Set = set(&[
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
]);
const RELATION: Set = set(&[
    Tok::Less,
    Tok::LessEquals,
    Tok::GreaterEquals,
    Tok::Greater,
    Tok::Equals,
    Tok::NotEquals,
    Tok::In,
]);
const CALC: Set = set(&[Tok::Star, Tok::Slash, Tok::Percent, Tok::Plus, Tok::Minus]);
const AFTER_PRIMARY: Set = set(&[Tok::Dot, Tok::LBracket]);
const NAME: Set = set(&[Tok::Ident, Tok::Escaped]);

/// What may follow a rule where it is used: the next tokens of the rule that uses it, and whether that
/// rule may end there.
#[derive(Clone, Copy)]
struct Follow(Set, bool);

/// The tree, with macros expanded, and how many ids it uses.
pub(crate) struct Parsed {
    pub root: Expr,
    pub ids: usize,
}

/// Reads an expression, or says everything that is wrong with its syntax.
pub(crate) fn parse(source: &str) -> Result<Parsed, Vec<Raised>> {
    let (tokens, errors) = tokens(source);
    let mut parser = Parser {
        tokens,
        pos: 0,
        ids: 0,
        errors,
        depth: Depths::default(),
        frames: Vec::new(),
        recovering: false,
        last_error: None,
        attempts: 0,
        aborted: false,
    };
    let root = parser.start();
    if !parser.errors.is_empty() {
        return Err(parser.errors);
    }
    if root.visits > DEPTH {
        return Err(vec![Raised::whole("max recursion depth exceeded")]);
    }
    Ok(Parsed { root: root.expr, ids: parser.ids })
}

/// The rule cannot go on; what is wrong has been noted.
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

/// Recovers from errors as ANTLR's default strategy does, because what it reports next depends on it.
pub(crate) struct Parser {
    tokens: Vec<Token>,
    pos: usize,
    ids: usize,
    errors: Vec<Raised>,
    depth: Depths,
    /// What follows each rule that is being read.
    frames: Vec<Follow>,
    /// Nothing is reported until a token fits again.
    recovering: bool,
    /// Where the last recovery was, and of which rules.
    last_error: Option<(usize, Vec<&'static str>)>,
    attempts: usize,
    /// Nothing more is read.
    aborted: bool,
}

/// cel-go's limits on recovery.
const ATTEMPTS: usize = 30;
const LOOKAHEAD: usize = 256;

impl Parser {
    pub(crate) fn node(&mut self, at: usize, kind: Kind) -> Expr {
        let id = self.ids;
        self.ids += 1;
        Expr { id, at, kind }
    }

    pub(crate) fn raise(&mut self, at: usize, message: impl Into<String>) {
        if !self.aborted {
            self.errors.push(Raised::at(at, message));
        }
    }

    fn kind(&self) -> Tok {
        self.ahead(0)
    }

    fn ahead(&self, n: usize) -> Tok {
        if self.aborted {
            return Tok::End;
        }
        self.tokens.get(self.pos + n).map_or(Tok::End, |t| t.kind)
    }

    fn token(&self) -> &Token {
        let last = self.tokens.len() - 1;
        &self.tokens[if self.aborted { last } else { self.pos.min(last) }]
    }

    fn bump(&mut self) -> Token {
        let token = self.token().clone();
        if self.pos + 1 < self.tokens.len() {
            self.pos += 1;
        }
        token
    }

    /// A token that fits ends the silence.
    fn fits(&mut self) -> Token {
        self.recovering = false;
        self.last_error = None;
        self.bump()
    }

    fn eat(&mut self, kind: Tok) -> Option<Token> {
        (self.kind() == kind).then(|| self.fits())
    }

    fn report(&mut self, at: usize, message: &str) {
        if !self.recovering {
            self.recovering = true;
            self.raise(at, format!("Syntax error: {message}"));
        }
    }

    fn attempt(&mut self) -> Result<(), Stop> {
        if self.aborted {
            return Err(Stop);
        }
        if self.attempts == ATTEMPTS {
            let at = self.token().at;
            let text = format!("Syntax error: error recovery attempt limit exceeded: {ATTEMPTS}");
            self.raise(at, text);
            self.aborted = true;
            return Err(Stop);
        }
        self.attempts += 1;
        Ok(())
    }

    /// All that may follow here, through the ends of rules.
    fn after_rule(&self) -> Set {
        let mut all = NOTHING;
        for Follow(next, ends) in self.frames.iter().rev() {
            all = all.and(*next);
            if !ends {
                break;
            }
        }
        all
    }

    /// A token that must come; `next` and the rule's own end may come after it.
    fn expect(&mut self, kind: Tok, next: Follow) -> Result<Token, Stop> {
        if self.kind() == kind && !self.aborted {
            return Ok(self.fits());
        }
        self.attempt()?;
        if self.kind() != Tok::End && self.ahead(1) == kind {
            self.extraneous(set(&[kind]));
            self.bump();
            return Ok(self.fits());
        }
        let follows = if next.1 { next.0.and(self.after_rule()) } else { next.0 };
        let token = self.token().clone();
        if follows.has(token.kind) {
            let message = format!("missing {} at '{}'", kind.name(), shown(&token.text));
            self.report(token.at, &message);
            return Ok(Token { kind, at: token.at, text: String::new() });
        }
        Err(self.mismatched(set(&[kind])))
    }

    /// At a choice: what comes must be one of these.
    fn sync(&mut self, expected: Set) -> Result<(), Stop> {
        if self.recovering || expected.has(self.kind()) {
            return Ok(());
        }
        if self.kind() != Tok::End && expected.has(self.ahead(1)) {
            self.extraneous(expected);
            self.bump();
            self.recovering = false;
            self.last_error = None;
            return Ok(());
        }
        Err(self.mismatched(expected))
    }

    fn extraneous(&mut self, expected: Set) {
        let token = self.token().clone();
        let text = shown(&token.text);
        self.report(token.at, &format!("extraneous input '{text}' expecting {}", expected.shown()));
    }

    fn mismatched(&mut self, expected: Set) -> Stop {
        let token = self.token().clone();
        let text = shown(&token.text);
        self.report(token.at, &format!("mismatched input '{text}' expecting {}", expected.shown()));
        Stop
    }

    fn no_viable(&mut self, start: usize) -> Stop {
        let offending = self.tokens.get(self.pos + 1).unwrap_or_else(|| self.token()).clone();
        let mut text: String =
            self.tokens[start..=self.pos].iter().map(|t| t.text.as_str()).collect();
        if offending.kind != Tok::End {
            text.push_str(&offending.text);
        }
        let message = match offending.kind {
            Tok::True | Tok::False | Tok::Null => {
                format!("mismatched input '{}' expecting IDENTIFIER", offending.text)
            }
            _ => format!("no viable alternative at input '{}'", shown(&text)),
        };
        self.report(offending.at, &message);
        Stop
    }

    /// Reads a rule; if it fails, skips to what may come after it or after a rule around it.
    fn rule<T>(
        &mut self,
        name: &'static str,
        follow: Follow,
        body: impl FnOnce(&mut Self) -> Result<T, Stop>,
        otherwise: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.frames.push(follow);
        let read = if let Ok(read) = body(self) {
            read
        } else {
            self.recover(name);
            otherwise(self)
        };
        self.frames.pop();
        read
    }

    fn recover(&mut self, name: &'static str) {
        if self.attempt().is_err() {
            return;
        }
        let mut consumed = 0;
        let again = self
            .last_error
            .as_ref()
            .is_some_and(|(at, rules)| *at == self.pos && rules.contains(&name));
        if again {
            self.bump();
            consumed += 1;
        }
        match &mut self.last_error {
            Some((at, rules)) if *at == self.pos => rules.push(name),
            _ => self.last_error = Some((self.pos, vec![name])),
        }
        let all = self.frames.iter().fold(NOTHING, |all, frame| all.and(frame.0));
        while self.kind() != Tok::End && !all.has(self.kind()) {
            if consumed >= LOOKAHEAD {
                self.aborted = true;
                let text = format!("error recovery token lookahead limit exceeded: {LOOKAHEAD}");
                self.errors.push(Raised::whole(text));
                return;
            }
            self.bump();
            consumed += 1;
        }
    }

    fn broken(&mut self) -> Node {
        let at = self.token().at;
        Node { expr: self.node(at, Kind::Literal(Literal::Null)), visits: 0 }
    }

    fn start(&mut self) -> Node {
        let node = self.expr(Follow(set(&[Tok::End]), false));
        if self.expect(Tok::End, Follow(NOTHING, false)).is_err() {
            self.recover("start");
        }
        node
    }

    fn too_deep(&mut self, depth: usize) -> Result<(), Stop> {
        if depth <= DEPTH {
            return Ok(());
        }
        if !self.aborted {
            self.aborted = true;
            let text = format!("expression recursion limit exceeded: {DEPTH}");
            self.errors = vec![Raised::whole(text)];
        }
        Err(Stop)
    }

    fn expr(&mut self, follow: Follow) -> Node {
        self.depth.expr += 1;
        let node = self.rule(
            "expr",
            follow,
            |p| {
                p.too_deep(p.depth.expr)?;
                p.ternary()
            },
            Self::broken,
        );
        self.depth.expr -= 1;
        node
    }

    fn ternary(&mut self) -> Result<Node, Stop> {
        let condition = self.or(Follow(set(&[Tok::Question]), true));
        let Some(question) = self.eat(Tok::Question) else { return Ok(condition) };
        let yes = self.or(Follow(set(&[Tok::Colon]), false));
        self.expect(Tok::Colon, Follow(START, false))?;
        let no = self.expr(Follow(NOTHING, true));
        let visits = 1 + condition.visits.max(yes.visits).max(no.visits);
        let args = vec![condition.expr, yes.expr, no.expr];
        Ok(Node { expr: self.call(question.at, "_?_:_", args), visits })
    }

    fn call(&mut self, at: usize, function: &str, args: Vec<Expr>) -> Expr {
        self.node(at, Kind::Call { function: Arc::from(function), target: None, args })
    }

    fn or(&mut self, follow: Follow) -> Node {
        self.rule(
            "conditionalOr",
            follow,
            |p| {
                let next = Follow(set(&[Tok::Or]), true);
                Ok(p.logic(Tok::Or, "_||_", |p| p.and(next)))
            },
            Self::broken,
        )
    }

    fn and(&mut self, follow: Follow) -> Node {
        self.rule(
            "conditionalAnd",
            follow,
            |p| {
                let next = Follow(set(&[Tok::And]), true);
                Ok(p.logic(Tok::And, "_&&_", |p| p.relation(1, next)))
            },
            Self::broken,
        )
    }

    fn logic(&mut self, operator: Tok, function: &str, next: impl Fn(&mut Self) -> Node) -> Node {
        let first = next(self);
        if self.kind() != operator {
            return first;
        }
        let mut visits = first.visits;
        let mut terms = vec![Some(first.expr)];
        let mut places = Vec::new();
        while let Some(token) = self.eat(operator) {
            let term = next(self);
            visits = visits.max(term.visits);
            terms.push(Some(term.expr));
            places.push(token.at);
        }
        let expr = self.balanced(function, &mut terms, &places, 0, places.len() - 1);
        Node { expr, visits }
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

    fn relation(&mut self, level: usize, follow: Follow) -> Node {
        self.depth.relation += 1;
        let node = self.rule(
            "relation",
            follow,
            |p| {
                p.too_deep(p.depth.relation)?;
                let mut left = p.calc(1, Follow(RELATION, true));
                while level <= 1
                    && let Some(function) = relation_of(p.kind())
                {
                    let at = p.fits().at;
                    let right = p.relation(2, Follow(RELATION, true));
                    let visits = 1 + left.visits.max(right.visits);
                    let expr = p.call(at, function, vec![left.expr, right.expr]);
                    left = Node { expr, visits };
                }
                Ok(left)
            },
            Self::broken,
        );
        self.depth.relation -= 1;
        node
    }

    fn calc(&mut self, level: usize, follow: Follow) -> Node {
        self.depth.calc += 1;
        let node = self.rule(
            "calc",
            follow,
            |p| {
                p.too_deep(p.depth.calc)?;
                let mut left = p.unary();
                while let Some((function, strength)) = calc_of(p.kind())
                    && strength >= level
                {
                    let at = p.fits().at;
                    let right = p.calc(strength + 1, Follow(CALC, true));
                    let visits = 1 + left.visits.max(right.visits);
                    let expr = p.call(at, function, vec![left.expr, right.expr]);
                    left = Node { expr, visits };
                }
                Ok(left)
            },
            Self::broken,
        );
        self.depth.calc -= 1;
        node
    }

    fn unary(&mut self) -> Node {
        self.rule("unary", Follow(CALC, true), Self::unary_body, Self::broken)
    }

    fn unary_body(&mut self) -> Result<Node, Stop> {
        self.sync(START)?;
        if !START.has(self.kind()) {
            return Err(Stop);
        }
        let operator = self.kind();
        let signed = operator == Tok::Minus && matches!(self.ahead(1), Tok::Int | Tok::Float);
        if signed || !matches!(operator, Tok::Not | Tok::Minus) {
            return Ok(self.member());
        }
        let at = self.token().at;
        let mut count = 0_usize;
        if operator == Tok::Minus {
            // One more token decides between a sign and an operator, so the last dash is not read.
            let left = self.tokens.len() - self.pos;
            let dashes = (0..left).take_while(|n| self.ahead(*n) == Tok::Minus).count();
            let next = self.ahead(dashes);
            if !START.has(next) || next == Tok::Not {
                for _ in 1..dashes {
                    self.fits();
                }
                let start = self.pos;
                return Err(self.no_viable(start));
            }
        }
        while self.kind() == operator {
            self.fits();
            count += 1;
        }
        if !START.has(self.kind()) {
            self.extraneous(START);
            let all = self.frames.iter().fold(START, |all, frame| all.and(frame.0));
            while self.kind() != Tok::End && !all.has(self.kind()) {
                self.bump();
            }
        }
        let literal = self.kind() == Tok::Minus && matches!(self.ahead(1), Tok::Int | Tok::Float);
        if !literal && matches!(self.kind(), Tok::Not | Tok::Minus) {
            let start = self.pos;
            return Err(self.no_viable(start));
        }
        if !START.has(self.kind()) {
            return Err(Stop);
        }
        let member = self.member();
        if count.is_multiple_of(2) {
            return Ok(member);
        }
        let function = if operator == Tok::Not { "!_" } else { "-_" };
        let visits = member.visits;
        Ok(Node { expr: self.call(at, function, vec![member.expr]), visits })
    }

    fn member(&mut self) -> Node {
        let mut node = None;
        let done = self.rule(
            "member",
            Follow(NOTHING, true),
            |p| {
                let mut current = p.primary();
                loop {
                    match p.kind() {
                        Tok::Dot => current = p.select_or_call(current, &mut node)?,
                        Tok::LBracket => current = p.index(current)?,
                        _ => return Ok(Some(current)),
                    }
                }
            },
            |_| None,
        );
        match done.or(node) {
            Some(node) => node,
            None => self.broken(),
        }
    }

    fn index(&mut self, operand: Node) -> Result<Node, Stop> {
        let at = self.fits().at;
        self.sync(START.and(set(&[Tok::Question])))?;
        let optional = self.eat(Tok::Question).is_some();
        let index = self.expr(Follow(set(&[Tok::RBracket]), false));
        self.expect(Tok::RBracket, Follow(AFTER_PRIMARY, true))?;
        let function = if optional { "_[?_]" } else { "_[_]" };
        let visits = 1 + operand.visits.max(index.visits);
        let expr = self.call(at, function, vec![operand.expr, index.expr]);
        Ok(Node { expr, visits })
    }

    fn select_or_call(&mut self, operand: Node, kept: &mut Option<Node>) -> Result<Node, Stop> {
        if !matches!(self.ahead(1), Tok::Question | Tok::Ident | Tok::Escaped) {
            let start = self.pos;
            *kept = Some(operand);
            return Err(self.no_viable(start));
        }
        let dot = self.fits();
        if self.eat(Tok::Question).is_some() {
            let (at, field) = self.field_name(Follow(AFTER_PRIMARY, true));
            let visits = operand.visits + 1;
            let name = self.node(at, Kind::Literal(Literal::String(field)));
            let expr = self.call(dot.at, "_?._", vec![operand.expr, name]);
            return Ok(Node { expr, visits });
        }
        if self.kind() == Tok::Ident && self.ahead(1) == Tok::LParen {
            let id = self.fits();
            let open = self.fits();
            let (args, inner) = self.arguments()?;
            let visits = 1 + operand.visits.max(inner);
            let expr = macros::receiver(self, open.at, &id.text, operand.expr, args);
            return Ok(Node { expr, visits });
        }
        let (_, field) = self.field_name(Follow(AFTER_PRIMARY, true));
        let visits = operand.visits + 1;
        let kind = Kind::Select { operand: Box::new(operand.expr), field, test_only: false };
        Ok(Node { expr: self.node(dot.at, kind), visits })
    }

    /// `name`, or what is refused: a name in backticks.
    fn field_name(&mut self, follow: Follow) -> (usize, Arc<str>) {
        let at = self.token().at;
        let name = self.rule(
            "escapeIdent",
            follow,
            |p| {
                p.sync(NAME)?;
                if NAME.has(p.kind()) { Ok(Some(p.fits())) } else { Err(Stop) }
            },
            |_| None,
        );
        if let Some(token) = name {
            if token.kind == Tok::Escaped {
                self.raise(token.at, "unsupported syntax: '`'");
            }
            (token.at, Arc::from(token.text.as_str()))
        } else {
            self.raise(at, "unsupported ident kind");
            (at, Arc::from(""))
        }
    }

    fn arguments(&mut self) -> Result<(Vec<Expr>, usize), Stop> {
        let mut args = Vec::new();
        let mut visits = 0;
        self.sync(START.and(set(&[Tok::RParen])))?;
        if START.has(self.kind()) {
            self.frames.push(Follow(set(&[Tok::RParen]), false));
            loop {
                let arg = self.expr(Follow(set(&[Tok::Comma]), true));
                visits = visits.max(arg.visits);
                args.push(arg.expr);
                if self.eat(Tok::Comma).is_none() {
                    break;
                }
            }
            self.frames.pop();
        }
        self.expect(Tok::RParen, Follow(AFTER_PRIMARY, true))?;
        Ok((args, visits))
    }

    fn primary(&mut self) -> Node {
        self.rule("primary", Follow(AFTER_PRIMARY, true), Self::primary_body, Self::broken)
    }

    fn primary_body(&mut self) -> Result<Node, Stop> {
        let token = self.token().clone();
        match token.kind {
            Tok::Dot | Tok::Ident => self.name(&token),
            Tok::LParen => {
                self.fits();
                let inner = self.expr(Follow(set(&[Tok::RParen]), false));
                self.expect(Tok::RParen, Follow(NOTHING, true))?;
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
            _ => Err(self.mismatched(START)),
        }
    }

    fn name(&mut self, first: &Token) -> Result<Node, Stop> {
        if self.kind() == Tok::Dot && self.ahead(1) != Tok::Ident {
            let start = self.pos;
            return Err(self.no_viable(start));
        }
        let leading = self.eat(Tok::Dot).is_some();
        if self.is_struct() {
            return self.structure(leading);
        }
        let id = self.fits();
        let name: Arc<str> =
            if leading { Arc::from(format!(".{}", id.text)) } else { Arc::from(id.text.as_str()) };
        let reserved = RESERVED.contains(&id.text.as_str());
        let refuse = |p: &mut Self| {
            p.raise(first.at, format!("reserved identifier: {}", id.text));
            Node { expr: p.node(first.at, Kind::Literal(Literal::Null)), visits: 0 }
        };
        if self.kind() == Tok::LParen {
            let open = self.fits();
            let (args, visits) = self.arguments()?;
            if reserved {
                return Ok(refuse(self));
            }
            return Ok(Node { expr: macros::global(self, open.at, &name, args), visits });
        }
        if reserved {
            return Ok(refuse(self));
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
            name.push_str(&self.fits().text);
            if self.eat(Tok::Dot).is_none() {
                break;
            }
            name.push('.');
        }
        let brace = self.fits();
        let first = NAME.and(set(&[Tok::Question]));
        self.sync(first.and(set(&[Tok::RBrace, Tok::Comma])))?;
        let mut fields = Vec::new();
        let mut visits = 0;
        if first.has(self.kind()) {
            self.frames.push(Follow(set(&[Tok::RBrace, Tok::Comma]), false));
            let read = self.fields(first, &mut fields, &mut visits);
            if read.is_err() {
                self.recover("fieldInitializerList");
            }
            self.frames.pop();
        }
        self.close(Tok::RBrace)?;
        let kind = Kind::Struct { name: Arc::from(name), fields };
        Ok(Node { expr: self.node(brace.at, kind), visits })
    }

    fn fields(
        &mut self,
        first: Set,
        fields: &mut Vec<StructField>,
        visits: &mut usize,
    ) -> Result<(), Stop> {
        loop {
            self.frames.push(Follow(set(&[Tok::Colon]), false));
            let optional = self.eat(Tok::Question).is_some();
            let (_, name) = self.field_name(Follow(NOTHING, true));
            self.frames.pop();
            let colon = self.expect(Tok::Colon, Follow(START, false))?;
            let value = self.expr(Follow(set(&[Tok::Comma]), true));
            *visits = (*visits).max(value.visits);
            fields.push(StructField { at: colon.at, name, value: value.expr, optional });
            if self.kind() == Tok::Comma && first.has(self.ahead(1)) {
                self.fits();
            } else {
                return Ok(());
            }
        }
    }

    fn close(&mut self, bracket: Tok) -> Result<(), Stop> {
        self.sync(set(&[bracket, Tok::Comma]))?;
        self.eat(Tok::Comma);
        self.expect(bracket, Follow(NOTHING, true))?;
        Ok(())
    }

    /// `?x` or `x`.
    fn optional_expr(&mut self, follow: Follow) -> (Node, bool) {
        self.frames.push(follow);
        let optional = self.eat(Tok::Question).is_some();
        let node = self.expr(Follow(NOTHING, true));
        self.frames.pop();
        (node, optional)
    }

    fn list(&mut self) -> Result<Node, Stop> {
        let at = self.fits().at;
        let first = START.and(set(&[Tok::Question]));
        self.sync(first.and(set(&[Tok::RBracket, Tok::Comma])))?;
        let mut elements = Vec::new();
        let mut visits = 0;
        if first.has(self.kind()) {
            self.frames.push(Follow(set(&[Tok::RBracket, Tok::Comma]), false));
            loop {
                let (element, optional) = self.optional_expr(Follow(set(&[Tok::Comma]), true));
                visits = visits.max(element.visits);
                elements.push((element.expr, optional));
                if self.kind() == Tok::Comma && first.has(self.ahead(1)) {
                    self.fits();
                } else {
                    break;
                }
            }
            self.frames.pop();
        }
        self.close(Tok::RBracket)?;
        Ok(Node { expr: self.node(at, Kind::List(elements)), visits })
    }

    fn map(&mut self) -> Result<Node, Stop> {
        let at = self.fits().at;
        let first = START.and(set(&[Tok::Question]));
        self.sync(first.and(set(&[Tok::RBrace, Tok::Comma])))?;
        let mut entries = Vec::new();
        let mut visits = 0;
        if first.has(self.kind()) {
            self.frames.push(Follow(set(&[Tok::RBrace, Tok::Comma]), false));
            let read = self.entries(first, &mut entries, &mut visits);
            if read.is_err() {
                self.recover("mapInitializerList");
            }
            self.frames.pop();
        }
        self.close(Tok::RBrace)?;
        Ok(Node { expr: self.node(at, Kind::Map(entries)), visits })
    }

    fn entries(
        &mut self,
        first: Set,
        entries: &mut Vec<MapEntry>,
        visits: &mut usize,
    ) -> Result<(), Stop> {
        loop {
            let (key, optional) = self.optional_expr(Follow(set(&[Tok::Colon]), false));
            self.expect(Tok::Colon, Follow(START, false))?;
            let value = self.expr(Follow(set(&[Tok::Comma]), true));
            *visits = (*visits).max(key.visits).max(value.visits);
            entries.push(MapEntry { key: key.expr, value: value.expr, optional });
            if self.kind() == Tok::Comma && first.has(self.ahead(1)) {
                self.fits();
            } else {
                return Ok(());
            }
        }
    }

    fn literal(&mut self) -> Literal {
        let first = self.fits();
        let (sign, token) =
            if first.kind == Tok::Minus { ("-", self.fits()) } else { ("", first.clone()) };
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

fn shown(text: &str) -> String {
    text.replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}
