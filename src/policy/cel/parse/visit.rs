//! From what was read to the syntax tree, with macros written out: cel-go's visitor.

use super::{
    recovery::DEPTH,
    tree::{Entry, Field, MessageField, Tree},
};
use crate::policy::cel::{
    ast::{Expr, Kind, Literal, MapEntry, StructField},
    lex::{Tok, Token},
    macros,
    source::{NOWHERE, Raised},
    unescape::unescape,
};
use std::sync::Arc;

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

/// Makes nodes and collects what is wrong with them.
pub(crate) struct Builder {
    pub ids: usize,
    pub errors: Vec<Raised>,
    depth: usize,
    aborted: bool,
}

impl Builder {
    pub(super) fn new(errors: Vec<Raised>) -> Self {
        Self { ids: 0, errors, depth: 0, aborted: false }
    }

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

    /// A node that stands for none.
    fn nothing(&mut self, at: usize) -> Expr {
        self.node(at, Kind::Literal(Literal::Null))
    }

    fn refuse(&mut self, at: usize, message: impl Into<String>) -> Expr {
        self.raise(at, message);
        self.nothing(at)
    }

    fn call(&mut self, at: usize, function: &str, args: Vec<Expr>) -> Expr {
        self.node(at, Kind::Call { function: Arc::from(function), target: None, args })
    }

    /// One step deeper, unless that is too deep.
    fn deeper(&mut self, visit: impl FnOnce(&mut Self) -> Expr) -> Expr {
        self.depth += 1;
        if self.depth > DEPTH {
            if !self.aborted {
                self.errors.push(Raised::whole("max recursion depth exceeded"));
                self.aborted = true;
            }
            self.depth -= 1;
            return self.nothing(0);
        }
        let expr = visit(self);
        self.depth -= 1;
        expr
    }

    pub(super) fn visit(&mut self, tree: Tree) -> Expr {
        if self.aborted {
            return self.nothing(0);
        }
        match tree {
            Tree::Missing => self.nothing(NOWHERE),
            Tree::Broken { at } => {
                let text = Literal::String(Arc::from("<<error>>"));
                self.node(at, Kind::Literal(text))
            }
            Tree::Conditional { question, parts } => self.deeper(|b| {
                let args = (*parts).into_iter().map(|part| b.visit(part)).collect();
                b.call(question.at, "_?_:_", args)
            }),
            Tree::Logic { function, first, rest } => self.logic(function, *first, rest),
            Tree::Binary { function, operator, sides } => self.deeper(|b| {
                let args = vec![b.visit(sides.0), b.visit(sides.1)];
                b.call(operator.at, function, args)
            }),
            Tree::Prefix { function, operators, operand } => {
                let operand = self.visit(*operand);
                match operators.first() {
                    Some(first) if operators.len() % 2 == 1 => {
                        self.call(first.at, function, vec![operand])
                    }
                    _ => operand,
                }
            }
            Tree::Select { operand, dot, optional, field } => {
                self.deeper(|b| b.select(*operand, &dot, optional, field))
            }
            Tree::MemberCall { operand, name, open, args } => self.deeper(|b| {
                let operand = b.visit(*operand);
                let args = args.into_iter().map(|arg| b.visit(arg)).collect();
                macros::receiver(b, open.at, &name.text, operand, args)
            }),
            Tree::Index { operand, open, optional, index } => self.deeper(|b| {
                let args = vec![b.visit(*operand), b.visit(*index)];
                b.call(open.at, if optional { "_[?_]" } else { "_[_]" }, args)
            }),
            Tree::Ident { at, leading_dot, name } => {
                if RESERVED.contains(&name.text.as_str()) {
                    return self.refuse(at, format!("reserved identifier: {}", name.text));
                }
                self.node(name.at, Kind::Ident(dotted(leading_dot, &name)))
            }
            Tree::Call { at, leading_dot, name, open, args } => {
                if RESERVED.contains(&name.text.as_str()) {
                    return self.refuse(at, format!("reserved identifier: {}", name.text));
                }
                let args = args.into_iter().map(|arg| self.visit(arg)).collect();
                macros::global(self, open.at, &dotted(leading_dot, &name), args)
            }
            Tree::List { open, elements } => {
                let elements: Vec<_> = elements
                    .into_iter()
                    .map(|(element, optional)| (self.visit(element), optional))
                    .collect();
                self.node(open.at, Kind::List(elements))
            }
            Tree::Map { open, entries } => {
                let entries = entries.into_iter().map(|entry| self.entry(entry)).collect();
                self.node(open.at, Kind::Map(entries))
            }
            Tree::Message { open, name, at, fields } => {
                let fields = self.fields(at, fields);
                self.node(open.at, Kind::Struct { name: Arc::from(name), fields })
            }
            Tree::Literal { at, negative, token } => match self.literal(at, negative, &token) {
                Some(literal) => self.node(at, Kind::Literal(literal)),
                None => self.nothing(at),
            },
        }
    }

