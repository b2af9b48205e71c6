//! Profile `standalone` with hosts: what the chart permits for them is enough, and none of it could be left out.

use crate::{
    permissions::{asked, kill, lines, patch_role},
    stage::{CREATE, SELF_SIGNED, in_company, until, wait_until_in_force},
};
use ironward_e2e::{
    control_plane::{ControlPlane, Options},
    ironward::Ironward,
    release::{NAME, NAMESPACE, Release, Replica},
};
use serde_json::{Value, json};

const VALUES: [&str; 4] =
    [SELF_SIGNED, "profile=standalone", "hosts.enabled=true", "ironic.url=http://127.0.0.1:6385"];

/// What the chart permits because of hosts alone.
const FOR_HOSTS: [(&str, &str); 8] = [
    ("patch", "baremetalhosts"),
    ("get", "hardwaredata"),
    ("patch", "hardwaredata"),
    ("get", "secrets"),
    ("list", "secrets"),
    ("watch", "secrets"),
    ("patch", "secrets"),
    ("list", "leases"),
];

/// A replica with the Deployment's arguments, but for the machines: there are none.
fn start(release: &Release<'_>) -> Ironward {
    // A replica that was killed would be waited for.
    let leases = ["delete", "leases", "--all", "--namespace", NAMESPACE];
    release.plane.kubectl().expect(&leases).unwrap();
    let arguments = vec!["--provisioner=demo".to_owned(), "--claim-grace-seconds=5".to_owned()];
    release.start(&Replica { arguments, ..Replica::default() }).unwrap()
}

/// A host with its Secret.
pub fn create_host(release: &Release<'_>, round: usize) -> String {
    let name = format!("worker-{round}");
    let objects = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}-bmc, namespace: default}}\n\
         stringData: {{username: admin, password: hidden}}\n---\n\
         apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: {name}, namespace: default}}\n\
         spec:\n  online: true\n  bootMACAddress: 02:00:00:00:01:{round:02x}\n  \
         bmc: {{address: 'ipmi://192.0.2.{round}', credentialsName: {name}-bmc}}\n"
    );
    let kubectl = release.plane.kubectl();
    until(
        "a host can be created",
        || {
            let said = kubectl.run_with_input(&CREATE, &objects).unwrap().err;
            // Not by what was said: that the Secret is there already says nothing of the host.
            let host = ["get", "bmh", &name, "--namespace", "default"];
            if kubectl.succeeds(&host) { String::new() } else { said }
        },
        String::is_empty,
    );
    name
}

#[test]
fn hosts_are_kept_with_what_the_chart_permits() {
    let _company = in_company();
    let plane = ControlPlane::start_with(Options { audit: true, ..Options::default() }).unwrap();
    let release = Release::install(&plane, &VALUES).unwrap();
    let kubectl = plane.kubectl().in_namespace("default");
    let replica = start(&release);
    wait_until_in_force(&release, &replica);
    let name = create_host(&release, 1);
    let state = "jsonpath={.status.provisioning.state}";
    until(
        "the host is available",
        || kubectl.expect(&["get", "bmh", &name, "--output", state]).unwrap(),
        |state| state == "available",
    );
    kubectl.expect(&["delete", "bmh", &name]).unwrap();
    // Watches are written down when they end.
    kill(&replica);
    let unused = || {
        let used = asked(&release, 0);
        let is_used = |(verb, resource): &(&str, &str)| {
            used.iter().any(|it| it.0 == *verb && it.2 == *resource && it.3 != 403)
        };
        FOR_HOSTS.into_iter().filter(|it| !is_used(it)).collect::<Vec<_>>()
    };
    until("all that is permitted is used", unused, Vec::is_empty);
    let refused: Vec<_> = asked(&release, 0).into_iter().filter(|it| it.3 == 403).collect();
    assert!(refused.is_empty(), "the chart permits too little: {refused:?}");

    // What an apply creates is written down as an apply.
    let all = FOR_HOSTS.into_iter().chain([("create", "hardwaredata")]);
    for (round, (verb, resource)) in all.enumerate() {
        without(&release, round + 2, verb, resource);
    }
}

/// Takes one verb away, and sees that it is missed.
fn without(release: &Release<'_>, round: usize, verb: &str, resource: &str) {
    let kubectl = release.kubectl();
    let before = kubectl.get("clusterrole", NAME).unwrap();
    let mut rules = before["rules"].clone();
    let mut taken = 0;
    for rule in rules.as_array_mut().into_iter().flatten() {
        let is_for_it =
            rule["resources"].as_array().is_some_and(|it| it.contains(&resource.into()));
        if let Some(verbs) = rule["verbs"].as_array_mut().filter(|_| is_for_it) {
            let all = verbs.len();
            verbs.retain(|it| it != verb);
            taken += all - verbs.len();
        }
    }
    assert_eq!(taken, 1, "{verb} {resource} is permitted in {taken} places");
    // A rule without verbs is none that the API server takes.
    let rules: Vec<_> = rules.as_array().into_iter().flatten().cloned().collect();
    let rules: Vec<_> = rules.into_iter().filter(|rule| rule["verbs"] != json!([])).collect();
    let set = |rules: &Value| {
        let patch = json!([{"op": "replace", "path": "/rules", "value": rules}]);
        patch_role(&kubectl, "clusterrole", &patch);
    };
    set(&json!(rules));
    let since = lines(release);
    let replica = start(release);
    create_host(release, round);
    until(
        &format!("something is refused without {verb} {resource}"),
        || asked(release, since),
        |asked| asked.iter().any(|it| it.3 == 403 && it.2 == resource),
    );
    kill(&replica);
    set(&before["rules"]);
}
