//! The interpreter: cel-go's semantics, errors and costs, on borrowed values.

use super::{
    bindings::Bindings,
    cost,
    error::{Error, Failure, fail, no_overload},
    gofmt,
    library::{Opaque, authz, messages},
    ops,
    plan::{
        Attr, Base, Call, Comparison, Global, InSet, Key, ListNode, MapNode, Matching, Member,
        Node, Plan, Qualifier, StructNode, Target,
    },
    value::{Entries, List, Map, Object, Text, Value},
};
use std::{cmp::Ordering, sync::Arc};

pub(crate) type Res<'a> = Result<Value<'a>, Error>;

/// The longest list that may be gone through at once, and the longest text that may be made: at a
/// tenth a character it would cost more than the limit.
const LONGEST: usize = 10_000_000;

/// What one expression may make in all.
const MOST_MADE: usize = 256 << 20;

/// More variables than this may not lean on each other in a row: the stack is finite.
const NESTING: usize = 64;

/// The state of one evaluation.
pub(crate) struct Machine<'m, 'a> {
    pub bindings: &'m Bindings<'a>,
    pub(super) slots: Vec<Slot<'a>>,
    pub cost: u64,
    limit: u64,
    turns: u32,
    /// Octets that calls have made, an upper bound of what is held.
    made: usize,
}

/// A variable of a loop.
pub(super) enum Slot<'a> {
    Unset,
    /// To be evaluated when first asked for.
    Lazy(&'a Node),
    Set(Res<'a>),
}

/// Evaluates a plan; the cost is given in every case.
pub(crate) fn run<'a>(plan: &'a Plan, bindings: &Bindings<'a>, limit: u64) -> (Res<'a>, u64) {
    let mut machine = Machine { bindings, slots: Vec::new(), cost: 0, limit, turns: 0, made: 0 };
    if plan.slots > 0 {
        machine.slots.resize_with(plan.slots, || Slot::Unset);
    }
    let result = machine.eval(&plan.root);
    (result, machine.cost)
}

/// Evaluates what needs no variables, when a program is made.
pub(crate) fn constant(node: &Node) -> Result<Value<'static>, String> {
    let bindings = Bindings::new();
    let mut machine = Machine {
        bindings: &bindings,
        slots: Vec::new(),
        cost: 0,
        limit: u64::MAX,
        turns: 0,
        made: 0,
    };
    machine.eval(node).map(owned).map_err(|e| e.to_string())
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
        Value::List(list) => Value::list(list.iter().map(owned).collect()),
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

