//! Kubernetes' URL library: Go's `net/url`, which differs from the URL standard.

use super::{Binding, Function, Opaque, ip, text};
use crate::policy::cel::{
    error::{Error, fail, no_overload},
    eval::{Machine, opaque},
    gofmt::{quote, quote_bytes},
    value::{Entries, Map, Value},
};
use std::{fmt, net::IpAddr, sync::Arc};

/// A URL as Go takes it apart; texts are octets, since escapes may hold anything.
#[derive(Debug, Clone, Default)]
pub struct Url {
    scheme: String,
    opaque: String,
    user: Option<(Vec<u8>, Option<Vec<u8>>)>,
    host: Vec<u8>,
    path: Vec<u8>,
    raw_path: String,
    query: String,
    force_query: bool,
    omit_host: bool,
    fragment: Vec<u8>,
    raw_fragment: String,
}

/// What a text is part of: other octets are escaped in each.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Path,
    Host,
    Zone,
    User,
    Query,
    Fragment,
}

fn should_escape(c: u8, mode: Mode) -> bool {
    if c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.' | b'~') {
        return false;
    }
    if matches!(mode, Mode::Host | Mode::Zone) && b"!$&'()*+,;=:[]<>\"".contains(&c) {
        return false;
    }
    if b"$&+,/:;=?@".contains(&c) {
        return match mode {
            Mode::Path => c == b'?',
            Mode::User => matches!(c, b'@' | b'/' | b'?' | b':'),
            Mode::Query => true,
            Mode::Fragment => false,
            Mode::Host | Mode::Zone => true,
        };
    }
    !(mode == Mode::Fragment && b"!()*".contains(&c))
}

fn unescape(given: &str, mode: Mode) -> Result<Vec<u8>, String> {
    let bytes = given.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let c = bytes[at];
        match c {
            b'%' => {
                let bad = |to: usize| {
                    let shown = quote_bytes(&bytes[at..to.min(bytes.len())]);
                    Err(format!("invalid URL escape {shown}"))
                };
                let hex = bytes
                    .get(at + 1..at + 3)
                    .filter(|h| h.iter().all(u8::is_ascii_hexdigit))
                    .and_then(|h| std::str::from_utf8(h).ok())
                    .and_then(|h| u8::from_str_radix(h, 16).ok());
                let Some(value) = hex else { return bad(at + 3) };
                let percent = &bytes[at..at + 3] == b"%25";
                if mode == Mode::Host && value < 0x80 && !percent {
                    return bad(at + 3);
                }
                if mode == Mode::Zone
                    && !percent
                    && value != b' '
                    && should_escape(value, Mode::Host)
                {
                    return bad(at + 3);
                }
                out.push(value);
                at += 3;
            }
            b'+' if mode == Mode::Query => {
                out.push(b' ');
                at += 1;
            }
            _ => {
                if matches!(mode, Mode::Host | Mode::Zone) && c < 0x80 && should_escape(c, mode) {
                    let shown = quote(&char::from(c).to_string());
                    return Err(format!("invalid character {shown} in host name"));
                }
                out.push(c);
                at += 1;
            }
        }
    }
    Ok(out)
}

fn escape(bytes: &[u8], mode: Mode) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(bytes.len());
    for &c in bytes {
        if c == b' ' && mode == Mode::Query {
            out.push('+');
        } else if should_escape(c, mode) {
            out.push('%');
            out.push(char::from(HEX[usize::from(c >> 4)]));
            out.push(char::from(HEX[usize::from(c & 15)]));
        } else {
            out.push(char::from(c));
        }
    }
    out
}

fn valid_encoded(given: &str, mode: Mode) -> bool {
    given.bytes().all(|c| b"!$&'()*+,;=:@[]%".contains(&c) || !should_escape(c, mode))
}

fn valid_port(port: &str) -> bool {
    port.is_empty() || port.strip_prefix(':').is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()))
}

/// The scheme and the rest.
fn scheme_of(given: &str) -> Result<(&str, &str), String> {
    for (at, c) in given.bytes().enumerate() {
        match c {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&given[..at], &given[at + 1..])),
            _ => return Ok(("", given)),
        }
    }
    Ok(("", given))
}

impl Url {
    /// `ParseRequestURI` (`request` true) or `Parse`, with the message of either.
    pub fn parse(given: &str, request: bool) -> Result<Self, String> {
        let wrapped = |e: String, what: &str| format!("parse {}: {e}", quote(what));
        if request {
            return Self::parse_here(given, true).map_err(|e| wrapped(e, given));
        }
        let (before, fragment) = given.split_once('#').unwrap_or((given, ""));
        let mut url = Self::parse_here(before, false).map_err(|e| wrapped(e, before))?;
        if !fragment.is_empty() {
            url.fragment = unescape(fragment, Mode::Fragment).map_err(|e| wrapped(e, given))?;
            if escape(&url.fragment, Mode::Fragment) != fragment {
                fragment.clone_into(&mut url.raw_fragment);
            }
        }
        Ok(url)
    }

