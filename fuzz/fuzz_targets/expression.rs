//! Any text as an expression, in any place of a policy, evaluated on a request.

#![no_main]

use ironward::policy::cel::{
    Bindings, Environment, Type,
    authorizer::{Answer, Authorizer, Decision, Question, ResourceAttributes},
    compile, display, shape,
};
use libfuzzer_sys::fuzz_target;
use serde_json::Value as Json;
use std::sync::LazyLock;

static HOST: LazyLock<Json> =
    LazyLock::new(|| read(include_str!("../../tests/cel/bindings/host.json")));
static VALUES: LazyLock<Json> =
    LazyLock::new(|| read(include_str!("../../tests/cel/bindings/values.json")));

fn read(text: &str) -> Json {
    let mut bindings: Json = serde_json::from_str(text).expect("a fixture");
    bindings["request"] = shape::request(&bindings["request"]);
    bindings
}

struct Nobody;

impl Authorizer for Nobody {
    fn decide(&self, _: &Question) -> Answer {
        Answer::Known(Decision {
            allowed: false,
            denied: false,
            reason: String::new(),
            error: None,
        })
    }

    fn request_resource(&self) -> ResourceAttributes {
        ResourceAttributes::default()
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, text)) = data.split_first() else { return };
    let Ok(source) = std::str::from_utf8(text) else { return };
    let mut environment = Environment::new();
    if choice & 1 == 0 {
        environment = environment.with_params().with_authorizer();
    }
    if choice & 2 != 0 {
        environment = environment.with_patch_types().with_variables();
    }
    let expected: &[Type] = if choice & 4 == 0 { &[] } else { &[Type::Bool] };
    let program = match compile(source, &environment, expected) {
        Ok(program) => program,
        Err(errors) => {
            assert!(!errors.to_string().contains("panicked"), "{errors}");
            return;
        }
    };
    for fixture in [&*VALUES, &*HOST] {
        let bindings = Bindings::new()
            .object(&fixture["object"])
            .old_object(&fixture["oldObject"])
            .params(&fixture["params"])
            .request(&fixture["request"])
            .namespace_object(&fixture["namespaceObject"])
            .authorizer(&Nobody);
        match program.evaluate(&bindings).result {
            Ok(value) => drop(display(&value)),
            Err(error) => drop(error.to_string()),
        }
    }
});