impl<'a> Machine<'_, 'a> {
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
        self.made = self.made.saturating_add(octets);
        if self.made > MOST_MADE {
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
            Node::OptionalOr(sides, keep) => match self.eval(&sides.0)? {
                Value::Optional(None) => self.eval(&sides.1),
                some @ Value::Optional(Some(_)) if *keep => Ok(some),
                Value::Optional(Some(inner)) => present(&inner),
                other => Ok(other),
            },
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

    // Paths.

    /// A path as an expression of its own: it is charged for as such.
    fn attr(&mut self, attr: &'a Attr) -> Res<'a> {
        let resolved = self.resolve(attr);
        if let Err(stop) = &resolved
            && !stop.is_value()
        {
            return resolved;
        }
        let condition = matches!(attr.base, Base::Condition(_));
        match (condition, attr.test_only) {
            (false, false) => self.charge(1)?,
            (true, true) => self.charge(u64::MAX)?,
            (true, false) | (false, true) => self.charge(0)?,
        }
        match resolved {
            Ok(Value::Optional(inner)) if attr.test_only => Ok(Value::Bool(inner.is_some())),
            other => other,
        }
    }

    /// A path's value, charged for its steps only.
    fn resolve(&mut self, attr: &'a Attr) -> Res<'a> {
        let start = match &attr.base {
            Base::Global(global) => self.global(*global)?,
            Base::Local(slot) => self.local(*slot)?,
            Base::Node(node) => self.eval(node)?,
            Base::Condition(parts) => {
                let (condition, yes, no) = &**parts;
                return match self.eval(condition)? {
                    Value::Bool(true) => self.resolve(yes),
                    Value::Bool(false) => self.resolve(no),
                    _ => Err(no_overload()),
                };
            }
        };
        match start {
            // What goes through a path comes out as what it wraps: cel-go's oddity of optionals.
            Value::Optional(Some(inner)) if attr.qualifiers.is_empty() => {
                Ok(Value::some(unwrapped(&inner)))
            }
            start if attr.qualifiers.is_empty() => Ok(start),
            start => self.qualify_all(start, &attr.qualifiers),
        }
    }

    fn global(&mut self, global: Global) -> Res<'a> {
        let json = match global {
            Global::Object => self.bindings.object,
            Global::OldObject => self.bindings.old_object,
            Global::Params => self.bindings.params,
            Global::Request => self.bindings.request,
            Global::NamespaceObject => self.bindings.namespace_object,
            Global::Variables => return Ok(Value::Map(Map::Variables)),
            Global::Authorizer => {
                return match self.bindings.authorizer {
                    Some(_) => Ok(authz::authorizer()),
                    None => Err(fail("no such attribute(s): authorizer")),
                };
            }
            Global::RequestResource => {
                return match self.bindings.authorizer {
                    Some(_) => Ok(authz::request_resource(&self.bindings.request_resource)),
                    None => Err(fail("no such attribute(s): authorizer.requestResource")),
                };
            }
        };
        Ok(json.map_or(Value::Null, Value::from_json))
    }

    pub(super) fn local(&mut self, slot: usize) -> Res<'a> {
        if let Some(Slot::Lazy(node)) = self.slots.get(slot) {
            let node = *node;
            self.slots[slot] = Slot::Unset;
            let value = self.eval(node);
            self.slots[slot] = Slot::Set(value);
        }
        match self.slots.get(slot) {
            Some(Slot::Set(value)) => value.clone(),
            _ => Err(fail("no such attribute(s)")),
        }
    }

    fn qualify_all(&mut self, start: Value<'a>, qualifiers: &'a [Qualifier]) -> Res<'a> {
        let mut optional = false;
        let mut value = match start {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(inner)) => {
                optional = true;
                present(&unwrapped(&inner))?
            }
            other => other,
        };
        for qualifier in qualifiers {
            optional = optional || qualifier.optional;
            if optional {
                match self.qualify(&value, qualifier, true)? {
                    Some(found) => {
                        self.charge(1)?;
                        value = found;
                    }
                    None => return Ok(Value::Optional(None)),
                }
            } else {
                let found = self.qualify(&value, qualifier, qualifier.test);
                if let Err(stop) = &found
                    && !stop.is_value()
                {
                    return Err(stop.clone());
                }
                self.charge(1)?;
                value = match found? {
                    Some(_) if qualifier.test => Value::Bool(true),
                    None if qualifier.test => Value::Bool(false),
                    Some(found) => found,
                    None => return Err(no_overload()),
                };
            }
        }
        Ok(if optional { Value::some(value) } else { value })
    }

    /// One step; `presence`: that it is not there is no error.
    fn qualify(
        &mut self,
        value: &Value<'a>,
        qualifier: &'a Qualifier,
        presence: bool,
    ) -> Result<Option<Value<'a>>, Error> {
        match &qualifier.key {
            Key::Field(name) => {
                if let Value::Map(Map::Json(map)) = value {
                    return match map.get(&**name) {
                        Some(found) => Ok(Some(Value::from_json(found))),
                        None if presence => Ok(None),
                        None => Err(fail(format!("no such key: {name}"))),
                    };
                }
                let key = Value::String(Text::Borrowed(name));
                self.select(value, &key, presence, qualifier.typed)
            }
            Key::Const(key) => self.select(value, key, presence, qualifier.typed),
            Key::Attr(attr) => {
                let native = matches!(attr.base, Base::Global(_));
                let key = self.resolve(attr)?;
                check_key(&key, native)?;
                self.select(value, &key, presence, qualifier.typed)
            }
            Key::Node(node) => {
                let key = self.eval(node)?;
                check_key(&key, false)?;
                self.select(value, &key, presence, qualifier.typed)
            }
        }
    }

    fn select(
        &mut self,
        value: &Value<'a>,
        key: &Value<'_>,
        presence: bool,
        typed: bool,
    ) -> Result<Option<Value<'a>>, Error> {
        match value {
            Value::Map(Map::Variables) => self.variable(key, presence),
            Value::Map(map) => match map.find(key) {
                Some(found) => Ok(Some(found)),
                None if presence => Ok(None),
                None => Err(fail(format!("no such key: {}", gofmt::plain(key)))),
            },
            Value::List(list) => {
                let index = list_index(key)?;
                match usize::try_from(index).ok().and_then(|i| list.get(i)) {
                    Some(found) => Ok(Some(found)),
                    None if presence => Ok(None),
                    None => Err(fail(format!("index out of bounds: {}", gofmt::plain(key)))),
                }
            }
            Value::Object(object) => select_object(object, key, presence, typed),
            _ if presence => Ok(None),
            _ => Err(fail(format!("no such key: {}", gofmt::plain(key)))),
        }
    }

    /// `variables.name`: evaluated once, its cost kept apart.
    pub(super) fn variable(
        &mut self,
        key: &Value<'_>,
        presence: bool,
    ) -> Result<Option<Value<'a>>, Error> {
        let Value::String(name) = key else { return Err(no_overload()) };
        let known = super::shape::unescape(name);
        let found = known.and_then(|known| {
            self.bindings.variables.iter().rev().find(|(name, _)| **name == *known)
        });
        let Some(&(name, program)) = found else {
            return if presence {
                Ok(None)
            } else {
                Err(fail(format!("no such key: {}", &**name)))
            };
        };
        if let Some(known) = self.bindings.memo.borrow().get(name) {
            return known.clone().map(Some);
        }
        let program = match program {
            Ok(program) => program,
            Err(error) => {
                return Err(fail(format!(
                    "composited variable {} fails to compile: {error}",
                    gofmt::quote(name)
                )));
            }
        };
        let depth = self.bindings.nesting.get();
        if depth >= NESTING {
            return Err(fail(format!("variables lean on each other more than {NESTING} deep")));
        }
        self.bindings.nesting.set(depth + 1);
        let (result, cost) = run(program.plan(), self.bindings, super::PER_CALL_LIMIT);
        self.bindings.nesting.set(depth);
        self.bindings.spent.set(self.bindings.spent.get().saturating_add(cost));
        let result = match result {
            Err(error) if matches!(error.failure(), Failure::Unknown(_) | Failure::Interrupted) => {
                return Err(error);
            }
            Err(error) => Err(fail(format!(
                "composited variable {} fails to evaluate: {error}",
                gofmt::quote(name)
            ))),
            Ok(value) => Ok(value),
        };
        self.bindings.memo.borrow_mut().insert(name, result.clone());
        result.map(Some)
    }

    // Constructors.

    fn list(&mut self, list: &'a ListNode) -> Res<'a> {
        let items = self.elements(list);
        if let Err(stop) = &items
            && !stop.is_value()
        {
            return Err(stop.clone());
        }
        self.charge(10)?;
        items.map(Value::list)
    }

    fn elements(&mut self, list: &'a ListNode) -> Result<Vec<Value<'a>>, Error> {
        let mut items = Vec::with_capacity(list.elements.len());
        for (element, optional) in &list.elements {
            let value = self.eval(element)?;
            if !optional {
                items.push(value);
                continue;
            }
            match value {
                Value::Optional(Some(inner)) => items.push(present(&inner)?),
                Value::Optional(None) => {}
                other => {
                    return Err(fail(format!(
                        "cannot initialize optional list element from non-optional value {}",
                        gofmt::plain(&other)
                    )));
                }
            }
        }
        Ok(items)
    }

    fn map(&mut self, map: &'a MapNode) -> Res<'a> {
        let entries = self.entries(map);
        if let Err(stop) = &entries
            && !stop.is_value()
        {
            return Err(stop.clone());
        }
        self.charge(30)?;
        entries.map(|entries| Value::Map(Map::Owned(Arc::new(entries))))
    }

    fn entries(&mut self, map: &'a MapNode) -> Result<Entries<'a>, Error> {
        let mut entries = Entries::default();
        for (key, value, optional) in &map.entries {
            let key = self.eval(key)?;
            let value = self.eval(value)?;
            if matches!(key, Value::Bytes(_)) {
                return Err(Error::new(Failure::Internal(
                    "runtime error: hash of unhashable type types.Bytes".to_owned(),
                )));
            }
            if !optional {
                entries.set(key, value);
                continue;
            }
            match value {
                Value::Optional(Some(inner)) => entries.set(key, present(&inner)?),
                Value::Optional(None) => entries.remove(&key),
                other => return Err(not_optional(&gofmt::plain(&key), &other)),
            }
        }
        Ok(entries)
    }

    fn structure(&mut self, structure: &'a StructNode) -> Res<'a> {
        let made = self.make(structure);
        if let Err(stop) = &made
            && !stop.is_value()
        {
            return made;
        }
        self.charge(40)?;
        made
    }

    fn make(&mut self, structure: &'a StructNode) -> Res<'a> {
        let mut fields: Vec<(Arc<str>, Value<'a>)> = Vec::with_capacity(structure.fields.len());
        for (name, value, optional) in &structure.fields {
            let value = self.eval(value)?;
            let value = match value {
                value if !optional => Some(value),
                Value::Optional(inner) => inner.map(|inner| present(&inner)).transpose()?,
                other => return Err(not_optional(name, &other)),
            };
            fields.retain(|(known, _)| known != name);
            if let Some(value) = value {
                fields.push((name.clone(), value));
            }
        }
        make_object(&structure.name, fields)
    }

    fn in_set(&mut self, set: &'a InSet) -> Res<'a> {
        let value = self.eval(&set.element)?;
        if let Value::String(text) = &value {
            self.charge(0)?;
            return Ok(Value::Bool(set.texts.has(text)));
        }
        let member = match &value {
            Value::Bool(b) => Some(Member::Bool(*b)),
            Value::Int(i) => Some(Member::Int(*i)),
            Value::Uint(u) => Some(Member::Uint(*u)),
            Value::Double(d) => double_member(*d),
            Value::Bytes(_) => {
                return Err(Error::new(Failure::Internal(
                    "runtime error: hash of unhashable type types.Bytes".to_owned(),
                )));
            }
            _ => None,
        };
        self.charge(0)?;
        Ok(Value::Bool(member.is_some_and(|m| set.members.contains(&m))))
    }

    // Calls.

    fn call(&mut self, call: &'a Call) -> Res<'a> {
        match call.args.as_slice() {
            [] => self.invoke(call, &[]),
            [a] => {
                let a = self.eval(a);
                self.unary(call, a)
            }
            [a, b] if call.eager => {
                let a = self.eval(a);
                if let Err(stop) = &a
                    && !stop.is_value()
                {
                    return a;
                }
                let b = self.eval(b);
                self.binary(call, a, b)
            }
            many => {
                let mut values = Vec::with_capacity(many.len());
                let last = many.len() - 1;
                for (at, arg) in many.iter().enumerate() {
                    match self.eval(arg) {
                        Ok(value) => values.push(value),
                        Err(error) if at == last && error.is_value() => {
                            values.push(Value::Bool(false));
                            return self.failed(call, &values, at, error);
                        }
                        Err(error) => return Err(error),
                    }
                }
                self.invoke(call, &values)
            }
        }
    }

    fn unary(&mut self, call: &'a Call, a: Res<'a>) -> Res<'a> {
        match a {
            Ok(value) => self.invoke(call, &[value]),
            Err(error) if error.is_value() => self.failed(call, &[Value::Bool(false)], 0, error),
            Err(stop) => Err(stop),
        }
    }

    fn binary(&mut self, call: &'a Call, a: Res<'a>, b: Res<'a>) -> Res<'a> {
        match (a, b) {
            (Ok(a), Ok(b)) => self.invoke(call, &[a, b]),
            (_, Err(stop)) if !stop.is_value() => Err(stop),
            (Ok(a), Err(error)) => self.failed(call, &[a, Value::Bool(false)], 1, error),
            (Err(error), Ok(b)) => self.failed(call, &[Value::Bool(false), b], 0, error),
            (Err(error), Err(_)) => {
                self.failed(call, &[Value::Bool(false), Value::Bool(false)], 0, error)
            }
        }
    }

    /// An argument failed: the call is charged for, an error counting as a value of size 1.
    fn failed(&mut self, call: &'a Call, args: &[Value<'a>], at: usize, error: Error) -> Res<'a> {
        if let Some(panic) = cost::panics(call.cost, args, Some(at)) {
            return Err(panic);
        }
        let cost = cost::of(call, args, None);
        self.charge(cost)?;
        Err(error)
    }

    fn invoke(&mut self, call: &'a Call, args: &[Value<'a>]) -> Res<'a> {
        let result = self.perform(call, args);
        if let Ok(value) = &result {
            self.account(value)?;
        }
        if let Err(stop) = &result
            && !stop.is_value()
        {
            return result;
        }
        if let Some(panic) = cost::panics(call.cost, args, None) {
            return Err(panic);
        }
        let cost = cost::of(call, args, result.as_ref().ok());
        self.charge(cost)?;
        result
    }

    fn perform(&mut self, call: &'a Call, args: &[Value<'a>]) -> Res<'a> {
        match (&call.target, args) {
            (Target::Not, [Value::Bool(b)]) => Ok(Value::Bool(!b)),
            (Target::Not, _) => Err(no_overload()),
            (Target::Negate, [value]) => ops::negate(value),
            (Target::Compare(comparison), [a, b]) => compare(*comparison, a, b, &call.function),
            (Target::Arithmetic(op), [a, b]) => {
                if let (Value::String(a), Value::String(b)) = (a, b) {
                    self.bounded(a.len() + b.len())?;
                }
                ops::arithmetic(*op, a.clone(), b.clone())
            }
            (Target::In, [element, container]) => ops::contains(element, container),
            (Target::Size, [value]) => size(value),
            (Target::TypeOf, [value]) => Ok(Value::Type(Arc::new(value.type_value()))),
            (Target::Identity, [value]) => Ok(value.clone()),
            (Target::Regex(pattern, matching), [subject, rest @ ..]) => {
                find(pattern, *matching, subject, rest)
            }
            (Target::Guarded(overload, body), args) => {
                if overload.args.len() == args.len()
                    && overload.args.iter().zip(args).all(|(ty, v)| assignable(ty, v))
                {
                    body(self, args)
                } else {
                    Err(no_such(&call.function, args))
                }
            }
            (Target::Bare(body), args) => body(self, args),
            (Target::Dispatch(candidates), args) => {
                for (overload, body) in candidates {
                    if overload.args.len() == args.len()
                        && overload.args.iter().zip(args).all(|(ty, v)| assignable(ty, v))
                    {
                        return body(self, args);
                    }
                }
                Err(no_such(&call.function, args))
            }
            (Target::Extension(extension), args) => (extension.call)(args).map_err(fail),
            _ => Err(no_overload()),
        }
    }
}

fn not_optional(field: &str, value: &Value<'_>) -> Error {
    fail(format!(
        "cannot initialize optional entry '{field}' from non-optional value {}",
        gofmt::plain(value)
    ))
}

fn make_object<'a>(name: &Arc<str>, fields: Vec<(Arc<str>, Value<'a>)>) -> Res<'a> {
    if &**name == "JSONPatch" {
        for (field, value) in &fields {
            match &**field {
                "value" => {}
                "op" | "path" | "from" if matches!(value, Value::String(_)) => {}
                "op" | "path" | "from" => {
                    let found = go_native(value);
                    return Err(fail(format!(
                        "unexpected type {found} for JSONPatchType '{field}' field"
                    )));
                }
                _ => return Err(fail(format!("unexpected JSONPatchType field: {field}"))),
            }
        }
    } else if name.starts_with("google.protobuf.") {
        return messages::make(name, &fields);
    } else if !(&**name == "Object" || name.starts_with("Object.")) {
        return Err(fail(format!("unknown type '{name}'")));
    }
    Ok(Value::Object(Arc::new(Object { name: name.clone(), fields })))
}

