//! What goes wrong meanwhile.

use crate::{
    company::{
        Remediations, check, deploy, machine_of, on_stage, pool, reboots, times_off, until_host,
        until_lost, was_so,
    },
    scene::{Scene, name},
};
use ironward_e2e::{
    balancer::Balancer,
    machines::{embedded_kubeconfig, user_of},
    watched::Seen,
};
use serde_json::{Value, json};
use std::net::SocketAddr;

/// What somebody says by it who keeps a host off.
const MAINTENANCE: &str = "reboot.metal3.io/maintenance";

pub fn a_cluster_that_cannot_be_reached_does_not_keep_a_host_off() {
    on_stage(|stage| {
        let scene = Scene::with_control_plane(stage, "cut-off");
        let (way, server) = way_to(&scene);
        scene.hosts("workers", 1);
        deploy(&scene, &pool("v1"), 1, 1);
        let hosts = scene.until_rolled("workers");
        let host = hosts.first().unwrap();
        let machine = machine_of(&scene, host);
        let remediations = Remediations::of(&scene);
        // The cluster is cut off when its machine has been found to be lost, and before anything is done about it.
        hold(&scene, host);
        stage.kubelets.fail(host);
        check(&scene);
        remediations.until_reason(&machine, "HostHeld");
        way.cut();
        let_go(&scene, host);
        until_host(&scene, host, "it is kept off by the remediation alone", |host| {
            let mut reboots = reboots(host).peekable();
            host["status"]["poweredOn"] == false
                && reboots.peek().is_some()
                && reboots.all(|it| it != MAINTENANCE)
        });
        stage.kubelets.heal(host);
        let waiting = remediations.until_phase(&machine, "Waiting");
        assert_eq!(waiting["status"]["retryCount"], 1);
        until_host(&scene, host, "it is on, and let go", |host| {
            host["status"]["poweredOn"] == true && reboots(host).next().is_none()
        });
        // Whoever says that the Node is well has to reach it.
        way.set(vec![server]);
        remediations.until_history(host, "it recovered", |it| it["counts"]["recovered"] == 1);
        assert_eq!(machine_of(&scene, host), machine);
        let is_fenced =
            |node: &Value| node["spec"]["taints"].to_string().contains("out-of-service");
        let nodes =
            |seen: &Seen| seen.past("Node", "").any(|it| name(it) == *host && is_fenced(it));
        assert!(!stage.watched.now(nodes), "the cluster was reached");
    });
}

/// Makes the way to a cluster one that can be cut.
fn way_to(scene: &Scene<'_>) -> (Balancer, SocketAddr) {
    let cluster = &scene.cluster.name;
    let mut kubeconfig = embedded_kubeconfig(&scene.stage.plane, &user_of(cluster)).unwrap();
    let place = kubeconfig.pointer_mut("/clusters/0/cluster/server").unwrap();
    let server = place.as_str().unwrap().trim_start_matches("https://").parse().unwrap();
    let way = Balancer::start().unwrap();
    way.set(vec![server]);
    *place = json!(way.url());
    let secret = json!({"stringData": {"value": kubeconfig.to_string()}});
    scene.patch("secret", &format!("{cluster}-kubeconfig"), &secret);
    (way, server)
}

fn hold(scene: &Scene<'_>, host: &str) {
    scene.patch("bmh", host, &json!({"metadata": {"annotations": {MAINTENANCE: ""}}}));
}

fn let_go(scene: &Scene<'_>, host: &str) {
    scene.patch("bmh", host, &json!({"metadata": {"annotations": {MAINTENANCE: null}}}));
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
        for host in [held, deleted] {
            hold(&scene, host);
        }
        let remediations = Remediations::of(&scene);
        check(&scene);

        let failed = remediations.until_phase(&machines[0], "Failed");
        assert_eq!(failed["status"]["conditions"][0]["reason"], "NoPowerControl", "{failed:#}");
        for machine in &machines[1..] {
            let waiting = remediations.until_reason(machine, "HostHeld");
            let words = waiting["status"]["conditions"][0]["message"].as_str().unwrap();
            assert!(words.contains(MAINTENANCE), "{words}");
        }
        // Its machine is deleted before it was ever this remediation's turn.
        scene.insist("deleted", || {
            scene.kubectl.expect(&["delete", "machine", &machines[2], "--wait=false"]).map(drop)
        });
        remediations.until_gone(&machines[2]);
        // The other comes back when whoever kept it off lets it go, or has its turn then.
        stage.kubelets.heal(held);
        let_go(&scene, held);
        remediations.until_gone(&machines[1]);
        let was_taken = |host: &Value| reboots(host).count() > 1;
        for host in [held, deleted] {
            assert!(!was_so(&scene, host, was_taken), "{host}");
        }
        let was_switched = |host: &Value| reboots(host).any(|it| it != MAINTENANCE);
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
