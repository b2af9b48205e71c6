//! The two stories on machines whose power really changes: a real Ironic with redfish, and BMCs that do as they are told, or do not.

use crate::{
    company::{
        PATIENCE, Remediations, check, controllers, deploy, machine_of, reboots, starting,
        until_host, until_lost,
    },
    scene::{Scene, hosts_of, reserved_for},
    stage::{Stage, provide},
};
use ironward_e2e::{
    eventually::until,
    ironic::{self, Fault, Ironic, Machine, Power, Settings},
    ironward::Options,
    machines::{Keeper, Template},
    node::apart::{self, Apart},
};
use serde_json::{Value, json};
use std::fs;

/// One for the control plane, three in use, two to spare.
const MACHINES: u16 = 6;
const REPLICAS: u16 = 3;
const RETRY_LIMIT: u8 = 2;

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

/// What its BMC says that its power was changed to, from now on.
struct Powers<'a> {
    machine: &'a Machine,
    before: usize,
}

impl<'a> Powers<'a> {
    fn of(machine: &'a Machine) -> Self {
        Self { machine, before: machine.past().unwrap().powers.len() }
    }

    fn so_far(&self) -> Vec<Power> {
        self.machine.past().unwrap().powers.split_off(self.before)
    }

    fn until(&self, expected: &[Power]) {
        let what = format!("{} was {expected:?}, says its BMC", self.machine.name);
        until(PATIENCE, &what, || self.so_far(), |powers| powers.starts_with(expected)).unwrap();
    }
}

/// How often Ironward said that it had something to ask about a host, and Ironic was not there.
fn unanswered(stage: &Stage, host: &str) -> usize {
    let ironward = stage.ironward();
    let log = fs::read_to_string(ironward.as_ref().unwrap().process.log()).unwrap();
    log.lines().filter(|line| line.contains(host) && line.contains("cannot be reached")).count()
}

pub fn a_node_that_returns_is_rebooted_and_one_that_does_not_is_replaced_on_another_host() {
    if apart::is_skipped() {
        return;
    }
    provide();
    ironic::provide().unwrap();
    let apart = Apart::provide().unwrap();
    apart.within(with_ironic).unwrap();
}

