//! Any text as a metadata template, checked, read and rendered.

#![no_main]

use ironward::template::{
    Functions, Limits, Template, Value,
    metadata::{FUNCTIONS, Node},
    problems,
};
use libfuzzer_sys::fuzz_target;
use serde_json::Value as Json;
use std::sync::LazyLock;

static FUNCTIONS_OF_NODES: LazyLock<Functions> = LazyLock::new(|| Functions::new(&FUNCTIONS));
static DATA: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../tests/template/data/values.json");
    Value::from(&serde_json::from_str::<Json>(text).expect("a fixture"))
});
static NODE: LazyLock<Node> = LazyLock::new(Node::default);

fuzz_target!(|data: &[u8]| {
    let Ok(source) = std::str::from_utf8(data) else { return };
    let found = problems("t", source, &FUNCTIONS_OF_NODES);
    match Template::parse("t", source, &FUNCTIONS_OF_NODES, &Limits::default()) {
        Ok(template) => match template.render(&DATA, &*NODE) {
            Ok(output) => assert!(output.len() <= 3 * Limits::default().output),
            Err(error) => drop(error.to_string()),
        },
        Err(error) => assert!(!found.is_empty(), "no problems, but: {error}"),
    }
});
