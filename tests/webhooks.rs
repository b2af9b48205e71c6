//! `webhooks/` is what the API server is told and what it is answered: one file per resource with its
//! registrations, and cases of AdmissionReviews with answers. Made from the shipped policies by
//! `IRONWARD_UPDATE_WEBHOOKS=1 cargo test --test webhooks`; what changed is then for you to read.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use ironward::{
    admission::{Address, Registration, Review, Webhook, registrations},
    policy::{KnownFacts, PolicySet, shipped, trial},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, path::PathBuf};

fn folder(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "webhooks", name].iter().collect()
}

fn is_update() -> bool {
    std::env::var_os("IRONWARD_UPDATE_WEBHOOKS").is_some()
}

fn policies() -> PolicySet {
    shipped::with(&[]).unwrap()
}

/// The text of each file, by its name.
fn registered() -> BTreeMap<String, String> {
    let registration = Registration {
        address: Address::Service {
            namespace: "ironward-system".into(),
            name: "ironward".into(),
            port: 443,
        },
        ca_bundle: None,
        own_name: Some("system:serviceaccount:ironward-system:ironward".into()),
        timeout_seconds: 5,
    };
    let all = registrations(&policies(), &[], &registration);
    let mut files: BTreeMap<String, Value> = BTreeMap::new();
    for (phase, webhooks) in [("mutating", all.mutating), ("validating", all.validating)] {
        for webhook in webhooks {
            let rule = &webhook["rules"][0];
            let text = |value: &Value| value[0].as_str().unwrap().to_owned();
            let resource = text(&rule["resources"]);
            let resource = resource.split('/').next().unwrap();
            let file = format!("{resource}.{}.yaml", text(&rule["apiGroups"]));
            let entry = files.entry(file).or_insert_with(|| json!({}));
            if !entry[phase].is_array() {
                entry[phase] = json!([]);
            }
            entry[phase].as_array_mut().unwrap().push(webhook);
        }
    }
    files
        .into_iter()
        .map(|(name, value)| (name, serde_saphyr::to_string(&value).unwrap()))
        .collect()
}

#[test]
fn the_registrations_are_those_of_the_shipped_policies() {
    let wanted = registered();
    let is_file = |path: &PathBuf| path.extension().is_some_and(|it| it == "yaml");
    let files = || fs::read_dir(folder("")).unwrap().map(|it| it.unwrap().path()).filter(is_file);
    if is_update() {
        files().for_each(|path| fs::remove_file(path).unwrap());
        for (name, text) in &wanted {
            fs::write(folder(name), text).unwrap();
        }
    }
    let found: BTreeMap<_, _> = files()
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        wanted.keys().collect::<Vec<_>>(),
        "IRONWARD_UPDATE_WEBHOOKS=1 writes them anew"
    );
    for (name, text) in wanted {
        assert_eq!(found[&name], text, "{name}: IRONWARD_UPDATE_WEBHOOKS=1 writes it anew");
    }
}

#[test]
fn no_registration_has_a_wildcard() {
    for (name, text) in registered() {
        let is_scope = |line: &&str| line.trim_start().starts_with("scope:");
        let wild = text.lines().filter(|line| !is_scope(line)).find(|line| {
            let value = line.trim_start().trim_start_matches("- ");
            value == "\"*\"" || value == "'*'" || value == "*"
        });
        assert_eq!(wild, None, "{name}");
    }
}

#[test]
fn every_case_is_answered_as_it_says() {
    let (policies, schemas) = (policies(), trial::schemas());
    let mut tried = 0;
    for entry in fs::read_dir(folder("cases")).unwrap() {
        let path = entry.unwrap().path();
        let mut case: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let body = serde_json::to_vec(&case["review"]).unwrap();
        let webhook = Webhook::all()
            .find(|it| it.path() == case["webhook"])
            .unwrap_or_else(|| panic!("{}: no such webhook", path.display()));
        let review = Review::from_json(&body, policies.reads()).unwrap();
        let request = review.request().unwrap();
        let facts = KnownFacts::default();
        let answer = webhook.answer(&policies, &schemas, None, &review, &request, &facts).unwrap();
        let mut answer: Value = serde_json::from_slice(&answer.to_json().unwrap()).unwrap();
        // For people who read it.
        if let Some(patch) = answer["response"]["patch"].as_str() {
            let decoded: Value = serde_json::from_slice(&BASE64.decode(patch).unwrap()).unwrap();
            answer["response"]["patch"] = decoded;
        }
        if is_update() {
            case["answer"] = answer.clone();
            fs::write(&path, format!("{case:#}\n")).unwrap();
        }
        assert_eq!(case["answer"], answer, "{}", path.display());
        tried += 1;
    }
    assert!(tried >= 6, "there are {tried} cases");
}
