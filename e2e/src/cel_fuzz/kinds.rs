//! The static types of CEL, as far as a generator needs them, and the table of functions.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A static type, or a parameter of an overload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// No type in particular.
    Dyn,
    /// A type without parameters, by its name in the table: `int`, `kubernetes.URL`.
    Named(String),
    /// `list(T)`.
    List(Box<Self>),
    /// `map(K, V)`.
    Map(Box<Self>, Box<Self>),
    /// `optional_type(T)`.
    Optional(Box<Self>),
    /// `type(T)`.
    Type(Box<Self>),
    /// `<T>`.
    Parameter(String),
}

/// What the parameters of an overload stand for.
pub type Parameters = BTreeMap<String, Kind>;

impl Kind {
    /// A type without parameters.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self::Named(name.to_owned())
    }

    /// A list of these.
    #[must_use]
    pub fn list(of: Self) -> Self {
        Self::List(Box::new(of))
    }

    /// A map from one to the other.
    #[must_use]
    pub fn map(key: Self, value: Self) -> Self {
        Self::Map(Box::new(key), Box::new(value))
    }

    /// An optional one.
    #[must_use]
    pub fn optional(of: Self) -> Self {
        Self::Optional(Box::new(of))
    }

    /// Reads a type as the table spells it.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let inside = |prefix: &str| text.strip_prefix(prefix)?.strip_suffix(')');
        if text == "dyn" {
            Self::Dyn
        } else if let Some(name) = text.strip_prefix('<') {
            Self::Parameter(name.trim_end_matches('>').to_owned())
        } else if let Some(of) = inside("list(") {
            Self::list(Self::parse(of))
        } else if let Some(of) = inside("optional_type(") {
            Self::optional(Self::parse(of))
        } else if let Some(of) = inside("type(") {
            Self::Type(Box::new(Self::parse(of)))
        } else if let Some((key, value)) = inside("map(").and_then(|of| of.split_once(", ")) {
            Self::map(Self::parse(key), Self::parse(value))
        } else {
            Self::named(text)
        }
    }

    /// Whether this type of the table can be `wanted`; learns what its parameters then are.
    pub fn fits(&self, wanted: &Self, learnt: &mut Parameters) -> bool {
        match (self, wanted) {
            (Self::Parameter(name), _) => {
                learnt.entry(name.clone()).or_insert_with(|| wanted.clone()) == wanted
            }
            (Self::List(a), Self::List(b))
            | (Self::Optional(a), Self::Optional(b))
            | (Self::Type(a), Self::Type(b)) => a.fits(b, learnt),
            (Self::Map(a, b), Self::Map(c, d)) => a.fits(c, learnt) && b.fits(d, learnt),
            (a, b) => a == b,
        }
    }

    /// The type with its parameters replaced; those that nothing is known of by `other`.
    #[must_use]
    pub fn filled(&self, learnt: &mut Parameters, other: &mut dyn FnMut() -> Self) -> Self {
        match self {
            Self::Parameter(name) => learnt.entry(name.clone()).or_insert_with(&mut *other).clone(),
            Self::List(of) => Self::list(of.filled(learnt, other)),
            Self::Optional(of) => Self::optional(of.filled(learnt, other)),
            Self::Type(of) => Self::Type(Box::new(of.filled(learnt, other))),
            Self::Map(key, value) => {
                Self::map(key.filled(learnt, other), value.filled(learnt, other))
            }
            Self::Dyn | Self::Named(_) => self.clone(),
        }
    }
}

/// One way to call a function.
#[derive(Debug)]
pub struct Overload {
    /// The function's name, or an operator as `_+_`.
    pub function: String,
    /// Whether it is called on its first argument.
    pub member: bool,
    /// The types of the arguments.
    pub arguments: Vec<Kind>,
    /// The type of the result.
    pub result: Kind,
}

/// The functions and message types that Kubernetes has.
#[derive(Debug)]
pub struct Table {
    /// Every overload that an expression can name.
    pub overloads: Vec<Overload>,
    /// Message types and the types of their fields.
    pub structures: Vec<(String, Vec<(String, Kind)>)>,
}

impl Table {
    /// Reads the table that the oracle wrote.
    pub fn read(text: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Written {
            functions: BTreeMap<String, Vec<WrittenOverload>>,
            structs: BTreeMap<String, WrittenStructure>,
        }
        #[derive(Deserialize)]
        struct WrittenOverload {
            member: bool,
            args: Vec<String>,
            result: String,
        }
        #[derive(Deserialize)]
        struct WrittenStructure {
            fields: BTreeMap<String, String>,
        }
        let written: Written = serde_json::from_str(text).context("the table of functions")?;
        let mut overloads = Vec::new();
        for (function, ways) in written.functions {
            // What only macros call has an @ in its name; `in` is an operator.
            if function != "@in" && (function.contains('@') || function == "in") {
                continue;
            }
            for way in ways {
                overloads.push(Overload {
                    function: function.clone(),
                    member: way.member,
                    arguments: way.args.iter().map(|arg| Kind::parse(arg)).collect(),
                    result: Kind::parse(&way.result),
                });
            }
        }
        let structures = written
            .structs
            .into_iter()
            .map(|(name, structure)| {
                let fields = structure.fields.into_iter();
                (name, fields.map(|(field, kind)| (field, Kind::parse(&kind))).collect())
            })
            .collect();
        Ok(Self { overloads, structures })
    }
}
