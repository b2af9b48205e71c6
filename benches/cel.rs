//! What a rule costs on top of parsing the object: the rules of `tests/cel/bench.json` on a
//! BareMetalHost of 6 KB, the same that the oracle's own bench runs in cel-go.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test that cannot go on fails"
)]

mod cpu_time;

use cpu_time::CpuTime;
use criterion::{Criterion, criterion_group, criterion_main};
use ironward::policy::cel::{Bindings, Environment, Program, Type, compile};
use serde_json::Value as Json;
use std::hint::black_box;

const HOST: &str = include_str!("../tests/cel/baremetalhost.json");
const RULES: &str = include_str!("../tests/cel/bench.json");

fn rules() -> Vec<(String, Program)> {
    let rules: Json = serde_json::from_str(RULES).expect("the file is in the repository");
    let rules = rules.as_array().expect("a list of rules");
    let text = |rule: &Json, key: &str| rule[key].as_str().unwrap_or_default().to_owned();
    rules
        .iter()
        .map(|rule| {
            let program = compile(&text(rule, "expr"), &Environment::new(), &[Type::Bool]);
            (text(rule, "name"), program.expect("the rules compile"))
        })
        .collect()
}

fn evaluation(c: &mut Criterion<CpuTime>) {
    let host: Json = serde_json::from_str(HOST).expect("the file is in the repository");
    let rules = rules();
    for (name, program) in &rules {
        c.bench_function(name, |b| {
            let bindings = Bindings::new().object(&host);
            b.iter(|| black_box(program.evaluate(&bindings)).cost);
        });
    }
    c.bench_function("seven rules, one object", |b| {
        b.iter(|| {
            let bindings = Bindings::new().object(&host);
            rules[1..].iter().map(|(_, p)| p.evaluate(&bindings).cost).sum::<u64>()
        });
    });
    c.bench_function("parse the object", |b| {
        b.iter(|| serde_json::from_str::<Json>(black_box(HOST)).map(|v| v.is_object()));
    });
}

fn compilation(c: &mut Criterion<CpuTime>) {
    let rules: Json = serde_json::from_str(RULES).expect("the file is in the repository");
    let source = rules[0]["expr"].as_str().unwrap_or_default().to_owned();
    let environment = Environment::new();
    c.bench_function("compile three-conditions", |b| {
        b.iter(|| compile(black_box(&source), &environment, &[Type::Bool]).is_ok());
    });
}

criterion_group! { name = cel; config = cpu_time::criterion(); targets = evaluation, compilation }
criterion_main!(cel);
