//! Any text as a file of policies, asked about a request if it is one.

#![no_main]

use ironward::policy::{Directory, File, KnownFacts, PolicySet, Request, Schemas};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value as Json, json};
use std::sync::LazyLock;

static REVIEW: LazyLock<Json> = LazyLock::new(|| {
    let object = json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": "worker-0", "namespace": "metal3"}, "spec": {"online": true},
    });
    json!({
        "uid": "u", "name": "worker-0", "namespace": "metal3", "operation": "CREATE", "object": object,
        "kind": {"group": "metal3.io", "version": "v1alpha1", "kind": "BareMetalHost"},
        "resource": {"group": "metal3.io", "version": "v1alpha1", "resource": "baremetalhosts"},
        "userInfo": {"username": "admin"},
    })
});

fuzz_target!(|data: &[u8]| {
    let Ok(content) = std::str::from_utf8(data) else { return };
    let files = [File { name: "policies.yaml", content }];
    let set = match PolicySet::compile(&Directory { user: &files, ..Directory::default() }, &[]) {
        Ok(set) => set,
        Err(problems) => {
            for problem in problems {
                let text = problem.to_string();
                assert!(!text.contains("the compiler panicked"), "{text}");
            }
            return;
        }
    };
    let request = Request::from_json(&REVIEW).expect("the request");
    let _ = set.validate(&request, &KnownFacts::default());
    let _ = set.mutate(&request, &KnownFacts::default(), &Schemas::default());
});
