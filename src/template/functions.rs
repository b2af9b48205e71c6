//! The functions of a template: Go's own, and those that are declared beside them.

use super::value::Value;
use std::{collections::BTreeMap, fmt, sync::Arc};

/// What a parameter takes, or a function gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Go's `any`.
    Any,
    /// `string`.
    Text,
    /// `int`.
    Int,
    /// `bool`.
    Bool,
    /// `float64`.
    Float,
    /// Go's `reflect.Value`, which Go's own functions take: the value with what Go knows about it.
    Reflected,
}

impl Type {
    /// Go's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "interface {}",
            Self::Text => "string",
            Self::Int => "int",
            Self::Bool => "bool",
            Self::Float => "float64",
            Self::Reflected => "reflect.Value",
        }
    }

    /// Whether Go would assign the value to it as it is.
    pub(crate) fn takes(self, value: &Value) -> bool {
        match self {
            Self::Any | Self::Reflected => true,
            Self::Text | Self::Int | Self::Bool | Self::Float => value.type_name() == self.name(),
        }
    }

    pub(crate) fn can_be_nil(self) -> bool {
        matches!(self, Self::Any | Self::Reflected)
    }
}

/// A function as it is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    /// What it is called.
    pub name: &'static str,
    /// What it takes.
    pub parameters: &'static [Type],
    /// What it takes any number of, behind the others.
    pub variadic: Option<Type>,
    /// What it gives.
    pub returns: Type,
    /// What it does, in one line.
    pub doc: &'static str,
}

impl Signature {
    /// The type of the argument at a place, if there is room for one.
    pub(crate) fn parameter(&self, at: usize) -> Option<Type> {
        self.parameters.get(at).copied().or(self.variadic)
    }
}

/// `trunc int string -> string`
impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        for parameter in self.parameters {
            write!(f, " {}", word(*parameter))?;
        }
        if let Some(variadic) = self.variadic {
            write!(f, " {}…", word(variadic))?;
        }
        write!(f, " -> {}", word(self.returns))
    }
}

fn word(of: Type) -> &'static str {
    if matches!(of, Type::Any | Type::Reflected) { "any" } else { of.name() }
}

const fn builtin(
    name: &'static str,
    parameters: &'static [Type],
    variadic: Option<Type>,
    returns: Type,
    doc: &'static str,
) -> Signature {
    Signature { name, parameters, variadic, returns, doc }
}

const ONE: &[Type] = &[Type::Reflected];
const TWO: &[Type] = &[Type::Reflected, Type::Reflected];
const MORE: Option<Type> = Some(Type::Reflected);
const ANY: Option<Type> = Some(Type::Any);

/// Go's own, by name.
pub(crate) const BUILTINS: [Signature; 19] = [
    builtin("and", ONE, MORE, Type::Reflected, "the first argument that is empty, else the last"),
    builtin("call", ONE, MORE, Type::Reflected, "calls a function that is a value; there is none"),
    builtin("eq", ONE, MORE, Type::Bool, "whether the first equals any of the others"),
    builtin("ge", TWO, None, Type::Bool, "whether the first is at least the second"),
    builtin("gt", TWO, None, Type::Bool, "whether the first is more than the second"),
    builtin("html", &[], ANY, Type::Text, "the text, escaped for HTML"),
    builtin("index", ONE, MORE, Type::Reflected, "what a list or map has at an index or key"),
    builtin("js", &[], ANY, Type::Text, "the text, escaped for JavaScript"),
    builtin("le", TWO, None, Type::Bool, "whether the first is at most the second"),
    builtin("len", ONE, None, Type::Int, "how many items, keys or bytes it has"),
    builtin("lt", TWO, None, Type::Bool, "whether the first is less than the second"),
    builtin("ne", TWO, None, Type::Bool, "whether the first does not equal the second"),
    builtin("not", ONE, None, Type::Bool, "whether the argument is empty"),
    builtin(
        "or",
        ONE,
        MORE,
        Type::Reflected,
        "the first argument that is not empty, else the last",
    ),
    builtin("print", &[], ANY, Type::Text, "the arguments as text"),
    builtin("printf", &[Type::Text], ANY, Type::Text, "the arguments in a format"),
    builtin("println", &[], ANY, Type::Text, "the arguments as a line"),
    builtin(
        "slice",
        ONE,
        MORE,
        Type::Reflected,
        "a part of a list or text, from and up to an index",
    ),
    builtin("urlquery", &[], ANY, Type::Text, "the text, escaped for the query of a URL"),
];

/// One of Go's own.
pub(crate) fn find_builtin(name: &str) -> Option<&'static Signature> {
    BUILTINS.binary_search_by(|builtin| builtin.name.cmp(name)).ok().map(|at| &BUILTINS[at])
}

/// The functions that templates may call beside Go's own; one of the same name takes the place of Go's.
#[derive(Debug, Clone, Default)]
pub struct Functions(Arc<BTreeMap<&'static str, Signature>>);

impl Functions {
    /// These, and Go's own.
    #[must_use]
    pub fn new(declared: &[Signature]) -> Self {
        Self(Arc::new(declared.iter().map(|signature| (signature.name, *signature)).collect()))
    }

    /// Those that were declared, by name.
    pub fn declared(&self) -> impl Iterator<Item = &Signature> {
        self.0.values()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Signature> {
        self.0.get(name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name) || find_builtin(name).is_some()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied().chain(BUILTINS.iter().map(|builtin| builtin.name))
    }
}

/// What declared functions do. Arguments have the declared number and types.
pub trait Call {
    /// Calls one; an error ends the rendering, as `error calling NAME: …`.
    fn call(&self, name: &str, arguments: &[Value]) -> Result<Value, String>;
}

impl<F: Fn(&str, &[Value]) -> Result<Value, String>> Call for F {
    fn call(&self, name: &str, arguments: &[Value]) -> Result<Value, String> {
        self(name, arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builtins_are_sorted_for_the_search() {
        assert!(BUILTINS.is_sorted_by_key(|builtin| builtin.name));
        assert!(BUILTINS.iter().all(|builtin| find_builtin(builtin.name) == Some(builtin)));
    }
}
