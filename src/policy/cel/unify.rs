//! cel-go's assignability: unification with `dyn`, `null` and type parameters.

use super::types::Type;
use std::sync::Arc;

/// What is known of the types still to be found out.
#[derive(Default)]
pub(crate) struct Unifier {
    bound: Vec<Option<Type>>,
    /// What to put back when an attempt fails.
    trail: Vec<(usize, Option<Type>)>,
}

impl Unifier {
    pub(crate) fn fresh(&mut self) -> Type {
        self.bound.push(None);
        Type::Var(u32::try_from(self.bound.len() - 1).unwrap_or(u32::MAX))
    }

    pub(crate) fn assignable(&mut self, to: &Type, from: &Type) -> bool {
        self.attempt(|this| this.fits(to, from))
    }

    pub(crate) fn all_assignable(&mut self, to: &[Type], from: &[Type]) -> bool {
        to.len() == from.len()
            && self.attempt(|this| to.iter().zip(from).all(|(to, from)| this.fits(to, from)))
    }

    fn attempt(&mut self, try_it: impl FnOnce(&mut Self) -> bool) -> bool {
        let mark = self.trail.len();
        let fits = try_it(self);
        if !fits {
            while self.trail.len() > mark {
                if let Some((var, before)) = self.trail.pop() {
                    self.bound[var] = before;
                }
            }
        }
        fits
    }

    fn bind(&mut self, var: u32, to: Type) {
        let index = var as usize;
        let before = self.bound[index].replace(to);
        self.trail.push((index, before));
    }

    fn fits(&mut self, a: &Type, b: &Type) -> bool {
        if let Type::Var(var) = b {
            let (valid, known) = self.substitution(a, *var);
            if valid {
                return true;
            }
            if known {
                return false;
            }
        }
        if let Type::Var(var) = a {
            return self.substitution(b, *var).0;
        }
        if a.is_dyn_or_error() || b.is_dyn_or_error() {
            return true;
        }
        if *a == Type::Null {
            return *b == Type::Null || nullable(b);
        }
        if *b == Type::Null {
            return nullable(a);
        }
        match (a, b) {
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => {
                self.fits(a, b)
            }
            (Type::Map(a), Type::Map(b)) => self.fits(&a.0, &b.0) && self.fits(&a.1, &b.1),
            _ => a.plain() == b.plain() && !a.is_missing(),
        }
    }

    /// Whether `ty` can stand for the variable, and whether the variable stood for something.
    fn substitution(&mut self, ty: &Type, var: u32) -> (bool, bool) {
        if *ty == Type::Var(var) {
            return (true, true);
        }
        if let Some(known) = self.bound[var as usize].clone() {
            if exact(ty, &known) {
                return (true, true);
            }
            if self.fits(ty, &known) {
                let general = most_general(ty, &known).clone();
                if self.not_within(var, &general) {
                    self.bind(var, general);
                }
                return (true, true);
            }
            return (false, true);
        }
        if self.not_within(var, ty) {
            self.bind(var, ty.clone());
            return (true, false);
        }
        (false, false)
    }

    fn not_within(&self, var: u32, ty: &Type) -> bool {
        match ty {
            Type::Var(other) => {
                *other != var
                    && self.bound[*other as usize]
                        .as_ref()
                        .is_none_or(|known| self.not_within(var, known))
            }
            Type::List(a) | Type::Optional(a) | Type::Type(Some(a)) => self.not_within(var, a),
            Type::Map(ab) => self.not_within(var, &ab.0) && self.not_within(var, &ab.1),
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
            | Type::Param(_) => true,
        }
    }

    /// With everything known put in; `open_is_dyn`: and `dyn` for what is not.
    pub(crate) fn resolve(&self, ty: &Type, open_is_dyn: bool) -> Type {
        match ty {
            Type::Var(var) => match &self.bound[*var as usize] {
                Some(known) => self.resolve(known, open_is_dyn),
                None if open_is_dyn => Type::Dyn,
                None => ty.clone(),
            },
            Type::Param(_) if open_is_dyn => Type::Dyn,
            Type::List(a) => Type::list(self.resolve(a, open_is_dyn)),
            Type::Optional(a) => Type::optional(self.resolve(a, open_is_dyn)),
            Type::Type(Some(a)) => Type::Type(Some(Arc::new(self.resolve(a, open_is_dyn)))),
            Type::Map(ab) => {
                Type::map(self.resolve(&ab.0, open_is_dyn), self.resolve(&ab.1, open_is_dyn))
            }
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
            | Type::Param(_) => ty.clone(),
        }
    }
}

/// cel-go's `IsExactType`, to which a type and the same type or null are one.
fn exact(a: &Type, b: &Type) -> bool {
    match (a.plain(), b.plain()) {
        (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => exact(a, b),
        (Type::Map(a), Type::Map(b)) => exact(&a.0, &b.0) && exact(&a.1, &b.1),
        (Type::Type(Some(a)), Type::Type(Some(b))) => exact(a, b),
        (a, b) => a == b && !a.is_missing(),
    }
}

fn nullable(ty: &Type) -> bool {
    match ty {
        Type::Opaque(_) => !ty.is_missing(),
        ty => matches!(
            ty,
            Type::Optional(_)
                | Type::Wrapper(_)
                | Type::Struct(_)
                | Type::Duration
                | Type::Timestamp
        ),
    }
}

pub(crate) fn most_general<'a>(a: &'a Type, b: &'a Type) -> &'a Type {
    if equal_or_less_specific(a, b) { a } else { b }
}

fn equal_or_less_specific(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Dyn | Type::Any | Type::Var(_) | Type::Param(_), _) => true,
        (_, Type::Dyn | Type::Any | Type::Var(_) | Type::Param(_)) => false,
        (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => {
            equal_or_less_specific(a, b)
        }
        (Type::Map(a), Type::Map(b)) => {
            equal_or_less_specific(&a.0, &b.0) && equal_or_less_specific(&a.1, &b.1)
        }
        (Type::Type(_), Type::Type(_)) => true,
        _ => a.plain() == b.plain(),
    }
}
