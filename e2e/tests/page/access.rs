//! Who may look, and at what.

use crate::stage::{PATIENCE, Stage, host, status, token};
use ironward_e2e::eventually::eventually;
use reqwest::{Method, StatusCode};
use serde_json::json;
use std::{
    io::Read,
    time::{Duration, Instant},
};

const PLACES: [&str; 5] =
    ["/api/summary", "/api/hosts", "/api/hosts/default/worker-0", "/api/denials", "/api/live"];

#[test]
fn without_a_token_there_is_nothing_and_without_rights_neither() {
    let stage = Stage::start(|_| {});
    stage.create(&host("worker-0", 1));
    let stranger = token(&stage.kubectl, "stranger");

    let (code, form) = stage.get("/", None);
    assert_eq!(code, StatusCode::UNAUTHORIZED);
    assert!(form.contains("<form") && !form.contains("worker-0"), "{form}");
    for place in PLACES.iter().chain(&["/page.js", "/nowhere", "/metrics"]) {
        for (token, expected) in [
            (None, StatusCode::UNAUTHORIZED),
            (Some("nonsense"), StatusCode::UNAUTHORIZED),
            (Some(stranger.as_str()), StatusCode::FORBIDDEN),
        ] {
            let (code, text) = stage.get(place, token);
            assert_eq!(code, expected, "{place} {token:?}: {text}");
            assert!(!text.contains("worker-0"), "{place} {token:?}: {text}");
        }
    }
    assert_eq!(stage.get("/", Some(&stranger)).0, StatusCode::FORBIDDEN);
    assert_eq!(stage.read("/api/hosts")["rows"][0]["name"], "worker-0");
    for place in ["/nowhere", "/api/hosts/default/none", "/api/hosts/default/..%2Fworker-0"] {
        assert_eq!(stage.get(place, Some(&stage.token)).0, StatusCode::NOT_FOUND, "{place}");
    }

    // Nothing can be changed.
    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        let url = format!("{}/api/hosts/default/worker-0", stage.url);
        let request = stage.client.request(method.clone(), url).bearer_auth(&stage.token);
        assert_eq!(request.send().unwrap().status(), StatusCode::METHOD_NOT_ALLOWED, "{method}");
    }

    let answer = stage.client.get(&stage.url).send().unwrap();
    let policy = answer.headers()["content-security-policy"].to_str().unwrap();
    for words in [
        "default-src 'none'",
        "script-src 'sha256-",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    ] {
        assert!(policy.contains(words), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
}

#[test]
fn a_right_that_is_taken_away_is_gone_soon_also_for_who_is_watching() {
    let stage = Stage::start(|_| {});
    let url = format!("{}/api/live", stage.url);
    let mut live =
        stage.client.get(url).bearer_auth(&stage.token).timeout(PATIENCE).send().unwrap();
    let mut some = [0; 64];
    assert!(live.read(&mut some).unwrap() > 0);
    stage.kubectl.expect(&["delete", "clusterrolebinding", "looker"]).unwrap();
    let start = Instant::now();
    eventually(Duration::from_secs(20), "it may no longer look", || {
        let (code, text) = stage.get("/api/summary", Some(&stage.token));
        if code == StatusCode::FORBIDDEN { Ok(()) } else { Err(text) }
    })
    .unwrap();
    eprintln!("a right that was taken away was gone after {:?}", start.elapsed());
    // It ends by itself: reading to the end comes to one.
    live.read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn it_shows_what_kubectl_shows_at_most_two_seconds_later() {
    let stage = Stage::start(|_| {});
    stage.create(&host("worker-0", 1));
    let mut longest = Duration::ZERO;
    for state in ["registering", "inspecting", "available", "provisioning", "provisioned"] {
        stage.set_status("worker-0", &status(state));
        let start = Instant::now();
        eventually(Duration::from_secs(2), state, || {
            let rows = stage.read("/api/hosts");
            if rows["rows"][0]["state"] == state { Ok(()) } else { Err(rows.to_string()) }
        })
        .unwrap();
        longest = longest.max(start.elapsed());
    }
    eprintln!("the longest that a change took: {longest:?}");
    let shown = stage.read("/api/summary");
    assert_eq!(shown["summary"]["states"], json!([{"state": "provisioned", "hosts": 1}]));

    // Who is refused something is there, by policy, and with the host.
    let mut mistaken = host("worker-0", 1);
    mistaken["spec"]["bmc"]["address"] = json!("redfsh://10.0.0.1");
    let apply = ["apply", "--server-side", "--force-conflicts", "--filename", "-"];
    assert!(stage.kubectl.expect_with_input(&apply, &mistaken.to_string()).is_err());
    let denied = eventually(PATIENCE, "the denial is shown", || {
        let shown = stage.read("/api/denials");
        let latest = &shown["latest"][0];
        if latest["name"] == "worker-0" { Ok(shown) } else { Err(shown.to_string()) }
    })
    .unwrap();
    let policies: Vec<_> =
        denied["byPolicy"].as_array().unwrap().iter().map(|it| &it["policy"]).collect();
    assert!(policies.contains(&&json!("host-bmc-address")), "{denied}");
    let story = stage.read("/api/hosts/default/worker-0")["timeline"].clone();
    let tones: Vec<_> = story.as_array().unwrap().iter().map(|it| &it["tone"]).collect();
    assert!(tones.contains(&&json!("denied")), "{story}");
}
