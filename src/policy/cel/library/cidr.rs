//! Kubernetes' CIDR library: Go's `netip.Prefix`.

use super::{Binding, Function, Opaque, ip, text};
use crate::policy::cel::{
    error::{Error, fail, no_overload},
    eval::opaque,
    gofmt::quote,
    value::Value,
};
use std::{fmt, net::IpAddr, sync::Arc};

/// An address and how many bits of it count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    /// As written, not masked.
    pub address: IpAddr,
    /// The length of the prefix.
    pub bits: u8,
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

pub(crate) fn implementation(id: &str) -> Option<(Function, Binding)> {
    let body: Function = match id {
        "string_to_cidr" => {
            |_, args| parse(text(args, 0)?).map(wrap).map_err(|e| fail(format!("{PARSE}: {e}")))
        }
        "is_cidr" => |_, args| Ok(Value::Bool(parse(text(args, 0)?).is_ok())),
        "cidr_contains_ip_string" => |_, args| {
            let ip = ip::parse(text(args, 1)?).map_err(fail);
            let cidr = cidr(args, 0)?;
            // What is no address is reported as what it is, once the receiver is known.
            Ok(Value::Bool(contains(cidr, ip.map_err(|_| no_overload())?)))
        },
        "cidr_contains_ip_ip" => |_, args| match args.get(1).and_then(opaque) {
            Some(Opaque::Ip(ip)) => Ok(Value::Bool(contains(cidr(args, 0)?, *ip))),
            _ => Err(no_overload()),
        },
        "cidr_contains_cidr_string" => |_, args| {
            let other = parse(text(args, 1)?).map_err(|e| fail(format!("{PARSE}: {e}")))?;
            Ok(Value::Bool(covers(cidr(args, 0)?, other)))
        },
        "cidr_contains_cidr" => |_, args| Ok(Value::Bool(covers(cidr(args, 0)?, cidr(args, 1)?))),
        "cidr_ip" => |_, args| Ok(Value::Opaque(Arc::new(Opaque::Ip(cidr(args, 0)?.address)))),
        "cidr_prefix_length" => |_, args| Ok(Value::Int(i64::from(cidr(args, 0)?.bits))),
        "cidr_masked" => |_, args| {
            let cidr = cidr(args, 0)?;
            Ok(wrap(Cidr { address: masked(cidr.address, cidr.bits), bits: cidr.bits }))
        },
        _ => return None,
    };
    Some((body, Binding::Direct))
}

const PARSE: &str = "network address parse error during conversion from string";

fn wrap<'a>(cidr: Cidr) -> Value<'a> {
    Value::Opaque(Arc::new(Opaque::Cidr(cidr)))
}

fn cidr(args: &[Value<'_>], at: usize) -> Result<Cidr, Error> {
    match args.get(at).and_then(opaque) {
        Some(Opaque::Cidr(cidr)) => Ok(*cidr),
        _ => Err(no_overload()),
    }
}

fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            IpAddr::V4((u32::from(ip) & mask).into())
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            IpAddr::V6((u128::from(ip) & mask).into())
        }
    }
}

fn contains(cidr: Cidr, ip: IpAddr) -> bool {
    cidr.address.is_ipv4() == ip.is_ipv4()
        && masked(cidr.address, cidr.bits) == masked(ip, cidr.bits)
}

/// Overlaps, and is not longer.
fn covers(cidr: Cidr, other: Cidr) -> bool {
    cidr.bits <= other.bits && contains(cidr, other.address)
}

fn parse(raw: &str) -> Result<Cidr, String> {
    let message = |what: String| format!("{PARSE}: netip.ParsePrefix({}): {what}", quote(raw));
    let Some(slash) = raw.rfind('/') else { return Err(message("no '/'".to_owned())) };
    let (address, zone) = ip::parse_addr(&raw[..slash]).map_err(&message)?;
    if zone {
        return Err(message("IPv6 zones cannot be present in a prefix".to_owned()));
    }
    let length = &raw[slash + 1..];
    let bad = || message(format!("bad bits after slash: {}", quote(length)));
    if length.len() > 1 && (length.starts_with('0') || !length.as_bytes()[0].is_ascii_digit()) {
        return Err(bad());
    }
    let bits: i64 = length.parse().map_err(|_| bad())?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    if !(0..=most).contains(&bits) {
        return Err(message("prefix length out of range".to_owned()));
    }
    if matches!(address, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some()) {
        return Err(format!("IPv4-mapped IPv6 address {} is not allowed", quote(raw)));
    }
    Ok(Cidr { address, bits: u8::try_from(bits).unwrap_or_default() })
}
