//! The page with what the chart permits: that is enough, and all of it is needed.

use crate::{
    permissions::{Asked, asked, kill, lines, patch_role},
    stage::{CREATE, SELF_SIGNED, beside_metal3, create, in_company, until, wait_until_in_force},
};
use ironward_e2e::{
    http, ports,
    release::{NAME, Release, Replica},
};
use reqwest::blocking::Client;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What the chart permits because of the page alone.
const FOR_THE_PAGE: [(&str, &str); 5] = [
    ("create", "tokenreviews"),
    ("create", "subjectaccessreviews"),
    ("get", "hosthistories"),
    ("list", "hosthistories"),
    ("watch", "hosthistories"),
];

/// Somebody who may look.
struct Looker<'a> {
    release: &'a Release<'a>,
    url: String,
    client: Client,
}

impl Looker<'_> {
    /// What they see of a host, with a token that nobody has seen before: what is known of one counts for a while.
    fn look(&self) -> (u16, String) {
        let token = self.release.kubectl().expect(&["create", "token", "looker"]).unwrap();
        let host = format!("{}/api/hosts/default/seen", self.url);
        let answer = self.client.get(host).bearer_auth(token.trim()).send();
        answer.map_or_else(
            |error| (0, error.to_string()),
            |it| (it.status().as_u16(), it.text().unwrap_or_default()),
        )
    }
}

#[test]
fn the_page_is_shown_with_what_the_chart_permits_and_with_nothing_less() {
    let _company = in_company();
    let plane = beside_metal3();
    let release = Release::install(&plane, &[SELF_SIGNED, "page.enabled=true"]).unwrap();
    let [port] = ports::free::<1>().unwrap();
    let arguments = vec![format!("--page-address=127.0.0.1:{port}")];
    let replica = release.start(&Replica { arguments, ..Replica::default() }).unwrap();
    wait_until_in_force(&release, &replica);
    assert!(create(&release, "seen", 1).success);
    let history = json!({
        "apiVersion": "ironward.dev/v1alpha1", "kind": "HostHistory", "metadata": {"name": "seen", "namespace": "default"},
        "hostRef": {"name": "seen"}, "records": [{"event": "Cordoned", "started": "2026-01-01T00:00:00Z"}],
    });
    plane.kubectl().expect_with_input(&CREATE, &history.to_string()).unwrap();
    let kubectl = release.kubectl();
    for permit in [
        "serviceaccount looker",
        "clusterrole looker --verb=list --resource=baremetalhosts.metal3.io",
        "clusterrolebinding looker --clusterrole=looker --serviceaccount=ironward-system:looker",
    ] {
        let words: Vec<_> = std::iter::once("create").chain(permit.split(' ')).collect();
        kubectl.expect(&words).unwrap();
    }
    let client = http::builder().danger_accept_invalid_certs(true).build().unwrap();
    let looker = Looker { release: &release, url: format!("https://127.0.0.1:{port}"), client };
    let look = || looker.look();
    let is_whole = |(code, text): &(u16, String)| *code == 200 && text.contains("taken out of use");
    until("a host is shown with its history", look, is_whole);
    let refused: Vec<_> = asked(&release, 0).into_iter().filter(|it| it.3 == 403).collect();
    assert!(refused.is_empty(), "the chart permits too little: {refused:?}");

    let role = kubectl.get("clusterrole", NAME).unwrap();
    let change = |patch: &Value| patch_role(&kubectl, "clusterrole", patch);
    let rules = role["rules"].as_array().unwrap();
    for (resource, code) in
        [("tokenreviews", 503), ("subjectaccessreviews", 503), ("hosthistories", 200)]
    {
        let index = rules.iter().position(|it| it["resources"] == json!([resource])).unwrap();
        let since = lines(&release);
        change(&json!([{"op": "remove", "path": format!("/rules/{index}")}]));
        until(&format!("the page cannot do without {resource}"), look, |seen| {
            seen.0 == code && !is_whole(seen)
        });
        let is_refused =
            |asked: &BTreeSet<Asked>| asked.iter().any(|it| it.3 == 403 && it.2 == resource);
        until("that is why", || asked(&release, since), is_refused);
        change(&json!([{"op": "replace", "path": "/rules", "value": role["rules"]}]));
        until(&format!("it is shown again with {resource}"), look, is_whole);
    }
    // Watches are written down when they end.
    kill(&replica);
    let unused = || {
        let used = asked(&release, 0);
        let is_used = |(verb, resource): &(&str, &str)| {
            used.iter().any(|it| it.0 == *verb && it.2 == *resource && it.3 != 403)
        };
        FOR_THE_PAGE.into_iter().filter(|it| !is_used(it)).collect::<Vec<_>>()
    };
    until("all that is permitted is used", unused, Vec::is_empty);
}
