//! The whole answer to the API server for a BareMetalHost: parse, all shipped policies, patch, serialise.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on ends")]

mod cpu_time;

use cpu_time::CpuTime;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ironward::{
    admission::{Phase, Review, Webhook},
    policy::{
        Concerned, KnownFacts, shipped,
        trial::{self, Attempt},
    },
};
use serde_json::{Value, json};
use std::hint::black_box;

/// As in the program.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const HOST: &str = include_str!("../tests/cel/baremetalhost.json");

fn review(is_update: bool, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let host: Value = serde_json::from_str(HOST).unwrap();
    let old_object = is_update.then(|| host.clone());
    let mut object = host;
    change(&mut object);
    let attempt = Attempt { object: Some(object), old_object, ..Attempt::default() };
    let request = attempt.review().unwrap();
    let review =
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    serde_json::to_vec(&review).unwrap()
}

fn answers(c: &mut Criterion<CpuTime>) {
    let policies = shipped::with(&[]).unwrap();
    let schemas = trial::schemas();
    let facts = KnownFacts::default();
    let answer = |phase, body: &[u8]| {
        let webhook = Webhook { phase, concerned: Concerned::All };
        let review = Review::from_json(body, policies.reads()).unwrap();
        let request = review.request().unwrap();
        let response = webhook.answer(&policies, &schemas, None, &review, &request, &facts);
        response.unwrap().to_json().unwrap()
    };
    let create = review(false, |host| {
        host["spec"].as_object_mut().unwrap().remove("automatedCleaningMode");
    });
    let update = review(true, |host| host["spec"]["description"] = json!("moved to rack 7"));
    let bad = review(false, |host| host["spec"]["bmc"]["address"] = json!("telnet://x"));
    for (name, phase, body) in [
        ("mutate a create", Phase::Mutate, &create),
        ("validate a create", Phase::Validate, &create),
        ("validate an update", Phase::Validate, &update),
        ("refuse a create", Phase::Validate, &bad),
    ] {
        let mut group = c.benchmark_group("answer");
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(name, |b| b.iter(|| black_box(answer(phase, black_box(body)))));
    }
    c.bench_function("answer/only parse the update", |b| {
        b.iter(|| Review::from_json(black_box(&update), policies.reads()).is_ok());
    });
}

criterion_group! { name = admission; config = cpu_time::criterion(); targets = answers }
criterion_main!(admission);
