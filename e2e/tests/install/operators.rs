//! Metal3's own operators beside Ironward: they do their work as before, and no two of us work on one host.

use crate::stage::{
    CREATE, SELF_SIGNED, create as create_duplicate, in_company, until, wait_until_in_force,
};
use ironward_e2e::{
    control_plane,
    control_plane::{ControlPlane, Options},
    helm, ironward,
    kubectl::Kubectl,
    node::apart,
    operators::{self, Operator},
    release::{NAME, NAMESPACE, OWN_KINDS, Release, Replica, install_kinds, stopped},
};
use serde_json::{Value, json};
use std::fs;

/// Runs a test with Metal3's operators on a control plane of their own.
fn with_operators(test: impl FnOnce(&ControlPlane) + Send) {
    let _company = in_company();
    if apart::is_skipped() {
        return;
    }
    control_plane::provide().unwrap();
    helm::provide().unwrap();
    operators::provide().unwrap();
    ironward::binary().unwrap();
    apart::with_own_network(|| {
        let plane =
            ControlPlane::start_with(Options { audit: true, ..Options::default() }).unwrap();
        operators::install_kinds(&plane).unwrap();
        test(&plane);
    })
    .unwrap();
}

/// A host with the Secret of its BMC.
fn host(name: &str, number: usize) -> String {
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}-bmc}}\nstringData: {{username: admin, password: hidden}}\n---\n\
         apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: {name}}}\n\
         spec:\n  online: true\n  bootMACAddress: 02:00:00:00:00:{number:02x}\n  \
         bmc: {{address: 'ipmi://192.0.2.{number}', credentialsName: {name}-bmc}}\n"
    )
}

fn until_state(kubectl: &Kubectl, host: &str, state: &str) {
    let path = "jsonpath={.status.provisioning.state}";
    until(
        &format!("{host} is {state}"),
        || kubectl.expect(&["get", "bmh", host, "--output", path]).unwrap(),
        |now| now == state,
    );
}

/// What somebody wrote, as the API server wrote it down: where to, and what was answered.
fn writes(plane: &ControlPlane, user: &str) -> Vec<(String, Value)> {
    let log = fs::read_to_string(plane.audit_log()).unwrap();
    let events = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let is_write = |event: &Value| {
        let verb = event["verb"].as_str().unwrap_or_default();
        event["user"]["username"] == user && !["get", "list", "watch"].contains(&verb)
    };
    events
        .filter(is_write)
        .map(|event| (event["requestURI"].to_string(), event["responseStatus"].clone()))
        .collect()
}

/// What the API server refused somebody, but for what was lost to others and for what is not there any more.
fn refused(plane: &ControlPlane, user: &str) -> Vec<(String, Value)> {
    let mut writes = writes(plane, user);
    writes.retain(|(_, status)| {
        let code = status["code"].as_u64().unwrap_or_default();
        code >= 400 && ![404, 409].contains(&code)
    });
    writes
}

/// What somebody wrote to hosts.
fn written_to_hosts(plane: &ControlPlane, user: &str) -> Vec<(String, Value)> {
    let mut writes = writes(plane, user);
    writes.retain(|(uri, _)| uri.contains("/baremetalhosts"));
    writes
}

#[test]
fn metal3s_operators_do_their_work_beside_the_companion() {
    with_operators(|plane| {
        let operators = [
            operators::baremetal_operator(plane).unwrap(),
            operators::cluster_api_provider(plane).unwrap(),
        ];
        let release = Release::install(plane, &[SELF_SIGNED]).unwrap();
        let replica = release.start(&Replica::default()).unwrap();
        wait_until_in_force(&release, &replica);
        let kubectl = plane.kubectl().in_namespace("default");

        kubectl.expect_with_input(&CREATE, &host("worker-0", 1)).unwrap();
        until_state(&kubectl, "worker-0", "available");
        let duplicate = create_duplicate(&release, "worker-1", 1);
        assert!(
            duplicate.err.contains("belongs to BareMetalHost default/worker-0"),
            "{}",
            duplicate.err
        );

        machine(&kubectl);
        until_state(&kubectl, "worker-0", "provisioned");
        let worker = kubectl.get("bmh", "worker-0").unwrap();
        assert_eq!(worker["spec"]["consumerRef"]["name"], "m0", "{worker:#}");
        kubectl.expect(&["delete", "metal3machine", "m0", "--wait=false"]).unwrap();
        until_state(&kubectl, "worker-0", "available");
        kubectl.expect(&["delete", "bmh", "worker-0"]).unwrap();

        for Operator { user, .. } in &operators {
            let refused = refused(plane, user);
            assert!(refused.is_empty(), "{user}: {refused:#?}");
            assert!(!written_to_hosts(plane, user).is_empty(), "{user} did nothing");
        }
    });
}

