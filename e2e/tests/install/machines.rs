//! Profile `standalone` with machines: what the chart permits for them is enough, and all of it is used. Cluster API's kinds are there and its
//! managers are not: what they would write is written by hand.

use crate::{
    permissions::{asked, kill},
    stage::{CREATE, SELF_SIGNED, in_company, until, wait_until_in_force},
    standalone::create_host,
};
use ironward_e2e::{
    cluster_api,
    control_plane::{ControlPlane, Options},
    kubectl::Kubectl,
    machines::{Cluster, Keeper, Template},
    release::{Release, Replica},
};
use serde_json::{Value, json};

const VALUES: [&str; 6] = [
    SELF_SIGNED,
    "profile=standalone",
    "hosts.enabled=true",
    "machines.enabled=true",
    "autoscale.enabled=true",
    "ironic.url=http://127.0.0.1:6385",
];

/// What the chart permits because of machines and of pools that follow hosts, but for control planes, of which there is none here.
const FOR_MACHINES: [(&str, &str); 25] = [
    ("patch", "baremetalhosts"),
    ("list", "leases"),
    ("get", "secrets"),
    ("get", "metal3machines"),
    ("list", "metal3machines"),
    ("watch", "metal3machines"),
    ("patch", "metal3machines"),
    ("patch", "metal3machines/status"),
    ("get", "metal3clusters"),
    ("list", "metal3clusters"),
    ("watch", "metal3clusters"),
    ("patch", "metal3clusters"),
    ("patch", "metal3clusters/status"),
    ("get", "metal3machinetemplates"),
    ("list", "metal3machinetemplates"),
    ("watch", "metal3machinetemplates"),
    ("list", "clusters"),
    ("watch", "machines"),
    ("get", "machinedeployments"),
    ("list", "machinedeployments"),
    ("watch", "machinedeployments"),
    ("list", "machinesets"),
    ("watch", "machinesets"),
    ("patch", "machinedeployments/scale"),
    ("patch", "machinesets/scale"),
];

fn owner(kubectl: &Kubectl, kind: &str, name: &str) -> Value {
    let owner = kubectl.get(kind, name).unwrap();
    json!([{
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": name,
        "uid": owner["metadata"]["uid"], "controller": true,
    }])
}

/// A Metal3Machine with all that Cluster API would have made for it.
fn create_machine(cluster: &Cluster, kubectl: &Kubectl) {
    let template = cluster.template(&Template {
        name: "t".into(),
        node_reuse: Some(true),
        ..Template::default()
    });
    let mut deployment = cluster.machine_deployment("pool1", 1, "t");
    let annotation = json!({"metal3.io/autoscale-to-hosts": r#"{"min": 2}"#});
    deployment["metadata"]["annotations"] = annotation;
    let mut set = deployment.clone();
    set["kind"] = json!("MachineSet");
    set["spec"].as_object_mut().unwrap().remove("rollout");
    cluster.apply(&[template.clone(), deployment, set]).unwrap();
    let [mut infrastructure, mut machine] = cluster.control_plane_machine("m", None);
    let labels = json!({
        "cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/deployment-name": "pool1",
    });
    machine["metadata"]["labels"] = labels.clone();
    machine["metadata"]["ownerReferences"] = owner(kubectl, "machineset", "pool1");
    cluster.apply(&[machine]).unwrap();
    infrastructure["metadata"]["labels"] = labels;
    infrastructure["metadata"]["ownerReferences"] = owner(kubectl, "machine", "m");
    infrastructure["metadata"]["annotations"] = json!({
        "cluster.x-k8s.io/cloned-from-name": "t",
        "cluster.x-k8s.io/cloned-from-groupkind":
            "Metal3MachineTemplate.infrastructure.cluster.x-k8s.io",
    });
    kubectl.expect_with_input(&CREATE, &infrastructure.to_string()).unwrap();
    let metadata = json!({"metadata": {
        "labels": {"cluster.x-k8s.io/cluster-name": "c"},
        "ownerReferences": owner(kubectl, "cluster", "c"),
    }});
    let patch = metadata.to_string();
    kubectl.expect(&["patch", "m3c", "c", "--type=merge", "--patch", &patch]).unwrap();
    cluster.play_ready().unwrap();
}

#[test]
fn machines_are_kept_with_what_the_chart_permits() {
    let _company = in_company();
    let plane = ControlPlane::start_with(Options { audit: true, ..Options::default() }).unwrap();
    cluster_api::install_kinds(&plane).unwrap();
    let release = Release::install(&plane, &VALUES).unwrap();
    let arguments = vec!["--provisioner=demo".to_owned(), "--demo-seconds=1".to_owned()];
    let replica = release.start(&Replica { arguments, ..Replica::default() }).unwrap();
    wait_until_in_force(&release, &replica);
    let host = create_host(&release, 1);
    let kubectl = plane.kubectl().in_namespace("default");
    let cluster = Cluster::create(&plane, &kubectl, "c", Keeper::Nobody).unwrap();
    create_machine(&cluster, &kubectl);
    let get = |kind: &str, name: &str, path: &str| {
        let path = format!("jsonpath={path}");
        kubectl.expect(&["get", kind, name, "--ignore-not-found", "--output", &path]).unwrap()
    };
    until(
        "the machine is provisioned",
        || get("m3m", "m", "{.status.initialization.provisioned}"),
        |it| it == "true",
    );
    let uid = get("bmh", &host, "{.metadata.uid}");
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "node-1", "labels": {"metal3.io/uuid": uid}},
    });
    kubectl.expect_with_input(&CREATE, &node.to_string()).unwrap();
    until(
        "the Node has its providerID",
        || get("node", "node-1", "{.spec.providerID}"),
        |it| *it == format!("metal3://default/{host}/m"),
    );
    for pool in ["machinedeployment", "machineset"] {
        until(
            "the pool is as large as it is to be",
            || get(pool, "pool1", "{.spec.replicas}"),
            |it| it == "2",
        );
    }
    kubectl.expect(&["delete", "m3m", "m", "--wait=false"]).unwrap();
    until("the machine is gone", || get("m3m", "m", "{.metadata.name}"), String::is_empty);
    let consumer = get("bmh", &host, "{.spec.consumerRef.kind}");
    assert_eq!(consumer, "Cluster", "it is kept for its pool");
    kubectl.expect(&["delete", "machine", "m"]).unwrap();
    kubectl.expect(&["delete", "m3c", "c"]).unwrap();
    // Watches are written down when they end.
    kill(&replica);
    let unused = || {
        let used = asked(&release, 0);
        let is_used = |(verb, resource): &(&str, &str)| {
            used.iter().any(|it| it.0 == *verb && it.2 == *resource && it.3 != 403)
        };
        FOR_MACHINES.into_iter().filter(|it| !is_used(it)).collect::<Vec<_>>()
    };
    until("all that is permitted is used", unused, Vec::is_empty);
    let refused: Vec<_> = asked(&release, 0).into_iter().filter(|it| it.3 == 403).collect();
    assert!(refused.is_empty(), "the chart permits too little: {refused:?}");
}