fn select_object<'a>(
    object: &Object<'a>,
    key: &Value<'_>,
    presence: bool,
    typed: bool,
) -> Result<Option<Value<'a>>, Error> {
    let Value::String(name) = key else {
        return Err(fail(format!("unsupported indexer: {}", gofmt::plain(key))));
    };
    let found = object.field(name).cloned();
    if &*object.name == "JSONPatch" {
        if !matches!(&**name, "op" | "path" | "from" | "value") {
            let what = if presence { "field" } else { "indexer" };
            return Err(fail(format!("unsupported {what}: {}", &**name)));
        }
        let text = &**name != "value";
        return match found {
            Some(Value::String(text)) if presence && text.is_empty() => Ok(None),
            Some(found) => Ok(Some(found)),
            None if presence => Ok(None),
            None if text => Ok(Some(Value::String(Text::Borrowed("")))),
            None => Ok(Some(Value::Null)),
        };
    }
    match found {
        // Only where its type is known, and then as the plain value.
        Some(found) if typed => Ok(Some(unwrapped(&found))),
        _ if presence => Ok(None),
        None if typed => Ok(Some(Value::Null)),
        _ => Err(fail(format!("no such key: {}", &**name))),
    }
}

/// What an optional holds, which may be a failure.
pub(crate) fn present<'a>(inner: &Value<'a>) -> Res<'a> {
    match inner {
        Value::Opaque(opaque) => match &**opaque {
            Opaque::Failed(text) => Err(fail(text.clone())),
            _ => Ok(inner.clone()),
        },
        _ => Ok(inner.clone()),
    }
}

