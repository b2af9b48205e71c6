//! MachineDeployments: from nothing to Nodes, and upgrades that keep their hosts, or do not.

use crate::{
    scene::{Scene, consumer, name, reserved_for},
    stage::on_stage,
};
use ironward_e2e::{machines::Template, watched::Seen};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// All machines have metadata of [`NAMES`].
fn template(name: &str, node_reuse: bool) -> Template {
    Template {
        name: name.to_owned(),
        node_reuse: Some(node_reuse),
        pool: Some("workers".to_owned()),
        metadata: Some(NAMES),
        ..Template::default()
    }
}

const NAMES: &str = "np1";

/// A MachineDeployment with the templates that it has first and that it is upgraded to.
fn deploy(scene: &Scene<'_>, name: &str, replicas: u16, node_reuse: bool) -> BTreeSet<String> {
    let of = |version: &str| template(&format!("{name}-{version}"), node_reuse);
    scene.template(&of("v1"));
    scene.template(&of("v2"));
    let mut deployment = scene.cluster.machine_deployment(name, replicas, &format!("{name}-v1"));
    // One at a time is what users do; tests have no time, but where it is what they are about.
    if replicas != 3 {
        deployment["spec"]["rollout"]["strategy"]["rollingUpdate"]["maxUnavailable"] =
            json!(replicas);
    }
    scene.apply(&[deployment]);
    if replicas == 3 {
        until_all_wait_for_metadata(scene, 3);
    }
    let names = json!({"local-hostname": "worker-np1-{{ getIndex }}", "runs-on": "{{ hostName }}"});
    scene.apply(&[scene.cluster.metadata(NAMES, &names)]);
    scene.until_rolled(name)
}

/// They have their hosts, say what they wait for, and have nothing written to them.
fn until_all_wait_for_metadata(scene: &Scene<'_>, count: usize) {
    scene.until("all say that they wait for metadata", |seen| {
        let waits = |machine: &&Value| {
            let conditions = machine["status"]["conditions"].as_array();
            conditions.into_iter().flatten().any(|it| {
                let message = it["message"].as_str().unwrap_or_default();
                it["type"] == "Metal3DataReady"
                    && it["reason"] == "WaitingForMetal3Data"
                    && message.contains("it is rendered from Metal3Metadata np1")
            })
        };
        let waiting = seen.all("Metal3Machine", &scene.namespace).filter(waits).count();
        if waiting == count { Ok(()) } else { Err(format!("{waiting} do")) }
    });
    scene.stage.watched.now(|seen| {
        for host in seen.all("BareMetalHost", &scene.namespace) {
            let is_worker = host["metadata"]["labels"]["pool"] == "workers";
            assert!(!is_worker || host["spec"]["image"].is_null(), "{host:#}");
        }
    });
}

fn upgrade(scene: &Scene<'_>, name: &str) {
    scene.roll_to("machinedeployment", name, &format!("{name}-v2"));
}

/// Upgrades, and stops when all hosts are free again and kept: the new machines want hosts of a pool that has none.
fn upgrade_halfway(scene: &Scene<'_>, name: &str, hosts: &BTreeSet<String>) {
    let selector = json!({"hostSelector": {"matchLabels": {"pool": "nowhere"}}});
    let patch = json!({"spec": {"template": {"spec": selector}}});
    scene.patch("metal3machinetemplate", &format!("{name}-v2"), &patch);
    upgrade(scene, name);
    scene.until("all hosts are free and kept", |seen| {
        let pool = format!("md-{name}");
        let kept: BTreeSet<String> = seen
            .all("BareMetalHost", &scene.namespace)
            .filter(|host| {
                reserved_for(host) == Some(&pool)
                    && consumer(host).is_none()
                    && host["status"]["provisioning"]["state"] == "available"
            })
            .map(crate::scene::name)
            .collect();
        if kept == *hosts { Ok(()) } else { Err(format!("{kept:?}")) }
    });
}

/// Has the new machines want what the old ones had: those that are there, as soon as all are, and those that come in their place.
fn go_on(scene: &Scene<'_>, name: &str, replicas: usize) -> BTreeSet<String> {
    let waiting = |seen: &Seen| -> Vec<String> {
        seen.all("Metal3Machine", &scene.namespace)
            .filter(|it| it["spec"]["hostSelector"]["matchLabels"]["pool"] == "nowhere")
            .map(crate::scene::name)
            .collect()
    };
    scene.until("the new machines are there", |seen| {
        let waiting = waiting(seen);
        if waiting.len() == replicas { Ok(()) } else { Err(format!("{waiting:?}")) }
    });
    let selector = json!({"hostSelector": {"matchLabels": {"pool": "workers"}}});
    let patch = json!({"spec": {"template": {"spec": selector}}});
    scene.patch("metal3machinetemplate", &format!("{name}-v2"), &patch);
    // Cluster API throws away what it has made when it cannot make the rest of a machine, and makes another.
    scene.insist("no machine waits for a host that is nowhere", || {
        for machine in scene.stage.watched.now(waiting) {
            scene.patch_if_there("metal3machine", &machine, &json!({"spec": selector}))?;
        }
        let left = scene.stage.watched.now(waiting);
        anyhow::ensure!(left.is_empty(), "{left:?} do");
        Ok(())
    });
    scene.until_rolled(name)
}

