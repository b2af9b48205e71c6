//! The type checker: cel-go's, with its messages.

mod build;
mod calls;

use super::{
    ast::{Expr, Kind, Literal, qualified_name},
    environment::Environment,
    library::messages,
    source::Raised,
    suggest::nearest,
    types::Type,
    unify::Unifier,
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
    /// A field of a message of protocol buffers that is given something of a type not known yet.
    pub unsure_field: Option<String>,
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
            unsure_field: None,
        },
        errors: Vec::new(),
    };
    checker.check(root);
    for ty in checker.checked.types.iter_mut().flatten() {
        *ty = checker.unifier.resolve(ty, true);
    }
    let untyped = checker.checked.types.iter().flatten().any(is_untyped);
    checker.checked.untyped = untyped;
    (checker.checked, checker.errors)
}

/// A field that JSONPatch does not have: cel-go is told that it exists, and gets no type for it.
fn untyped() -> Type {
    Type::Opaque(Arc::from(""))
}

/// Whether that is what it is, or what is in it.
fn is_untyped(ty: &Type) -> bool {
    match ty {
        Type::Opaque(_) => ty.is_missing(),
        Type::List(a) | Type::Optional(a) | Type::Type(Some(a)) => is_untyped(a),
        Type::Map(ab) => is_untyped(&ab.0) || is_untyped(&ab.1),
        _ => false,
    }
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
        // Kubernetes' own names of these types, which its planner does not know.
        let short = match name {
            "duration" => Some(Type::Duration),
            "timestamp" => Some(Type::Timestamp),
            _ => None,
        };
        if let Some(ty) = short {
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
                untyped()
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
        match structure {
            // Kubernetes takes its schemas' names of simple types for types with fields, of which they have none.
            "bool" | "bytes" | "double" | "int" | "list" | "string" | "uint" => {
                self.raise(at, format!("undefined field '{field}'"));
                return None;
            }
            "map" => return Some(Type::Dyn),
            _ => {}
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
