//! A key from its first holder to the next: create, update, delete, dry run, a create that comes to nothing, claims
//! that somebody deletes, and hosts that were there before.

use crate::stage::{CREATE, alone, claims, create, guard, host, unguarded, until};
use ironward_e2e::{
    documentation::{pages, wrong},
    ironward::Options,
    kubectl::Kubectl,
    tour::Stage,
};
use std::time::{Duration, Instant};

/// Shorter than the API server's own patience, which nothing here tries.
const GRACE: u32 = 4;

const MAC: &str = "52:54:00:00:00:01";
const CLAIM: &str = "unique-boot-mac.52-54-00-00-00-01";

fn claimed_by(name: &str) -> Vec<(String, String)> {
    vec![(CLAIM.to_owned(), format!("baremetalhosts.metal3.io {name}"))]
}

#[test]
fn a_key_passes_from_holder_to_holder() {
    let _alone = alone();
    let plane = unguarded();
    let options = Options { claim_grace: Some(GRACE), ..Options::default() };
    let _ironward = guard(&plane, &options);
    plane.kubectl().expect(&["create", "namespace", "lab"]).unwrap();
    let (here, there) =
        (plane.kubectl().in_namespace("default"), plane.kubectl().in_namespace("lab"));

    a_dry_run_leaves_nothing(&here);
    another_spelling_elsewhere_is_refused(&here, &there);
    an_update_cannot_take_it(&here);
    a_deleted_host_gives_it_back(&here, &there);
    a_create_that_comes_to_nothing_blocks_it_for_a_while(&here, &there);
    a_generated_name_holds_like_any_other(&here);
    both_keys_are_named_in_one_answer(&here, &there);
    deleted_claims_come_back(&here);
}

fn a_dry_run_leaves_nothing(here: &Kubectl) {
    let dry_run = ["create", "--dry-run=server", "--filename", "-"];
    here.expect_with_input(&dry_run, &host("name: a", MAC, "")).unwrap();
    assert_eq!(claims(here, "unique-boot-mac"), []);
}

fn another_spelling_elsewhere_is_refused(here: &Kubectl, there: &Kubectl) {
    let made = create(here, "a", "52:54:00:00:00:AB", "");
    assert!(made.success, "{}", made.err);
    let refused = create(there, "b", "52:54:00:00:00:ab", "");
    assert_eq!(
        refused.err.trim_end(),
        "The BareMetalHost \"b\" is invalid: spec.bootMACAddress: '52:54:00:00:00:ab' belongs to \
         BareMetalHost default/a: two hosts with one address would boot each other's image; correct the address \
         here or there [unique-boot-mac]"
    );
    let claim = (
        "unique-boot-mac.52-54-00-00-00-ab".to_owned(),
        "baremetalhosts.metal3.io default/a".to_owned(),
    );
    assert_eq!(claims(here, "unique-boot-mac"), [claim]);
    let dry_run = ["create", "--dry-run=server", "--filename", "-"];
    let tried = there.run_with_input(&dry_run, &host("name: b", "52:54:00:00:00:ab", "")).unwrap();
    assert!(!tried.success && tried.err.contains("default/a"), "{}", tried.err);
    here.expect(&["delete", "bmh", "a"]).unwrap();
    until("no claim is left", || claims(here, "unique-boot-mac"), Vec::is_empty);
}

