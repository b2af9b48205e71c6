//! The whole answer to the API server for a BareMetalHost: parse, all shipped policies, patch, serialise.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on ends")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ironward::{
    admission::{Phase, Review, Webhook},
    policy::{Concerned, Directory, KnownFacts, PolicySet, extensions, shipped, trial},
};
use serde_json::{Value, json};
use std::hint::black_box;

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const HOST: &str = include_str!("../tests/cel/baremetalhost.json");

fn review(operation: &str, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let host: Value = serde_json::from_str(HOST).unwrap();
    let versioned =
        |key: &str, name: &str| json!({"group": "metal3.io", "version": "v1alpha1", key: name});
    let mut review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": versioned("kind", "BareMetalHost"),
            "resource": versioned("resource", "baremetalhosts"),
            "requestKind": versioned("kind", "BareMetalHost"),
            "requestResource": versioned("resource", "baremetalhosts"),
            "name": host["metadata"]["name"],
            "namespace": host["metadata"]["namespace"],
            "operation": operation,
            "userInfo": {"username": "alice", "groups": ["platform", "system:authenticated"]},
            "object": host,
            "oldObject": if operation == "UPDATE" { host.clone() } else { Value::Null },
            "dryRun": false,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
        },
    });
    change(&mut review["request"]["object"]);
    serde_json::to_vec(&review).unwrap()
}

fn answers(c: &mut Criterion) {
    let directory = Directory { embedded: shipped::files(), ..Directory::default() };
    let policies = PolicySet::compile(&directory, &extensions()).unwrap();
    let schemas = trial::schemas();
    let facts = KnownFacts::default();
    let answer = |phase, body: &[u8]| {
        let webhook = Webhook { phase, concerned: Concerned::All };
        let review = Review::from_json(body, policies.reads()).unwrap();
        let request = review.request().unwrap();
        let response = webhook.answer(&policies, &schemas, None, &review, &request, &facts);
        response.unwrap().to_json().unwrap()
    };
    let create = review("CREATE", |host| {
        host["spec"].as_object_mut().unwrap().remove("automatedCleaningMode");
    });
    let update = review("UPDATE", |host| host["spec"]["description"] = json!("moved to rack 7"));
    let bad = review("CREATE", |host| host["spec"]["bmc"]["address"] = json!("telnet://x"));
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

criterion_group!(admission, answers);
criterion_main!(admission);
