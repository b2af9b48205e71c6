//! What a person who runs a pool sees.

use crate::stage::{PATIENCE, Pool, Replica, is_metadata, machine, name, plane, unasking};
use ironward_e2e::{alone::alone, eventually::until};
use serde_json::{Value, json};

#[test]
fn each_node_of_a_pool_has_metadata_of_its_own() {
    let _alone = alone();
    let replica = Replica::start("pool", &plane().own_kubeconfig().unwrap());
    let templates = json!({"abc": "def", "local-hostname": "worker-np1-{{ getIndex }}"});
    let pool = Pool::new("pool", &templates);
    the_three_of_the_proposal(&pool);
    an_upgrade_keeps_the_names(&pool);
    an_edit_reaches_all_and_a_lost_status_comes_back(&pool);
    what_cannot_be_rendered_is_told_and_harms_nobody_else(&pool);
    what_a_user_has_given_is_used_as_it_is(&pool);
    entries_of_a_user_are_honoured_and_not_lost(&pool);
    metal3s_own_field_is_filled_for_an_annotation(&pool);
    what_people_do_to_a_secret_is_mended(&pool);
    it_leaves_when_its_machines_have(&pool);
    replica.kill();
}

fn the_three_of_the_proposal(pool: &Pool) {
    pool.create(&[json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Cluster",
        "metadata": {"name": "prod-x7", "labels": {"cluster.x-k8s.io/cluster-name": "prod"}},
        "spec": {"controlPlaneEndpoint": {"host": "192.0.2.1", "port": 6443}},
    })]);
    pool.create(&[machine("a"), machine("b"), machine("c")]);
    pool.until_hostnames(&[("a", "worker-np1-0"), ("b", "worker-np1-1"), ("c", "worker-np1-2")]);
    assert_eq!(pool.until_ready_is("Rendered"), "3 Secrets are as the templates say");
    let status = pool.status();
    assert_eq!(status["indexes"], json!({"0": "a", "1": "b", "2": "c"}));
    assert_eq!(status["secrets"]["a"], json!({"name": "a-metadata-0", "namespace": "pool"}));
    assert!(status["lastUpdated"].is_string());
    let secret = pool.kubectl.get("secret", "a-metadata-0").unwrap();
    assert!(is_metadata(&secret), "{secret:#}");
    let owner = &secret["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["name"]), (&json!("Metal3Machine"), &json!("a")));
    assert_eq!(owner["controller"], true);
    let contents = pool.contents();
    assert_eq!(contents["a-metadata-0"]["abc"], "def");
    // It belongs to the cluster whose machines use it.
    let metadata = pool.kubectl.get("metal3metadata", "pool").unwrap();
    let owner = &metadata["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["name"]), (&json!("Metal3Cluster"), &json!("prod-x7")));
}

/// As Cluster API does it with maxSurge 0: one goes, one comes.
fn an_upgrade_keeps_the_names(pool: &Pool) {
    for (old, new) in [("a", "a2"), ("b", "b2"), ("c", "c2")] {
        pool.run(&["delete", "metal3machine", old]);
        pool.create(&[machine(new)]);
        until(PATIENCE, "it has metadata", || pool.given(), |it| it.contains_key(new)).unwrap();
    }
    pool.until_hostnames(&[("a2", "worker-np1-0"), ("b2", "worker-np1-1"), ("c2", "worker-np1-2")]);
    let left = || pool.contents().into_keys().collect::<Vec<_>>();
    let expected = ["a2-metadata-0", "b2-metadata-1", "c2-metadata-2"];
    until(PATIENCE, "the Secrets of others are gone", left, |it| *it == expected).unwrap();
}

fn an_edit_reaches_all_and_a_lost_status_comes_back(pool: &Pool) {
    let before = pool.status();
    pool.wipe();
    pool.template("rack", &json!("{{ printf \"%03d\" (getIndexWithOffset 7) }}"));
    let racks =
        || pool.contents().values().filter_map(|it| it.get("rack").cloned()).collect::<Vec<_>>();
    until(PATIENCE, "the key is in all", racks, |it| *it == ["007", "008", "009"]).unwrap();
    let parts = |status: &Value| (status["indexes"].clone(), status["secrets"].clone());
    until(PATIENCE, "it is as before", || parts(&pool.status()), |it| *it == parts(&before))
        .unwrap();
}

fn what_cannot_be_rendered_is_told_and_harms_nobody_else(pool: &Pool) {
    pool.run(&["annotate", "metal3machine", "b2", "serial=SN-7"]);
    let source =
        "{{ $s := metal3MachineAnnotation \"serial\" }}{{ if $s }}{{ slice $s 9 }}{{ end }}!";
    pool.template("serial", &json!(source));
    let told = pool.until_ready_is("RenderingFailed");
    assert!(told.starts_with("serial of Metal3Machine b2: template: serial:1:"), "{told}");
    assert!(told.contains("index out of range"), "{told}");
    let contents = pool.contents();
    assert!(!contents["b2-metadata-1"].contains_key("serial"), "{contents:?}");
    assert_eq!(contents["a2-metadata-0"]["serial"], "!");
    pool.template("serial", &Value::Null);
    pool.until_ready_is("Rendered");
    // Of a host there is nothing to say yet.
    pool.template("host", &json!("{{ hostName }}/{{ bootMAC }}"));
    let told = pool.until_ready_is("WaitingForHost");
    assert!(told.contains("Metal3Machine a2 has no host yet"), "{told}");
    pool.create(&[json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": {"name": "rack7-u12"},
        "spec": {
            "online": false, "bootMACAddress": "52:54:00:12:34:56",
            "consumerRef": {"kind": "Metal3Machine", "name": "a2", "namespace": "pool"},
        },
    })]);
    pool.run(&["annotate", "metal3machine", "a2", "metal3.io/BareMetalHost=pool/rack7-u12"]);
    let shown = || pool.contents()["a2-metadata-0"].get("host").cloned();
    let expected = Some("rack7-u12/52:54:00:12:34:56".to_owned());
    until(PATIENCE, "the host is shown", shown, |it| *it == expected).unwrap();
    pool.template("host", &Value::Null);
    pool.until_ready_is("Rendered");
}

