//! Static types, as cel-go's checker knows them, and how they are written in messages.

use std::{fmt, sync::Arc};

/// A type that the checker can give to an expression.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// Known at run time only.
    Dyn,
    /// What follows a problem that is reported already.
    Error,
    /// The type of `null`.
    Null,
    /// `true` and `false`.
    Bool,
    /// 64 bits with sign.
    Int,
    /// 64 bits without sign.
    Uint,
    /// 64 bits of floating point.
    Double,
    /// Text.
    String,
    /// Octets.
    Bytes,
    /// A span of time.
    Duration,
    /// A point in time.
    Timestamp,
    /// The type of types; with a parameter where it is known which type.
    Type(Option<Arc<Self>>),
    /// A list of one element type.
    List(Arc<Self>),
    /// A map from one key type to one value type.
    Map(Arc<(Self, Self)>),
    /// A value that may be absent.
    Optional(Arc<Self>),
    /// A simple type that may also be null: what `google.protobuf.StringValue{}` makes.
    Wrapper(Arc<Self>),
    /// Any message.
    Any,
    /// A library's own type without fields, such as `net.IP`.
    Opaque(Arc<str>),
    /// A type with named fields, such as `kubernetes.AdmissionRequest`.
    Struct(Arc<str>),
    /// A parameter of a declared signature.
    Param(Arc<str>),
    /// A type still to be found out.
    Var(u32),
}

impl Type {
    /// A list of `element`.
    #[must_use]
    pub fn list(element: Self) -> Self {
        Self::List(Arc::new(element))
    }

    /// A map from `key` to `value`.
    #[must_use]
    pub fn map(key: Self, value: Self) -> Self {
        Self::Map(Arc::new((key, value)))
    }

    /// An optional of `value`.
    #[must_use]
    pub fn optional(value: Self) -> Self {
        Self::Optional(Arc::new(value))
    }

    /// A type with fields.
    #[must_use]
    pub fn structure(name: &str) -> Self {
        Self::Struct(Arc::from(name))
    }

