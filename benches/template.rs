//! What it costs to read and to render a typical template, the same that the oracle's `bench` runs in Go.

#![allow(clippy::unwrap_used, reason = "a fixture that cannot be read must fail the benchmark")]

mod cpu_time;

use cpu_time::CpuTime;
use criterion::{Criterion, criterion_group, criterion_main};
use ironward::template::{
    Value,
    metadata::{Host, Node, Object, parse, problems},
};
use std::hint::black_box;

const SOURCE: &str = include_str!("../tests/template/bench.tmpl");

/// The facts of `tests/template/node.json` that the template shows.
fn node() -> Node {
    let object = |name: &str, labels: &[(&str, &str)], annotations: &[(&str, &str)]| {
        let texts = |entries: &[(&str, &str)]| {
            entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        Object { name: name.to_owned(), labels: texts(labels), annotations: texts(annotations) }
    };
    Node {
        index: 3,
        namespace: "metal3".to_owned(),
        cluster_name: "prod".to_owned(),
        machine: object(
            "worker-np1-7d9f-x2x9q",
            &[("pool", "np1"), ("topology.kubernetes.io/zone", "rack-7")],
            &[],
        ),
        metal3_machine: object("worker-np1-abcde", &[], &[("serial", "  SN-00042  ")]),
        metal3_machine_uid: "0e9f3c6a-7b8d-4a7e-9c51-3f2d8f6f1a22".to_owned(),
        host: Host {
            object: object("rack7-u12", &[("rack", "R7")], &[]),
            boot_mac: Some("52:54:00:12:34:56".parse().unwrap()),
            ..Host::default()
        },
    }
}

fn template(c: &mut Criterion<CpuTime>) {
    let node = node();
    let template = parse("user-data", SOURCE).unwrap();
    assert!(template.render(&Value::Nil, &node).unwrap().contains("hostname: prod-np1-003\n"));
    c.bench_function("parse", |b| b.iter(|| parse("user-data", black_box(SOURCE)).is_ok()));
    c.bench_function("render", |b| {
        b.iter(|| template.render(&Value::Nil, black_box(&node)).map(|output| output.len()));
    });
    c.bench_function("find problems", |b| {
        b.iter(|| problems("user-data", black_box(SOURCE)).len());
    });
}

criterion_group! { name = benches; config = cpu_time::criterion(); targets = template }
criterion_main!(benches);
