//! The two stories on machines whose power really changes: a real Ironic with redfish, and BMCs that do as they are told, or do not.

use crate::{
    company::{
        PATIENCE, Remediations, check, controllers, deploy, machine_of, reboots, times_off,
        until_host,
    },
    scene::{Scene, hosts_of},
    stage::{Stage, provide},
};
use ironward_e2e::{
    eventually::eventually,
    ironic::{self, Fault, Ironic, Machine, Power, Settings},
    ironward::Options,
    machines::{Keeper, Template},
    node::apart::{self, Apart},
};
use serde_json::{Value, json};

/// One for the control plane, three in use, two to spare.
const MACHINES: u16 = 6;
const REPLICAS: u16 = 3;

fn image(ironic: &Ironic) -> Value {
    let (url, sha256) = ironic.disk_image();
    json!({"url": url, "checksum": sha256, "checksumType": "sha256", "diskFormat": "raw"})
}

fn host(machine: &Machine, pool: &str) -> [Value; 2] {
    [
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": machine.name},
            "stringData": {
                "username": machine.credentials.username, "password": machine.credentials.password,
            },
        }),
        json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": machine.name, "labels": {"pool": pool}},
            "spec": {
                "online": true, "inspectionMode": "disabled", "automatedCleaningMode": "disabled",
                "bootMACAddress": machine.boot_mac,
                "bmc": {"address": machine.bmc_address(), "credentialsName": machine.name},
            },
        }),
    ]
}

fn until_power(machine: &Machine, power: Power) {
    eventually(PATIENCE, &format!("{} is {power:?}, says its BMC", machine.name), || {
        let now = machine.power().map_err(|error| format!("{error:#}"))?;
        if now == power { Ok(()) } else { Err(format!("{now:?}")) }
    })
    .unwrap();
}

#[test]
fn a_node_that_returns_is_rebooted_and_one_that_does_not_is_replaced_on_another_host() {
    if apart::is_skipped() {
        return;
    }
    provide();
    ironic::provide().unwrap();
    let apart = Apart::provide().unwrap();
    apart.within(with_ironic).unwrap();
}

