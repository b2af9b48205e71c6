//! The types of lists, maps, messages and loops.

use super::{Checker, Name, untyped};
use crate::policy::cel::{
    ast::{Comprehension, Expr, Kind, MapEntry, StructField},
    library::messages,
    types::Type,
    unify::most_general,
};
use std::sync::Arc;

impl Checker<'_> {
    /// The element's type, once more if it was optional.
    pub(super) fn unwrapped(&mut self, value: &Expr, optional: bool) -> Type {
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
    pub(super) fn join(&mut self, previous: Option<Type>, current: Type) -> Type {
        // A type that is missing is taken for that of an element that is.
        let Some(previous) = previous.filter(|ty| !ty.is_missing()) else { return current };
        if self.unifier.assignable(&previous, &current) {
            return most_general(&previous, &current).clone();
        }
        Type::Dyn
    }

    fn or_fresh(&mut self, joined: Option<Type>) -> Type {
        joined.filter(|ty| !ty.is_missing()).unwrap_or_else(|| self.unifier.fresh())
    }

    pub(super) fn list(&mut self, expr: &mut Expr) {
        let id = expr.id;
        let Kind::List(elements) = &mut expr.kind else { return };
        let mut joined: Option<Type> = None;
        for (element, optional) in elements {
            self.check(element);
            let ty = self.unwrapped(element, *optional);
            joined = Some(self.join(joined, ty));
        }
        let element = self.or_fresh(joined);
        self.checked.types[id] = Some(Type::list(element));
    }

    pub(super) fn map(&mut self, expr: &mut Expr) {
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
        let key = self.or_fresh(keys);
        let value = self.or_fresh(values);
        self.checked.types[id] = Some(Type::map(key, value));
    }

    pub(super) fn structure(&mut self, expr: &mut Expr) {
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
                match &ty {
                    Type::Type(Some(made)) => (**made).clone(),
                    _ => Type::Error,
                }
            }
            Name::Type(Type::Null) => Type::Null,
            Name::Zero => Type::Error,
            Name::Type(ty) => {
                self.raise(at, format!("'{}' is not a message type", ty.runtime_name()));
                Type::Error
            }
        };
        if let Type::Struct(full) = &result {
            *name = full.clone();
        }
        let type_name = match &result {
            Type::Duration => Arc::from("google.protobuf.Duration"),
            Type::Timestamp => Arc::from("google.protobuf.Timestamp"),
            Type::Null => Arc::from("google.protobuf.NullValue"),
            _ => name.clone(),
        };
        self.checked.types[id] = Some(result);
        for StructField { at, name, value, optional } in fields {
            self.check(value);
            let unknown =
                &*type_name == "JSONPatch" && self.environment.field(&type_name, name).is_none();
            let field = if unknown {
                untyped()
            } else {
                self.field_type(*at, &type_name, name).unwrap_or(Type::Error)
            };
            let given = self.unwrapped(value, *optional);
            if messages::fields(&type_name).is_some() && given.is_dyn() && !field.is_dyn() {
                self.checked.unsure_field.get_or_insert_with(|| format!("{type_name}.{name}"));
            }
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

    pub(super) fn comprehension(&mut self, expr: &mut Expr) {
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
            Type::Dyn | Type::Error | Type::Var(_) => {
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
            | Type::Any
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

    pub(super) fn must_be(&mut self, expr: &Expr, expected: &Type) {
        let found = self.type_of(expr);
        if !self.unifier.assignable(expected, &found) {
            self.mismatch(expr.at, expected, &found);
        }
    }
}
