//! What goes wrong meanwhile.

use crate::{
    company::{
        Remediations, check, deploy, machine_of, on_stage, pool, reboots, times_off, until_host,
        until_lost, was_so,
    },
    scene::Scene,
};
use serde_json::{Value, json};

/// A kubeconfig that leads nowhere: nobody listens on that port.
const NOWHERE: &str = r#"{
    "apiVersion": "v1", "kind": "Config", "current-context": "x",
    "clusters": [{"name": "x", "cluster": {"server": "https://127.0.0.1:9"}}],
    "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
    "users": [{"name": "x", "user": {"token": "x"}}]
}"#;

pub fn a_cluster_that_cannot_be_reached_does_not_keep_a_host_off() {
    on_stage(|stage| {
        let scene = Scene::with_control_plane(stage, "cut-off");
        scene.hosts("workers", 1);
        deploy(&scene, &pool("v1"), 1, 1);
        let hosts = scene.until_rolled("workers");
        let host = hosts.first().unwrap();
        let machine = machine_of(&scene, host);
        // Cluster API has its connection, Ironward's is yet to be made.
        let secret = format!("{}-kubeconfig", scene.cluster.name);
        scene.patch("secret", &secret, &json!({"stringData": {"value": NOWHERE}}));
        let remediations = Remediations::of(&scene);
        stage.kubelets.fail(host);
        check(&scene);
        until_host(&scene, host, "it is off", |host| host["status"]["poweredOn"] == false);
        stage.kubelets.heal(host);
        let waiting = remediations.until_phase(&machine, "Waiting");
        assert_eq!(waiting["status"]["retryCount"], 1);
        until_host(&scene, host, "it is on, and let go", |host| {
            host["status"]["poweredOn"] == true && reboots(host).next().is_none()
        });
        remediations.until_history(host, "it recovered", |it| it["counts"]["recovered"] == 1);
        assert_eq!(times_off(&scene, host), 1);
        assert_eq!(machine_of(&scene, host), machine);
    });
}

pub fn a_machine_that_is_deleted_meanwhile_takes_its_remediation_with_it() {
    on_stage(|stage| {
        let scene = Scene::with_control_plane(stage, "deleted");
        scene.hosts("workers", 2);
        deploy(&scene, &pool("v1"), 1, 3);
        let hosts = scene.until_rolled("workers");
        let host = hosts.first().unwrap();
        let machine = machine_of(&scene, host);
        let remediations = Remediations::of(&scene);
        stage.kubelets.fail(host);
        check(&scene);
        remediations.until_phase(&machine, "Waiting");
        scene.insist("deleted", || {
            scene.kubectl.expect(&["delete", "machine", &machine, "--wait=false"]).map(drop)
        });
        remediations.until_gone(&machine);
        until_host(&scene, host, "it is given back", |host| {
            host["spec"]["consumerRef"].is_null() && reboots(host).next().is_none()
        });
        stage.kubelets.heal(host);
        let history = remediations.until_history(host, "it is remembered", |history| {
            !history["records"][0]["outcome"].is_null()
        });
        assert_eq!(history["records"][0]["outcome"], "Cancelled", "{history:#}");
        assert_eq!(history["counts"]["attempts"], 1, "{history:#}");
    });
}

pub fn a_host_that_others_decide_about_is_not_switched_off() {
    on_stage(|stage| {
        let scene = Scene::with_control_plane(stage, "held");
        scene.hosts("workers", 3);
        deploy(&scene, &pool("v1"), 3, 1);
        let hosts = scene.until_rolled("workers");
        let hosts: Vec<_> = hosts.iter().collect();
        let [always_on, held, deleted] = hosts[..] else { panic!("{hosts:?}") };
        let machines = [always_on, held, deleted].map(|host| machine_of(&scene, host));
        for host in &hosts {
            stage.kubelets.fail(host);
        }
        until_lost(&scene, hosts.iter().copied());
        scene.patch("bmh", always_on, &json!({"spec": {"disablePowerOff": true}}));
        let maintenance = "reboot.metal3.io/maintenance";
        for host in [held, deleted] {
            let off = json!({"metadata": {"annotations": {maintenance: ""}}});
            scene.patch("bmh", host, &off);
        }
        let remediations = Remediations::of(&scene);
        check(&scene);

        let failed = remediations.until_phase(&machines[0], "Failed");
        assert_eq!(failed["status"]["conditions"][0]["reason"], "NoPowerControl", "{failed:#}");
        for machine in &machines[1..] {
            let waiting = remediations.until_reason(machine, "HostHeld");
            let words = waiting["status"]["conditions"][0]["message"].as_str().unwrap();
            assert!(words.contains(maintenance), "{words}");
        }
        // Its machine is deleted before it was ever this remediation's turn.
        scene.insist("deleted", || {
            scene.kubectl.expect(&["delete", "machine", &machines[2], "--wait=false"]).map(drop)
        });
        remediations.until_gone(&machines[2]);
        // The other comes back when whoever kept it off lets it go, or has its turn then.
        stage.kubelets.heal(held);
        scene.patch("bmh", held, &json!({"metadata": {"annotations": {maintenance: null}}}));
        remediations.until_gone(&machines[1]);
        let was_taken = |host: &Value| reboots(host).count() > 1;
        for host in [held, deleted] {
            assert!(!was_so(&scene, host, was_taken), "{host}");
        }
        let was_switched = |host: &Value| reboots(host).any(|it| it != maintenance);
        for host in [always_on, deleted] {
            assert!(!was_so(&scene, host, was_switched), "{host}");
            stage.kubelets.heal(host);
        }
        assert_eq!(times_off(&scene, always_on), 0);
        // Whoever is well again needs no remediation, also where it had failed.
        remediations.until_gone(&machines[0]);
    });
}

pub fn a_machine_whose_node_never_came_up_is_rebooted() {
    on_stage(|stage| {
        let scene = Scene::with_control_plane(stage, "silent");
        let hosts = scene.hosts("workers", 1);
        let host = hosts.first().unwrap();
        stage.kubelets.mute(host);
        let remediations = Remediations::of(&scene);
        deploy(&scene, &pool("v1"), 1, 1);
        check(&scene);
        until_host(&scene, host, "it is on", |host| host["status"]["poweredOn"] == true);
        until_host(&scene, host, "and off", |host| {
            host["status"]["poweredOn"] == false && reboots(host).next().is_some()
        });
        stage.kubelets.unmute(host);
        remediations.until_history(host, "it recovered", |it| it["counts"]["recovered"] == 1);
        assert_eq!(scene.until_rolled("workers").first(), Some(host));
        remediations.until_gone(&machine_of(&scene, host));
    });
}
