//! Ten thousand AdmissionReviews that no API server would send, and some that it might: each is answered or
//! refused, none ends the process.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so and ends")]

use ironward::{
    admission::{Review, Webhook},
    policy::{
        KnownFacts, Operation, PolicySet, Reads, shipped,
        trial::{self, Attempt},
    },
};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};

const HOST: &str = include_str!("cel/baremetalhost.json");

fn review(operation: Operation) -> Value {
    let host: Value = serde_json::from_str(HOST).unwrap();
    let (object, old_object) = (Some(host.clone()), Some(host));
    let attempt = Attempt { object, old_object, operation: Some(operation), ..Attempt::default() };
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": attempt.review().unwrap(),
    })
}

/// Any JSON, mostly small, sometimes deep or long.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        ".{0,20}".prop_map(Value::from),
        Just(json!("x".repeat(100_000))),
        Just(json!("aa:bb:cc:dd:ee:ff")),
        Just(json!("redfish://[::1]:99999/\u{0}\u{202e}")),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-zA-Z./]{0,8}", inner, 0..4).prop_map(|it| json!(it)),
        ]
    })
}

/// The places inside a value.
fn pointers(value: &Value, prefix: &str, found: &mut Vec<String>) {
    found.push(prefix.to_owned());
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let key = key.replace('~', "~0").replace('/', "~1");
                pointers(value, &format!("{prefix}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                pointers(value, &format!("{prefix}/{index}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

struct Server {
    policies: PolicySet,
    schemas: ironward::policy::Schemas,
}

impl Server {
    fn new() -> Self {
        Self { policies: shipped::with(&[]).unwrap(), schemas: trial::schemas() }
    }

    /// Whether there was an answer that can be sent. What no policy reads makes no difference to it.
    fn answers(&self, body: &[u8]) -> bool {
        let answers = |reads: &Reads| {
            let review = Review::from_json(body, reads).ok()?;
            let request = review.request().ok()?;
            let facts = KnownFacts::default();
            let answer = |webhook: Webhook| {
                let (policies, schemas) = (&self.policies, &self.schemas);
                webhook.answer(policies, schemas, None, &review, &request, &facts).ok()
            };
            Some(Webhook::all().map(answer).collect::<Vec<_>>())
        };
        let (Some(part), Some(whole)) =
            (answers(self.policies.reads()), answers(&Reads::everything()))
        else {
            return false;
        };
        assert_eq!(part, whole);
        for response in part.into_iter().flatten() {
            let written = response.to_json().unwrap();
            assert!(written.len() < 8 << 20, "an answer of {} bytes", written.len());
        }
        true
    }
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new_with_rng(
        Config { cases, failure_persistence: None, ..Config::default() },
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    )
}

#[test]
fn reviews_with_anything_anywhere_are_answered() {
    let server = Server::new();
    let reviews = [Operation::Create, Operation::Update, Operation::Delete].map(review);
    let mut places = Vec::new();
    pointers(&reviews[0]["request"], "/request", &mut places);
    let changes = prop::collection::vec((any::<prop::sample::Index>(), anything()), 1..4);
    let answered = std::cell::Cell::new(0_u32);
    runner(8000)
        .run(&(0..3_usize, changes), |(which, changes)| {
            let mut review = reviews[which].clone();
            for (place, value) in changes {
                if let Some(found) = review.pointer_mut(&places[place.index(places.len())]) {
                    *found = value;
                }
            }
            if server.answers(review.to_string().as_bytes()) {
                answered.set(answered.get() + 1);
            }
            Ok(())
        })
        .unwrap();
    assert!(answered.get() > 4000, "only {} got as far as the policies", answered.get());
}

#[test]
fn bytes_that_are_no_reviews_are_refused() {
    let server = Server::new();
    let whole = review(Operation::Update).to_string().into_bytes();
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8);
    runner(2000)
        .run(&(any::<prop::sample::Index>(), changes), |(length, changes)| {
            let mut body = whole.clone();
            for (place, byte) in changes {
                let place = place.index(body.len());
                body[place] = byte;
            }
            server.answers(&body);
            body.truncate(length.index(body.len()));
            server.answers(&body);
            Ok(())
        })
        .unwrap();
}

#[test]
fn nesting_that_would_end_a_stack_is_refused() {
    let server = Server::new();
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let nested = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        let body = review(Operation::Create).to_string().replace("\"worker-07\"", &nested);
        assert!(!server.answers(body.as_bytes()));
    }
}
