//! What was read, as far as it was read: after a mistake, parts are missing, and cel-go still looks at the rest.

use crate::policy::cel::lex::Token;

/// A piece of syntax. Rules that only pass on what is inside of them leave no trace.
pub(super) enum Tree {
    /// Not there, because of a mistake.
    Missing,
    /// An operand that could not be read.
    Broken {
        at: usize,
    },
    Conditional {
        question: Token,
        parts: Box<[Self; 3]>,
    },
    /// `a || b || c`.
    Logic {
        function: &'static str,
        first: Box<Self>,
        rest: Vec<(Token, Self)>,
    },
    Binary {
        function: &'static str,
        operator: Token,
        sides: Box<(Self, Self)>,
    },
    /// `!x`, `-x`; an even number of them is none.
    Prefix {
        function: &'static str,
        operators: Vec<Token>,
        operand: Box<Self>,
    },
    Select {
        operand: Box<Self>,
        dot: Token,
        optional: bool,
        field: Option<Field>,
    },
    MemberCall {
        operand: Box<Self>,
        name: Token,
        open: Token,
        args: Vec<Self>,
    },
    Index {
        operand: Box<Self>,
        open: Token,
        optional: bool,
        index: Box<Self>,
    },
    Ident {
        at: usize,
        leading_dot: bool,
        name: Token,
    },
    Call {
        at: usize,
        leading_dot: bool,
        name: Token,
        open: Token,
        args: Vec<Self>,
    },
    List {
        open: Token,
        elements: Vec<(Self, bool)>,
    },
    Map {
        open: Token,
        entries: Vec<Entry>,
    },
    Message {
        open: Token,
        name: String,
        at: usize,
        fields: Vec<MessageField>,
    },
    Literal {
        at: usize,
        negative: bool,
        token: Token,
    },
}

/// A name after a dot or in a message.
pub(super) struct Field {
    pub at: usize,
    /// None: there is none.
    pub token: Option<Token>,
}

/// `k: v`.
pub(super) struct Entry {
    pub key: Tree,
    pub optional: bool,
    pub value: Tree,
}

/// `field: v`; a field without its value ends the message.
pub(super) struct MessageField {
    pub name: Field,
    pub optional: bool,
    /// The colon and the value, if it came to that.
    pub value: Option<(Token, Tree)>,
}