/// cel-go's `Value()` and back: some types do not survive it.
fn unwrapped<'a>(value: &Value<'a>) -> Value<'a> {
    match value {
        Value::Optional(None) => Value::Null,
        Value::Optional(Some(inner)) => unwrapped(inner),
        Value::Type(ty) => Value::text(ty.runtime_name()),
        Value::Object(object) if &*object.name != "JSONPatch" => {
            let mut entries = Entries::default();
            for (name, field) in &object.fields {
                entries.set(Value::text(&**name), unwrapped(field));
            }
            Value::Map(Map::Owned(Arc::new(entries)))
        }
        Value::Opaque(opaque) => match opaque.go_native() {
            Some(native) => {
                let text =
                    format!("unsupported conversion to ref.Val: ({native}){}", opaque.plain());
                Value::Opaque(Arc::new(Opaque::Failed(text)))
            }
            None => value.clone(),
        },
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Uint(_)
        | Value::Double(_)
        | Value::String(_)
        | Value::Bytes(_)
        | Value::List(_)
        | Value::Map(_)
        | Value::Duration(_)
        | Value::Timestamp(_)
        | Value::Object(_) => value.clone(),
    }
}

/// cel-go's `IndexOrError`.
fn list_index(key: &Value<'_>) -> Result<i64, Error> {
    let unsupported = || fail(format!("unsupported index value {} in list", gofmt::plain(key)));
    match key {
        Value::Int(i) => Ok(*i),
        Value::Double(d) => super::value::double_to_int(*d).ok_or_else(unsupported),
        Value::Uint(u) => i64::try_from(*u).map_err(|_| unsupported()),
        other => Err(fail(format!("unsupported index type '{}' in list", other.type_name()))),
    }
}