fn with_ironic() {
    let ironic = Ironic::start(&Settings { machines: MACHINES, ..Settings::default() }).unwrap();
    let flags = vec![
        controllers(),
        "--provisioner=ironic".to_owned(),
        format!("--ironic-url={}", ironic.url()),
        format!("--deploy-iso-url={}", ironic.ramdisk_url()),
    ];
    let stage = Stage::start(Options { flags, ..Options::default() });
    let scene = Scene::new(&stage, "metal", Keeper::Nobody);
    let [first, workers @ ..] = ironic.machines() else { panic!("no machines") };
    let mut objects = host(first, "control-plane").to_vec();
    objects.extend(workers.iter().flat_map(|machine| host(machine, "workers")));
    let mut control_plane = scene.cluster.control_plane_machine("cp-0", Some("control-plane"));
    control_plane[0]["spec"]["image"] = image(&ironic);
    objects.extend(control_plane);
    scene.apply(&objects);
    let template = Template {
        name: "v1".to_owned(),
        automated_cleaning_mode: Some("disabled"),
        image: Some(image(&ironic)),
        pool: Some("workers".to_owned()),
        ..Template::default()
    };
    deploy(&scene, &template, REPLICAS, 2);
    let hosts: Vec<_> = scene.until_rolled("workers").into_iter().collect();
    let [good, bad, dead] = &hosts[..] else { panic!("{hosts:?}") };
    let [good_machine, bad_machine, dead_machine] =
        [good, bad, dead].map(|host| machine_of(&scene, host));
    let of = |name: &String| workers.iter().find(|machine| machine.name == *name).unwrap();
    let remediations = Remediations::of(&scene);
    // Without what it took to write their images.
    let before = [good, bad, dead].map(|host| times_off(&scene, host));
    let times_off = |index: usize| times_off(&scene, &hosts[index]) - before[index];

    // One kubelet falls silent, and speaks again after a boot; another never is ready again, whatever is done; and of a third, the BMC is
    // dead, too.
    stage.kubelets.mute(good);
    scene.until("a Node is Unknown", |seen| {
        let node = seen.get("Node", "", good).map_err(|error| error.to_string())?;
        let mut conditions = node["status"]["conditions"].as_array().into_iter().flatten();
        let ready = conditions.find(|it| it["type"] == "Ready");
        let is_so = ready.is_some_and(|it| it["status"] == "Unknown");
        if is_so { Ok(()) } else { Err(format!("{ready:?}")) }
    });
    let _dead = ironic.inject(Fault::bmc_hangs_up().of(&of(dead).id)).unwrap();
    // Ironic is down when it is needed, and nothing is lost by that.
    ironic.crash().unwrap();
    stage.kubelets.fail(bad);
    stage.kubelets.fail(dead);
    check(&scene);
    for (host, machine) in [(good, &good_machine), (bad, &bad_machine), (dead, &dead_machine)] {
        remediations.until_phase(machine, "Running");
        until_host(&scene, host, "it is to be off", |host| reboots(host).next().is_some());
    }
    assert_eq!(of(good).power().unwrap(), Power::On);
    ironic.restart().unwrap();

    until_power(of(good), Power::Off);
    stage.kubelets.unmute(good);
    until_power(of(good), Power::On);
    remediations.until_gone(&good_machine);
    assert!(!remediations.ended_by_itself(&good_machine), "MachineHealthCheck was to delete it");
    let history = remediations
        .until_history(good, "it recovered", |history| history["counts"]["recovered"] == 1);
    let record = &history["records"][0];
    assert_eq!(record["cause"]["condition"], "HealthCheckSucceeded", "{history:#}");
    assert_eq!(record["machine"], good_machine.as_str(), "{history:#}");
    assert!(record["finished"].is_string(), "{history:#}");
    assert_eq!(times_off(0), 1);
    assert_eq!(machine_of(&scene, good), good_machine);

    for host in [bad, dead] {
        let history = remediations
            .until_history(host, "it was given up", |history| history["counts"]["replaced"] == 1);
        assert_eq!(history["counts"]["attempts"], 2, "{history:#}");
        until_host(&scene, host, "it is to be off, and out of use", |host| {
            host["spec"]["online"] == false
                && host["metadata"]["annotations"]["capm3.metal3.io/unhealthy"].is_string()
        });
        let words = history["records"][1]["message"].as_str().unwrap_or_default();
        let why = if host == bad { "did not become healthy" } else { "was not switched off" };
        assert!(words.contains(why), "{history:#}");
    }
    until_power(of(bad), Power::Off);
    until_host(&scene, bad, "that is seen", |host| host["status"]["poweredOn"] == false);
    // Off and on twice, and off for good.
    assert_eq!(times_off(1), 3);
    assert_eq!(times_off(2), 0);
    // Their owner has others, on other hosts.
    remediations.until_gone(&bad_machine);
    until_host(&scene, bad, "nobody has it", |host| host["spec"]["consumerRef"].is_null());
    scene.until("others are in their place", |seen| {
        let owner = seen.get("MachineDeployment", &scene.namespace, "workers").unwrap();
        let there = seen.all("Metal3Machine", &scene.namespace).filter(|machine| {
            machine["metadata"]["deletionTimestamp"].is_null()
                && machine["metadata"]["labels"]["deployment"] == "workers"
        });
        let hosts = hosts_of(seen, &scene.namespace, &there.map(crate::scene::name).collect());
        let is_so = owner["status"]["availableReplicas"] == REPLICAS
            && hosts.contains(good)
            && !hosts.contains(bad)
            && !hosts.contains(dead);
        if is_so { Ok(()) } else { Err(format!("{hosts:?} {}", owner["status"])) }
    });
    let timeline = scene.kubectl.expect(&["get", "hosthistories", bad]).unwrap();
    assert!(timeline.contains("Replaced"), "{timeline}");
}
