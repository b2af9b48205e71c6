//! From checked syntax to the plan: what is certain is decided here, once.

use super::{
    ast::{Comprehension, Expr, Form, Kind, Literal},
    check::{Checked, Name},
    cost,
    environment::Environment,
    eval,
    library::{self, Binding, messages},
    ops::Arithmetic,
    plan::{
        Attr, Base, Body, Call, Comparison, Fold, Global, InSet, Key, ListNode, MapNode, Matching,
        Member, Node, Plan, Qualifier, StructNode, Target, Texts,
    },
    regexp, table,
    types::Type,
    value::{Text, Value},
};
use std::{collections::HashSet, sync::Arc};

/// Functions that cel-go evaluates at once when their argument is constant.
const CONVERSIONS: [&str; 10] =
    ["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"];

/// Makes the plan, or says why the API server would not make a program of it.
pub(crate) fn lower(
    root: &Expr,
    checked: &Checked,
    environment: &Environment,
) -> Result<Plan, String> {
    let mut lowering =
        Lowering { checked, environment, scopes: Vec::new(), slots: 0, uses: Vec::new() };
    let result = checked.types[root.id].clone().unwrap_or(Type::Dyn);
    let root = lowering.node(root)?;
    Ok(Plan { root, slots: lowering.slots, result, uses: lowering.uses })
}

struct Lowering<'a> {
    checked: &'a Checked,
    environment: &'a Environment,
    scopes: Vec<(Arc<str>, usize)>,
    slots: usize,
    uses: Vec<Global>,
}

type Lowered = Result<Node, String>;

