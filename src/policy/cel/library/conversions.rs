//! `int()`, `string()` and the other conversions.

use super::{Binding, Function, Opaque};
use crate::policy::cel::{
    error::{Error, no_overload},
    eval::Machine,
    ops,
    types::Type,
    value::Value,
};

pub(crate) fn implementation(id: &str) -> Option<(Function, Binding)> {
    let body: Function = match id {
        "bool_to_bool"
        | "bytes_to_bytes"
        | "double_to_double"
        | "duration_to_duration"
        | "int64_to_int64"
        | "string_to_string"
        | "timestamp_to_timestamp"
        | "uint64_to_uint64" => identity,
        "string_to_bool" => |_, args| convert(args, &Type::Bool),
        "string_to_bytes" => |_, args| convert(args, &Type::Bytes),
        "int64_to_double" | "string_to_double" | "uint64_to_double" => {
            |_, args| convert(args, &Type::Double)
        }
        "int64_to_duration" | "string_to_duration" => |_, args| convert(args, &Type::Duration),
        "double_to_int64" | "duration_to_int64" | "string_to_int64" | "timestamp_to_int64"
        | "uint64_to_int64" => |_, args| convert(args, &Type::Int),
        "bool_to_string"
        | "bytes_to_string"
        | "double_to_string"
        | "duration_to_string"
        | "int64_to_string"
        | "timestamp_to_string"
        | "uint64_to_string" => |_, args| convert(args, &Type::String),
        "ip_to_string" | "cidr_to_string" => address_to_string,
        "int64_to_timestamp" | "string_to_timestamp" => |_, args| convert(args, &Type::Timestamp),
        "double_to_uint64" | "int64_to_uint64" | "string_to_uint64" => {
            |_, args| convert(args, &Type::Uint)
        }
        _ => return None,
    };
    Some((body, Binding::Direct))
}

fn convert<'a>(args: &[Value<'a>], to: &Type) -> Result<Value<'a>, Error> {
    ops::convert(args.first().ok_or_else(no_overload)?, to)
}

fn identity<'a>(_: &mut Machine<'_, 'a>, args: &[Value<'a>]) -> Result<Value<'a>, Error> {
    args.first().cloned().ok_or_else(no_overload)
}

fn address_to_string<'a>(_: &mut Machine<'_, 'a>, args: &[Value<'a>]) -> Result<Value<'a>, Error> {
    match args.first() {
        Some(Value::Opaque(opaque)) => match &**opaque {
            Opaque::Ip(ip) => Ok(Value::text(ip.to_string())),
            Opaque::Cidr(cidr) => Ok(Value::text(cidr.to_string())),
            _ => Err(no_overload()),
        },
        _ => Err(no_overload()),
    }
}