fn check_key(key: &Value<'_>, native: bool) -> Result<(), Error> {
    match key {
        Value::String(_) | Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Double(_) => {
            Ok(())
        }
        other => Err(fail(format!("invalid qualifier type: {}", go_type(other, native)))),
    }
}

/// `%T` of a value; `native`: as it stands in the request's object.
pub(crate) fn go_type(value: &Value<'_>, native: bool) -> &'static str {
    match value {
        Value::Null if native => "<nil>",
        Value::Null => "types.Null",
        Value::Bool(_) => "types.Bool",
        Value::Int(_) => "types.Int",
        Value::Uint(_) => "types.Uint",
        Value::Double(_) => "types.Double",
        Value::String(_) => "types.String",
        Value::Bytes(_) => "types.Bytes",
        Value::List(List::Json(_)) if native => "[]interface {}",
        Value::List(List::Concat(_)) => "*types.concatList",
        Value::List(_) => "*types.baseList",
        Value::Map(Map::Json(_)) if native => "map[string]interface {}",
        Value::Map(Map::Variables) => "*lazy.MapValue",
        Value::Map(_) => "*types.baseMap",
        Value::Duration(_) => "types.Duration",
        Value::Timestamp(_) => "types.Timestamp",
        Value::Type(_) => "*types.Type",
        Value::Optional(_) => "*types.Optional",
        Value::Opaque(opaque) => opaque.go_type(),
        Value::Object(object) if &*object.name == "JSONPatch" => "*mutation.JSONPatchVal",
        Value::Object(_) => "*dynamic.ObjectVal",
    }
}

/// `%T` of what a value wraps.
fn go_native(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "structpb.NullValue",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Uint(_) => "uint64",
        Value::Double(_) => "float64",
        Value::String(_) => "string",
        Value::Bytes(_) => "[]uint8",
        Value::List(List::Json(_)) => "[]interface {}",
        Value::List(_) => "[]ref.Val",
        Value::Map(Map::Json(_)) => "map[string]interface {}",
        Value::Map(_) => "map[ref.Val]ref.Val",
        Value::Duration(_) => "time.Duration",
        Value::Timestamp(_) => "time.Time",
        Value::Type(_) => "string",
        Value::Optional(_) | Value::Opaque(_) | Value::Object(_) => "map[string]interface {}",
    }
}