impl Lowering<'_> {
    fn slot(&mut self, name: &Arc<str>) -> usize {
        self.slots += 1;
        self.scopes.push((name.clone(), self.slots - 1));
        self.slots - 1
    }

    fn node(&mut self, expr: &Expr) -> Lowered {
        match &expr.kind {
            Kind::Literal(literal) => Ok(Node::Const(constant(literal))),
            Kind::Ident(_) => self.name(expr),
            Kind::Select { operand, field, test_only } => {
                if self.checked.names[expr.id].is_some() {
                    return self.name(expr);
                }
                let typed = match &self.checked.types[operand.id] {
                    Some(Type::Struct(name)) => &**name == "Object" || name.starts_with("Object."),
                    _ => false,
                };
                let operand = self.node(operand)?;
                let qualifier = Qualifier {
                    key: Key::Field(field.clone()),
                    optional: false,
                    test: *test_only,
                    typed,
                };
                let mut attr = qualified(operand, qualifier);
                attr.test_only |= *test_only;
                Ok(Node::Attr(Box::new(attr)))
            }
            Kind::Call { function, target, args } => {
                self.call(expr, function, target.as_deref(), args)
            }
            Kind::List(elements) => {
                let elements: Vec<(Node, bool)> = elements
                    .iter()
                    .map(|(e, optional)| Ok((self.node(e)?, *optional)))
                    .collect::<Result<_, String>>()?;
                Ok(fold_list(elements))
            }
            Kind::Map(entries) => {
                let entries: Vec<(Node, Node, bool)> = entries
                    .iter()
                    .map(|e| Ok((self.node(&e.key)?, self.node(&e.value)?, e.optional)))
                    .collect::<Result<_, String>>()?;
                Ok(fold_map(entries))
            }
            Kind::Struct { name, fields } => {
                let fields = fields
                    .iter()
                    .map(|f| Ok((f.name.clone(), self.node(&f.value)?, f.optional)))
                    .collect::<Result<_, String>>()?;
                Ok(Node::Struct(Box::new(StructNode { name: name.clone(), fields })))
            }
            Kind::Comprehension(comprehension) => self.fold(comprehension),
        }
    }

    fn name(&mut self, expr: &Expr) -> Lowered {
        let base = match &self.checked.names[expr.id] {
            Some(Name::Type(ty)) => {
                if let Type::Struct(name) = ty {
                    return Err(format!("reference to undefined type: {name}"));
                }
                return Ok(Node::Const(Value::Type(Arc::new(ty.clone()))));
            }
            Some(Name::Message(name)) => {
                if let Some(ty @ Type::Struct(_)) = messages::type_of(name) {
                    return Ok(Node::Const(Value::Type(Arc::new(ty))));
                }
                return Err(format!("reference to undefined type: {name}"));
            }
            Some(Name::Zero) => return Ok(Node::Const(Value::Int(0))),
            // cel-go takes every name of type `type` for the name of a type.
            Some(Name::Variable(name))
                if matches!(self.checked.types[expr.id], Some(Type::Type(_))) =>
            {
                let ty = self.type_named(name)?;
                return Ok(Node::Const(Value::Type(Arc::new(ty))));
            }
            Some(Name::Variable(name)) => {
                if let Some((_, slot)) = self.scopes.iter().rev().find(|(n, _)| n == name) {
                    Base::Local(*slot)
                } else {
                    let global = Global::named(name);
                    let global = global.ok_or_else(|| format!("unknown variable {name}"))?;
                    if !self.uses.contains(&global) {
                        self.uses.push(global);
                    }
                    Base::Global(global)
                }
            }
            None => return Err("a name was not checked".to_owned()),
        };
        Ok(Node::Attr(Box::new(Attr { base, qualifiers: Vec::new(), test_only: false })))
    }

    fn type_named(&self, name: &str) -> Result<Type, String> {
        match self.environment.type_named(name) {
            Some(ty) if !matches!(ty, Type::Struct(_)) => Ok(ty),
            _ => Err(format!("reference to undefined type: {name}")),
        }
    }

    fn call(
        &mut self,
        expr: &Expr,
        function: &Arc<str>,
        target: Option<&Expr>,
        args: &[Expr],
    ) -> Lowered {
        let mut nodes = Vec::with_capacity(args.len() + 1);
        if let Some(target) = target {
            nodes.push(self.node(target)?);
        }
        for arg in args {
            nodes.push(self.node(arg)?);
        }
        let pair = |nodes: Vec<Node>| {
            let mut nodes = nodes.into_iter();
            match (nodes.next(), nodes.next()) {
                (Some(a), Some(b)) => Ok(Box::new((a, b))),
                _ => Err(format!("{function} needs two operands")),
            }
        };
        match &**function {
            "_&&_" => Ok(Node::And(pair(nodes)?)),
            "_||_" => Ok(Node::Or(pair(nodes)?)),
            "_==_" => Ok(Node::Equal(pair(nodes)?)),
            "_!=_" => Ok(Node::NotEqual(pair(nodes)?)),
            "_?_:_" => conditional(nodes),
            "_[_]" => index(nodes, false),
            "_[?_]" | "_?._" => index(nodes, true),
            "or" if nodes.len() == 2 => Ok(Node::OptionalOr(pair(nodes)?, true)),
            "orValue" if nodes.len() == 2 => Ok(Node::OptionalOr(pair(nodes)?, false)),
            _ => self.function(expr, function, nodes),
        }
    }

    fn function(&mut self, expr: &Expr, function: &Arc<str>, args: Vec<Node>) -> Lowered {
        let overloads = &self.checked.overloads[expr.id];
        let overload = if let [one] = overloads.as_slice() { *one } else { "" };
        if let Some(extension) = self.environment.extension(function) {
            let call = Call {
                function: function.clone(),
                args,
                target: Target::Extension(extension.clone()),
                cost: super::plan::Cost::Extension,
                eager: false,
            };
            return Ok(Node::Call(Box::new(call)));
        }
        let (target, mut eager) = target(function, overload, args.len())?;
        let mut call = Call {
            function: function.clone(),
            cost: cost::rule(function, overload),
            args,
            target,
            eager: false,
        };
        if let Some(matching) = matching_of(function)
            && let Some(Node::Const(Value::String(pattern))) = call.args.get(1)
        {
            let compiled = regexp::compile(pattern)?;
            call.target = Target::Regex(Arc::new(compiled), matching);
            eager = false;
        }
        call.eager = eager;
        if overload == "in_list"
            && let Some(node) = in_set(&mut call)
        {
            return Ok(node);
        }
        if CONVERSIONS.contains(&&**function) && matches!(call.args.as_slice(), [Node::Const(_)]) {
            return eval::constant(&Node::Call(Box::new(call))).map(Node::Const);
        }
        Ok(Node::Call(Box::new(call)))
    }

    fn fold(&mut self, comprehension: &Comprehension) -> Lowered {
        let Comprehension { form, range, var, var2, accu_var, accu_init, step, result, .. } =
            comprehension;
        if *form == Form::Bind {
            let value = self.node(accu_init)?;
            // The step names the variable, and cel-go takes every name of type `type` for a type's.
            if matches!(self.checked.types[accu_init.id], Some(Type::Type(_))) {
                self.type_named(accu_var)?;
            }
            let depth = self.scopes.len();
            let slot = self.slot(accu_var);
            let result = self.node(result)?;
            self.scopes.truncate(depth);
            let body = Body::Bind { slot, value, result };
            let range = Node::Const(Value::Null);
            return Ok(Node::Fold(Box::new(Fold { range, var: slot, var2: None, body })));
        }
        let range = self.node(range)?;
        let depth = self.scopes.len();
        let first = self.slot(var);
        let second = var2.as_ref().map(|var2| self.slot(var2));
        let body = self.body(*form, step)?;
        self.scopes.truncate(depth);
        Ok(Node::Fold(Box::new(Fold { range, var: first, var2: second, body })))
    }

    /// Takes the macro's own expressions out of the step it was written out to.
    fn body(&mut self, form: Form, step: &Expr) -> Result<Body, String> {
        let odd = || "unexpected shape of a macro".to_owned();
        let args = |expr: &'_ Expr| match &expr.kind {
            Kind::Call { function, args, .. } => Some((function.clone(), args.clone())),
            _ => None,
        };
        let (function, mut parts) = args(step).ok_or_else(odd)?;
        if matches!(form, Form::All | Form::Exists) {
            let predicate = self.node(parts.get(1).ok_or_else(odd)?)?;
            let all = form == Form::All;
            return Ok(if all { Body::All(predicate) } else { Body::Exists(predicate) });
        }
        if form == Form::ExistsOne {
            let predicate = self.node(parts.first().ok_or_else(odd)?)?;
            return Ok(Body::ExistsOne(predicate));
        }
        let mut filter = None;
        let mut inner_id = step.id;
        if &*function == "_?_:_" {
            filter = Some(self.node(parts.first().ok_or_else(odd)?)?);
            inner_id = parts.get(1).ok_or_else(odd)?.id;
            let (_, inner) = args(parts.get(1).ok_or_else(odd)?).ok_or_else(odd)?;
            parts = inner;
        }
        match form {
            Form::List => {
                let element = self.node(parts.get(1).ok_or_else(odd)?)?;
                Ok(Body::List { filter, element })
            }
            Form::Map => {
                // The key is the loop's own variable; only what may be wrong with its name matters.
                self.node(parts.get(1).ok_or_else(odd)?)?;
                let value = self.node(parts.get(2).ok_or_else(odd)?)?;
                Ok(Body::Map { filter, value })
            }
            Form::MapEntry => {
                let entry = self.node(parts.get(1).ok_or_else(odd)?)?;
                let certain = self.checked.overloads[inner_id].len() == 1;
                Ok(Body::MapEntry { filter, entry, certain })
            }
            Form::All | Form::Exists | Form::ExistsOne | Form::Bind => Err(odd()),
        }
    }
}

