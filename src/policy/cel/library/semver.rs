//! Kubernetes' Semver library: the rules and messages of blang/semver.

use super::{Binding, Function, Opaque, text};
use crate::policy::cel::{
    error::{Error, fail, no_overload},
    eval::opaque,
    gofmt::quote,
    value::Value,
};
use std::{cmp::Ordering, fmt, sync::Arc};

/// A version.
#[derive(Debug, Clone)]
pub struct Semver {
    numbers: [u64; 3],
    pre: Vec<Part>,
    build: Vec<String>,
}

/// A part of a pre-release; numbers come before words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(u64),
    Word(String),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Word(word) => f.write_str(word),
        }
    }
}

impl fmt::Display for Semver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{major}.{minor}.{patch}")?;
        for (at, part) in self.pre.iter().enumerate() {
            write!(f, "{}{part}", if at == 0 { "-" } else { "." })?;
        }
        for (at, part) in self.build.iter().enumerate() {
            write!(f, "{}{part}", if at == 0 { "+" } else { "." })?;
        }
        Ok(())
    }
}

fn only_digits(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

fn only_word(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn leading_zero(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0')
}

fn number(name: &str, text: &str) -> Result<u64, String> {
    if !only_digits(text) {
        let lower = name.to_ascii_lowercase();
        return Err(format!("Invalid character(s) found in {lower} number {}", quote(text)));
    }
    if leading_zero(text) {
        return Err(format!("{name} number must not contain leading zeroes {}", quote(text)));
    }
    parse_uint(text)
}

/// `strconv.ParseUint` with its message.
fn parse_uint(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Err(format!("strconv.ParseUint: parsing {}: invalid syntax", quote(text)));
    }
    text.parse()
        .map_err(|_| format!("strconv.ParseUint: parsing {}: value out of range", quote(text)))
}

impl Semver {
    /// Reads a version; `normalize`: also `v1.2` and leading zeros.
    pub fn parse(given: &str, normalize: bool) -> Result<Self, String> {
        if normalize { Self::parse_strict(&normalized(given)?) } else { Self::parse_strict(given) }
    }

    fn parse_strict(given: &str) -> Result<Self, String> {
        if given.is_empty() {
            return Err("Version string empty".to_owned());
        }
        let parts: Vec<&str> = given.splitn(3, '.').collect();
        let [major, minor, rest] = parts.as_slice() else {
            return Err("No Major.Minor.Patch elements found".to_owned());
        };
        let (major, minor) = (number("Major", major)?, number("Minor", minor)?);
        let (rest, build) = match rest.split_once('+') {
            Some((rest, build)) => (rest, Some(build)),
            None => (*rest, None),
        };
        let (patch, pre) = match rest.split_once('-') {
            Some((patch, pre)) => (patch, Some(pre)),
            None => (rest, None),
        };
        let patch = number("Patch", patch)?;
        let pre = pre.map_or(Ok(Vec::new()), |p| p.split('.').map(pre_part).collect())?;
        let build = build.map_or(Ok(Vec::new()), |b| b.split('.').map(build_part).collect())?;
        Ok(Self { numbers: [major, minor, patch], pre, build })
    }

    /// Order of precedence; build metadata does not count.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| {
            match (self.pre.is_empty(), other.pre.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => self.pre.cmp(&other.pre),
            }
        })
    }
}

fn pre_part(text: &str) -> Result<Part, String> {
    if text.is_empty() {
        return Err("Prerelease is empty".to_owned());
    }
    if only_digits(text) {
        if leading_zero(text) {
            return Err(format!(
                "Numeric PreRelease version must not contain leading zeroes {}",
                quote(text)
            ));
        }
        return parse_uint(text).map(Part::Number);
    }
    if !only_word(text) {
        return Err(format!("Invalid character(s) found in prerelease {}", quote(text)));
    }
    Ok(Part::Word(text.to_owned()))
}

fn build_part(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err("Build meta data is empty".to_owned());
    }
    if !only_word(text) {
        return Err(format!("Invalid character(s) found in build meta data {}", quote(text)));
    }
    Ok(text.to_owned())
}

fn normalized(given: &str) -> Result<String, String> {
    let given = given.strip_prefix('v').unwrap_or(given);
    let mut parts: Vec<String> = given.splitn(3, '.').map(ToOwned::to_owned).collect();
    for part in &mut parts {
        if part.len() > 1 {
            let trimmed = part.trim_start_matches('0');
            let digit = trimmed.starts_with(|c: char| c.is_ascii_digit());
            *part = if digit { trimmed.to_owned() } else { format!("0{trimmed}") };
        }
    }
    if parts.len() < 3 {
        if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err("short version cannot contain PreRelease/Build meta data".to_owned());
        }
        parts.resize(3, "0".to_owned());
    }
    Ok(parts.join("."))
}

pub(crate) fn implementation(id: &str) -> Option<(Function, Binding)> {
    let body: Function = match id {
        "string_to_semver" => |_, args| made(text(args, 0)?, false),
        "string_bool_to_semver" => |_, args| made(text(args, 0)?, flag(args)?),
        "is_semver_string" => {
            |_, args| Ok(Value::Bool(Semver::parse(text(args, 0)?, false).is_ok()))
        }
        "is_semver_string_bool" => {
            |_, args| Ok(Value::Bool(Semver::parse(text(args, 0)?, flag(args)?).is_ok()))
        }
        "semver_is_greater_than" => |_, args| Ok(Value::Bool(order(args)?.is_gt())),
        "semver_is_less_than" => |_, args| Ok(Value::Bool(order(args)?.is_lt())),
        "semver_compare_to" => |_, args| Ok(Value::Int(order(args)? as i64)),
        "semver_major" => |_, args| part(args, 0),
        "semver_minor" => |_, args| part(args, 1),
        "semver_patch" => |_, args| part(args, 2),
        _ => return None,
    };
    Some((body, Binding::Direct))
}

fn made<'a>(given: &str, normalize: bool) -> Result<Value<'a>, Error> {
    let version = Semver::parse(given, normalize).map_err(fail)?;
    Ok(Value::Opaque(Arc::new(Opaque::Semver(version))))
}

fn flag(args: &[Value<'_>]) -> Result<bool, Error> {
    match args.get(1) {
        Some(Value::Bool(b)) => Ok(*b),
        _ => Err(no_overload()),
    }
}

fn version<'v>(args: &'v [Value<'_>], at: usize) -> Result<&'v Semver, Error> {
    match args.get(at).and_then(opaque) {
        Some(Opaque::Semver(version)) => Ok(version),
        _ => Err(no_overload()),
    }
}

fn order(args: &[Value<'_>]) -> Result<Ordering, Error> {
    Ok(version(args, 0)?.compare(version(args, 1)?))
}

fn part<'a>(args: &[Value<'a>], at: usize) -> Result<Value<'a>, Error> {
    // Kubernetes wraps around, as Go's conversion does.
    Ok(Value::Int(version(args, 0)?.numbers[at].cast_signed()))
}
