//! The syntax tree after macros are expanded: what the checker types and the planner lowers.

use std::sync::Arc;

/// A node; `id` is its place in the checker's tables, `at` its place in the source.
#[derive(Debug, Clone)]
pub struct Expr {
    /// Unique in one tree.
    pub id: usize,
    /// Offset in code points.
    pub at: usize,
    /// What it is.
    pub kind: Kind,
}

/// The kinds of node.
#[derive(Debug, Clone)]
pub enum Kind {
    /// A constant in the source.
    Literal(Literal),
    /// A name, with a leading dot if it was written so.
    Ident(Arc<str>),
    /// `operand.field`, or `has(operand.field)`.
    Select {
        /// What is selected from.
        operand: Box<Expr>,
        /// The field.
        field: Arc<str>,
        /// Only whether it is there.
        test_only: bool,
    },
    /// A function or an operator.
    Call {
        /// `_+_`, `size`, `strings.quote` (after checking).
        function: Arc<str>,
        /// The receiver.
        target: Option<Box<Expr>>,
        /// The other arguments.
        args: Vec<Expr>,
    },
    /// `[a, ?b]`, each with whether it is optional.
    List(Vec<(Expr, bool)>),
    /// `{k: v, ?k: v}`.
    Map(Vec<MapEntry>),
    /// `Object.spec{field: value}`.
    Struct {
        /// The type's name.
        name: Arc<str>,
        /// The fields.
        fields: Vec<StructField>,
    },
    /// What the macros become.
    Comprehension(Box<Comprehension>),
}

/// `k: v`, or `?k: v`.
#[derive(Debug, Clone)]
pub struct MapEntry {
    /// The key.
    pub key: Expr,
    /// The value.
    pub value: Expr,
    /// Left out when the value is none.
    pub optional: bool,
}

/// `field: value`, or `?field: value`.
#[derive(Debug, Clone)]
pub struct StructField {
    /// Offset of the colon.
    pub at: usize,
    /// The field's name.
    pub name: Arc<str>,
    /// The value.
    pub value: Expr,
    /// Left out when the value is none.
    pub optional: bool,
}

/// A loop over a range, with an accumulator.
#[derive(Debug, Clone)]
pub struct Comprehension {
    /// Which macro it came from.
    pub form: Form,
    /// What is gone through.
    pub range: Expr,
    /// Element, key or index.
    pub var: Arc<str>,
    /// Value, in the forms of two variables.
    pub var2: Option<Arc<str>>,
    /// The accumulator's name.
    pub accu_var: Arc<str>,
    /// Its first value.
    pub accu_init: Expr,
    /// Go on while this is not false.
    pub condition: Expr,
    /// The accumulator's next value.
    pub step: Expr,
    /// What it all comes to.
    pub result: Expr,
}

/// The shapes of loop that the planner runs natively.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `all`.
    All,
    /// `exists`.
    Exists,
    /// `exists_one`.
    ExistsOne,
    /// `map`, `filter`, `transformList`.
    List,
    /// `transformMap`.
    Map,
    /// `transformMapEntry`.
    MapEntry,
    /// A name bound to a value: `optMap`, `optFlatMap`, `sortBy`.
    Bind,
}

/// A constant.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// `1`.
    Int(i64),
    /// `1u`.
    Uint(u64),
    /// `1.0`.
    Double(f64),
    /// `'a'`.
    String(Arc<str>),
    /// `b'a'`.
    Bytes(Arc<[u8]>),
}

/// `a`, `a.b.c`: a path that may be one declared name.
#[must_use]
pub fn qualified_name(expr: &Expr) -> Option<String> {
    match &expr.kind {
        Kind::Ident(name) => Some(name.to_string()),
        Kind::Select { operand, field, test_only: false } => {
            let mut prefix = qualified_name(operand)?;
            prefix.push('.');
            prefix.push_str(field);
            Some(prefix)
        }
        Kind::Literal(_)
        | Kind::Select { .. }
        | Kind::Call { .. }
        | Kind::List(_)
        | Kind::Map(_)
        | Kind::Struct { .. }
        | Kind::Comprehension(_) => None,
    }
}