#[test]
fn a_machine_deployment_of_three_has_nodes_and_is_upgraded_on_the_same_hosts_though_ironward_is_killed()
 {
    on_stage(|stage| {
        let scene = Scene::with_control_plane(stage, "same");
        // More than are needed: those that were never used would be taken first.
        scene.hosts("workers", 5);
        let hosts = deploy(&scene, "pool1", 3, true);
        assert_eq!(hosts.len(), 3);
        let machines = each_has_its_node(&scene, &hosts);
        let names = names(&scene, &hosts);
        let given: BTreeSet<&str> = names.values().map(String::as_str).collect();
        assert_eq!(given, BTreeSet::from(["worker-np1-0", "worker-np1-1", "worker-np1-2"]));

        upgrade(&scene, "pool1");
        scene.until("a host is kept", |seen| {
            let mut hosts = seen.all("BareMetalHost", &scene.namespace);
            hosts.find(|host| reserved_for(host).is_some()).map(drop).ok_or("none is")
        });
        stage.kill_and_start_ironward();
        assert_eq!(scene.until_rolled("pool1"), hosts);
        let new = each_has_its_node(&scene, &hosts);
        assert!(machines.is_disjoint(&new), "{machines:?} {new:?}");
        // And each of them goes on under the name that it had.
        assert_eq!(self::names(&scene, &hosts), names);
        assert_eq!(scene.pools_that_kept_hosts(), BTreeSet::from(["md-pool1".to_owned()]));
    });
}

/// The name that the node on each host was given: by the metadata of the machine, which are those of the host.
fn names(scene: &Scene<'_>, hosts: &BTreeSet<String>) -> BTreeMap<String, String> {
    let name_on = |host: &String| {
        let secret = scene.stage.watched.now(|seen| {
            let host = seen.get("BareMetalHost", &scene.namespace, host).unwrap();
            let machine = consumer(host).unwrap();
            let machine = seen.get("Metal3Machine", &scene.namespace, machine).unwrap();
            let secret = host["spec"]["metaData"]["name"].clone();
            assert_eq!(secret, machine["spec"]["metaData"]["dataSecret"]["name"], "{machine:#}");
            secret.as_str().unwrap().to_owned()
        });
        let content = "go-template={{ .data.metaData | base64decode }}";
        let content = scene.kubectl.expect(&["get", "secret", &secret, "--output", content]);
        let content: BTreeMap<String, String> = serde_saphyr::from_str(&content.unwrap()).unwrap();
        assert_eq!(content["runs-on"], *host);
        (host.clone(), content["local-hostname"].clone())
    };
    hosts.iter().map(name_on).collect()
}

/// Looks at what Cluster API and the cluster know of the machines on these hosts, and gives their names.
fn each_has_its_node(scene: &Scene<'_>, hosts: &BTreeSet<String>) -> BTreeSet<String> {
    let namespace = &scene.namespace;
    scene.stage.watched.now(|seen| {
        let machine_on = |host: &String| {
            let host = seen.get("BareMetalHost", namespace, host).unwrap();
            assert_eq!(host["status"]["provisioning"]["state"], "provisioned");
            assert_eq!(reserved_for(host), None);
            let machine = seen.get("Metal3Machine", namespace, consumer(host).unwrap()).unwrap();
            let id = format!("metal3://{namespace}/{}/{}", name(host), name(machine));
            assert_eq!(machine["spec"]["providerID"], id, "{machine:#}");
            assert_eq!(machine["status"]["initialization"]["provisioned"], true);
            let node = seen.get("Node", "", &name(host)).unwrap();
            assert_eq!(node["spec"]["providerID"], id, "{node:#}");
            let owner = name(&json!({"metadata": machine["metadata"]["ownerReferences"][0]}));
            let owner = seen.get("Machine", namespace, &owner).unwrap();
            assert_eq!(owner["status"]["nodeRef"]["name"], name(host), "{owner:#}");
            assert_eq!(owner["spec"]["providerID"], id);
            assert_eq!(owner["status"]["phase"], "Running");
            name(machine)
        };
        hosts.iter().map(machine_on).collect()
    })
}