    /// Whether a value of this type is only known at run time.
    #[must_use]
    pub fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn | Self::Any)
    }

    /// Whether it is the type of a field that JSONPatch does not have: none, which fits nothing, not even itself.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Opaque(name) if name.is_empty())
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Self::Dyn | Self::Any | Self::Error)
    }

    /// The type without the null that it may also be; cel-go takes the two for the same.
    #[must_use]
    pub fn plain(&self) -> &Self {
        if let Self::Wrapper(inner) = self { inner } else { self }
    }

    /// Equal up to the names of parameters, cel-go's `IsEquivalentType`.
    pub(crate) fn is_equivalent(&self, other: &Self) -> bool {
        match (self.plain(), other.plain()) {
            (Self::Param(_) | Self::Var(_), Self::Param(_) | Self::Var(_)) => true,
            (Self::List(a), Self::List(b)) | (Self::Optional(a), Self::Optional(b)) => {
                a.is_equivalent(b)
            }
            (Self::Map(a), Self::Map(b)) => a.0.is_equivalent(&b.0) && a.1.is_equivalent(&b.1),
            (Self::Type(a), Self::Type(b)) => match (a, b) {
                (None, None) => true,
                (Some(a), Some(b)) => a.is_equivalent(b),
                _ => false,
            },
            (a, b) => a == b,
        }
    }

    /// The name that `type(x)` has at run time.
    #[must_use]
    pub fn runtime_name(&self) -> &str {
        match self {
            Self::Dyn => "dyn",
            Self::Error => "error",
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Duration => "google.protobuf.Duration",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Type(_) => "type",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Optional(_) => "optional_type",
            Self::Wrapper(inner) => inner.runtime_name(),
            Self::Any => "google.protobuf.Any",
            Self::Opaque(name) | Self::Struct(name) | Self::Param(name) => name,
            Self::Var(_) => "_var",
        }
    }

    /// The form used in the checker's messages: `duration`, `null`, `list(int)`.
    #[must_use]
    pub fn checker_name(&self) -> String {
        let mut text = String::new();
        self.write_checker(&mut text);
        text
    }

    fn write_checker(&self, out: &mut String) {
        match self {
            Self::Duration => out.push_str("duration"),
            Self::Timestamp => out.push_str("timestamp"),
            Self::Error => out.push_str("!error!"),
            Self::Null => out.push_str("null"),
            Self::Any => out.push_str("any"),
            Self::Wrapper(a) => wrap(out, "wrapper", &[a]),
            Self::Var(n) => {
                out.push_str("_var");
                out.push_str(&n.to_string());
            }
            Self::List(a) => wrap(out, "list", &[a]),
            Self::Optional(a) | Self::Type(Some(a)) => wrap(out, self.runtime_name(), &[a]),
            Self::Map(ab) => wrap(out, "map", &[&ab.0, &ab.1]),
            Self::Dyn
            | Self::Bool
            | Self::Int
            | Self::Uint
            | Self::Double
            | Self::String
            | Self::Bytes
            | Self::Type(None)
            | Self::Opaque(_)
            | Self::Struct(_)
            | Self::Param(_) => out.push_str(self.runtime_name()),
        }
    }

    /// Reads the notation of the function table.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(name) = text.strip_prefix('<') {
            return Some(Self::Param(Arc::from(name.strip_suffix('>')?)));
        }
        if let Some(open) = text.find('(') {
            let inner = text[open + 1..].strip_suffix(')')?;
            return match &text[..open] {
                "list" => Some(Self::list(Self::parse(inner)?)),
                "optional_type" => Some(Self::optional(Self::parse(inner)?)),
                "type" => Some(Self::Type(Some(Arc::new(Self::parse(inner)?)))),
                "map" => {
                    let comma = top_level_comma(inner)?;
                    Some(Self::map(
                        Self::parse(&inner[..comma])?,
                        Self::parse(&inner[comma + 1..])?,
                    ))
                }
                _ => None,
            };
        }
        Some(match text {
            "dyn" => Self::Dyn,
            "bool" => Self::Bool,
            "int" => Self::Int,
            "uint" => Self::Uint,
            "double" => Self::Double,
            "string" => Self::String,
            "bytes" => Self::Bytes,
            "null_type" => Self::Null,
            "type" => Self::Type(None),
            "google.protobuf.Duration" => Self::Duration,
            "google.protobuf.Timestamp" => Self::Timestamp,
            "net.IP" | "net.CIDR" => Self::Opaque(Arc::from(text)),
            name => Self::Struct(Arc::from(name)),
        })
    }
}

fn wrap(out: &mut String, name: &str, params: &[&Type]) {
    out.push_str(name);
    out.push('(');
    for (i, param) in params.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        param.write_checker(out);
    }
    out.push(')');
}

fn top_level_comma(text: &str) -> Option<usize> {
    let mut depth = 0_i32;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => return Some(at),
            _ => {}
        }
        None
    })
}

/// The form of "must evaluate to … but got …", and of the static type that is shown to people.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List(a) => write!(f, "list({a})"),
            Self::Optional(a) => write!(f, "optional_type({a})"),
            Self::Wrapper(a) => write!(f, "wrapper({a})"),
            Self::Type(Some(a)) => write!(f, "type({a})"),
            Self::Map(ab) => write!(f, "map({}, {})", ab.0, ab.1),
            Self::Param(name) => write!(f, "<{name}>"),
            Self::Var(n) => write!(f, "<_var{n}>"),
            Self::Dyn
            | Self::Error
            | Self::Null
            | Self::Bool
            | Self::Int
            | Self::Uint
            | Self::Double
            | Self::String
            | Self::Bytes
            | Self::Duration
            | Self::Timestamp
            | Self::Any
            | Self::Type(None)
            | Self::Opaque(_)
            | Self::Struct(_) => f.write_str(self.runtime_name()),
        }
    }
}
