//! The interpreter: cel-go's semantics, errors and costs, on borrowed values.

mod call;
mod grow;
mod make;
mod native;
mod path;
mod variables;

pub(crate) use grow::frozen;
pub(crate) use native::{double_member, foreign, go_type, opaque, present, unwrapped};
pub(crate) use variables::evaluate;

use self::path::Found;
use super::{
    bindings::Bindings,
    cost,
    error::{Error, Failure, no_overload},
    library::Opaque,
    ops,
    plan::{Node, Plan},
    value::{Entries, List, Map, Object, Text, Value},
};
use std::sync::Arc;

pub(crate) type Res<'a> = Result<Value<'a>, Error>;

/// The longest list that may be gone through at once, and the longest text that may be made: at a
/// tenth a character it would cost more than the limit.
const LONGEST: usize = 10_000_000;

/// What one expression may make in all.
const MOST_MADE: usize = 256 << 20;

/// What all matches of one expression may take, in states times characters. Ten times what the cost allows
/// to patterns without counts.
const MOST_STEPS: u64 = 400_000_000;

/// The state of one evaluation.
pub(crate) struct Machine<'m, 'a> {
    pub bindings: &'m Bindings<'a>,
    pub(super) slots: Vec<Slot<'a>>,
    pub cost: u64,
    limit: u64,
    turns: u32,
    /// Octets that calls have made, an upper bound of what is held.
    made: usize,
    /// What matching patterns may have taken so far.
    steps: u64,
}

/// A variable of a loop.
pub(super) enum Slot<'a> {
    Unset,
    /// To be evaluated when first asked for.
    Lazy(&'a Node),
    /// It was an empty list or map, which cel-go made one that can be added to.
    Growing(Value<'a>),
    Set(Res<'a>),
}

/// Evaluates a plan; the cost is given in every case.
fn run<'a>(plan: &'a Plan, bindings: &Bindings<'a>, limit: u64) -> (Res<'a>, u64) {
    let mut machine = Machine::new(bindings, limit);
    if plan.slots > 0 {
        machine.slots.resize_with(plan.slots, || Slot::Unset);
    }
    let result = machine.eval(&plan.root);
    (result, machine.cost)
}

/// Evaluates what needs no variables, when a program is made.
pub(crate) fn constant(node: &Node) -> Result<Value<'static>, String> {
    let bindings = Bindings::new();
    let mut machine = Machine::new(&bindings, u64::MAX);
    machine.eval(node).map(owned).map_err(|e| e.to_string())
}

/// Evaluates a list or map of constants; an error is a constant, too, and free like one.
pub(crate) fn literal(node: &Node) -> Option<Value<'static>> {
    let bindings = Bindings::new();
    match Machine::new(&bindings, u64::MAX).eval(node) {
        Ok(value) => Some(owned(value)),
        Err(error) if error.is_value() => {
            Some(Value::Opaque(Arc::new(Opaque::Failed(error.to_string()))))
        }
        Err(_) => None,
    }
}