    fn entry(&mut self, entry: Entry) -> MapEntry {
        let key = self.visit(entry.key);
        MapEntry { key, value: self.visit(entry.value), optional: entry.optional }
    }

    /// What is wrong with a name is said of the whole list.
    fn fields(&mut self, at: usize, fields: Vec<MessageField>) -> Vec<StructField> {
        let mut all = Vec::with_capacity(fields.len());
        for MessageField { name, optional, value } in fields {
            let Some((colon, value)) = value else { return Vec::new() };
            match normalized(&name) {
                Ok(name) => {
                    let value = self.visit(value);
                    all.push(StructField { at: colon.at, name, value, optional });
                }
                Err(message) => self.raise(at, message),
            }
        }
        all
    }

    fn select(&mut self, operand: Tree, dot: &Token, optional: bool, field: Option<Field>) -> Expr {
        let operand = self.visit(operand);
        let Some(field) = field else { return self.nothing(dot.at) };
        let name = normalized(&field).unwrap_or_else(|message| {
            self.raise(field.at, message);
            Arc::from("")
        });
        if optional {
            let name = self.node(field.at, Kind::Literal(Literal::String(name)));
            return self.call(dot.at, "_?._", vec![operand, name]);
        }
        let operand = Box::new(operand);
        self.node(dot.at, Kind::Select { operand, field: name, test_only: false })
    }

    fn logic(&mut self, function: &'static str, first: Tree, rest: Vec<(Token, Tree)>) -> Expr {
        let mut terms = vec![Some(self.visit(first))];
        let mut places = Vec::new();
        for (operator, term) in rest {
            terms.push(Some(self.visit(term)));
            places.push(operator.at);
        }
        self.balanced(function, &mut terms, &places, 0, places.len() - 1)
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
            None => self.nothing(0),
        }
    }

    fn literal(&mut self, at: usize, negative: bool, token: &Token) -> Option<Literal> {
        let sign = if negative { "-" } else { "" };
        let text = token.text.as_str();
        let read = match token.kind {
            Tok::True => Ok(Literal::Bool(true)),
            Tok::False => Ok(Literal::Bool(false)),
            Tok::Int => {
                let value = match text.strip_prefix("0x") {
                    Some(hex) => i64::from_str_radix(&format!("{sign}{hex}"), 16),
                    None => format!("{sign}{text}").parse(),
                };
                value.map(Literal::Int).map_err(|_| "invalid int literal")
            }
            Tok::Uint => {
                let digits = &text[..text.len() - 1];
                let value = match digits.strip_prefix("0x") {
                    Some(hex) => u64::from_str_radix(hex, 16),
                    None => digits.parse(),
                };
                value.map(Literal::Uint).map_err(|_| "invalid uint literal")
            }
            Tok::Float => match format!("{sign}{text}").parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(Literal::Double(value)),
                _ => Err("invalid double literal"),
            },
            Tok::String => unescape(text, false)
                .map(|bytes| Literal::String(Arc::from(String::from_utf8_lossy(&bytes).as_ref()))),
            Tok::Bytes => unescape(&text[1..], true).map(|bytes| Literal::Bytes(Arc::from(bytes))),
            _ => Ok(Literal::Null),
        };
        read.map_err(|message| self.raise(at, message)).ok()
    }
}

fn dotted(leading_dot: bool, name: &Token) -> Arc<str> {
    if leading_dot { Arc::from(format!(".{}", name.text)) } else { Arc::from(name.text.as_str()) }
}

fn normalized(field: &Field) -> Result<Arc<str>, &'static str> {
    match &field.token {
        Some(token) if token.kind == Tok::Ident => Ok(Arc::from(token.text.as_str())),
        Some(_) => Err("unsupported syntax: '`'"),
        None => Err("unsupported ident kind"),
    }
}