fn with_ironic() {
    let settings = Settings { machines: MACHINES, ..Settings::default() };
    let ironic = starting(|| Ironic::start(&settings).unwrap());
    let flags = vec![
        controllers(),
        "--provisioner=ironic".to_owned(),
        format!("--ironic-url={}", ironic.url()),
        format!("--deploy-iso-url={}", ironic.ramdisk_url()),
    ];
    let stage = starting(|| Stage::start(Options { flags, ..Options::default() }));
    let scene = Scene::new(&stage, "metal", Keeper::Nobody);
    let [first, workers @ ..] = ironic.machines() else { panic!("no machines") };
    let mut objects = host(first, "control-plane").to_vec();
    objects.extend(workers.iter().flat_map(|machine| host(machine, "workers")));
    let mut control_plane = scene.cluster.control_plane_machine("cp-0", Some("control-plane"));
    control_plane[0]["spec"]["image"] = ironic.machine_image();
    objects.extend(control_plane);
    scene.apply(&objects);
    let template = Template {
        name: "v1".to_owned(),
        automated_cleaning_mode: Some("disabled"),
        node_reuse: Some(true),
        image: Some(ironic.machine_image()),
        pool: Some("workers".to_owned()),
        ..Template::default()
    };
    deploy(&scene, &template, REPLICAS, RETRY_LIMIT.into());
    let hosts: Vec<_> = scene.until_rolled("workers").into_iter().collect();
    let [good, bad, dead] = &hosts[..] else { panic!("{hosts:?}") };
    let [good_machine, bad_machine, dead_machine] =
        [good, bad, dead].map(|host| machine_of(&scene, host));
    let of = |name: &String| workers.iter().find(|machine| machine.name == *name).unwrap();
    let remediations = Remediations::of(&scene);
    // Without what it took to write their images.
    let [good_power, bad_power, dead_power] = [good, bad, dead].map(|host| Powers::of(of(host)));

    // One kubelet falls silent, and speaks again after a boot; another never is ready again, whatever is done; and of a third, the BMC is
    // dead, too. Ironic is down when it is to switch off, and again when it is to switch on, and nothing is lost by that.
    let dead_bmc = ironic.inject(Fault::bmc_hangs_up().of(&of(dead).id)).unwrap();
    stage.kubelets.mute(good);
    stage.kubelets.fail(bad);
    stage.kubelets.fail(dead);
    until_lost(&scene, &hosts);
    ironic.crash().unwrap();
    check(&scene);
    for (host, machine) in [(good, &good_machine), (bad, &bad_machine), (dead, &dead_machine)] {
        remediations.until_phase(machine, "Running");
        until_host(&scene, host, "it is to be off", |host| reboots(host).next().is_some());
    }
    let history = remediations.until_history(good, "it is begun", |_| true);
    let cause = history["records"][0]["cause"]["message"].as_str().unwrap_or_default();
    assert!(cause.contains("Unknown"), "{history:#}");
    assert_eq!(bad_power.so_far(), []);
    ironic.restart().unwrap();

    // It is off, and before it can be switched on Ironic is down again.
    until_host(&scene, good, "it is off", |host| host["status"]["poweredOn"] == false);
    ironic.freeze().unwrap();
    let unanswered_before = unanswered(&stage, good);
    ironic.crash().unwrap();
    remediations.until_phase(&good_machine, "Waiting");
    stage.kubelets.unmute(good);
    until_host(&scene, good, "it is to be on", |host| reboots(host).next().is_none());
    let what = "it cannot be switched on";
    until(PATIENCE, what, || unanswered(&stage, good), |it| *it > unanswered_before).unwrap();
    assert_eq!(good_power.so_far(), [Power::Off]);
    ironic.restart().unwrap();
    good_power.until(&[Power::Off, Power::On]);
    remediations.until_gone(&good_machine);
    assert!(!remediations.ended_by_itself(&good_machine), "MachineHealthCheck was to delete it");
    let history = remediations
        .until_history(good, "it recovered", |history| history["counts"]["recovered"] == 1);
    let record = &history["records"][0];
    assert_eq!(record["cause"]["condition"], "HealthCheckSucceeded", "{history:#}");
    assert_eq!(record["machine"], good_machine.as_str(), "{history:#}");
    assert!(record["finished"].is_string(), "{history:#}");
    assert_eq!(machine_of(&scene, good), good_machine);

    for host in [bad, dead] {
        let history = remediations
            .until_history(host, "it was given up", |history| history["counts"]["replaced"] == 1);
        assert_eq!(history["counts"]["attempts"], RETRY_LIMIT, "{history:#}");
        until_host(&scene, host, "it is to be off, and out of use", |host| {
            host["spec"]["online"] == false
                && host["metadata"]["annotations"]["capm3.metal3.io/unhealthy"].is_string()
        });
        let words = history["records"][1]["message"].as_str().unwrap_or_default();
        let why = if host == bad { "did not become healthy" } else { "was not switched off" };
        assert!(words.contains(why), "{history:#}");
    }
    // Its owner has another, on another host, though it wants those back that its machines had.
    remediations.until_gone(&bad_machine);
    until_host(&scene, bad, "nobody has it, or is to have it", |host| {
        host["spec"]["consumerRef"].is_null() && reserved_for(host).is_none()
    });
    // Of the third nobody knows whether it still runs. Its machine is given up, and not let go of before that is known.
    until_in_use(&scene, REPLICAS - 1, good, [bad, dead]);
    remediations.until_phase(&dead_machine, "Deleting machine");
    assert_eq!(machine_of(&scene, dead), dead_machine);
    let timeline = scene.kubectl.expect(&["get", "hosthistories", bad]).unwrap();
    assert!(timeline.contains("Replaced"), "{timeline}");

    // Once for the one, for the other as often as it may be and then off for good, for the third never: nobody could.
    assert_eq!(good_power.so_far(), [Power::Off, Power::On]);
    let cycles = [Power::Off, Power::On].repeat(RETRY_LIMIT.into());
    assert_eq!(bad_power.so_far(), [&cycles[..], &[Power::Off]].concat());
    assert_eq!(dead_power.so_far(), []);

    // Its BMC is repaired: it is switched off, and its machine replaced like the other one.
    drop(dead_bmc);
    remediations.until_gone(&dead_machine);
    until_in_use(&scene, REPLICAS, good, [bad, dead]);
    assert_eq!(dead_power.so_far(), [Power::Off]);
}

/// Waits until so many machines are available, one on the host that it had, and none on those that were given up.
fn until_in_use(scene: &Scene<'_>, count: u16, kept: &String, given_up: [&String; 2]) {
    scene.until("others are in their places", |seen| {
        let owner = seen.get("MachineDeployment", &scene.namespace, "workers").unwrap();
        let there = seen.all("Metal3Machine", &scene.namespace).filter(|machine| {
            machine["metadata"]["deletionTimestamp"].is_null()
                && machine["metadata"]["labels"]["deployment"] == "workers"
        });
        let hosts = hosts_of(seen, &scene.namespace, &there.map(crate::scene::name).collect());
        let is_so = owner["status"]["availableReplicas"] == count
            && hosts.len() == usize::from(count)
            && hosts.contains(kept)
            && given_up.iter().all(|host| !hosts.contains(*host));
        if is_so { Ok(()) } else { Err(format!("{hosts:?} {}", owner["status"])) }
    });
}
