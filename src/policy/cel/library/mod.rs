//! The functions beyond operators: one file per library, looked up by cel-go's overload ids.

pub mod authz;
mod cidr;
mod conversions;
pub mod format_string;
mod ip;
mod json_patch;
mod kube_lists;
mod lists;
pub(crate) mod messages;
mod named_format;
mod optional;
mod quantity;
pub(crate) mod regex;
mod semver;
mod sets;
mod strings;
mod times;
mod url;
mod wire;

pub use self::{
    authz::{Authorizer, GroupCheck, PathCheck, ResourceCheck},
    named_format::NamedFormat,
    quantity::Quantity,
    semver::Semver,
    url::Url,
};
use super::{authorizer::Decision, error::Error, eval::Machine, value::Value};
use std::net::IpAddr;

/// The body of an overload.
pub(crate) type Function =
    for<'m, 'a> fn(&mut Machine<'m, 'a>, &[Value<'a>]) -> Result<Value<'a>, Error>;

/// How cel-go binds a body: one or two arguments are all evaluated first, more are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binding {
    /// `UnaryBinding`, `BinaryBinding`.
    Direct,
    /// `FunctionBinding`.
    Variadic,
}

/// A value of a Kubernetes type.
#[derive(Debug, Clone)]
pub enum Opaque {
    /// `ip('1.2.3.4')`.
    Ip(IpAddr),
    /// `cidr('10.0.0.0/8')`.
    Cidr(cidr::Cidr),
    /// `url('https://…')`.
    Url(Url),
    /// `quantity('1Gi')`; true if it was computed, which Kubernetes' equality notices.
    Quantity(Quantity, bool),
    /// `semver('1.2.3')`.
    Semver(Semver),
    /// `format.dns1123Label()`.
    Format(&'static NamedFormat),
    /// `authorizer`.
    Authorizer(Authorizer),
    /// `authorizer.path(p)`.
    PathCheck(PathCheck),
    /// `authorizer.group(g)`.
    GroupCheck(GroupCheck),
    /// `authorizer.group(g).resource(r)`.
    ResourceCheck(ResourceCheck),
    /// What a check came to.
    Decision(Decision),
    /// A failure that an optional holds: it shows when it is taken out.
    Failed(String),
}

/// What cel-go makes of what a value wraps.
pub(crate) enum Native {
    /// The same value again.
    Itself,
    /// An error: the wrapped Go type is not known to it.
    Foreign(&'static str),
    /// An error: there is nothing inside.
    Nothing,
}

impl Opaque {
    /// What `type(x)` is called.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::Url(_) => "kubernetes.URL",
            Self::Quantity(..) => "kubernetes.Quantity",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Authorizer(_) => "kubernetes.authorization.Authorizer",
            Self::PathCheck(_) => "kubernetes.authorization.PathCheck",
            Self::GroupCheck(_) => "kubernetes.authorization.GroupCheck",
            Self::ResourceCheck(_) => "kubernetes.authorization.ResourceCheck",
            Self::Decision(_) => "kubernetes.authorization.Decision",
            Self::Failed(_) => "error",
        }
    }

    /// `%T` in Go.
    pub(crate) fn go_type(&self) -> &'static str {
        match self {
            Self::Ip(_) => "cel.IP",
            Self::Cidr(_) => "cel.CIDR",
            Self::Url(_) => "cel.URL",
            Self::Quantity(_, false) => "cel.Quantity",
            Self::Quantity(_, true) => "*cel.Quantity",
            Self::Semver(_) => "cel.Semver",
            Self::Format(_) => "cel.Format",
            Self::Authorizer(_) => "library.authorizerVal",
            Self::PathCheck(_) => "library.pathCheckVal",
            Self::GroupCheck(_) => "library.groupCheckVal",
            Self::ResourceCheck(_) => "library.resourceCheckVal",
            Self::Decision(_) => "library.decisionVal",
            Self::Failed(_) => "*types.Err",
        }
    }

    /// What cel-go makes of what it wraps.
    pub(crate) fn go_native(&self) -> Native {
        match self {
            Self::Ip(_) => Native::Foreign("netip.Addr"),
            Self::Cidr(_) => Native::Foreign("netip.Prefix"),
            Self::Url(_) => Native::Foreign("*url.URL"),
            Self::Quantity(..) => Native::Foreign("*resource.Quantity"),
            Self::Semver(_) => Native::Foreign("semver.Version"),
            // The one error that wraps another.
            Self::Failed(text) if text.starts_with("fail to convert field ") => {
                Native::Foreign("*fmt.wrapError")
            }
            Self::Failed(_) => Native::Foreign("*errors.errorString"),
            Self::Format(_) => Native::Itself,
            Self::Authorizer(_)
            | Self::PathCheck(_)
            | Self::GroupCheck(_)
            | Self::ResourceCheck(_)
            | Self::Decision(_) => Native::Nothing,
        }
    }

    /// The text that Kubernetes makes of it where Go wants one.
    pub(crate) fn as_text(&self) -> Option<String> {
        match self {
            Self::Ip(_) | Self::Cidr(_) | Self::Url(_) | Self::Semver(_) => Some(self.plain()),
            Self::Quantity(quantity, _) => Some(quantity.canonical()),
            Self::Format(_)
            | Self::Authorizer(_)
            | Self::PathCheck(_)
            | Self::GroupCheck(_)
            | Self::ResourceCheck(_)
            | Self::Decision(_)
            | Self::Failed(_) => None,
        }
    }

    /// That it cannot be converted to a Go type.
    pub(crate) fn no_conversion(&self, to: &str) -> String {
        let name = match self {
            Self::Ip(_) => "IP",
            Self::Cidr(_) => "CIDR",
            Self::Url(_) => "URL",
            Self::Quantity(..) => "Quantity",
            Self::Semver(_) => "Semver",
            Self::Format(_) => "Format",
            Self::Authorizer(_)
            | Self::PathCheck(_)
            | Self::GroupCheck(_)
            | Self::ResourceCheck(_)
            | Self::Decision(_) => self.type_name(),
            Self::Failed(text) => return text.clone(),
        };
        format!("type conversion error from '{name}' to '{to}'")
    }

    /// `%v` in Go.
    pub(crate) fn plain(&self) -> String {
        match self {
            Self::Ip(ip) => ip.to_string(),
            Self::Cidr(cidr) => cidr.to_string(),
            Self::Url(url) => url.to_string(),
            Self::Quantity(quantity, _) => quantity.to_string(),
            Self::Semver(version) => version.to_string(),
            Self::Format(format) => format!("{{{}}}", format.name),
            Self::Failed(text) => text.clone(),
            Self::Authorizer(_)
            | Self::PathCheck(_)
            | Self::GroupCheck(_)
            | Self::ResourceCheck(_)
            | Self::Decision(_) => format!("{{{}}}", self.type_name()),
        }
    }

    /// The value for people: what is asked so far, or the decision, of the authorizer's values.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Authorizer(_) => "authorizer".to_owned(),
            Self::PathCheck(check) => check.describe(),
            Self::GroupCheck(check) => check.describe(),
            Self::ResourceCheck(check) => check.describe(),
            Self::Decision(decision) => {
                let verdict = match (decision.allowed, decision.denied) {
                    (true, _) => "allow",
                    (false, true) => "deny",
                    (false, false) => "noOpinion",
                };
                let reason = super::gofmt::quote(&decision.reason);
                format!("decision={verdict} reason={reason}")
            }
            Self::Ip(_)
            | Self::Cidr(_)
            | Self::Url(_)
            | Self::Quantity(..)
            | Self::Semver(_)
            | Self::Format(_)
            | Self::Failed(_) => self.plain(),
        }
    }

    /// For costs: octets of an address, else 1.
    #[must_use]
    pub fn size(&self) -> u64 {
        match self {
            Self::Ip(IpAddr::V4(_)) => 4,
            Self::Ip(IpAddr::V6(_)) => 16,
            Self::Cidr(cidr) => u64::from(cidr.bits).div_ceil(8),
            Self::Url(_)
            | Self::Quantity(..)
            | Self::Semver(_)
            | Self::Format(_)
            | Self::Authorizer(_)
            | Self::PathCheck(_)
            | Self::GroupCheck(_)
            | Self::ResourceCheck(_)
            | Self::Decision(_)
            | Self::Failed(_) => 1,
        }
    }

    /// Kubernetes' `Equal`; none where it gives an error.
    pub(crate) fn equality(&self, other: &Self) -> Option<bool> {
        match (self, other) {
            (Self::Ip(a), Self::Ip(b)) => Some(a == b),
            (Self::Cidr(a), Self::Cidr(b)) => Some(a == b),
            (Self::Url(a), Self::Url(b)) => Some(a.to_string() == b.to_string()),
            // A computed quantity is a pointer in Go, which the other side does not know.
            (Self::Quantity(a, _), Self::Quantity(b, false)) => Some(a.compare(b).is_eq()),
            (Self::Semver(a), Self::Semver(b)) => Some(a.compare(b).is_eq()),
            (Self::Format(a), Self::Format(b)) => Some(a.name == b.name),
            _ => None,
        }
    }
}