#[test]
fn what_if_there_are_two_parallel_kcp_md_experiencing_upgrade() {
    on_stage(|stage| {
        let scene = Scene::with_control_plane(stage, "parallel");
        // Both choose among the same hosts, and there are no others: each is offered what the other has given back.
        scene.hosts("workers", 4);
        let hosts = deploy(&scene, "pool1", 2, true);
        deploy(&scene, "pool2", 2, false);
        upgrade(&scene, "pool1");
        upgrade(&scene, "pool2");
        assert_eq!(scene.until_rolled("pool1"), hosts);
        assert_eq!(scene.until_rolled("pool2").len(), 2);
        assert_eq!(scene.pools_that_kept_hosts(), BTreeSet::from(["md-pool1".to_owned()]));
    });
}

#[test]
fn what_if_we_found_n_1_hosts_with_label_while_we_expect_n_hosts() {
    on_stage(|stage| {
        let scene = Scene::with_control_plane(stage, "fewer");
        scene.hosts("workers", 4);
        let mut hosts = deploy(&scene, "pool1", 2, true);
        upgrade_halfway(&scene, "pool1", &hosts);
        let lost = hosts.pop_first().unwrap();
        scene.delete_host(&lost);
        let now = go_on(&scene, "pool1", 2);
        assert!(now.is_superset(&hosts) && now.len() == 2, "{now:?} and not {hosts:?}");
        scene.pools_that_kept_hosts();
    });
}

#[test]
fn what_if_user_changes_from_node_reuse_to_no_node_reuse_in_the_middle_of_upgrade() {
    on_stage(|stage| {
        let scene = Scene::with_control_plane(stage, "changed");
        scene.hosts("workers", 3);
        let hosts = deploy(&scene, "pool1", 1, true);
        upgrade_halfway(&scene, "pool1", &hosts);
        for version in ["v1", "v2"] {
            let off = json!({"spec": {"nodeReuse": false}});
            scene.patch("metal3machinetemplate", &format!("pool1-{version}"), &off);
        }
        // "labelled hosts always take the precedence over unlabelled hosts during selection"
        assert_eq!(go_on(&scene, "pool1", 1), hosts);
        assert_eq!(scene.pools_that_kept_hosts(), BTreeSet::from(["md-pool1".to_owned()]));
    });
}

#[test]
fn updating_automated_cleaning_mode_field_on_a_metal3_machine_template_will_ensure_to_have_the_same_value_on_all_the_corresponding_metal3_machines_and_bare_metal_hosts_no_matter_what_the_current_value_is()
 {
    on_stage(|stage| {
        let scene = Scene::with_control_plane(stage, "modes");
        scene.hosts("workers", 2);
        let hosts = deploy(&scene, "pool1", 2, false);
        let one = scene.stage.watched.now(|seen| {
            let host = seen.get("BareMetalHost", &scene.namespace, hosts.first().unwrap()).unwrap();
            consumer(host).unwrap().to_owned()
        });
        let own = json!({"spec": {"automatedCleaningMode": "disabled"}});
        scene.patch("metal3machine", &one, &own);
        // A person's choice for the other, which a shipped policy remembers.
        scene.patch("baremetalhost", hosts.last().unwrap(), &own);
        for mode in ["disabled", "metadata"] {
            let spec = json!({"spec": {"template": {"spec": {"automatedCleaningMode": mode}}}});
            scene.patch("metal3machinetemplate", "pool1-v1", &spec);
            scene.until(&format!("all have {mode}"), |seen| {
                let machines = seen
                    .all("Metal3Machine", &scene.namespace)
                    .filter(|machine| machine["metadata"]["labels"]["deployment"] == "pool1");
                let of_hosts = seen
                    .all("BareMetalHost", &scene.namespace)
                    .filter(|it| hosts.contains(&name(it)));
                let modes: Vec<&Value> = machines
                    .chain(of_hosts)
                    .map(|object| &object["spec"]["automatedCleaningMode"])
                    .collect();
                let is_so = modes.len() == 4 && modes.iter().all(|it| **it == mode);
                if is_so { Ok(()) } else { Err(format!("{modes:?}")) }
            });
        }

        // It counts again when no machine has the host.
        scene.patch("machinedeployment", "pool1", &json!({"spec": {"replicas": 0}}));
        scene.until("the hosts are their own again", |seen| {
            let all = seen.all("BareMetalHost", &scene.namespace);
            let free: Vec<&Value> = all
                .filter(|it| hosts.contains(&name(it)) && it["spec"]["consumerRef"].is_null())
                .map(|it| &it["spec"]["automatedCleaningMode"])
                .collect();
            if free == ["metadata", "disabled"] { Ok(()) } else { Err(format!("{free:?}")) }
        });
    });
}