/// The body of a function, and whether cel-go evaluates all arguments before it looks at any.
fn target(function: &str, overload: &'static str, arity: usize) -> Result<(Target, bool), String> {
    let comparison = |c| Ok((Target::Compare(c), true));
    let arithmetic = |op| Ok((Target::Arithmetic(op), true));
    match function {
        "!_" => return Ok((Target::Not, true)),
        "-_" => return Ok((Target::Negate, true)),
        "_<_" => return comparison(Comparison::Less),
        "_<=_" => return comparison(Comparison::LessEquals),
        "_>_" => return comparison(Comparison::Greater),
        "_>=_" => return comparison(Comparison::GreaterEquals),
        "_+_" => return arithmetic(Arithmetic::Add),
        "_-_" => return arithmetic(Arithmetic::Subtract),
        "_*_" => return arithmetic(Arithmetic::Multiply),
        "_/_" => return arithmetic(Arithmetic::Divide),
        "_%_" => return arithmetic(Arithmetic::Modulo),
        "@in" => return Ok((Target::In, true)),
        "size" => return Ok((Target::Size, true)),
        "dyn" => return Ok((Target::Identity, true)),
        "type" => return Ok((Target::TypeOf, true)),
        _ => {}
    }
    if let Some(singleton) = library::singleton(function) {
        return Ok((Target::Bare(singleton), true));
    }
    let Some(declared) = table::function(function) else {
        return Err(format!("unknown function {function}"));
    };
    let bound = |o: &'static table::Overload| {
        library::implementation(o.id)
            .map(|(body, binding)| (o, body, binding))
            .ok_or_else(|| format!("function {} is not supported yet", o.id))
    };
    if let Some(certain) = declared.overloads.iter().find(|o| o.id == overload) {
        let (o, body, binding) = bound(certain)?;
        let eager = matches!(binding, Binding::Direct) && arity <= 2;
        if library::is_unguarded(function) {
            return Ok((Target::Bare(body), eager));
        }
        return Ok((Target::Guarded(o, body), eager));
    }
    let all: Vec<(&'static table::Overload, library::Function, Binding)> =
        declared.overloads.iter().map(bound).collect::<Result<_, String>>()?;
    if let [(o, body, binding)] = all.as_slice() {
        let eager = matches!(binding, Binding::Direct) && arity <= 2;
        return Ok((Target::Guarded(o, *body), eager));
    }
    Ok((Target::Dispatch(all.into_iter().map(|(o, body, _)| (o, body)).collect()), false))
}

