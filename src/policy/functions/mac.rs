//! `mac.canonical` and `mac.isMAC`.

use super::{cost_of_reading, text};
use crate::{
    domain::mac::Mac,
    policy::cel::{Extension, Type, Value},
};

pub(super) fn extensions() -> Vec<Extension> {
    vec![
        Extension {
            name: "mac.canonical",
            args: vec![Type::String],
            result: Type::String,
            call: |args| match text(args).parse::<Mac>() {
                Ok(mac) => Ok(Value::text(mac.to_string())),
                Err(error) => Err(error.to_string()),
            },
            cost: cost_of_reading,
        },
        Extension {
            name: "mac.isMAC",
            args: vec![Type::String],
            result: Type::Bool,
            call: |args| Ok(Value::Bool(text(args).parse::<Mac>().is_ok())),
            cost: cost_of_reading,
        },
    ]
}