/// A value that borrows nothing: constants do not outlive their program.
fn owned(value: Value<'_>) -> Value<'static> {
    match value {
        Value::Null => Value::Null,
        Value::Bool(b) => Value::Bool(b),
        Value::Int(i) => Value::Int(i),
        Value::Uint(u) => Value::Uint(u),
        Value::Double(d) => Value::Double(d),
        Value::String(Text::Shared(text)) => Value::String(Text::Shared(text)),
        Value::String(Text::Borrowed(text)) => Value::text(text),
        Value::Bytes(bytes) => Value::Bytes(bytes),
        Value::List(List::Growing(list)) => Value::List(List::Growing(list)),
        Value::List(list) => Value::list(list.iter().map(owned).collect()),
        Value::Map(Map::Variables) => Value::Map(Map::Variables),
        Value::Map(map) => {
            let mut entries = Entries::default();
            for (key, value) in map.entries() {
                entries.set(owned(key), owned(value));
            }
            Value::Map(Map::Owned(Arc::new(entries)))
        }
        Value::Duration(d) => Value::Duration(d),
        Value::Timestamp(t) => Value::Timestamp(t),
        Value::Type(ty) => Value::Type(ty),
        Value::Optional(inner) => {
            Value::Optional(inner.map(|inner| Arc::new(owned((*inner).clone()))))
        }
        Value::Opaque(opaque) => Value::Opaque(opaque),
        Value::Object(object) => Value::Object(Arc::new(Object {
            name: object.name.clone(),
            fields: object.fields.iter().map(|(n, v)| (n.clone(), owned(v.clone()))).collect(),
        })),
    }
}

impl<'m, 'a> Machine<'m, 'a> {
    fn new(bindings: &'m Bindings<'a>, limit: u64) -> Self {
        Self { bindings, slots: Vec::new(), cost: 0, limit, turns: 0, made: 0, steps: 0 }
    }

    /// Adds to the cost, and stops when it passes the limit.
    #[inline]
    pub(super) fn charge(&mut self, cost: u64) -> Result<(), Error> {
        self.cost = self.cost.wrapping_add(cost);
        if self.cost > self.limit {
            return Err(Error::new(Failure::CostLimit));
        }
        Ok(())
    }

    /// Stops before work is done whose cost, known only afterwards, would pass the limit.
    pub(crate) fn foresee(&mut self, cost: u64) -> Result<(), Error> {
        if self.cost.saturating_add(cost) > self.limit {
            self.cost = self.cost.saturating_add(cost);
            return Err(Error::new(Failure::CostLimit));
        }
        Ok(())
    }

    /// Stops before a list is gone through that is longer than any budget, though it costs little:
    /// sums of lists double without using memory.
    pub(crate) fn bounded(&mut self, length: usize) -> Result<(), Error> {
        if length > LONGEST {
            return self.foresee(u64::MAX);
        }
        Ok(())
    }

    /// Counts what a call made. `dyn + dyn` costs 1 in Kubernetes, however long the texts are, so the
    /// cost alone does not bound memory.
    fn account(&mut self, value: &Value<'_>) -> Result<(), Error> {
        let octets = match value {
            Value::String(Text::Shared(text)) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            Value::List(List::Owned(items)) => items.len().saturating_mul(48),
            _ => return Ok(()),
        };
        self.count(octets)
    }

    fn count(&mut self, octets: usize) -> Result<(), Error> {
        self.made = self.made.saturating_add(octets);
        if self.made > MOST_MADE {
            return self.foresee(u64::MAX);
        }
        Ok(())
    }

    /// Counts what a match may take: Kubernetes charges for the pattern's text, not for `{1000}` in it.
    pub(crate) fn effort(&mut self, size: u64, length: usize) -> Result<(), Error> {
        let steps = size.saturating_mul((length as u64).saturating_add(1));
        self.steps = self.steps.saturating_add(steps);
        if self.steps > MOST_STEPS {
            return self.foresee(u64::MAX);
        }
        Ok(())
    }

    /// One more turn of a loop.
    pub(super) fn turn(&mut self) -> Result<(), Error> {
        self.turns = self.turns.wrapping_add(1);
        if self.turns.is_multiple_of(100)
            && self.bindings.interrupt.is_some_and(|interrupted| interrupted())
        {
            return Err(Error::new(Failure::Interrupted));
        }
        Ok(())
    }

    pub(super) fn eval(&mut self, node: &'a Node) -> Res<'a> {
        match node {
            Node::Const(Value::String(Text::Shared(text))) => {
                Ok(Value::String(Text::Borrowed(text)))
            }
            Node::Const(value @ Value::Opaque(_)) => present(value),
            Node::Const(value) => Ok(value.clone()),
            Node::Attr(attr) => self.attr(attr),
            Node::And(terms) => self.logic(terms, false),
            Node::Or(terms) => self.logic(terms, true),
            Node::Equal(sides) => self.equality(sides, true),
            Node::NotEqual(sides) => self.equality(sides, false),
            Node::Call(call) => self.call(call),
            Node::InSet(set) => self.in_set(set),
            Node::List(list) => self.list(list),
            Node::Map(map) => self.map(map),
            Node::Struct(structure) => self.structure(structure),
            Node::Fold(fold) => self.fold(fold),
            Node::OptionalOr(sides, keep) => self.optional_or(sides, *keep),
        }
    }

    /// `.or` (`keep`) and `.orValue`.
    fn optional_or(&mut self, sides: &'a (Node, Node), keep: bool) -> Res<'a> {
        let found = match &sides.0 {
            Node::Attr(attr) => self.found(attr)?,
            node => Found::Plain(self.eval(node)?),
        };
        match found {
            Found::Absent | Found::Plain(Value::Optional(None)) => self.eval(&sides.1),
            Found::Present(value) if keep => Ok(Value::some(value)),
            Found::Present(value @ Value::Opaque(_)) => present(&value),
            Found::Present(value) => Ok(value),
            Found::Plain(some @ Value::Optional(Some(_))) if keep => Ok(some),
            Found::Plain(Value::Optional(Some(inner))) => present(&inner),
            Found::Plain(other) => Ok(other),
        }
    }

    /// `&&` (`decisive` false) and `||` (true): the decisive value wins over errors.
    fn logic(&mut self, terms: &'a (Node, Node), decisive: bool) -> Res<'a> {
        let left = self.eval(&terms.0);
        let first = match left {
            Ok(Value::Bool(b)) if b == decisive => return Ok(Value::Bool(decisive)),
            Ok(Value::Bool(_)) => None,
            Ok(_) => Some(no_overload()),
            Err(error) if error.is_value() => Some(error),
            Err(stop) => return Err(stop),
        };
        match self.eval(&terms.1) {
            Ok(Value::Bool(b)) if b == decisive => Ok(Value::Bool(decisive)),
            Ok(Value::Bool(_)) => first.map_or(Ok(Value::Bool(!decisive)), Err),
            Ok(_) => Err(first.unwrap_or_else(no_overload)),
            Err(error) if error.is_value() => Err(first.unwrap_or(error)),
            Err(stop) => Err(stop),
        }
    }

    fn equality(&mut self, sides: &'a (Node, Node), equal: bool) -> Res<'a> {
        let left = self.eval(&sides.0);
        if let Err(stop) = &left
            && !stop.is_value()
        {
            return left;
        }
        let right = self.eval(&sides.1);
        if let Err(stop) = &right
            && !stop.is_value()
        {
            return right;
        }
        let variables = self.bindings.variables.len() as u64;
        let size = |side: &Res<'_>| match side {
            Ok(Value::Map(Map::Variables)) => variables,
            Ok(value) => value.size(),
            Err(_) => 1,
        };
        let cost = match &left {
            Ok(Value::Opaque(_)) if equal => 1,
            _ => cost::tenth(size(&left).min(size(&right))),
        };
        self.charge(cost)?;
        let (left, right) = (left?, right?);
        match ops::equality(&left, &right) {
            Ok(same) => Ok(Value::Bool(same == equal)),
            Err(error) if equal => Err(error),
            Err(_) => Ok(Value::Bool(true)),
        }
    }
}
