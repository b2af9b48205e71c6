//! The policy engines that Ironward is measured against judge hosts by the same rules, and leave nothing behind.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so and ends")]

use anyhow::Result;
use ironward_e2e::{
    cluster, control_plane,
    control_plane::ControlPlane,
    http, ironward, load,
    node::apart,
    peers::{
        engine::{Engine, Probe, Rules, submit},
        gatekeeper, kyverno,
    },
};
use serde_json::{Value, json};
use std::fs;

const JUDGE: &str = "the-engine";

type Start = fn(&ControlPlane, &Rules) -> Result<Engine>;
type Remove = fn(&ControlPlane, &Rules, Engine) -> Result<()>;

/// Starts an engine twice, for nothing may be left of the first time.
fn judges(plane: &ControlPlane, start: Start, remove: Remove) {
    let (rules, probe) = (Rules::of(JUDGE).unwrap(), Probe::new(plane).unwrap());
    let another = Rules::of("another").unwrap();
    for _ in 0..2 {
        assert_eq!(probe.refusal(rules.bad_host()).unwrap(), None);
        let engine = start(plane, &rules).unwrap();
        let reason = probe.refusal(rules.bad_host()).unwrap().unwrap_or_default();
        assert!(reason.contains(rules.message()), "{reason}");
        // Both know how to have the API server judge instead, by a policy of its own.
        assert!(reason.starts_with("admission webhook"), "{reason}");
        assert_eq!(probe.refusal(rules.good_host()).unwrap(), None);
        // What somebody else is to judge is not even sent to it.
        assert_eq!(probe.refusal(another.bad_host()).unwrap(), None);
        assert_eq!(webhooks_without(plane, rules.selector()), Vec::<Value>::new());
        answers_directly(plane, &engine, &rules);
        let memory = load::Process::of(engine.process.id()).memory().unwrap();
        eprintln!("{}: ready after {:?}, {memory:.0} MiB", engine.url, engine.ready_after);
        remove(plane, &rules, engine).unwrap();
        assert_eq!(probe.refusal(rules.bad_host()).unwrap(), None);
    }
}

/// The webhooks about hosts that the API server would ask about others than these.
fn webhooks_without(plane: &ControlPlane, selector: &Value) -> Vec<Value> {
    let all = ["get", "validatingwebhookconfigurations", "--output", "json"];
    let all: Value = serde_json::from_str(&plane.kubectl().expect(&all).unwrap()).unwrap();
    let webhooks =
        all["items"].as_array().unwrap().iter().filter_map(|it| it["webhooks"].as_array());
    let webhooks =
        webhooks.flatten().filter(|it| it["rules"].to_string().contains("baremetalhosts"));
    webhooks.filter(|it| it["objectSelector"] != *selector).cloned().collect()
}

/// What breaks each of the rules, in their order.
const BREACHES: [fn(&mut Value); 8] = [
    |spec| spec["bmc"]["address"] = json!("telnet://192.0.2.1"),
    |spec| spec["bmc"]["credentialsName"] = json!(""),
    |spec| spec["bootMACAddress"] = json!("52:54"),
    |spec| spec["bootMode"] = json!("BIOS"),
    |spec| spec["raid"]["hardwareRAIDVolumes"][0]["level"] = json!("9"),
    |spec| spec["image"] = json!({"url": "http://192.0.2.1/image", "checksumType": "md5"}),
    |spec| {
        spec["automatedCleaningMode"] = json!("disabled");
        spec["rootDeviceHints"] = json!({});
    },
    |spec| spec["taints"] = json!([{"key": "rack", "effect": "Never"}]),
];

/// Asks as whoever measures does: one host that keeps all rules, and for each rule one that breaks it and no other.
fn answers_directly(plane: &ControlPlane, engine: &Engine, rules: &Rules) {
    let authority = fs::read(plane.authority()).unwrap();
    let authority = reqwest::Certificate::from_pem(&authority).unwrap();
    let client = http::builder().tls_certs_only([authority]).build().unwrap();
    let reviews = load::reviews().unwrap();
    let review = reviews.iter().find(|it| it.name == "validate a create").unwrap();
    let mut review: Value = serde_json::from_slice(&review.body).unwrap();
    submit(&mut review["request"]["object"], JUDGE);
    let answer = |review: &Value| -> Value {
        let answer = client.post(&engine.url).json(review).send().unwrap();
        answer.json::<Value>().unwrap()["response"].take()
    };
    let accepted = answer(&review);
    assert_eq!(accepted["allowed"], true, "{accepted:#}");
    let messages: Vec<_> = rules.spec()["validations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule["message"].as_str().unwrap())
        .collect();
    assert_eq!(messages.len(), BREACHES.len());
    for (number, breach) in BREACHES.iter().enumerate() {
        let mut review = review.clone();
        breach(&mut review["request"]["object"]["spec"]);
        let refused = answer(&review);
        assert_eq!(refused["allowed"], false, "{}: {refused:#}", messages[number]);
        let told = refused["status"]["message"].as_str().unwrap_or_default();
        let told = messages.iter().filter(|message| told.contains(**message));
        assert_eq!(told.collect::<Vec<_>>(), [&messages[number]], "{refused:#}");
    }
}

#[test]
fn peers_judge_hosts_by_the_same_rules() {
    if apart::is_skipped() {
        return;
    }
    control_plane::provide().unwrap();
    ironward::binary().unwrap();
    gatekeeper::provide().unwrap();
    kyverno::provide().unwrap();
    apart::with_own_network(|| {
        let plane = ControlPlane::start().unwrap();
        cluster::install_kinds(&plane).unwrap();
        // An engine looks up the namespace of what it is asked about.
        plane.kubectl().expect(&["create", "namespace", "metal3"]).unwrap();
        gatekeeper::install(&plane).unwrap();
        kyverno::install(&plane).unwrap();
        judges(&plane, gatekeeper::start, gatekeeper::remove);
        judges(&plane, kyverno::start, kyverno::remove);
    })
    .unwrap();
}