    fn parse_here(given: &str, request: bool) -> Result<Self, String> {
        if given.bytes().any(|b| b < b' ' || b == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        if given.is_empty() && request {
            return Err("empty url".to_owned());
        }
        let mut url = Self::default();
        if given == "*" {
            url.path = b"*".to_vec();
            return Ok(url);
        }
        let (scheme, mut rest) = scheme_of(given)?;
        url.scheme = scheme.to_ascii_lowercase();
        if rest.ends_with('?') && rest.matches('?').count() == 1 {
            url.force_query = true;
            rest = &rest[..rest.len() - 1];
        } else if let Some((before, query)) = rest.split_once('?') {
            query.clone_into(&mut url.query);
            rest = before;
        }
        if !rest.starts_with('/') {
            if !url.scheme.is_empty() {
                rest.clone_into(&mut url.opaque);
                return Ok(url);
            }
            if request {
                return Err("invalid URI for request".to_owned());
            }
            if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        let has_authority = !url.scheme.is_empty() || (!request && !rest.starts_with("///"));
        if has_authority && rest.starts_with("//") {
            let after = &rest[2..];
            let end = after.find('/').unwrap_or(after.len());
            let scheme = url.scheme.clone();
            url.set_authority(&scheme, &after[..end])?;
            rest = &after[end..];
        } else if !url.scheme.is_empty() && rest.starts_with('/') {
            url.omit_host = true;
        }
        url.path = unescape(rest, Mode::Path)?;
        if escape(&url.path, Mode::Path) != rest {
            rest.clone_into(&mut url.raw_path);
        }
        Ok(url)
    }

    fn set_authority(&mut self, scheme: &str, authority: &str) -> Result<(), String> {
        let Some((user, host)) = authority.rsplit_once('@') else {
            self.host = parse_host(scheme, authority)?;
            return Ok(());
        };
        self.host = parse_host(scheme, host)?;
        let valid = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
        if !user.bytes().all(valid) {
            return Err("net/url: invalid userinfo".to_owned());
        }
        self.user = Some(match user.split_once(':') {
            Some((name, password)) => {
                (unescape(name, Mode::User)?, Some(unescape(password, Mode::User)?))
            }
            None => (unescape(user, Mode::User)?, None),
        });
        Ok(())
    }

    fn host_text(&self) -> String {
        String::from_utf8_lossy(&self.host).into_owned()
    }

    fn escaped_path(&self) -> String {
        if !self.raw_path.is_empty()
            && valid_encoded(&self.raw_path, Mode::Path)
            && unescape(&self.raw_path, Mode::Path).is_ok_and(|p| p == self.path)
        {
            return self.raw_path.clone();
        }
        if self.path == b"*" {
            return "*".to_owned();
        }
        escape(&self.path, Mode::Path)
    }

    fn split_host(&self) -> (String, String) {
        let host = self.host_text();
        let (mut name, mut port) = (host.clone(), String::new());
        if let Some(colon) = host.rfind(':')
            && valid_port(&host[colon..])
        {
            host[..colon].clone_into(&mut name);
            host[colon + 1..].clone_into(&mut port);
        }
        if name.starts_with('[') && name.ends_with(']') {
            name = name[1..name.len() - 1].to_owned();
        }
        (name, port)
    }

    /// In the order of first appearance; what cannot be read is left out, as Go leaves it out.
    fn query_values(&self) -> Vec<(String, Vec<String>)> {
        let mut all: Vec<(String, Vec<String>)> = Vec::new();
        if self.query.matches('&').count() + 1 > 10_000 {
            return all;
        }
        for pair in self.query.split('&') {
            if pair.is_empty() || pair.contains(';') {
                continue;
            }
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Ok(key), Ok(value)) = (unescape(key, Mode::Query), unescape(value, Mode::Query))
            else {
                continue;
            };
            let key = String::from_utf8_lossy(&key).into_owned();
            let value = String::from_utf8_lossy(&value).into_owned();
            match all.iter_mut().find(|(known, _)| *known == key) {
                Some((_, values)) => values.push(value),
                None => all.push((key, vec![value])),
            }
        }
        all
    }
}

fn parse_host(scheme: &str, host: &str) -> Result<Vec<u8>, String> {
    match host.rfind('[') {
        Some(0) => return parse_bracketed(host),
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    if let Some(first) = host.find(':') {
        let last = host.rfind(':').unwrap_or(first);
        // http and https take the first colon, which leaves none for the host.
        let at = if matches!(scheme, "http" | "https") { first } else { last };
        if !valid_port(&host[at..]) {
            return Err(format!("invalid port {} after host", quote(&host[at..])));
        }
    }
    unescape(host, Mode::Host)
}

fn parse_bracketed(host: &str) -> Result<Vec<u8>, String> {
    let Some(close) = host.rfind(']') else { return Err("missing ']' in host".to_owned()) };
    let port = &host[close + 1..];
    if !valid_port(port) {
        return Err(format!("invalid port {} after host", quote(port)));
    }
    let inside = &host[1..close];
    let name = match inside.find("%25") {
        Some(zone) => {
            let mut name = unescape(&inside[..zone], Mode::Host)?;
            name.extend(unescape(&inside[zone..], Mode::Zone)?);
            name
        }
        None => unescape(inside, Mode::Host)?,
    };
    let shown = String::from_utf8_lossy(&name).into_owned();
    match ip::parse_addr(&shown) {
        Err(error) => return Err(format!("invalid host: {error}")),
        Ok((IpAddr::V4(_), _)) => return Err("invalid IP-literal".to_owned()),
        Ok((IpAddr::V6(_), _)) => {}
    }
    Ok([b"[".as_slice(), &name, b"]", port.as_bytes()].concat())
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        if !self.scheme.is_empty() {
            out.push_str(&self.scheme);
            out.push(':');
        }
        if self.opaque.is_empty() {
            let host = !self.host.is_empty();
            let user = self.user.is_some();
            if host || user || (!self.scheme.is_empty() && !self.omit_host) {
                if host || !self.path.is_empty() || user {
                    out.push_str("//");
                }
                if let Some((name, password)) = &self.user {
                    out.push_str(&escape(name, Mode::User));
                    if let Some(password) = password {
                        out.push(':');
                        out.push_str(&escape(password, Mode::User));
                    }
                    out.push('@');
                }
                out.push_str(&escape(&self.host, Mode::Host));
            }
            let path = self.escaped_path();
            if !path.is_empty() && !path.starts_with('/') && host {
                out.push('/');
            }
            if out.is_empty() && path.split('/').next().is_some_and(|s| s.contains(':')) {
                out.push_str("./");
            }
            out.push_str(&path);
        } else {
            out.push_str(&self.opaque);
        }
        if self.force_query || !self.query.is_empty() {
            out.push('?');
            out.push_str(&self.query);
        }
        if !self.fragment.is_empty() {
            out.push('#');
            let raw =
                !self.raw_fragment.is_empty() && valid_encoded(&self.raw_fragment, Mode::Fragment);
            if raw {
                out.push_str(&self.raw_fragment);
            } else {
                out.push_str(&escape(&self.fragment, Mode::Fragment));
            }
        }
        f.write_str(&out)
    }
}

pub(crate) fn implementation(id: &str) -> Option<(Function, Binding)> {
    let body: Function = match id {
        "string_to_url" => made,
        "is_url_string" => |_, args| Ok(Value::Bool(Url::parse(text(args, 0)?, true).is_ok())),
        "url_get_scheme" => |_, args| Ok(Value::text(url(args)?.scheme.clone())),
        "url_get_host" => |_, args| Ok(Value::text(url(args)?.host_text())),
        "url_get_hostname" => |_, args| Ok(Value::text(url(args)?.split_host().0)),
        "url_get_port" => |_, args| Ok(Value::text(url(args)?.split_host().1)),
        "url_get_escaped_path" => |_, args| Ok(Value::text(url(args)?.escaped_path())),
        "url_get_query" => |_, args| {
            let mut entries = Entries::default();
            for (key, values) in url(args)?.query_values() {
                let values = Value::list(values.into_iter().map(Value::text).collect());
                entries.set(Value::text(key), values);
            }
            Ok(Value::Map(Map::Owned(Arc::new(entries))))
        },
        _ => return None,
    };
    Some((body, Binding::Direct))
}

fn made<'a>(_: &mut Machine<'_, 'a>, args: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let given = text(args, 0)?;
    let parsed = Url::parse(given, true).and_then(|_| Url::parse(given, false));
    let url =
        parsed.map_err(|e| fail(format!("URL parse error during conversion from string: {e}")))?;
    Ok(Value::Opaque(Arc::new(Opaque::Url(url))))
}

fn url<'v>(args: &'v [Value<'_>]) -> Result<&'v Url, Error> {
    match args.first().and_then(opaque) {
        Some(Opaque::Url(url)) => Ok(url),
        _ => Err(no_overload()),
    }
}
