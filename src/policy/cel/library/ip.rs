//! Kubernetes' IP library: Go's `net/netip`, with its messages.

use super::{Binding, Function, Opaque, text};
use crate::policy::cel::{
    error::{Error, fail, no_overload},
    eval::opaque,
    gofmt::quote,
    value::Value,
};
use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

pub(crate) fn implementation(id: &str) -> Option<(Function, Binding)> {
    let body: Function = match id {
        "string_to_ip" => |_, args| {
            parse(text(args, 0)?).map(|ip| Value::Opaque(Arc::new(Opaque::Ip(ip)))).map_err(fail)
        },
        "is_ip" => |_, args| Ok(Value::Bool(parse(text(args, 0)?).is_ok())),
        "ip_is_canonical" => |_, args| {
            let given = text(args, 0)?;
            parse(given).map(|ip| Value::Bool(ip.to_string() == given)).map_err(fail)
        },
        "ip_family" => |_, args| Ok(Value::Int(if address(args)?.is_ipv4() { 4 } else { 6 })),
        "ip_is_unspecified" => |_, args| Ok(Value::Bool(address(args)?.is_unspecified())),
        "ip_is_loopback" => |_, args| Ok(Value::Bool(address(args)?.is_loopback())),
        "ip_is_link_local_multicast" => {
            |_, args| Ok(Value::Bool(is_link_local_multicast(address(args)?)))
        }
        "ip_is_link_local_unicast" => {
            |_, args| Ok(Value::Bool(is_link_local_unicast(address(args)?)))
        }
        "ip_is_global_unicast" => |_, args| Ok(Value::Bool(is_global_unicast(address(args)?))),
        _ => return None,
    };
    Some((body, Binding::Direct))
}

fn address(args: &[Value<'_>]) -> Result<IpAddr, Error> {
    match args.first().and_then(opaque) {
        Some(Opaque::Ip(ip)) => Ok(*ip),
        _ => Err(no_overload()),
    }
}

fn is_link_local_multicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.octets()[..3] == [224, 0, 0],
        IpAddr::V6(ip) => ip.segments()[0] & 0xff0f == 0xff02,
    }
}

fn is_link_local_unicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.segments()[0] & 0xffc0 == 0xfe80,
    }
}

fn is_global_unicast(ip: IpAddr) -> bool {
    let broadcast = matches!(ip, IpAddr::V4(ip) if ip == Ipv4Addr::BROADCAST);
    !broadcast
        && !ip.is_unspecified()
        && !ip.is_loopback()
        && !ip.is_multicast()
        && !is_link_local_unicast(ip)
}

/// Kubernetes' rules on top of Go's parser.
pub(crate) fn parse(raw: &str) -> Result<IpAddr, String> {
    let address = parse_addr(raw).map_err(|e| {
        format!("IP Address {} parse error during conversion from string: {e}", quote(raw))
    })?;
    if address.1 {
        return Err(format!("IP address {} with zone value is not allowed", quote(raw)));
    }
    if matches!(address.0, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some()) {
        return Err(format!("IPv4-mapped IPv6 address {} is not allowed", quote(raw)));
    }
    Ok(address.0)
}

/// Go's `netip.ParseAddr`: the address, and whether it has a zone.
pub(crate) fn parse_addr(raw: &str) -> Result<(IpAddr, bool), String> {
    for (at, c) in raw.bytes().enumerate() {
        match c {
            b'.' => return parse_v4(raw).map(|ip| (IpAddr::V4(ip), false)),
            b':' => return parse_v6(raw),
            b'%' => return Err(message(raw, "missing IPv6 address", None)),
            _ => {}
        }
        let _ = at;
    }
    Err(message(raw, "unable to parse IP", None))
}

fn message(raw: &str, what: &str, at: Option<&str>) -> String {
    match at {
        Some(at) => format!("ParseAddr({}): {what} (at {})", quote(raw), quote(at)),
        None => format!("ParseAddr({}): {what}", quote(raw)),
    }
}

