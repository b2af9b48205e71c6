//! What calls cost: cel-go's runtime tracker, then Kubernetes' estimator, in Kubernetes' units.

use super::{
    error::{Error, Failure},
    eval::go_type,
    library::Opaque,
    plan::{Call, Cost},
    value::{List, Map, Value},
};

/// A tenth, rounded up: cel-go's price of going through a string.
#[must_use]
pub(crate) fn tenth(size: u64) -> u64 {
    factor(size, 0.1)
}

/// `ceil(size × factor)` in floating point, as Go computes it.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the formula is cel-go's; sizes are far below 2^53"
)]
fn factor(size: u64, by: f64) -> u64 {
    (size as f64 * by).ceil() as u64
}

/// The rule for a call, by function and, where it is certain, overload.
pub(crate) fn rule(function: &str, overload: &str) -> Cost {
    if let Some(rule) = by_tracker(overload) {
        return rule;
    }
    if let Some(rule) = by_estimator(function, overload) {
        return rule;
    }
    match overload {
        "starts_with_string" | "ends_with_string" | "string_to_bytes" | "bytes_to_string"
        | "strings_quote" | "string_format" => Cost::Tracked,
        "in_list" => Cost::InList,
        "less_string"
        | "greater_string"
        | "less_equals_string"
        | "greater_equals_string"
        | "less_bytes"
        | "greater_bytes"
        | "less_equals_bytes"
        | "greater_equals_bytes" => Cost::Smaller,
        "add_string" | "add_bytes" => Cost::Both,
        "matches_string" => Cost::Matches,
        "contains_string" => Cost::Contains,
        _ => Cost::Fixed(1),
    }
}

/// What cel-go's extension libraries track themselves.
fn by_tracker(overload: &str) -> Option<Cost> {
    Some(match overload {
        "list_slice" | "lists_range" | "list_reverse" => Cost::ListResult,
        "list_flatten" | "list_flatten_int" => Cost::ListFlatten,
        "list_distinct" => Cost::ListSelf(0),
        "list_sets_contains_list" | "list_sets_intersects_list" => Cost::Sets(1),
        "list_sets_equivalent_list" => Cost::Sets(2),
        _ if overload.starts_with("list_") && overload.ends_with("_sort") => Cost::ListSelf(0),
        _ if overload.ends_with("_sortByAssociatedKeys") => Cost::ListSelf(1),
        _ => return None,
    })
}

/// Kubernetes' estimator.
fn by_estimator(function: &str, overload: &str) -> Option<Cost> {
    Some(match function {
        "check" => Cost::Fixed(350_000),
        "serviceAccount" | "path" | "group" | "resource" | "subresource" | "namespace" | "name"
        | "allowed" | "reason" | "error" | "errored" => Cost::Fixed(1),
        "fieldSelector" | "labelSelector" => Cost::Selector,
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => Cost::Deep,
        "url"
        | "lowerAscii"
        | "upperAscii"
        | "substring"
        | "trim"
        | "jsonpatch.escapeKey"
        | "cidr"
        | "isIP"
        | "isCIDR"
        | "quantity"
        | "isQuantity"
        | "semver"
        | "isSemver" => Cost::Traverse(1),
        "replace" | "split" | "ip.isCanonical" => Cost::Traverse(2),
        "join" => Cost::Joined,
        "find" | "findAll" => Cost::Regex,
        "ip" if overload == "cidr_ip" => Cost::Fixed(1),
        "ip" => Cost::Traverse(1),
        "masked"
        | "prefixLength"
        | "family"
        | "isUnspecified"
        | "isLoopback"
        | "isLinkLocalMulticast"
        | "isLinkLocalUnicast"
        | "isGlobalUnicast"
        | "format.named"
        | "sign"
        | "asInteger"
        | "isInteger"
        | "asApproximateFloat"
        | "isGreaterThan"
        | "isLessThan"
        | "compareTo"
        | "add"
        | "sub"
        | "major"
        | "minor"
        | "patch"
        | "getScheme"
        | "getHostname"
        | "getHost"
        | "getPort"
        | "getEscapedPath"
        | "getQuery" => Cost::Fixed(1),
        "containsIP" => Cost::ContainsIp { text: overload == "cidr_contains_ip_string" },
        "containsCIDR" => Cost::ContainsCidr { text: overload == "cidr_contains_cidr_string" },
        "validate" => Cost::Validate,
        _ => return None,
    })
}

