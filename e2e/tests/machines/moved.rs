//! `clusterctl move`: a cluster goes to another management cluster with its hosts, and what runs on them goes on.

use crate::{
    scene::{Scene, consumer, name},
    stage::{CONTROLLERS, KINDS, PATIENCE, on_stage},
};
use ironward_e2e::{
    cluster, cluster_api,
    control_plane::ControlPlane,
    ironward::{Ironward, Options},
    machines::Template,
    watched::Watched,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn a_cluster_is_moved_with_its_hosts_and_what_runs_on_them_goes_on() {
    on_stage(|stage| {
        let scene = Scene::with_control_plane(stage, "moved");
        scene.hosts("workers", 1);
        let pool = Some("workers".to_owned());
        scene.template(&Template { name: "v1".to_owned(), pool, ..Template::default() });
        scene.apply(&[scene.cluster.machine_deployment("workers", 1, "v1")]);
        scene.until_rolled("workers");
        let before = scene.until("all are in use", |seen| {
            let machines = provisioned(seen.all("Metal3Machine", &scene.namespace));
            if machines.len() == 2 { Ok(machines) } else { Err(format!("{machines:?}")) }
        });

        // Cluster API's managers are not there yet, and are not needed for what runs.
        let there = ControlPlane::start().unwrap();
        cluster::install_kinds(&there).unwrap();
        cluster_api::install_kinds(&there).unwrap();
        let watched = Watched::start(there.admin_kubeconfig(), &KINDS).unwrap();
        let flags = [CONTROLLERS, "--provisioner=demo", "--demo-seconds=1"].map(str::to_owned);
        let options = Options { flags: flags.to_vec(), ..Options::default() };
        let ironward = Ironward::start_with(&there, &options).unwrap();
        ironward.wait_until_ready().unwrap();
        ironward.wait_until_in_force(&there).unwrap();

        cluster_api::move_to(&stage.plane, &scene.namespace, &there).unwrap();
        let is_gone = |kind: &str| {
            scene.until(&format!("no {kind} is left"), |seen| {
                let left: Vec<_> = seen.all(kind, &scene.namespace).map(name).collect();
                if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
            });
        };
        is_gone("BareMetalHost");
        is_gone("Metal3Machine");
        let arrived = watched.until(PATIENCE, "the machines are provisioned there", |seen| {
            let machines = provisioned(seen.all("Metal3Machine", &scene.namespace));
            let hosts: Vec<&Value> = seen.all("BareMetalHost", &scene.namespace).collect();
            let is_so = machines == before
                && hosts.len() == 2
                && hosts.iter().all(|host| {
                    let annotations = &host["metadata"]["annotations"];
                    host["status"]["provisioning"]["state"] == "provisioned"
                        && consumer(host).is_some()
                        && annotations["baremetalhost.metal3.io/paused"].is_null()
                        && annotations["baremetalhost.metal3.io/status"].is_null()
                });
            if is_so { Ok(()) } else { Err(format!("{machines:?} {hosts:#?}")) }
        });
        if let Err(error) = arrived {
            panic!("{error:#}\n{}", ironward.process.log_tail());
        }
        // They could be reached, and nothing was ever done to them.
        let kubectl = there.kubectl().in_namespace(&scene.namespace);
        for id in before.values() {
            let host = id.as_str().and_then(|id| id.split('/').nth(3)).unwrap();
            kubectl.get("secret", host).unwrap();
        }
        let states: BTreeSet<String> = watched.now(|seen| {
            let past = seen.past("BareMetalHost", &scene.namespace);
            past.filter_map(|host| host["status"]["provisioning"]["state"].as_str())
                .map(str::to_owned)
                .collect()
        });
        assert_eq!(states, BTreeSet::from(["provisioned".to_owned()]));
    });
}

/// The providerIDs of the machines that are provisioned.
fn provisioned<'a>(machines: impl Iterator<Item = &'a Value>) -> BTreeMap<String, Value> {
    machines
        .filter(|machine| machine["status"]["initialization"]["provisioned"] == true)
        .map(|machine| (name(machine), machine["spec"]["providerID"].clone()))
        .collect()
}