fn constant(literal: &Literal) -> Value<'static> {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(b) => Value::Bool(*b),
        Literal::Int(i) => Value::Int(*i),
        Literal::Uint(u) => Value::Uint(*u),
        Literal::Double(d) => Value::Double(*d),
        Literal::String(text) => Value::String(Text::Shared(text.clone())),
        Literal::Bytes(bytes) => Value::Bytes(bytes.clone()),
    }
}

/// Lists of constants are built now.
fn fold_list(elements: Vec<(Node, bool)>) -> Node {
    let node = Node::List(Box::new(ListNode { elements }));
    let Node::List(list) = &node else { return node };
    if list.elements.iter().all(|(e, _)| matches!(e, Node::Const(_)))
        && let Some(value) = eval::literal(&node)
    {
        return Node::Const(value);
    }
    node
}

fn fold_map(entries: Vec<(Node, Node, bool)>) -> Node {
    let node = Node::Map(Box::new(MapNode { entries }));
    let Node::Map(map) = &node else { return node };
    let constant = |n: &Node| matches!(n, Node::Const(_));
    if map.entries.iter().all(|(k, v, _)| constant(k) && constant(v))
        && let Some(value) = eval::literal(&node)
    {
        return Node::Const(value);
    }
    node
}

/// A path with one more step; through a condition it goes into both branches.
fn qualified(operand: Node, qualifier: Qualifier) -> Attr {
    match operand {
        Node::Attr(mut attr) if !attr.test_only => {
            add(&mut attr, qualifier);
            *attr
        }
        other => Attr { base: Base::Node(other), qualifiers: vec![qualifier], test_only: false },
    }
}

