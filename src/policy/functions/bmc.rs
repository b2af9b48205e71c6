//! `bmc.endpoint` and `bmc.problems`.

use super::{cost_of_reading, text};
use crate::{
    domain::bmc::BmcAddress,
    policy::cel::{Extension, Type, Value},
};

pub(super) fn extensions() -> Vec<Extension> {
    vec![
        Extension {
            name: "bmc.endpoint",
            args: vec![Type::String],
            result: Type::String,
            call: |args| match text(args).parse::<BmcAddress>() {
                Ok(address) => Ok(Value::text(address.endpoint().to_string())),
                Err(error) => Err(error.to_string()),
            },
            cost: cost_of_reading,
        },
        Extension {
            name: "bmc.problems",
            args: vec![Type::String],
            result: Type::list(Type::String),
            call: |args| {
                let problem = text(args).parse::<BmcAddress>().err();
                Ok(Value::list(problem.map(|it| Value::text(it.to_string())).into_iter().collect()))
            },
            cost: cost_of_reading,
        },
    ]
}
