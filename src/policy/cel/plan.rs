//! What is evaluated: the tree as cel-go's planner shapes it, because costs follow that shape.

use super::{
    environment::Extension, library::Function, ops::Arithmetic, regexp::Pattern, table::Overload,
    types::Type, value::Value,
};
use std::{collections::HashSet, sync::Arc};

/// A step of evaluation.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    /// Free, as constants are in cel-go; lists and maps of constants are constants too.
    Const(Value<'static>),
    /// A variable, or what a step gave, with fields and indexes after it.
    Attr(Box<Attr>),
    And(Box<(Self, Self)>),
    Or(Box<(Self, Self)>),
    Equal(Box<(Self, Self)>),
    NotEqual(Box<(Self, Self)>),
    /// A call of any function or other operator.
    Call(Box<Call>),
    /// `x in [constants]`, which cel-go turns into a free lookup.
    InSet(Box<InSet>),
    List(Box<ListNode>),
    Map(Box<MapNode>),
    Struct(Box<StructNode>),
    Fold(Box<Fold>),
    /// `.or` (true) and `.orValue` (false) of optionals.
    OptionalOr(Box<(Self, Self)>, bool),
}

/// A path from something to a value.
#[derive(Debug, Clone)]
pub(crate) struct Attr {
    pub base: Base,
    pub qualifiers: Vec<Qualifier>,
    /// The last qualifier is only tested: `has()`.
    pub test_only: bool,
}

/// Where a path starts.
#[derive(Debug, Clone)]
pub(crate) enum Base {
    Global(Global),
    /// A slot of a loop.
    Local(usize),
    Node(Node),
    /// `c ? a : b`, whose qualifiers are in both branches.
    Condition(Box<(Node, Attr, Attr)>),
}

/// The declared variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Global {
    Object,
    OldObject,
    Params,
    Request,
    NamespaceObject,
    Key,
    Holder,
    Hardware,
    Inventory,
    Node,
    Authorizer,
    RequestResource,
    Variables,
}

impl Global {
    /// By its name in expressions.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "object" => Self::Object,
            "oldObject" => Self::OldObject,
            "params" => Self::Params,
            "request" => Self::Request,
            "namespaceObject" => Self::NamespaceObject,
            "key" => Self::Key,
            "holder" => Self::Holder,
            "hardware" => Self::Hardware,
            "inventory" => Self::Inventory,
            "node" => Self::Node,
            "authorizer" => Self::Authorizer,
            "authorizer.requestResource" => Self::RequestResource,
            "variables" => Self::Variables,
            _ => return None,
        })
    }
}

/// One step of a path.
#[derive(Debug, Clone)]
pub(crate) struct Qualifier {
    pub key: Key,
    /// `.?` or `[?`.
    pub optional: bool,
    pub test: bool,
    /// The field of a value that is known to be an `Object`.
    pub typed: bool,
}

/// What is selected.
#[derive(Debug, Clone)]
pub(crate) enum Key {
    Field(Arc<str>),
    Const(Value<'static>),
    Attr(Box<Attr>),
    Node(Box<Node>),
}

/// A call and how it is carried out.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub function: Arc<str>,
    pub args: Vec<Node>,
    pub target: Target,
    pub cost: Cost,
    /// All arguments are evaluated even if one fails (cel-go's unary and binary calls); else the first
    /// failure ends it, and costs nothing.
    pub eager: bool,
}

/// What is called.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    Not,
    Negate,
    Compare(Comparison),
    Arithmetic(Arithmetic),
    In,
    Size,
    TypeOf,
    Identity,
    /// A constant pattern, compiled once.
    Regex(Arc<Pattern>, Matching),
    /// Certain overload, checked against the values.
    Guarded(&'static Overload, Function),
    /// Certain overload that checks for itself.
    Bare(Function),
    /// The overload is found by the values.
    Dispatch(Vec<(&'static Overload, Function)>),
    Extension(Arc<Extension>),
}

/// The uses of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Matching {
    Matches,
    Find,
    FindAll,
}

/// Order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Less,
    LessEquals,
    Greater,
    GreaterEquals,
}

/// Kubernetes' and cel-go's rules for what a call costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cost {
    Fixed(u64),
    /// A tenth of the first argument's size, times this.
    Traverse(u64),
    /// A tenth of what cel-go takes for the first argument's size.
    Tracked,
    /// A match, by what cel-go takes for the sizes.
    Matches,
    /// As much as the second argument's size.
    InList,
    /// A tenth of the smaller one's size.
    Smaller,
    /// A tenth of both sizes.
    Both,
    Regex,
    Contains,
    /// A traversal of the first argument with all that is in it.
    Deep,
    /// A fifth of the result's size.
    Joined,
    /// What a selector of that length is taken to cost.
    Selector,
    ContainsIp {
        text: bool,
    },
    ContainsCidr {
        text: bool,
    },
    Validate,
    /// An allocated list of the result's size.
    ListResult,
    ListFlatten,
    /// The square of the list's size; the argument at this place.
    ListSelf(usize),
    Sets(u64),
    Extension,
}

/// A set of constants of simple type.
#[derive(Debug, Clone)]
pub(crate) struct InSet {
    pub element: Node,
    /// The texts, apart: they are looked up without a copy.
    pub texts: Texts,
    pub members: HashSet<Member>,
}

/// A set of texts: a few are faster compared than hashed.
#[derive(Debug, Clone)]
pub(crate) enum Texts {
    Few(Vec<Box<str>>),
    Many(HashSet<Box<str>>),
}

impl Texts {
    pub(crate) fn new(all: Vec<Box<str>>) -> Self {
        if all.len() <= 8 { Self::Few(all) } else { Self::Many(all.into_iter().collect()) }
    }

    pub(crate) fn has(&self, text: &str) -> bool {
        match self {
            Self::Few(all) => all.iter().any(|known| **known == *text),
            Self::Many(all) => all.contains(text),
        }
    }
}

/// A constant in a set.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Member {
    Bool(bool),
    Int(i64),
    Uint(u64),
    /// By bits, with one zero; NaN is in no set.
    Double(u64),
}

#[derive(Debug, Clone)]
pub(crate) struct ListNode {
    pub elements: Vec<(Node, bool)>,
}

#[derive(Debug, Clone)]
pub(crate) struct MapNode {
    pub entries: Vec<(Node, Node, bool)>,
}

#[derive(Debug, Clone)]
pub(crate) struct StructNode {
    pub name: Arc<str>,
    pub fields: Vec<(Arc<str>, Node, bool)>,
}

/// A loop.
#[derive(Debug, Clone)]
pub(crate) struct Fold {
    pub range: Node,
    /// The slots of the iteration variables.
    pub var: usize,
    pub var2: Option<usize>,
    pub body: Body,
}

/// What a loop does, natively.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    All(Node),
    Exists(Node),
    ExistsOne(Node),
    /// `map`, `filter`, `transformList`: filter, and the one-element list to append.
    List {
        filter: Option<Node>,
        element: Node,
    },
    /// `transformMap`: filter, key, value.
    Map {
        filter: Option<Node>,
        value: Node,
    },
    /// `transformMapEntry`.
    MapEntry {
        filter: Option<Node>,
        entry: Node,
        certain: bool,
    },
    /// Binds a slot to a value that is evaluated when first asked for.
    Bind {
        slot: usize,
        value: Node,
        result: Node,
    },
}

/// A planned expression.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub root: Node,
    pub slots: usize,
    pub result: Type,
    /// The variables that are named.
    pub uses: Vec<Global>,
}
