//! Disks and their cleaning, and the metadata of a node, as Ironic and the machine saw it.

use crate::{
    scene::{Scene, consumer},
    stage::{CONTROLLERS, Stage, provide},
};
use ironward_e2e::{
    ironic::{self, Ironic, Machine, Settings},
    ironward::Options,
    machines::{Keeper, Template},
    node::apart::{self, Apart},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const MACHINES: u16 = 3;

#[test]
fn a_rollout_that_starts_with_the_edit_never_cleans_disks_under_the_old_mode() {
    if apart::is_skipped() {
        return;
    }
    provide();
    ironic::provide().unwrap();
    let apart = Apart::provide().unwrap();
    let settings = Settings { machines: MACHINES, ..Settings::default() };
    apart.within(|| with_ironic(&Ironic::start(&settings).unwrap())).unwrap();
}

fn with_ironic(ironic: &Ironic) {
    let flags = vec![
        CONTROLLERS.to_owned(),
        "--provisioner=ironic".to_owned(),
        format!("--ironic-url={}", ironic.url()),
        format!("--deploy-iso-url={}", ironic.ramdisk_url()),
    ];
    let stage = Stage::start(Options { flags, ..Options::default() });
    let scene = Scene::new(&stage, "disks", Keeper::Nobody);
    let machines = ironic.machines();
    scene.apply(&machines.iter().flat_map(host).collect::<Vec<_>>());
    let names = json!({"local-hostname": "worker-np1-{{ getIndex }}", "abc": "def"});
    scene.apply(&[scene.cluster.metadata("np1", &names)]);
    let image = ironic.machine_image();
    for (name, mode) in [("v1", "metadata"), ("v2", "disabled"), ("v3", "metadata")] {
        scene.template(&Template {
            name: name.to_owned(),
            node_reuse: Some(true),
            automated_cleaning_mode: Some(mode),
            image: Some(image.clone()),
            metadata: Some("np1"),
            ..Template::default()
        });
    }
    let until_provisioned = |before: &BTreeSet<String>| {
        scene.until("all hosts have machines again", |seen| {
            let hosts = seen.all("BareMetalHost", &scene.namespace);
            let provisioned =
                hosts.filter(|it| it["status"]["provisioning"]["state"] == "provisioned");
            let new: BTreeSet<String> = provisioned
                .filter_map(consumer)
                .map(str::to_owned)
                .filter(|it| !before.contains(it))
                .collect();
            if new.len() == machines.len() { Ok(new) } else { Err(format!("{new:?}")) }
        })
    };
    let each_took = |steps: &[&str]| {
        for machine in machines {
            assert_eq!(machine.past().unwrap().steps, steps, "{}", machine.name);
        }
    };
    let mut deployment = scene.cluster.machine_deployment("pool1", MACHINES, "v1");
    deployment["spec"]["rollout"]["strategy"]["rollingUpdate"]["maxUnavailable"] = json!(MACHINES);
    scene.apply(&[deployment]);
    let first = until_provisioned(&BTreeSet::new());
    let first_steps = ["erase_devices_metadata", "write_image"];
    each_took(&first_steps);
    let workers = ["worker-np1-0", "worker-np1-1", "worker-np1-2"];
    assert_eq!(on_config_drives(machines, "local-hostname"), workers);
    assert_eq!(on_config_drives(machines, "abc"), ["def"; 3]);

    // Both at once, as somebody does who applies a folder.
    let roll = |from: &str, mode: &str, to: &str| {
        let edit = json!({"spec": {"template": {"spec": {"automatedCleaningMode": mode}}}});
        scene.patch("metal3machinetemplate", from, &edit);
        scene.roll_to("machinedeployment", "pool1", to);
    };
    // An upgrade keeps the names, and brings what was added meanwhile.
    let rack = json!({"spec": {"metaData": {"rack": "r{{ getIndexWithOffset 7 }}"}}}).to_string();
    let edit = ["patch", "metal3metadata", "np1", "--type=merge", "--patch", &rack];
    scene.kubectl.expect(&edit).unwrap();
    roll("v1", "disabled", "v2");
    let second = until_provisioned(&first);
    each_took(&[&first_steps[..], &["write_image"]].concat());
    assert_eq!(on_config_drives(machines, "local-hostname"), workers);
    assert_eq!(on_config_drives(machines, "rack"), ["r7", "r8", "r9"]);

    roll("v2", "metadata", "v3");
    until_provisioned(&second);
    each_took(&[&first_steps[..], &["write_image"], &first_steps[..]].concat());
    assert_eq!(on_config_drives(machines, "local-hostname"), workers);
}

fn host(machine: &Machine) -> [Value; 2] {
    let name = machine.name.as_str();
    [
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
            "stringData": {
                "username": machine.credentials.username, "password": machine.credentials.password,
            },
        }),
        json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": {"name": name},
            "spec": {
                "online": true,
                "inspectionMode": "disabled",
                "bootMACAddress": machine.boot_mac,
                "bmc": {"address": machine.bmc_address(), "credentialsName": name},
            },
        }),
    ]
}

/// What the nodes find under a key of their metadata, on the config drives that Ironic wrote for them; in order.
fn on_config_drives(machines: &[Machine], key: &str) -> Vec<String> {
    let value = |machine: &Machine| {
        let files = machine.past().unwrap().config_drive.unwrap();
        let metadata = &files["/openstack/latest/meta_data.json"];
        let metadata: Value = serde_json::from_str(metadata).unwrap();
        metadata[key].as_str().unwrap_or_default().to_owned()
    };
    let mut values: Vec<_> = machines.iter().map(value).collect();
    values.sort();
    values
}