fn what_a_user_has_given_is_used_as_it_is(pool: &Pool) {
    let mut own = machine("own");
    own["spec"]["metaData"]["dataSecret"] = json!({"name": "mine"});
    let mut taken =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "d-metadata-3"}});
    taken["stringData"] = json!({"metaData": "by: hand"});
    pool.create(&[own, taken, machine("d")]);
    let told = pool.until_ready_is("SecretNameTaken");
    assert!(
        told.starts_with("Metal3Machine d: there is a Secret d-metadata-3 that is not its own"),
        "{told}"
    );
    pool.run(&["delete", "secret", "d-metadata-3"]);
    // It would be tried again by and by.
    pool.run(&["annotate", "metal3machine", "d", "look=again"]);
    until(PATIENCE, "d has metadata", || pool.given(), |it| it.contains_key("d")).unwrap();
    assert_eq!(pool.given()["own"], "mine");
    assert!(!pool.indexes().values().any(|it| it == "own"), "{:?}", pool.indexes());
    pool.run(&["delete", "metal3machine", "d", "own"]);
    until(PATIENCE, "its index is free", || pool.indexes().len(), |it| *it == 3).unwrap();
}

fn entries_of_a_user_are_honoured_and_not_lost(pool: &Pool) {
    pool.create(&[unasking("older")]);
    pool.patch_status(&json!({"status": {"indexes": {"3": "older", "x": "nobody"}}}));
    pool.create(&[machine("e")]);
    until(
        PATIENCE,
        "e has the next",
        || pool.given().get("e").cloned(),
        |it| it.as_deref() == Some("e-metadata-4"),
    )
    .unwrap();
    let expected = pool.indexes();
    assert_eq!(expected["3"], "older");
    assert!(!expected.contains_key("x"), "{expected:?}");
    pool.wipe();
    until(PATIENCE, "it is as before", || pool.indexes(), |it| *it == expected).unwrap();
    assert_eq!(pool.contents().len(), 4);
    pool.run(&["delete", "metal3machine", "older", "e"]);
    until(PATIENCE, "both are free", || pool.indexes().len(), |it| *it == 3).unwrap();
}

fn metal3s_own_field_is_filled_for_an_annotation(pool: &Pool) {
    let mut beside = unasking("beside");
    beside["metadata"]["annotations"] = json!({"ironward.dev/metadata": "pool"});
    pool.create(&[beside]);
    let look = || pool.kubectl.get("metal3machine", "beside").unwrap()["spec"]["metaData"].clone();
    let expected = json!({"name": "beside-metadata-3", "namespace": "pool"});
    until(PATIENCE, "Metal3's field is filled", look, |it| *it == expected).unwrap();
    pool.run(&["delete", "metal3machine", "beside"]);
    until(PATIENCE, "its index is free", || pool.indexes().len(), |it| *it == 3).unwrap();
}

fn what_people_do_to_a_secret_is_mended(pool: &Pool) {
    let uid = |name: &str| pool.kubectl.get("secret", name).unwrap()["metadata"]["uid"].clone();
    let before = uid("a2-metadata-0");
    pool.run(&["delete", "secret", "a2-metadata-0", "--wait=false"]);
    let is_new =
        |it: &Value| !it["metadata"]["finalizers"].is_null() && it["metadata"]["uid"] != before;
    let look = || {
        let found = pool.list("secrets");
        found.into_iter().find(|it| name(it) == "a2-metadata-0").unwrap_or_default()
    };
    until(PATIENCE, "it is made anew", look, is_new).unwrap();
    pool.patch(
        "secret",
        "b2-metadata-1",
        &json!({"stringData": {"metaData": "local-hostname: mine"}}),
    );
    pool.until_hostnames(&[("a2", "worker-np1-0"), ("b2", "worker-np1-1"), ("c2", "worker-np1-2")]);
}

fn it_leaves_when_its_machines_have(pool: &Pool) {
    pool.run(&["delete", "metal3metadata", "pool", "--wait=false"]);
    let told = pool.until_ready_is("Deleting");
    assert!(told.contains("3, a2-metadata-0 among them"), "{told}");
    pool.run(&["delete", "metal3machine", "--all"]);
    let left = || pool.run(&["get", "metal3metadata,secrets", "--output=name"]);
    until(PATIENCE, "nothing is left", left, String::is_empty).unwrap();
}
