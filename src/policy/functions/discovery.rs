//! `discovery.selectorProblems` and `discovery.labelProblems`: why an expression of a BareMetalHostDiscovery does not compile.

use super::{cost_of_reading, text};
use crate::policy::{
    cel::{Extension, Type, Value},
    discovery::{LabelExpression, Selector},
};

pub(super) fn extensions() -> Vec<Extension> {
    vec![
        Extension {
            name: "discovery.selectorProblems",
            args: vec![Type::String],
            result: Type::list(Type::String),
            call: |args| Ok(problems(Selector::compile(text(args)).err())),
            cost: cost_of_reading,
        },
        Extension {
            name: "discovery.labelProblems",
            args: vec![Type::String],
            result: Type::list(Type::String),
            call: |args| Ok(problems(LabelExpression::compile(text(args)).err())),
            cost: cost_of_reading,
        },
    ]
}

fn problems<'a>(problem: Option<String>) -> Value<'a> {
    Value::list(problem.into_iter().map(Value::text).collect())
}