fn an_update_cannot_take_it(here: &Kubectl) {
    assert!(create(here, "a", MAC, "").success);
    assert!(create(here, "b", "", "").success);
    let patch = |mac: &str| format!(r#"{{"spec":{{"bootMACAddress":"{mac}"}}}}"#);
    let merge = |mac: &str| {
        here.run(&["patch", "bmh", "b", "--type=merge", "--patch", &patch(mac)]).unwrap()
    };
    let refused = merge(MAC);
    assert!(!refused.success && refused.err.contains("default/a"), "{}", refused.err);
    assert!(merge("52:54:00:00:00:02").success);
    // What is not about the key needs no claim: the version of the claim stays.
    let version = || {
        let selector = "ironward.dev/unique-policy=unique-boot-mac";
        let versions = "jsonpath={.items[*].metadata.resourceVersion}";
        here.expect(&["get", "leases", "--selector", selector, "--output", versions]).unwrap()
    };
    let before = version();
    here.expect(&["label", "bmh", "a", "rack=7"]).unwrap();
    assert_eq!(version(), before);
    here.expect(&["delete", "bmh", "b"]).unwrap();
    let claims = || claims(here, "unique-boot-mac");
    until("what nobody has is let go", claims, |them| *them == claimed_by("default/a"));
}

fn a_deleted_host_gives_it_back(here: &Kubectl, there: &Kubectl) {
    // The same name again needs no patience.
    here.expect(&["delete", "bmh", "a"]).unwrap();
    let again = create(here, "a", MAC, "");
    assert!(again.success, "{}", again.err);
    here.expect(&["delete", "bmh", "a"]).unwrap();
    // Another has to wait until nothing of the first can come any more.
    let made = until("the key is free", || create(there, "b", MAC, "").err, String::is_empty);
    assert_eq!(made, "");
    assert_eq!(claims(here, "unique-boot-mac"), claimed_by("lab/b"));
    there.expect(&["delete", "bmh", "b"]).unwrap();
    until("no claim is left", || claims(here, "unique-boot-mac"), Vec::is_empty);
}

/// Admitted by us, and then refused by the API server: there is one of that name.
fn a_create_that_comes_to_nothing_blocks_it_for_a_while(here: &Kubectl, there: &Kubectl) {
    assert!(create(here, "a", "", "").success);
    let exists = create(here, "a", MAC, "");
    assert!(exists.err.contains("AlreadyExists"), "{}", exists.err);
    assert_eq!(claims(here, "unique-boot-mac"), claimed_by("default/a"));
    let started = Instant::now();
    let early = create(there, "b", MAC, "");
    assert!(
        early.err.contains(
            "52:54:00:00:00:01 was claimed moments ago by baremetalhosts.metal3.io default/a"
        ),
        "{}",
        early.err
    );
    until("the key is free", || create(there, "b", MAC, "").err, String::is_empty);
    assert!(started.elapsed() > Duration::from_secs(1), "a claim was taken that was in use");
    here.expect(&["delete", "bmh", "a"]).unwrap();
    there.expect(&["delete", "bmh", "b"]).unwrap();
    until("no claim is left", || claims(here, "unique-boot-mac"), Vec::is_empty);
}

fn a_generated_name_holds_like_any_other(here: &Kubectl) {
    let made = here.expect_with_input(&CREATE, &host("generateName: rack-7-", MAC, "")).unwrap();
    let name = made.trim().trim_end_matches(" created").rsplit('/').next().unwrap().to_owned();
    assert_eq!(claims(here, "unique-boot-mac"), claimed_by(&format!("default/{name}")));
    here.expect(&["delete", "bmh", &name]).unwrap();
    until("no claim is left", || claims(here, "unique-boot-mac"), Vec::is_empty);
}

fn both_keys_are_named_in_one_answer(here: &Kubectl, there: &Kubectl) {
    let bmc = "redfish://192.0.2.1/redfish/v1/Systems/1";
    assert!(create(here, "a", MAC, bmc).success);
    let same = "redfish-virtualmedia+https://192.0.2.1:443/redfish/v1/Systems/1/";
    let refused = create(there, "b", MAC, same);
    let lines: Vec<_> = refused.err.lines().collect();
    assert_eq!(lines.len(), 3, "{}", refused.err);
    assert!(lines[1].starts_with("* spec.bmc.address: ") && lines[1].contains("default/a"));
    assert!(lines[2].starts_with("* spec.bootMACAddress: ") && lines[2].contains("default/a"));
    // One key of two: what was claimed of the other is given back at once.
    let refused = create(there, "b", MAC, "redfish://192.0.2.1/redfish/v1/Systems/2");
    assert!(!refused.success);
    assert_eq!(claims(here, "unique-bmc-endpoint").len(), 1);
    let next = create(there, "c", "", "redfish://192.0.2.1/redfish/v1/Systems/2");
    assert!(next.success, "{}", next.err);
    there.expect(&["delete", "bmh", "c"]).unwrap();
}

fn deleted_claims_come_back(here: &Kubectl) {
    here.expect(&["delete", "leases", "--selector", "ironward.dev/unique-policy"]).unwrap();
    let refused = create(here, "b", MAC, "");
    assert!(!refused.success && refused.err.contains("default/a"), "{}", refused.err);
    until(
        "the claim is back",
        || claims(here, "unique-boot-mac"),
        |them| *them == claimed_by("default/a"),
    );
}

#[test]
fn the_page_shows_what_happens() {
    let _alone = alone();
    let plane = unguarded();
    let _ironward = guard(&plane, &Options::default());
    let stage =
        Stage::new(plane.admin_kubeconfig_in("default").unwrap(), &plane.kubectl()).unwrap();
    let pages = pages().unwrap();
    let page = pages.iter().find(|page| page.ends_with("uniqueness.md")).unwrap();
    let wrong = wrong(page, &stage).unwrap();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
}

#[test]
fn duplicates_that_were_there_before_are_marked_and_left_alone() {
    let _alone = alone();
    let plane = unguarded();
    let kubectl = plane.kubectl().in_namespace("default");
    assert!(create(&kubectl, "old", MAC, "").success);
    // Their ages are told apart by whole seconds, by the API server's clock.
    let time = "jsonpath={.metadata.creationTimestamp}";
    let old = kubectl.expect(&["get", "bmh", "old", "--output", time]).unwrap();
    let dry_run = ["create", "--dry-run=server", "--filename", "-", "--output", time];
    let now = || kubectl.expect_with_input(&dry_run, &host("name: young", "", "")).unwrap();
    until("a second has passed", now, |now| *now != old);
    assert!(create(&kubectl, "young", MAC, "").success);
    let _ironward = guard(&plane, &Options::default());

    let condition = || -> String {
        let host = kubectl.get("bmh", "young").unwrap();
        let conditions = host["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let texts = conditions
            .iter()
            .map(|it| format!("{}={} {}", it["type"], it["status"], it["message"]));
        texts.collect::<Vec<_>>().join("; ")
    };
    let said: String = until("the younger is marked", condition, |text: &String| !text.is_empty());
    assert_eq!(
        said,
        "\"Unique\"=\"False\" \"52:54:00:00:00:01 is already used by BareMetalHost default/old [unique-boot-mac]\""
    );
    assert!(kubectl.get("bmh", "old").unwrap()["status"].is_null());
    let events = kubectl.expect(&["get", "events", "--output", "json"]).unwrap();
    assert!(events.contains("\"reason\": \"Duplicate\""), "{events}");
    until(
        "the older one claims",
        || claims(&kubectl, "unique-boot-mac"),
        |them| *them == claimed_by("default/old"),
    );

    // It can be edited, a third is refused, and the mark goes when the reason does.
    kubectl.expect(&["label", "bmh", "young", "rack=7"]).unwrap();
    let third = create(&kubectl, "third", MAC, "");
    assert!(!third.success && third.err.contains("default/old"), "{}", third.err);
    kubectl.expect(&["delete", "bmh", "old"]).unwrap();
    until("the mark is gone", condition, String::is_empty);
}