pub(crate) fn double_member(d: f64) -> Option<Member> {
    if d.is_nan() {
        return None;
    }
    Some(Member::Double(if d == 0.0 { 0 } else { d.to_bits() }))
}

fn compare<'a>(comparison: Comparison, a: &Value<'a>, b: &Value<'a>, function: &str) -> Res<'a> {
    if !ops::is_comparable(a) {
        return Err(ops::lacking(a, function));
    }
    let order = ops::compare(a, b)?;
    Ok(Value::Bool(match comparison {
        Comparison::Less => order == Ordering::Less,
        Comparison::LessEquals => order != Ordering::Greater,
        Comparison::Greater => order == Ordering::Greater,
        Comparison::GreaterEquals => order != Ordering::Less,
    }))
}

fn size<'a>(value: &Value<'a>) -> Res<'a> {
    match value {
        Value::String(_) | Value::Bytes(_) | Value::List(_) => {}
        Value::Map(map) if !matches!(map, Map::Variables) => {}
        other => return Err(ops::lacking(other, "size")),
    }
    Ok(Value::Int(i64::try_from(value.size()).unwrap_or(i64::MAX)))
}

fn find<'a>(
    pattern: &regex::Regex,
    matching: Matching,
    subject: &Value<'a>,
    rest: &[Value<'a>],
) -> Res<'a> {
    let Value::String(text) = subject else { return Err(no_overload()) };
    match matching {
        Matching::Matches => Ok(Value::Bool(pattern.is_match(text))),
        Matching::Find => Ok(super::library::regex::find(pattern, text)),
        Matching::FindAll => {
            let limit = match rest {
                [_] => -1,
                [_, Value::Int(n)] => *n,
                _ => return Err(no_overload()),
            };
            Ok(super::library::regex::find_all(pattern, text, limit))
        }
    }
}

