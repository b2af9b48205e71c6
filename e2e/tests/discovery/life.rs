//! From a machine that somebody has plugged in to a Node: with somebody who looks at it and knows its BMC, and with nobody at all.

use crate::{
    rack::skipped,
    scene::{Scene, consumer},
    stage::{CONTROLLERS, PATIENCE, Stage, provide},
};
use ironward_e2e::{
    eventually::eventually,
    ironic::{self, Driver, Fault, Ironic, Machine, Power, Settings},
    ironward::Options,
    machines::{Keeper, Template},
    node::apart::{self, Apart},
};
use serde_json::{Value, json};

/// As the guide has it for machines without a BMC.
const FAST_TRACK: &str = "
[DEFAULT]
default_deploy_interface = direct
[deploy]
fast_track = True
";

#[test]
fn a_machine_that_boots_becomes_a_host_and_joins_and_another_takes_its_place() {
    if apart::is_skipped() {
        return;
    }
    provide();
    ironic::provide().unwrap();
    let apart = Apart::provide().unwrap();
    apart.within(with_ironic).unwrap();
}

fn with_ironic() {
    let ironic = Ironic::start(&Settings {
        machines: 4,
        discovery: Some(Driver::FakeHardware),
        power_sync: None,
        extra_config: FAST_TRACK.to_owned(),
        ..Settings::default()
    })
    .unwrap();
    let flags = vec![
        format!("{CONTROLLERS},discovery,autoscale"),
        "--provisioner=ironic".to_owned(),
        format!("--ironic-url={}", ironic.url()),
        format!("--deploy-iso-url={}", ironic.ramdisk_url()),
    ];
    let stage = Stage::start(Options { flags, ..Options::default() });
    let scene = Scene::new(&stage, "lab", Keeper::Nobody);
    let [first, approved, replacement, forgotten] = ironic.machines() else {
        panic!("no machines")
    };
    prepare(&scene, &ironic, first, approved, forgotten);
    let lab = Lab { scene, ironic: &ironic };
    let faulty = lab.approve(approved);
    lab.replace(approved, &faulty, replacement);
    lab.forget(forgotten);
}

/// All that a person does before anything is plugged in: a control plane, a pool without machines whose replicas follow its hosts, what is
/// done about machines that are not well, and two discoveries.
fn prepare(scene: &Scene<'_>, ironic: &Ironic, first: &Machine, one: &Machine, spare: &Machine) {
    let mut control_plane = scene.cluster.control_plane_machine("cp-0", Some("control-plane"));
    control_plane[0]["spec"]["image"] = ironic.machine_image();
    let mut objects = control_plane.to_vec();
    objects.extend([secret(first), host(first)]);
    let mut pool = scene.cluster.machine_deployment("workers", 0, "v1");
    pool["metadata"]["annotations"] = json!({"metal3.io/autoscale-to-hosts": r#"{"max": 5}"#});
    objects.extend([
        scene.cluster.template(&Template {
            name: "v1".to_owned(),
            image: Some(ironic.machine_image()),
            pool: Some("workers".to_owned()),
            ..Template::default()
        }),
        pool,
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck",
            "metadata": {"name": "workers"},
            "spec": {
                "clusterName": scene.cluster.name,
                "selector": {"matchLabels": {"deployment": "workers"}},
                "checks": {"unhealthyNodeConditions": [
                    {"type": "Ready", "status": "False", "timeoutSeconds": 1},
                ]},
            },
        }),
        discovery("rack", json!({
            "resourceNameTemplate": {"prefix": "disc-", "hardwareDetails": "hostname"},
            "labels": [
                {"name": "pool", "value": "workers"},
                {"name": "example.com/size", "expression": "hardware.ramMebibytes > 16384 ? 'large' : 'small'"},
            ],
            "nodeSelector": format!("inventory.hostname == '{}'", one.name),
            "onlyAutoDiscovered": true,
        })),
    ]);
    scene.apply(&objects);
    // Younger, and not choosy: it gets what the other leaves.
    scene.insist("the first is there", || scene.kubectl.get("bmhd", "rack").map(drop));
    let kept_out = format!("hardware.hostname == '{}' ? 'none' : 'workers'", spare.name);
    scene.apply(&[discovery(
        "rest",
        json!({
            "resourceNameTemplate": {"hardwareDetails": "boot-mac"}, "approval": "Automatic",
            "labels": [{"name": "pool", "expression": kept_out}],
        }),
    )]);
}

