//! Sets of tokens: what may come next.

use crate::policy::cel::lex::Tok;

/// A set of tokens, by their place in the order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Set(u64);

pub(super) const fn set(tokens: &[Tok]) -> Set {
    let mut bits = 0;
    let mut at = 0;
    while at < tokens.len() {
        bits |= 1 << tokens[at] as u64;
        at += 1;
    }
    Set(bits)
}

impl Set {
    pub(super) fn has(self, token: Tok) -> bool {
        self.0 & (1 << token as u64) != 0
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// As messages list it.
    pub(super) fn shown(self) -> String {
        let names: Vec<&str> =
            Tok::ALL.iter().filter(|t| self.has(**t)).map(|t| t.name()).collect();
        match names.as_slice() {
            [one] => (*one).to_owned(),
            many => format!("{{{}}}", many.join(", ")),
        }
    }
}

pub(super) const NOTHING: Set = Set(0);
/// What an expression begins with.
pub(super) const START: Set = set(&[
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
/// What an element of a list or map begins with.
pub(super) const ENTRY: Set = START.and(set(&[Tok::Question]));
pub(super) const RELATION: Set = set(&[
    Tok::Less,
    Tok::LessEquals,
    Tok::GreaterEquals,
    Tok::Greater,
    Tok::Equals,
    Tok::NotEquals,
    Tok::In,
]);
pub(super) const CALC: Set = set(&[Tok::Star, Tok::Slash, Tok::Percent, Tok::Plus, Tok::Minus]);
pub(super) const AFTER_PRIMARY: Set = set(&[Tok::Dot, Tok::LBracket]);
pub(super) const NAME: Set = set(&[Tok::Ident, Tok::Escaped]);
/// What a field of a message begins with.
pub(super) const FIELD: Set = NAME.and(set(&[Tok::Question]));

/// What may follow a rule where it is used: the next tokens of the rule that uses it, and whether that
/// rule may end there.
#[derive(Clone, Copy)]
pub(super) struct Follow(pub Set, pub bool);
