//! Kubernetes' Format library: names for validations, with their messages.

use super::{Binding, Function, Opaque, text, url};
use crate::policy::cel::{
    error::{Error, no_overload},
    eval::{Machine, opaque},
    value::Value,
};
use std::sync::Arc;

/// A validation that has a name.
#[derive(Debug)]
pub struct NamedFormat {
    /// The name it is compared by.
    pub name: &'static str,
    /// What its pattern is taken to cost.
    pub regex_size: u64,
    problems: fn(&str) -> Vec<String>,
}

const fn format(
    name: &'static str,
    regex_size: u64,
    problems: fn(&str) -> Vec<String>,
) -> NamedFormat {
    NamedFormat { name, regex_size, problems }
}

/// By the name that `format.named` takes.
static FORMATS: [(&str, NamedFormat); 13] = [
    ("dns1123Label", format("DNS1123Label", 30, label)),
    ("dns1123Subdomain", format("DNS1123Subdomain", 60, subdomain)),
    ("dns1035Label", format("DNS1035Label", 30, label_1035)),
    ("qualifiedName", format("QualifiedName", 60, qualified_name)),
    ("dns1123LabelPrefix", format("DNS1123LabelPrefix", 30, |s| label(&masked(s)))),
    ("dns1123SubdomainPrefix", format("DNS1123SubdomainPrefix", 60, |s| subdomain(&masked(s)))),
    ("dns1035LabelPrefix", format("DNS1035LabelPrefix", 30, |s| label_1035(&masked(s)))),
    ("labelValue", format("LabelValue", 40, label_value)),
    ("uri", format("URI", 1103, uri)),
    ("uuid", format("uuid", 70, |s| unless(is_uuid(s), "does not match the UUID format"))),
    ("byte", format("byte", 84, |s| unless(is_base64(s), "invalid base64"))),
    ("date", format("date", 71, |s| unless(is_date(s), "invalid date"))),
    ("datetime", format("datetime", 71, |s| unless(is_date_time(s), "invalid datetime"))),
];

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LABEL_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const KEY_PROBLEM: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

pub(crate) fn implementation(id: &str) -> Option<(Function, Binding)> {
    match id {
        "format-validate" => return Some((validate, Binding::Direct)),
        "format-named" => return Some((named, Binding::Direct)),
        _ => {}
    }
    let body: Function = match id.strip_prefix("format.")? {
        "dns1123Label" => |_, _| constant("dns1123Label"),
        "dns1123Subdomain" => |_, _| constant("dns1123Subdomain"),
        "dns1035Label" => |_, _| constant("dns1035Label"),
        "qualifiedName" => |_, _| constant("qualifiedName"),
        "dns1123LabelPrefix" => |_, _| constant("dns1123LabelPrefix"),
        "dns1123SubdomainPrefix" => |_, _| constant("dns1123SubdomainPrefix"),
        "dns1035LabelPrefix" => |_, _| constant("dns1035LabelPrefix"),
        "labelValue" => |_, _| constant("labelValue"),
        "uri" => |_, _| constant("uri"),
        "uuid" => |_, _| constant("uuid"),
        "byte" => |_, _| constant("byte"),
        "date" => |_, _| constant("date"),
        "datetime" => |_, _| constant("datetime"),
        _ => return None,
    };
    Some((body, Binding::Variadic))
}

fn find<'a>(name: &str) -> Option<Value<'a>> {
    let (_, format) = FORMATS.iter().find(|(known, _)| *known == name)?;
    Some(Value::Opaque(Arc::new(Opaque::Format(format))))
}

fn constant<'a>(name: &str) -> Result<Value<'a>, Error> {
    find(name).ok_or_else(no_overload)
}

fn named<'a>(_: &mut Machine<'_, 'a>, args: &[Value<'a>]) -> Result<Value<'a>, Error> {
    Ok(find(text(args, 0)?).map_or(Value::Optional(None), Value::some))
}

fn validate<'a>(_: &mut Machine<'_, 'a>, args: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let Some(Opaque::Format(format)) = args.first().and_then(opaque) else {
        return Err(no_overload());
    };
    let problems = (format.problems)(text(args, 1)?);
    if problems.is_empty() {
        return Ok(Value::Optional(None));
    }
    Ok(Value::some(Value::list(problems.into_iter().map(Value::text).collect())))
}

fn unless(fine: bool, problem: &str) -> Vec<String> {
    if fine { Vec::new() } else { vec![problem.to_owned()] }
}

fn too_long(given: &str, most: usize, unit: &str) -> Option<String> {
    (given.len() > most).then(|| format!("must be no more than {most} {unit}"))
}

fn pattern_problem(problem: &str, pattern: &str, examples: &[&str]) -> String {
    let shown: Vec<String> = examples.iter().map(|e| format!("'{e}', ")).collect();
    format!("{problem} (e.g. {}regex used for validation is '{pattern}')", shown.join(" or "))
}

pub(crate) fn is_label(given: &str) -> bool {
    label(given).is_empty()
}

pub(crate) fn is_subdomain(given: &str) -> bool {
    subdomain(given).is_empty()
}