fn add(attr: &mut Attr, qualifier: Qualifier) {
    if let Base::Condition(branches) = &mut attr.base {
        add(&mut branches.1, qualifier.clone());
        add(&mut branches.2, qualifier);
    } else {
        attr.qualifiers.push(qualifier);
    }
}

fn conditional(nodes: Vec<Node>) -> Lowered {
    let branch = |node: Node| match node {
        Node::Attr(attr) => Attr { test_only: false, ..*attr },
        other => Attr { base: Base::Node(other), qualifiers: Vec::new(), test_only: false },
    };
    let mut nodes = nodes.into_iter();
    let (Some(condition), Some(yes), Some(no)) = (nodes.next(), nodes.next(), nodes.next()) else {
        return Err("a condition needs two branches".to_owned());
    };
    let base = Base::Condition(Box::new((condition, branch(yes), branch(no))));
    Ok(Node::Attr(Box::new(Attr { base, qualifiers: Vec::new(), test_only: false })))
}

fn index(nodes: Vec<Node>, optional: bool) -> Lowered {
    let mut nodes = nodes.into_iter();
    let (Some(operand), Some(index)) = (nodes.next(), nodes.next()) else {
        return Err("an index needs two operands".to_owned());
    };
    let key = match index {
        Node::Const(Value::String(text)) => Key::Field(Arc::from(&*text)),
        Node::Const(
            value @ (Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Double(_)),
        ) => Key::Const(value),
        Node::Const(other) => {
            return Err(format!("invalid qualifier type: {}", eval::go_type(&other, false)));
        }
        Node::Attr(attr) => Key::Attr(attr),
        other => Key::Node(Box::new(other)),
    };
    let attr = qualified(operand, Qualifier { key, optional, test: false, typed: false });
    Ok(Node::Attr(Box::new(attr)))
}

fn matching_of(function: &str) -> Option<Matching> {
    match function {
        "matches" => Some(Matching::Matches),
        "find" => Some(Matching::Find),
        "findAll" => Some(Matching::FindAll),
        _ => None,
    }
}

/// `x in [1, 2]`: a lookup, if all members are simple.
fn in_set(call: &mut Call) -> Option<Node> {
    let [_, Node::Const(Value::List(list))] = call.args.as_slice() else { return None };
    if list.is_empty() {
        return Some(Node::Const(Value::Bool(false)));
    }
    let mut members = HashSet::new();
    let mut texts = Vec::new();
    for item in list.iter() {
        match item {
            Value::String(text) => texts.push(Box::from(&*text)),
            item => members.extend(members_of(&item)?),
        }
    }
    let element = call.args.swap_remove(0);
    Some(Node::InSet(Box::new(InSet { element, texts: Texts::new(texts), members })))
}

/// A number is in the set as every type that holds it without loss.
fn members_of(value: &Value<'_>) -> Option<Vec<Member>> {
    use super::value::{double_to_int, double_to_uint};
    #[allow(clippy::cast_precision_loss, reason = "as cel-go converts")]
    Some(match value {
        Value::Bool(b) => vec![Member::Bool(*b)],
        Value::Int(i) => {
            let mut all = vec![Member::Int(*i), eval::double_member(*i as f64)?];
            all.extend(u64::try_from(*i).ok().map(Member::Uint));
            all
        }
        Value::Uint(u) => {
            let mut all = vec![Member::Uint(*u), eval::double_member(*u as f64)?];
            all.extend(i64::try_from(*u).ok().map(Member::Int));
            all
        }
        Value::Double(d) => {
            let mut all: Vec<Member> = eval::double_member(*d).into_iter().collect();
            all.extend(double_to_int(*d).map(Member::Int));
            all.extend(double_to_uint(*d).map(Member::Uint));
            all
        }
        Value::Null
        | Value::String(_)
        | Value::Bytes(_)
        | Value::List(_)
        | Value::Map(_)
        | Value::Duration(_)
        | Value::Timestamp(_)
        | Value::Type(_)
        | Value::Optional(_)
        | Value::Opaque(_)
        | Value::Object(_) => return None,
    })
}