fn no_such(function: &str, args: &[Value<'_>]) -> Error {
    let types: Vec<&str> = args.iter().map(Value::type_name).collect();
    fail(format!("no such overload: {function}({})", types.join(", ")))
}

/// cel-go's look at a value before a body that expects a type: lists by their first element only.
pub(crate) fn assignable(ty: &super::types::Type, value: &Value<'_>) -> bool {
    use super::types::Type;
    match ty {
        Type::Dyn | Type::Any | Type::Param(_) | Type::Var(_) => true,
        Type::List(element) => match value {
            Value::List(list) => list.get(0).is_none_or(|first| assignable(element, &first)),
            _ => false,
        },
        Type::Map(ab) => match value {
            Value::Map(map) => map
                .entries()
                .first()
                .is_none_or(|(k, v)| assignable(&ab.0, k) && assignable(&ab.1, v)),
            _ => false,
        },
        Type::Error
        | Type::Null
        | Type::Bool
        | Type::Int
        | Type::Uint
        | Type::Double
        | Type::String
        | Type::Bytes
        | Type::Duration
        | Type::Timestamp
        | Type::Wrapper(_)
        | Type::Type(_)
        | Type::Optional(_)
        | Type::Opaque(_)
        | Type::Struct(_) => ty.runtime_name() == value.type_name(),
    }
}

/// The value of an opaque of this machine's libraries.
pub(crate) fn opaque<'v>(value: &'v Value<'_>) -> Option<&'v Opaque> {
    if let Value::Opaque(opaque) = value { Some(opaque) } else { None }
}
