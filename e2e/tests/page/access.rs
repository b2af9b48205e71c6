//! Who may look, and at what.

use crate::stage::{PATIENCE, host, shared};
use ironward_e2e::eventually::eventually;
use reqwest::{Method, StatusCode};
use std::{io::Read, time::Instant};

#[test]
fn without_a_token_there_is_nothing_and_without_rights_neither() {
    let (stage, corner) = shared();
    corner.create(&host("secret-host", 1));
    let stranger = corner.token("stranger");
    let itself = format!("/api/hosts/{}/secret-host", corner.namespace);
    eventually(PATIENCE, "who may look sees it", || {
        let (code, text) = stage.get(&itself, Some(&stage.token));
        if code == StatusCode::OK { Ok(()) } else { Err(text) }
    })
    .unwrap();

    let (code, form) = stage.get("/", None);
    assert_eq!(code, StatusCode::UNAUTHORIZED);
    assert!(form.contains("<form") && !form.contains("secret-host"), "{form}");
    let elsewhere = ["href=\"http", "src=", "@import", "url("];
    assert!(!elsewhere.iter().any(|it| form.contains(it)), "it fetches something: {form}");
    let places = ["/api/summary", "/api/hosts", &itself, "/api/denials", "/api/live"];
    for place in places.iter().chain(&["/page.js", "/nowhere", "/metrics"]) {
        for (token, expected) in [
            (None, StatusCode::UNAUTHORIZED),
            (Some("nonsense"), StatusCode::UNAUTHORIZED),
            (Some(stranger.as_str()), StatusCode::FORBIDDEN),
        ] {
            let (code, text) = stage.get(place, token);
            assert_eq!(code, expected, "{place} {token:?}: {text}");
            assert!(!text.contains("secret-host"), "{place} {token:?}: {text}");
        }
    }
    assert_eq!(stage.get("/", Some(&stranger)).0, StatusCode::FORBIDDEN);
    let found = stage.read("/api/hosts?q=secret-host");
    assert_eq!(found["rows"][0]["name"], "secret-host", "{found}");
    let outside = format!("/api/hosts/{}/..%2Fsecret-host", corner.namespace);
    for place in ["/nowhere", "/api/hosts/default/none", &outside] {
        assert_eq!(stage.get(place, Some(&stage.token)).0, StatusCode::NOT_FOUND, "{place}");
    }

    // Nothing can be changed.
    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        let url = format!("{}{itself}", stage.url);
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
    let (stage, corner) = shared();
    let token = corner.token("watcher");
    let right = corner.permit("watcher");
    let url = format!("{}/api/live", stage.url);
    let watch = || stage.client.get(&url).bearer_auth(&token).timeout(PATIENCE).send().unwrap();
    let mut live = eventually(PATIENCE, "it may look", || {
        let answer = watch();
        if answer.status() == StatusCode::OK { Ok(answer) } else { Err(answer.status()) }
    })
    .unwrap();
    let mut some = [0; 64];
    assert!(live.read(&mut some).unwrap() > 0);
    corner.kubectl.expect(&["delete", "clusterrolebinding", &right]).unwrap();
    let start = Instant::now();
    eventually(PATIENCE, "it may no longer look", || {
        let (code, text) = stage.get("/api/summary", Some(&token));
        if code == StatusCode::FORBIDDEN { Ok(()) } else { Err(text) }
    })
    .unwrap();
    eprintln!("a right that was taken away was gone after {:?}", start.elapsed());
    // It ends by itself: reading to the end comes to one.
    live.read_to_end(&mut Vec::new()).unwrap();
}