/// The fields of a dotted quad, or what is wrong and where.
fn v4_fields(text: &str) -> Result<[u8; 4], (&'static str, Option<usize>)> {
    let mut fields = [0_u8; 4];
    let (mut value, mut position, mut digits) = (0_u32, 0_usize, 0_usize);
    for (at, c) in text.bytes().enumerate() {
        if c.is_ascii_digit() {
            if digits == 1 && value == 0 {
                return Err(("IPv4 field has octet with leading zero", None));
            }
            value = value * 10 + u32::from(c - b'0');
            digits += 1;
            if value > 255 {
                return Err(("IPv4 field has value >255", None));
            }
        } else if c == b'.' {
            if at == 0 || at == text.len() - 1 || text.as_bytes()[at - 1] == b'.' {
                return Err(("IPv4 field must have at least one digit", Some(at)));
            }
            if position == 3 {
                return Err(("IPv4 address too long", None));
            }
            fields[position] = u8::try_from(value).unwrap_or_default();
            position += 1;
            value = 0;
            digits = 0;
        } else {
            return Err(("unexpected character", Some(at)));
        }
    }
    if position < 3 {
        return Err(("IPv4 address too short", None));
    }
    fields[3] = u8::try_from(value).unwrap_or_default();
    Ok(fields)
}

fn parse_v4(raw: &str) -> Result<Ipv4Addr, String> {
    v4_fields(raw)
        .map(Ipv4Addr::from)
        .map_err(|(what, at)| message(raw, what, at.map(|at| &raw[at..])))
}

fn parse_v6(raw: &str) -> Result<(IpAddr, bool), String> {
    let (mut rest, zone) = match raw.find('%') {
        Some(at) => (&raw[..at], Some(&raw[at + 1..])),
        None => (raw, None),
    };
    if zone == Some("") {
        return Err(message(raw, "zone must be a non-empty string", None));
    }
    let mut octets = [0_u8; 16];
    let mut ellipsis: Option<usize> = None;
    if let Some(after) = rest.strip_prefix("::") {
        ellipsis = Some(0);
        rest = after;
        if rest.is_empty() {
            return Ok((IpAddr::V6(Ipv6Addr::UNSPECIFIED), zone.is_some()));
        }
    }
    let mut at = 0;
    while at < 16 {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits > 4 {
            let what = "each group must have 4 or less digits";
            return Err(message(raw, what, Some(rest)));
        }
        if digits == 0 {
            let what = "each colon-separated field must have at least one digit";
            return Err(message(raw, what, Some(rest)));
        }
        if rest.as_bytes().get(digits) == Some(&b'.') {
            if ellipsis.is_none() && at != 12 {
                let what = "embedded IPv4 address must replace the final 2 fields of the address";
                return Err(message(raw, what, Some(rest)));
            }
            if at + 4 > 16 {
                let what = "too many hex fields to fit an embedded IPv4 at the end of the address";
                return Err(message(raw, what, Some(rest)));
            }
            let end = raw.find('%').unwrap_or(raw.len());
            let embedded = &raw[end - rest.len()..end];
            let fields = v4_fields(embedded)
                .map_err(|(what, at)| message(raw, what, at.map(|at| &embedded[at..])))?;
            octets[at..at + 4].copy_from_slice(&fields);
            rest = "";
            at += 4;
            break;
        }
        let value = u16::from_str_radix(&rest[..digits], 16).unwrap_or_default();
        octets[at..at + 2].copy_from_slice(&value.to_be_bytes());
        at += 2;
        rest = &rest[digits..];
        if rest.is_empty() {
            break;
        }
        if !rest.starts_with(':') {
            return Err(message(raw, "unexpected character, want colon", Some(rest)));
        }
        if rest.len() == 1 {
            return Err(message(raw, "colon must be followed by more characters", Some(rest)));
        }
        rest = &rest[1..];
        if rest.starts_with(':') {
            if ellipsis.is_some() {
                return Err(message(raw, "multiple :: in address", Some(rest)));
            }
            ellipsis = Some(at);
            rest = &rest[1..];
            if rest.is_empty() {
                break;
            }
        }
    }
    if !rest.is_empty() {
        return Err(message(raw, "trailing garbage after address", Some(rest)));
    }
    if at < 16 {
        let Some(from) = ellipsis else {
            return Err(message(raw, "address string too short", None));
        };
        let shift = 16 - at;
        octets.copy_within(from..at, from + shift);
        octets[from..from + shift].fill(0);
    } else if ellipsis.is_some() {
        return Err(message(raw, "the :: must expand to at least one field of zeros", None));
    }
    Ok((IpAddr::V6(Ipv6Addr::from(octets)), zone.is_some()))
}
