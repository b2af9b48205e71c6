//! `goTemplate.problems` and `goTemplate.variesByNode`, of metadata templates.

use super::{cost_of_reading, text};
use crate::{
    policy::cel::{Extension, Type, Value},
    template::metadata,
};

pub(super) fn extensions() -> Vec<Extension> {
    vec![
        Extension {
            name: "goTemplate.problems",
            args: vec![Type::String],
            result: Type::list(Type::String),
            call: |args| {
                // Places are said without the template's name: a policy knows the key.
                let problems = metadata::problems("", text(args));
                let texts = problems.iter().map(|problem| Value::text(problem.to_string()));
                Ok(Value::list(texts.collect()))
            },
            cost: cost_of_reading,
        },
        Extension {
            name: "goTemplate.variesByNode",
            args: vec![Type::String],
            result: Type::Bool,
            call: |args| {
                let template = metadata::parse("", text(args));
                Ok(Value::Bool(template.is_ok_and(|it| metadata::varies_by_node(&it))))
            },
            cost: cost_of_reading,
        },
    ]
}