/// A machine of a cluster, as Cluster API would have made it.
fn machine(kubectl: &Kubectl) {
    let core = "cluster.x-k8s.io/v1beta2";
    let metal3 = "infrastructure.cluster.x-k8s.io/v1beta2";
    let reference = |kind: &str, name: &str| json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": kind, "name": name});
    let create = |object: Value| {
        kubectl.expect_with_input(&CREATE, &object.to_string()).unwrap();
        let (kind, name) = (object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str());
        kubectl.get(kind, name.unwrap()).unwrap()["metadata"]["uid"].clone()
    };
    let labels = json!({"cluster.x-k8s.io/cluster-name": "c0"});
    create(
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "boot"}, "stringData": {"value": "#cloud-config"}}),
    );
    let cluster = create(json!({
        "apiVersion": core, "kind": "Cluster", "metadata": {"name": "c0"},
        "spec": {"infrastructureRef": reference("Metal3Cluster", "c0")},
    }));
    create(json!({
        "apiVersion": metal3, "kind": "Metal3Cluster",
        "metadata": {"name": "c0", "labels": labels, "ownerReferences": [
            {"apiVersion": core, "kind": "Cluster", "name": "c0", "uid": cluster}]},
        "spec": {"controlPlaneEndpoint": {"host": "192.0.2.250", "port": 6443}},
    }));
    until(
        "the cluster's infrastructure is there",
        || kubectl.get("metal3cluster", "c0").unwrap()["status"].clone(),
        |status| status["initialization"]["provisioned"] == true,
    );
    // What Cluster API's own controller does then.
    let ready = json!({"type": "InfrastructureReady", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let status = json!({"status": {
        "initialization": {"infrastructureProvisioned": true},
        "deprecated": {"v1beta1": {"conditions": [ready]}},
    }});
    let patch = ["patch", "cluster", "c0", "--subresource=status", "--type=merge", "--patch"];
    kubectl.expect(&[&patch[..], &[&status.to_string()]].concat()).unwrap();
    let machine = create(json!({
        "apiVersion": core, "kind": "Machine", "metadata": {"name": "m0", "labels": labels},
        "spec": {
            "clusterName": "c0", "bootstrap": {"dataSecretName": "boot"},
            "infrastructureRef": reference("Metal3Machine", "m0"),
        },
    }));
    create(json!({
        "apiVersion": metal3, "kind": "Metal3Machine",
        "metadata": {"name": "m0", "labels": labels, "ownerReferences": [
            {"apiVersion": core, "kind": "Machine", "name": "m0", "uid": machine}]},
        "spec": {"image": {
            "url": "https://images.example.com/a.raw", "checksum": "https://images.example.com/a.sha256",
            "checksumType": "sha256", "diskFormat": "raw",
        }},
    }));
}

#[test]
fn hosts_are_left_alone_while_baremetal_operator_has_them() {
    with_operators(|plane| {
        let operator = operators::baremetal_operator(plane).unwrap();
        let kubectl = plane.kubectl().in_namespace("default");
        kubectl.expect_with_input(&CREATE, &host("theirs", 1)).unwrap();
        until_state(&kubectl, "theirs", "available");

        let values = [
            SELF_SIGNED,
            "profile=standalone",
            "hosts.enabled=true",
            "ironic.url=http://127.0.0.1:6385",
            "crds.install=false",
        ];
        let release = Release::install(plane, &values).unwrap();
        install_kinds(plane, &OWN_KINDS).unwrap();
        let arguments = vec!["--provisioner=demo".to_owned()];
        let replica = release.start(&Replica { arguments, ..Replica::default() }).unwrap();
        wait_until_in_force(&release, &replica);
        let said = "hosts are left alone: baremetal-operator works on them; remove it, or leave `host` out of --controllers";
        until("it says so", || replica.process.log_tail(), |log| log.contains(said));
        kubectl.expect_with_input(&CREATE, &host("still-theirs", 2)).unwrap();
        until_state(&kubectl, "still-theirs", "available");
        let account = format!("system:serviceaccount:{NAMESPACE}:{NAME}");
        assert_eq!(written_to_hosts(plane, &account), []);

        // Removed, with its webhook.
        stopped(&operator.process).unwrap();
        let webhooks = plane
            .kubectl()
            .expect(&["get", "validatingwebhookconfigurations", "--output", "name"])
            .unwrap();
        for webhook in webhooks.lines().filter(|line| !line.ends_with(NAME)) {
            plane.kubectl().expect(&["delete", webhook]).unwrap();
        }
        kubectl.expect_with_input(&CREATE, &host("ours", 3)).unwrap();
        until_state(&kubectl, "ours", "available");
        assert!(!written_to_hosts(plane, &account).is_empty());
        // What was theirs goes on.
        kubectl.expect(&["delete", "bmh", "theirs", "still-theirs", "--timeout=60s"]).unwrap();

        // Whoever installs it again is listened to.
        let times = || {
            let log = fs::read_to_string(replica.process.log()).unwrap();
            log.matches(said).count()
        };
        let before = times();
        let _operator = operators::baremetal_operator(plane).unwrap();
        until("it says so again", times, |now| *now > before);
        kubectl.expect_with_input(&CREATE, &host("theirs-again", 4)).unwrap();
        until_state(&kubectl, "theirs-again", "available");
        let mut written = written_to_hosts(plane, &account);
        written.retain(|(uri, _)| uri.contains("theirs-again"));
        assert_eq!(written, []);
    });
}