/// A function with one body for all its overloads, found by name.
pub(crate) fn singleton(function: &str) -> Option<Function> {
    Some(match function {
        "matches" => regex::matches,
        "sort" => lists::sort,
        "@sortByAssociatedKeys" => lists::sort_by_keys,
        _ => return None,
    })
}

/// Functions whose overloads check their arguments themselves.
pub(crate) fn is_unguarded(function: &str) -> bool {
    matches!(function, "contains" | "startsWith" | "endsWith" | "flatten")
}

/// The body of an overload.
pub(crate) fn implementation(id: &str) -> Option<(Function, Binding)> {
    conversions::implementation(id)
        .or_else(|| strings::implementation(id))
        .or_else(|| optional::implementation(id))
        .or_else(|| lists::implementation(id))
        .or_else(|| kube_lists::implementation(id))
        .or_else(|| sets::implementation(id))
        .or_else(|| times::implementation(id))
        .or_else(|| regex::implementation(id))
        .or_else(|| url::implementation(id))
        .or_else(|| ip::implementation(id))
        .or_else(|| cidr::implementation(id))
        .or_else(|| quantity::implementation(id))
        .or_else(|| semver::implementation(id))
        .or_else(|| named_format::implementation(id))
        .or_else(|| authz::implementation(id))
        .or_else(|| json_patch::implementation(id))
}

/// The text of a string argument, which the declared type promises.
pub(crate) fn text<'v>(args: &'v [Value<'_>], at: usize) -> Result<&'v str, Error> {
    args.get(at).and_then(Value::as_str).ok_or_else(super::error::no_overload)
}

/// An integer argument.
pub(crate) fn int(args: &[Value<'_>], at: usize) -> Result<i64, Error> {
    match args.get(at) {
        Some(Value::Int(i)) => Ok(*i),
        _ => Err(super::error::no_overload()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn every_overload_of_the_table_has_a_body() {
        let operators = ["_", "@", "!", "-"];
        let natively = ["size", "dyn", "type", "or", "orValue", "matches", "sort"];
        let mut missing: Vec<&str> = table::names()
            .filter(|name| !operators.iter().any(|o| name.starts_with(o)))
            .filter(|name| !natively.contains(name) && *name != "cel.@mapInsert")
            .filter_map(table::function)
            .flat_map(|f| f.overloads.iter())
            .map(|o| o.id)
            .filter(|id| implementation(id).is_none())
            .collect();
        missing.sort_unstable();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
