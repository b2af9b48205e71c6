//! The type checker: cel-go's, with its messages.

use super::{
    ast::{Comprehension, Expr, Kind, Literal, MapEntry, StructField, qualified_name},
    environment::Environment,
    library::messages,
    source::Raised,
    suggest::nearest,
    table,
    types::Type,
    unify::{Unifier, most_general},
};
use std::sync::Arc;

/// What the planner needs to know of every node.
pub(crate) struct Checked {
    /// By node id.
    pub types: Vec<Option<Type>>,
    /// By node id: the overloads that may be meant by a call, one if it is certain.
    pub overloads: Vec<Vec<&'static str>>,
    /// By node id: the node names a variable or a type.
    pub names: Vec<Option<Name>>,
    /// A node has no type at all, which cel-go notices late.
    pub untyped: bool,
}

/// What a name stands for.
#[derive(Debug, Clone)]
pub(crate) enum Name {
    Variable(Arc<str>),
    Type(Type),
    /// A message of protocol buffers: it can be made, but is no value.
    Message(Arc<str>),
    /// The one constant of an enum that there is.
    Zero,
}

pub(crate) fn check(
    root: &mut Expr,
    ids: usize,
    environment: &Environment,
) -> (Checked, Vec<Raised>) {
    let mut checker = Checker {
        environment,
        unifier: Unifier::default(),
        scopes: Vec::new(),
        checked: Checked {
            types: vec![None; ids],
            overloads: vec![Vec::new(); ids],
            names: vec![None; ids],
            untyped: false,
        },
        errors: Vec::new(),
    };
    checker.check(root);
    for ty in checker.checked.types.iter_mut().flatten() {
        *ty = checker.unifier.resolve(ty, true);
    }
    (checker.checked, checker.errors)
}

struct Checker<'a> {
    environment: &'a Environment,
    unifier: Unifier,
    scopes: Vec<(Arc<str>, Type)>,
    checked: Checked,
    errors: Vec<Raised>,
}