/// What this call costs; an argument that failed stands as a value of size 1.
pub(crate) fn of(call: &Call, args: &[Value<'_>], result: Option<&Value<'_>>) -> u64 {
    let size = |at: usize| args.get(at).map_or(1, estimator_size);
    match call.cost {
        Cost::Fixed(cost) => cost,
        Cost::Traverse(times) => {
            #[allow(clippy::cast_precision_loss, reason = "one or two")]
            let by = times as f64 * 0.1;
            factor(size(0), by)
        }
        Cost::Tracked => tenth(tracker(args, 0)),
        Cost::Matches => regex(tracker(args, 0), tracker(args, 1)),
        Cost::InList => args.get(1).map_or(1, Value::size),
        Cost::Smaller => tenth(tracker(args, 0).min(tracker(args, 1))),
        Cost::Both => tenth(tracker(args, 0).saturating_add(tracker(args, 1))),
        Cost::Regex => regex(size(0), size(1)),
        Cost::Contains => tenth(tracker(args, 0)).saturating_mul(tenth(tracker(args, 1))),
        Cost::Deep => args.first().map_or(0, deep),
        Cost::Joined => factor(result.map_or(1, estimator_size), 0.2),
        Cost::Selector => {
            let length = size(1);
            10 + tenth(length) + factor(factor(length, 0.5), 50.0)
        }
        Cost::ContainsIp { text } => {
            let base = tenth(size(0) * 2);
            if text { base + tenth(size(1)) } else { base }
        }
        Cost::ContainsCidr { text } => {
            let base = tenth(size(0) * 2) + tenth(size(0)) + 1;
            if text { base + tenth(size(1)) } else { base }
        }
        Cost::Validate => match args.first() {
            Some(Value::Opaque(opaque)) => match &**opaque {
                Opaque::Format(format) => {
                    factor(size(1) + 1, 0.1).saturating_mul(factor(format.regex_size, 0.25))
                }
                _ => 1,
            },
            _ => 1,
        },
        Cost::ListResult => list(1.0, result.map_or(1, estimator_size)),
        Cost::ListFlatten => {
            #[allow(clippy::cast_precision_loss, reason = "a depth")]
            let depth = match args.get(1) {
                Some(Value::Int(depth)) => *depth as f64,
                _ => 1.0,
            };
            list(depth, size(0))
        }
        Cost::ListSelf(at) => match args.get(at) {
            Some(Value::List(items)) => list_self(items),
            _ => 11,
        },
        Cost::Sets(times) => {
            1_u64.saturating_add(size(0).saturating_mul(size(1)).saturating_mul(times))
        }
        Cost::Extension => match &call.target {
            super::plan::Target::Extension(extension) => (extension.cost)(args),
            _ => 1,
        },
    }
}

/// What a match costs.
pub(crate) fn regex(subject: u64, pattern: u64) -> u64 {
    factor(subject + 1, 0.1).saturating_mul(factor(pattern, 0.25))
}

fn tracker(args: &[Value<'_>], at: usize) -> u64 {
    args.get(at).map_or(1, Value::size)
}

/// Kubernetes' own size: it does not look into optionals.
fn estimator_size(value: &Value<'_>) -> u64 {
    if matches!(value, Value::Optional(_)) { 1 } else { value.size() }
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the formula is cel-go's"
)]
fn list(by: f64, size: u64) -> u64 {
    let product = size as f64 * by;
    // A negative depth wraps around, as Go's conversion does.
    let cost = if product < 0.0 {
        (product as i64).cast_unsigned()
    } else if product < 18_446_744_073_709_551_616.0 {
        product as u64
    } else {
        // What Go makes of a number that does not fit.
        1 << 63
    };
    cost.wrapping_add(11)
}

/// What comparing a list with itself costs.
pub(crate) fn list_self(items: &List<'_>) -> u64 {
    let size = items.len() as u64;
    let by = match items.get(0) {
        Some(Value::String(_) | Value::Bytes(_)) => 2.1,
        _ => 2.0,
    };
    list(by, size.saturating_mul(size))
}

/// Kubernetes' `traversalCost`: strings by octets, rounded down.
fn deep(value: &Value<'_>) -> u64 {
    match value {
        Value::String(text) => text.len() as u64 / 10,
        Value::Bytes(bytes) => bytes.len() as u64 / 10,
        Value::List(items) => items.iter().map(|item| deep(&item)).fold(0, u64::saturating_add),
        Value::Map(Map::Variables) => 0,
        Value::Map(map) => map
            .entries()
            .iter()
            .map(|(key, value)| deep(key).saturating_add(deep(value)))
            .fold(0, u64::saturating_add),
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Uint(_)
        | Value::Double(_)
        | Value::Duration(_)
        | Value::Timestamp(_)
        | Value::Type(_)
        | Value::Optional(_)
        | Value::Opaque(_)
        | Value::Object(_) => 1,
    }
}

/// Some of cel-go's trackers panic on arguments of the wrong type, and the API server says so.
pub(crate) fn panics(cost: Cost, args: &[Value<'_>]) -> Option<Error> {
    let internal =
        |text: String| Some(Error::new(Failure::Internal(format!("interface conversion: {text}"))));
    match cost {
        Cost::ListSelf(at) => match args.get(at) {
            Some(Value::List(_)) | None => None,
            Some(other) => {
                let method = if is_adder(other) { "Contains" } else { "Add" };
                let found = go_type(other, false);
                internal(format!("{found} is not traits.Lister: missing method {method}"))
            }
        },
        Cost::ListFlatten => match args.get(1) {
            Some(Value::Int(_)) | None => None,
            Some(other) => internal(format!("ref.Val is {}, not types.Int", go_type(other, false))),
        },
        Cost::Fixed(_)
        | Cost::Traverse(_)
        | Cost::Tracked
        | Cost::Matches
        | Cost::InList
        | Cost::Smaller
        | Cost::Both
        | Cost::Regex
        | Cost::Contains
        | Cost::Deep
        | Cost::Joined
        | Cost::Selector
        | Cost::ContainsIp { .. }
        | Cost::ContainsCidr { .. }
        | Cost::Validate
        | Cost::ListResult
        | Cost::Sets(_)
        | Cost::Extension => None,
    }
}

fn is_adder(value: &Value<'_>) -> bool {
    matches!(
        value,
        Value::String(_)
            | Value::Bytes(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::Duration(_)
            | Value::Timestamp(_)
            | Value::List(_)
    )
}
