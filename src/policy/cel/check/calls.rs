//! Which overloads of a function a call may mean.

use super::Checker;
use crate::policy::cel::{
    ast::{Expr, Kind, Literal, qualified_name},
    table,
    types::Type,
};
use std::sync::Arc;

impl Checker<'_> {
    pub(super) fn call(&mut self, expr: &mut Expr) {
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
            if !self.function_exists(&name) {
                let written = function.clone();
                self.unknown_function(id, at, &written);
                return;
            }
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

    pub(super) fn function_exists(&self, name: &str) -> bool {
        self.environment.extension(name).is_some()
            || (table::function(name).is_some()
                && (name != "jsonpatch.escapeKey" || self.environment.is_struct("JSONPatch")))
    }

    pub(super) fn unknown_function(&mut self, id: usize, at: usize, name: &str) {
        self.checked.types[id] = Some(Type::Error);
        let names: Vec<String> = self.environment.names().iter().map(|n| (*n).to_owned()).collect();
        let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
        self.undeclared(at, name, &borrowed);
    }

    pub(super) fn optional_select(&mut self, id: usize, at: usize, args: &mut [Expr]) {
        let [operand, field] = args else { return };
        let Kind::Literal(Literal::String(name)) = &field.kind else { return };
        let name = name.clone();
        let result = self.select_field(at, operand, &name, true);
        self.checked.types[id] = Some(self.unifier.resolve(&result, false));
        self.checked.overloads[id] = vec!["select_optional_field"];
    }

    pub(super) fn resolve_call(
        &mut self,
        id: usize,
        at: usize,
        name: &str,
        types: &[Type],
        member: bool,
        args: &[Expr],
    ) {
        if !self.function_exists(name) {
            self.unknown_function(id, at, name);
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
            result = Some(match result.filter(|ty| !ty.is_missing()) {
                None => given,
                Some(known) if known.is_dyn() || known == given => known,
                Some(_) => Type::Dyn,
            });
        }
        match result.filter(|ty| !ty.is_missing()) {
            Some(ty) => self.checked.types[id] = Some(ty),
            None => self.no_overload(id, at, name, types, member),
        }
    }

    pub(super) fn no_overload(
        &mut self,
        id: usize,
        at: usize,
        name: &str,
        types: &[Type],
        member: bool,
    ) {
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

    pub(super) fn logic(&mut self, id: usize, name: &str, types: &[Type], args: &[Expr]) {
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