impl Checker<'_> {
    fn raise(&mut self, at: usize, message: impl Into<String>) {
        self.errors.push(Raised::at(at, message));
    }

    fn undeclared(&mut self, at: usize, name: &str, candidates: &[&str]) {
        let mut raised =
            Raised::at(at, format!("undeclared reference to '{name}' (in container '')"));
        raised.suggestion = nearest(name, candidates.iter().copied());
        self.errors.push(raised);
    }

    fn mismatch(&mut self, at: usize, expected: &Type, found: &Type) {
        let message = format!(
            "expected type '{}' but found '{}'",
            expected.checker_name(),
            found.checker_name()
        );
        self.raise(at, message);
    }

    fn type_of(&self, expr: &Expr) -> Type {
        self.checked.types[expr.id].clone().unwrap_or(Type::Error)
    }

    fn set(&mut self, expr: &Expr, ty: Type) {
        self.checked.types[expr.id] = Some(ty);
    }

    /// Innermost first, then the environment's variables and types.
    fn lookup(&self, name: &str) -> Option<(Name, Type)> {
        let name = name.strip_prefix('.').unwrap_or(name);
        if let Some((known, ty)) = self.scopes.iter().rev().find(|(n, _)| **n == *name) {
            return Some((Name::Variable(known.clone()), ty.clone()));
        }
        if let Some(ty) = self.environment.variable(name) {
            return Some((Name::Variable(Arc::from(name)), ty));
        }
        if let Some(ty) = messages::type_of(name) {
            return Some((Name::Message(Arc::from(name)), Type::Type(Some(Arc::new(ty)))));
        }
        if name == "google.protobuf.NullValue.NULL_VALUE" {
            return Some((Name::Zero, Type::Int));
        }
        let ty = self.environment.type_named(name)?;
        Some((Name::Type(ty.clone()), Type::Type(Some(Arc::new(ty)))))
    }

    fn check(&mut self, expr: &mut Expr) {
        match &expr.kind {
            Kind::Literal(literal) => {
                let ty = literal_type(literal);
                self.set(expr, ty);
            }
            Kind::Ident(name) => {
                let name = name.clone();
                self.ident(expr, &name);
            }
            Kind::Select { .. } => self.select(expr),
            Kind::Call { .. } => self.call(expr),
            Kind::List(_) => self.list(expr),
            Kind::Map(_) => self.map(expr),
            Kind::Struct { .. } => self.structure(expr),
            Kind::Comprehension(_) => self.comprehension(expr),
        }
    }

    fn ident(&mut self, expr: &Expr, name: &str) {
        if let Some((found, ty)) = self.lookup(name) {
            self.checked.names[expr.id] = Some(found);
            self.set(expr, ty);
        } else {
            self.set(expr, Type::Error);
            let mut candidates = self.environment.names();
            let locals: Vec<Arc<str>> = self.scopes.iter().map(|(n, _)| n.clone()).collect();
            candidates.extend(locals.iter().map(|n| &**n));
            let candidates: Vec<String> = candidates.iter().map(|c| (*c).to_owned()).collect();
            let borrowed: Vec<&str> = candidates.iter().map(String::as_str).collect();
            self.undeclared(expr.at, name, &borrowed);
        }
    }

    fn select(&mut self, expr: &mut Expr) {
        if let Some(name) = qualified_name(expr)
            && let Some((found, ty)) = self.lookup(&name)
        {
            self.checked.names[expr.id] = Some(found);
            self.set(expr, ty);
            expr.kind = Kind::Ident(Arc::from(name));
            return;
        }
        let (id, at) = (expr.id, expr.at);
        let Kind::Select { operand, field, test_only } = &mut expr.kind else { return };
        let (field, test_only) = (field.clone(), *test_only);
        let mut result = self.select_field(at, operand, &field, false);
        if test_only {
            result = Type::Bool;
        }
        self.checked.types[id] = Some(self.unifier.resolve(&result, false));
    }

    fn select_field(&mut self, at: usize, operand: &mut Expr, field: &str, optional: bool) -> Type {
        self.check(operand);
        let operand = self.unifier.resolve(&self.type_of(operand), false);
        let (target, was_optional) = match &operand {
            Type::Optional(inner) => ((**inner).clone(), true),
            other => (other.clone(), false),
        };
        let result = match &target {
            Type::Map(ab) => ab.1.clone(),
            Type::Struct(name)
                if &**name == "JSONPatch" && self.environment.field(name, field).is_none() =>
            {
                self.checked.untyped = true;
                Type::Error
            }
            Type::Struct(name) => self.field_type(at, name, field).unwrap_or(Type::Error),
            Type::Var(_) => {
                self.unifier.assignable(&Type::Dyn, &target);
                Type::Dyn
            }
            Type::Dyn | Type::Any | Type::Error => Type::Dyn,
            Type::Null
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
            | Type::List(_)
            | Type::Optional(_)
            | Type::Opaque(_)
            | Type::Param(_) => {
                let name = target.checker_name();
                self.raise(at, format!("type '{name}' does not support field selection"));
                Type::Dyn
            }
        };
        if was_optional || optional { Type::optional(result) } else { result }
    }

    fn field_type(&mut self, at: usize, structure: &str, field: &str) -> Option<Type> {
        if let Some(fields) = messages::fields(structure) {
            let found = fields.iter().find(|(name, _)| *name == field);
            if found.is_none() {
                self.raise(at, format!("undefined field '{field}'"));
            }
            return found.and_then(|(_, ty)| Type::parse(ty));
        }
        if !self.environment.is_struct(structure) {
            self.raise(at, format!("unexpected failed resolution of '{structure}'"));
            return None;
        }
        let found = self.environment.field(structure, field);
        if found.is_none() {
            let mut raised = Raised::at(at, format!("undefined field '{field}'"));
            let known = self.environment.field_names(structure);
            raised.suggestion = nearest(field, known.into_iter());
            self.errors.push(raised);
        }
        found
    }

    fn call(&mut self, expr: &mut Expr) {
        let (id, at) = (expr.id, expr.at);
        let Kind::Call { function, target, args } = &mut expr.kind else { return };
        if &**function == "_?._" {
            self.optional_select(id, at, args);
            return;
        }
        for arg in args.iter_mut() {
            self.check(arg);
        }
        let Some(receiver) = target else {
            let name = function.strip_prefix('.').unwrap_or(function).to_owned();
            *function = Arc::from(name.as_str());
            let types: Vec<Type> = args.iter().map(|a| self.type_of(a)).collect();
            self.resolve_call(id, at, &name, &types, false, args);
            return;
        };
        if let Some(prefix) = qualified_name(receiver) {
            let full = format!("{}.{function}", prefix.strip_prefix('.').unwrap_or(&prefix));
            if self.function_exists(&full) {
                *function = Arc::from(full.as_str());
                *target = None;
                let types: Vec<Type> = args.iter().map(|a| self.type_of(a)).collect();
                self.resolve_call(id, at, &full, &types, false, args);
                return;
            }
        }
        self.check(receiver);
        let name = function.to_string();
        let mut types = vec![self.type_of(receiver)];
        types.extend(args.iter().map(|a| self.type_of(a)));
        self.resolve_call(id, at, &name, &types, true, args);
    }

    fn function_exists(&self, name: &str) -> bool {
        self.environment.extension(name).is_some()
            || (table::function(name).is_some()
                && (name != "jsonpatch.escapeKey" || self.environment.is_struct("JSONPatch")))
    }

    fn optional_select(&mut self, id: usize, at: usize, args: &mut [Expr]) {
        let [operand, field] = args else { return };
        let Kind::Literal(Literal::String(name)) = &field.kind else { return };
        let name = name.clone();
        let result = self.select_field(at, operand, &name, true);
        self.checked.types[id] = Some(self.unifier.resolve(&result, false));
        self.checked.overloads[id] = vec!["select_optional_field"];
    }

    fn resolve_call(
        &mut self,
        id: usize,
        at: usize,
        name: &str,
        types: &[Type],
        member: bool,
        args: &[Expr],
    ) {
        if !self.function_exists(name) {
            self.checked.types[id] = Some(Type::Error);
            let names: Vec<String> =
                self.environment.names().iter().map(|n| (*n).to_owned()).collect();
            let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
            self.undeclared(at, name, &borrowed);
            return;
        }
        if let Some(extension) = self.environment.extension(name).cloned() {
            let fits = !member && self.unifier.all_assignable(&extension.args, types);
            if fits {
                self.checked.types[id] = Some(extension.result.clone());
                self.checked.overloads[id] = vec![extension.name];
            } else {
                self.no_overload(id, at, name, types, member);
            }
            return;
        }
        if matches!(name, "_&&_" | "_||_") {
            self.logic(id, name, types, args);
            return;
        }
        let Some(function) = table::function(name) else { return };
        let mut result: Option<Type> = None;
        for overload in &function.overloads {
            if overload.member != member {
                continue;
            }
            let fresh: Vec<(Arc<str>, Type)> =
                overload.params.iter().map(|p| (p.clone(), self.unifier.fresh())).collect();
            let expected: Vec<Type> =
                overload.args.iter().map(|a| instantiate(a, &fresh)).collect();
            if !self.unifier.all_assignable(types, &expected) {
                continue;
            }
            self.checked.overloads[id].push(overload.id);
            let given = self.unifier.resolve(&instantiate(&overload.result, &fresh), false);
            result = Some(match result {
                None => given,
                Some(known) if known.is_dyn() || known == given => known,
                Some(_) => Type::Dyn,
            });
        }
        match result {
            Some(ty) => self.checked.types[id] = Some(ty),
            None => self.no_overload(id, at, name, types, member),
        }
    }

    fn no_overload(&mut self, id: usize, at: usize, name: &str, types: &[Type], member: bool) {
        let shown: Vec<String> =
            types.iter().map(|t| self.unifier.resolve(t, true).checker_name()).collect();
        let signature = match (member, shown.split_first()) {
            (true, Some((target, rest))) => format!("{target}.({})", rest.join(", ")),
            _ => format!("({})", shown.join(", ")),
        };
        self.raise(at, format!("found no matching overload for '{name}' applied to '{signature}'"));
        self.checked.types[id] = Some(Type::Error);
        self.checked.overloads[id].clear();
    }

    fn logic(&mut self, id: usize, name: &str, types: &[Type], args: &[Expr]) {
        let mut failed = false;
        for (ty, arg) in types.iter().zip(args) {
            if !self.unifier.assignable(ty, &Type::Bool) {
                self.mismatch(arg.at, &Type::Bool, ty);
                failed = true;
            }
        }
        self.checked.types[id] = Some(if failed { Type::Error } else { Type::Bool });
        if !failed {
            let overload = if name == "_&&_" { "logical_and" } else { "logical_or" };
            self.checked.overloads[id] = vec![overload];
        }
    }

    /// The element's type, once more if it was optional.
    fn unwrapped(&mut self, value: &Expr, optional: bool) -> Type {
        let ty = self.type_of(value);
        if !optional {
            return ty;
        }
        if let Type::Optional(inner) = &ty {
            (**inner).clone()
        } else {
            if !ty.is_dyn() {
                self.mismatch(value.at, &Type::optional(ty.clone()), &ty);
            }
            ty
        }
    }

    /// Mixed literals are `dyn` here; the validators refuse them afterwards.
    fn join(&mut self, previous: Option<Type>, current: Type) -> Type {
        let Some(previous) = previous else { return current };
        if self.unifier.assignable(&previous, &current) {
            return most_general(&previous, &current).clone();
        }
        Type::Dyn
    }

    fn list(&mut self, expr: &mut Expr) {
        let id = expr.id;
        let Kind::List(elements) = &mut expr.kind else { return };
        let mut joined: Option<Type> = None;
        for (element, optional) in elements {
            self.check(element);
            let ty = self.unwrapped(element, *optional);
            joined = Some(self.join(joined, ty));
        }
        let element = joined.unwrap_or_else(|| self.unifier.fresh());
        self.checked.types[id] = Some(Type::list(element));
    }

    fn map(&mut self, expr: &mut Expr) {
        let id = expr.id;
        let Kind::Map(entries) = &mut expr.kind else { return };
        let (mut keys, mut values): (Option<Type>, Option<Type>) = (None, None);
        for MapEntry { key, value, optional } in entries {
            self.check(key);
            let ty = self.type_of(key);
            keys = Some(self.join(keys, ty));
            self.check(value);
            let ty = self.unwrapped(value, *optional);
            values = Some(self.join(values, ty));
        }
        let key = keys.unwrap_or_else(|| self.unifier.fresh());
        let value = values.unwrap_or_else(|| self.unifier.fresh());
        self.checked.types[id] = Some(Type::map(key, value));
    }

    fn structure(&mut self, expr: &mut Expr) {
        let (id, at) = (expr.id, expr.at);
        let Kind::Struct { name, fields } = &mut expr.kind else { return };
        let found = self.lookup(name);
        let Some((found, ty)) = found else {
            self.checked.types[id] = Some(Type::Error);
            let message = format!("undeclared reference to '{name}' (in container '')");
            self.raise(at, message);
            return;
        };
        let result = match found {
            Name::Variable(_) if ty == Type::Error => Type::Error,
            Name::Variable(_) => {
                self.raise(at, format!("'{}' is not a type", ty.runtime_name()));
                Type::Error
            }
            Name::Type(ty @ (Type::Struct(_) | Type::Duration | Type::Timestamp)) => ty,
            Name::Message(full) => {
                *name = full.clone();
                messages::type_of(&full).unwrap_or(Type::Error)
            }
            Name::Zero => Type::Error,
            Name::Type(ty) => {
                self.raise(at, format!("'{}' is not a message type", ty.runtime_name()));
                Type::Error
            }
        };
        if let Type::Struct(full) = &result {
            *name = full.clone();
        }
        let type_name = name.clone();
        self.checked.types[id] = Some(result);
        for StructField { at, name, value, optional } in fields {
            self.check(value);
            if &*type_name == "JSONPatch" && self.environment.field(&type_name, name).is_none() {
                // cel-go is told that the field exists, and gets no type for it.
                let given = self.unwrapped(value, *optional).checker_name();
                let text =
                    format!("expected type of field '{name}' is '' but provided type is '{given}'");
                self.raise(*at, text);
                continue;
            }
            let field = self.field_type(*at, &type_name, name).unwrap_or(Type::Error);
            let given = self.unwrapped(value, *optional);
            if !self.unifier.assignable(&field, &given) {
                let message = format!(
                    "expected type of field '{name}' is '{}' but provided type is '{}'",
                    field.checker_name(),
                    given.checker_name()
                );
                self.raise(*at, message);
            }
        }
    }

    fn comprehension(&mut self, expr: &mut Expr) {
        let id = expr.id;
        let Kind::Comprehension(comprehension) = &mut expr.kind else { return };
        let Comprehension {
            range, var, var2, accu_var, accu_init, condition, step, result, ..
        } = &mut **comprehension;
        self.check(range);
        self.check(accu_init);
        let range_type = self.unifier.resolve(&self.type_of(range), false);
        let accu_type = self.type_of(accu_init);
        let outer = self.scopes.len();
        self.scopes.push((accu_var.clone(), accu_type.clone()));
        let (first, second) = match &range_type {
            Type::List(element) if var2.is_some() => (Type::Int, (**element).clone()),
            Type::List(element) => ((**element).clone(), Type::Error),
            Type::Map(ab) => (ab.0.clone(), ab.1.clone()),
            Type::Dyn | Type::Any | Type::Error | Type::Var(_) => {
                self.unifier.assignable(&Type::Dyn, &range_type);
                (Type::Dyn, Type::Dyn)
            }
            Type::Null
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
            | Type::Struct(_)
            | Type::Param(_) => {
                let message = format!(
                    "expression of type '{}' cannot be range of a comprehension (must be list, map, or dynamic)",
                    range_type.checker_name()
                );
                self.raise(range.at, message);
                (Type::Error, Type::Error)
            }
        };
        let inner = self.scopes.len();
        self.scopes.push((var.clone(), first));
        if let Some(var2) = var2 {
            self.scopes.push((var2.clone(), second));
        }
        self.check(condition);
        self.must_be(condition, &Type::Bool);
        self.check(step);
        self.must_be(step, &accu_type);
        self.scopes.truncate(inner);
        self.check(result);
        self.scopes.truncate(outer);
        let ty = self.unifier.resolve(&self.type_of(result), false);
        self.checked.types[id] = Some(ty);
    }

    fn must_be(&mut self, expr: &Expr, expected: &Type) {
        let found = self.type_of(expr);
        if !self.unifier.assignable(expected, &found) {
            self.mismatch(expr.at, expected, &found);
        }
    }
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}

fn instantiate(ty: &Type, params: &[(Arc<str>, Type)]) -> Type {
    match ty {
        Type::Param(name) => params
            .iter()
            .find(|(known, _)| known == name)
            .map_or_else(|| ty.clone(), |(_, var)| var.clone()),
        Type::List(a) => Type::list(instantiate(a, params)),
        Type::Optional(a) => Type::optional(instantiate(a, params)),
        Type::Type(Some(a)) => Type::Type(Some(Arc::new(instantiate(a, params)))),
        Type::Map(ab) => Type::map(instantiate(&ab.0, params), instantiate(&ab.1, params)),
        Type::Dyn
        | Type::Error
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
        | Type::Any
        | Type::Type(None)
        | Type::Opaque(_)
        | Type::Struct(_)
        | Type::Var(_) => ty.clone(),
    }
}