/// Lower case letters, digits and inner dashes; `first`: what may be at the start.
fn matches_label(given: &str, first: fn(&u8) -> bool) -> bool {
    let bytes = given.as_bytes();
    let inner = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    bytes.first().is_some_and(first)
        && bytes.last().is_some_and(inner)
        && bytes.iter().all(|b| inner(b) || *b == b'-')
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the shape that iterators want")]
fn alphanumeric(b: &u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit()
}

fn matches_subdomain(given: &str) -> bool {
    given.split('.').all(|part| matches_label(part, alphanumeric))
}

fn label(given: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(given, 63, "characters").into_iter().collect();
    if !matches_label(given, alphanumeric) {
        problems.push(if matches_subdomain(given) {
            "must not contain dots".to_owned()
        } else {
            let what = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
            pattern_problem(what, LABEL, &["my-name", "123-abc"])
        });
    }
    problems
}

fn subdomain(given: &str) -> Vec<String> {
    subdomain_in(given, "characters")
}

/// Kubernetes has two copies of this, with one word between them.
fn subdomain_in(given: &str, unit: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(given, 253, unit).into_iter().collect();
    if !matches_subdomain(given) {
        let what = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
        problems.push(pattern_problem(what, SUBDOMAIN, &["example.com"]));
    }
    problems
}

fn label_1035(given: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(given, 63, "characters").into_iter().collect();
    if !matches_label(given, u8::is_ascii_lowercase) {
        let what = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
        problems.push(pattern_problem(what, LABEL_1035, &["my-name", "abc-123"]));
    }
    problems
}

/// A prefix may end in a dash: what is generated after it does not.
fn masked(given: &str) -> String {
    if given.len() > 1 && given.ends_with('-') {
        let cut = given.len() - 2;
        let kept = String::from_utf8_lossy(&given.as_bytes()[..cut]);
        return format!("{kept}a");
    }
    given.to_owned()
}

fn matches_key(given: &str) -> bool {
    let bytes = given.as_bytes();
    let inner = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(inner)
}

fn qualified_name(given: &str) -> Vec<String> {
    let key_problem = || pattern_problem(KEY_PROBLEM, KEY, &["MyName", "my.name", "123-abc"]);
    let parts: Vec<&str> = given.split('/').collect();
    let mut problems = Vec::new();
    let name = match parts.as_slice() {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                problems.push("prefix part must be non-empty".to_owned());
            } else {
                problems.extend(
                    subdomain_in(prefix, "bytes").into_iter().map(|p| format!("prefix part {p}")),
                );
            }
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                key_problem()
            )];
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    }
    problems.extend(too_long(name, 63, "bytes").map(|p| format!("name part {p}")));
    if !matches_key(name) {
        problems.push(format!("name part {}", key_problem()));
    }
    problems
}

fn label_value(given: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(given, 63, "bytes").into_iter().collect();
    if !given.is_empty() && !matches_key(given) {
        let what = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
        let pattern = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
        problems.push(pattern_problem(what, pattern, &["MyValue", "my_value", "12345"]));
    }
    problems
}

fn uri(given: &str) -> Vec<String> {
    url::Url::parse(given, true).err().into_iter().collect()
}

/// Eight, four, four, four and twelve hexadecimal digits, each dash optional.
fn is_uuid(given: &str) -> bool {
    let mut rest = given;
    for (at, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let digits = rest.bytes().take(length).take_while(u8::is_ascii_hexdigit).count();
        if digits != length {
            return false;
        }
        rest = &rest[length..];
    }
    rest.is_empty()
}

fn is_base64(given: &str) -> bool {
    let bytes = given.as_bytes();
    let padding = bytes.iter().rev().take(2).take_while(|b| **b == b'=').count();
    let body = &bytes[..bytes.len() - padding];
    !bytes.is_empty()
        && bytes.len().is_multiple_of(4)
        && body.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
}

fn is_date(given: &str) -> bool {
    given.len() == 10
        && crate::policy::cel::time::parse_timestamp(&format!("{given}T00:00:00Z")).is_some()
}

fn is_date_time(given: &str) -> bool {
    if given.len() < 4 {
        return false;
    }
    let lower = given.to_lowercase();
    let parts: Vec<&str> = lower.split('t').collect();
    let [date, time, ..] = parts.as_slice() else { return false };
    is_date(date) && is_time(time)
}

/// `12:34:56.789z`, with any character for the point.
fn is_time(given: &str) -> bool {
    let bytes = given.as_bytes();
    let pair = |at: usize| {
        bytes.get(at..at + 2).filter(|p| p.iter().all(u8::is_ascii_digit)).map(|p| (p[0], p[1]))
    };
    let (Some(hour), Some(minute), Some(second)) = (pair(0), pair(3), pair(6)) else {
        return false;
    };
    if bytes[2] != b':' || bytes[5] != b':' {
        return false;
    }
    let zone = |rest: &str| {
        let b = rest.as_bytes();
        rest == "z"
            || (b.len() == 6
                && matches!(b[0], b'+' | b'-')
                && b[3] == b':'
                && [1, 2, 4, 5].iter().all(|at| b[*at].is_ascii_digit()))
    };
    let rest = &given[8..];
    let fraction = |rest: &str| {
        let mut chars = rest.chars();
        let any = chars.next().is_some_and(|c| c != '\n');
        let rest = chars.as_str();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        any && digits > 0 && (1..=digits).any(|n| zone(&rest[n..]))
    };
    hour <= (b'2', b'3')
        && minute <= (b'5', b'9')
        && second <= (b'5', b'9')
        && (zone(rest) || fraction(rest))
}