struct Lab<'a> {
    scene: Scene<'a>,
    ironic: &'a Ironic,
}

impl Lab<'_> {
    /// Somebody looks at it, and says how its BMC is reached. Says the name of its host.
    fn approve(&self, machine: &Machine) -> String {
        let Self { scene, ironic } = self;
        let (api, name) = (ironic.api(), format!("disc-{}", machine.name));
        machine.boot_from_network().unwrap();
        let host = self.until_host(&name, "it has hardware", |host| {
            host["status"]["hardware"]["ramMebibytes"] == 32 << 10
        });
        assert_eq!(host["spec"]["bootMACAddress"], machine.boot_mac.as_str(), "{host:#}");
        let labels = json!({"pool": "workers", "example.com/size": "large"});
        assert_eq!(host["metadata"]["labels"], labels);
        assert_eq!(host["metadata"]["annotations"]["ironward.dev/approval"], "pending");
        let id = host["status"]["provisioning"]["ID"].as_str().unwrap().to_owned();
        assert_eq!(api.node(&id).unwrap()["provision_state"], "enroll");
        self.until_polled("rest", |status| skipped(status, "TakenByAnother") == 1);

        // With a BMC it is registered, but nothing is written to it before somebody has approved it.
        scene.apply(&[secret(machine)]);
        let bmc = json!({"address": machine.bmc_address(), "credentialsName": machine.name});
        scene.patch("bmh", &name, &json!({"spec": {"bmc": bmc}}));
        self.until_state(&name, "preparing");
        assert_eq!(machine.past().unwrap().steps, [""; 0]);
        assert_eq!(self.replicas(), 0);
        let approve = ["annotate", "bmh", &name, "ironward.dev/approval-"];
        scene.insist("approved", || scene.kubectl.expect(&approve).map(drop));

        // The pool grows by itself, and the host is provisioned.
        self.until_replicas(1);
        assert!(scene.until_rolled("workers").contains(&name));
        let node = api.node(&id).unwrap();
        assert_eq!(
            (&node["driver"], &node["provision_state"]),
            (&json!("redfish"), &json!("active"))
        );
        assert_eq!(node["name"], format!("lab~{name}"));
        assert!(node["inspection_started_at"].is_null(), "it was inspected again: {node:#}");
        assert_eq!(machine.past().unwrap().steps, ["erase_devices_metadata", "write_image"]);
        name
    }

    /// One breaks, and somebody pulls it out and plugs in another; nobody calls the API server.
    fn replace(&self, broken: &Machine, its_host: &str, new: &Machine) {
        let Self { scene, ironic } = self;
        scene.stage.kubelets.fail(its_host);
        broken.set_power(Power::Off).unwrap();
        let unplugged = ironic.inject(Fault::bmc_hangs_up().of(&broken.id)).unwrap();
        new.boot_from_network().unwrap();
        // Written to by the agent that reported it, which then switches it off; and somebody switches it on again.
        let written = || new.past().unwrap().steps.contains(&"write_image".to_owned());
        eventually(PATIENCE, "it is written to, and off", || {
            let (power, past) = (new.power().unwrap(), new.past().unwrap());
            if written() && power == Power::Off { Ok(()) } else { Err(format!("{past:?}")) }
        })
        .unwrap_or_else(|error| panic!("{error:#}\n{}", scene.stage.last_words()));
        assert_eq!(new.past().unwrap().boots, 1);
        new.boot_from_disk().unwrap();

        let name = host_name(new);
        let host = scene.until("the new one is a Node of the cluster", |seen| {
            let host = seen.get("BareMetalHost", "lab", &name).map_err(|it| it.to_string())?;
            let is_node = |machine: &&Value| machine["status"]["nodeRef"]["name"] == name.as_str();
            let has_machine = seen.all("Machine", "lab").any(|machine| is_node(&machine));
            let has_it = consumer(host).is_some() && has_machine;
            if has_it { Ok(host.clone()) } else { Err(format!("{host:#}")) }
        });
        assert!(host["spec"]["bmc"].is_null(), "{host:#}");
        assert!(host["metadata"]["annotations"]["ironward.dev/approval"].is_null(), "{host:#}");
        let id = host["status"]["provisioning"]["ID"].as_str().unwrap();
        let node = ironic.api().node(id).unwrap();
        assert_eq!(
            (&node["driver"], &node["provision_state"]),
            (&json!("fake-hardware"), &json!("active"))
        );
        assert_eq!(new.past().unwrap().boots, 1, "it was booted into the agent again");
        // The machine of the broken one is on its way out.
        scene.until("its machine goes", |seen| {
            let host = seen.get("BareMetalHost", "lab", its_host).map_err(|it| it.to_string())?;
            let machine = consumer(host).and_then(|it| seen.get("Metal3Machine", "lab", it).ok());
            match machine {
                Some(machine) if machine["metadata"]["deletionTimestamp"].is_null() => {
                    Err(format!("{machine:#}"))
                }
                Some(_) | None => Ok(()),
            }
        });
        drop(unplugged);
    }

    /// Once it is gone it comes back, unless it is to be forgotten.
    fn forget(&self, machine: &Machine) {
        let scene = &self.scene;
        let name = host_name(machine);
        machine.boot_from_network().unwrap();
        let host = self.until_state(&name, "available");
        let id = |host: &Value| host["status"]["provisioning"]["ID"].as_str().unwrap().to_owned();
        let first = id(&host);
        let again = |forget: &str| {
            let forget = format!("ironward.dev/forget={forget}");
            let annotate = ["annotate", "bmh", &name, &forget, "--overwrite"];
            scene.insist("annotated", || scene.kubectl.expect(&annotate).map(drop));
            scene.delete_host(&name);
            machine.set_power(Power::Off).unwrap();
            machine.boot_from_network().unwrap();
        };
        again("false");
        let host = self.until_state(&name, "available");
        assert_ne!(id(&host), first);

        again("true");
        self.until_polled("rest", |status| skipped(status, "Forgotten") == 1);
        assert!(scene.stage.watched.now(|seen| seen.get("BareMetalHost", "lab", &name).is_err()));
    }

    fn until_host(&self, name: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        self.scene.until(&format!("{name}: {what}"), |seen| {
            let host = seen.get("BareMetalHost", "lab", name).map_err(|it| it.to_string())?;
            if is_so(host) { Ok(host.clone()) } else { Err(format!("{:#}", host["status"])) }
        })
    }

    fn until_state(&self, name: &str, state: &str) -> Value {
        self.until_host(name, state, |host| host["status"]["provisioning"]["state"] == state)
    }

    fn replicas(&self) -> u64 {
        self.scene.stage.watched.now(|seen| {
            let pool = seen.get("MachineDeployment", "lab", "workers").unwrap();
            pool["spec"]["replicas"].as_u64().unwrap()
        })
    }

    fn until_replicas(&self, replicas: u64) {
        self.scene.until(&format!("there are to be {replicas}"), |seen| {
            let pool =
                seen.get("MachineDeployment", "lab", "workers").map_err(|it| it.to_string())?;
            let now = &pool["spec"]["replicas"];
            if *now == replicas { Ok(()) } else { Err(now.to_string()) }
        });
    }

    /// Waits until the status of a discovery says something.
    fn until_polled(&self, name: &str, is_so: impl Fn(&Value) -> bool) {
        eventually(PATIENCE, &format!("the status of {name} says so"), || {
            let found = self.scene.kubectl.get("bmhd", name).map_err(|error| error.to_string())?;
            let status = &found["status"];
            if is_so(status) { Ok(()) } else { Err(format!("{status:#}")) }
        })
        .unwrap_or_else(|error| panic!("{error:#}\n{}", self.scene.stage.last_words()));
    }
}

/// As the second discovery names it.
fn host_name(machine: &Machine) -> String {
    machine.boot_mac.replace(':', "-")
}

fn discovery(name: &str, mut spec: Value) -> Value {
    spec["interval"] = json!("10s");
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHostDiscovery",
        "metadata": {"name": name}, "spec": spec,
    })
}

fn secret(machine: &Machine) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": machine.name},
        "stringData": {
            "username": machine.credentials.username, "password": machine.credentials.password,
        },
    })
}

/// One that somebody registers by hand.
fn host(machine: &Machine) -> Value {
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": machine.name, "labels": {"pool": "control-plane"}},
        "spec": {
            "online": true, "inspectionMode": "disabled", "automatedCleaningMode": "disabled",
            "bootMACAddress": machine.boot_mac,
            "bmc": {"address": machine.bmc_address(), "credentialsName": machine.name},
        },
    })
}
