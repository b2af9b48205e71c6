//! The functions of Kubernetes 1.36's CEL: generated data, read once.

use super::types::Type;
use std::{collections::HashMap, sync::LazyLock};

/// One signature of a function.
#[derive(Debug, Clone)]
pub struct Overload {
    /// cel-go's name of the overload.
    pub id: &'static str,
    /// Called as `x.f()` rather than `f(x)`.
    pub member: bool,
    /// The receiver first, for members.
    pub args: Vec<Type>,
    /// What a call gives.
    pub result: Type,
    /// The names of its type parameters.
    pub params: Vec<std::sync::Arc<str>>,
}

/// A function and its overloads, in cel-go's order of declaration.
#[derive(Debug)]
pub struct Function {
    /// All signatures.
    pub overloads: Vec<Overload>,
}

static SOURCE: &str = include_str!("functions-1.36.tsv");

static FUNCTIONS: LazyLock<HashMap<&'static str, Function>> = LazyLock::new(|| read(SOURCE));

/// The function of that name, if Kubernetes has it.
#[must_use]
pub fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.get(name)
}

/// All names, for suggestions.
pub fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.keys().copied()
}

fn read(source: &'static str) -> HashMap<&'static str, Function> {
    let mut all: HashMap<&'static str, Function> = HashMap::new();
    for line in source.lines() {
        if let Some((name, overload)) = read_line(line) {
            all.entry(name)
                .or_insert_with(|| Function { overloads: Vec::new() })
                .overloads
                .push(overload);
        }
    }
    all
}

fn read_line(line: &'static str) -> Option<(&'static str, Overload)> {
    let mut cells = line.split('\t');
    let name = cells.next()?;
    let id = cells.next()?;
    let member = cells.next()? == "member";
    let args: Vec<Type> = cells
        .next()?
        .split(';')
        .filter(|a| !a.is_empty())
        .map(Type::parse)
        .collect::<Option<_>>()?;
    let result = Type::parse(cells.next()?)?;
    let mut params = Vec::new();
    for ty in args.iter().chain([&result]) {
        collect_params(ty, &mut params);
    }
    Some((name, Overload { id, member, args, result, params }))
}

fn collect_params(ty: &Type, into: &mut Vec<std::sync::Arc<str>>) {
    match ty {
        Type::Param(name) => {
            if !into.contains(name) {
                into.push(name.clone());
            }
        }
        Type::List(a) | Type::Optional(a) | Type::Type(Some(a)) => collect_params(a, into),
        Type::Map(ab) => {
            collect_params(&ab.0, into);
            collect_params(&ab.1, into);
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
        | Type::Var(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_understood() {
        let lines = SOURCE.lines().count();
        let overloads: usize = FUNCTIONS.values().map(|f| f.overloads.len()).sum();
        assert_eq!((lines, overloads), (341, 341));
    }
}
