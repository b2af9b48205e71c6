//! A hundred Nodes are lost at once.

use crate::{
    company::{
        PATIENCE, Remediations, deploy, on_own_stage, plain_check, pool, reboots, times_off,
        until_lost,
    },
    scene::{Scene, name},
};
use ironward_e2e::{eventually::until, fleet::counted};
use std::collections::BTreeSet;

const MACHINES: u8 = 100;

pub fn of_a_hundred_lost_nodes_a_fifth_is_remediated_at_one_time_and_none_twice() {
    on_own_stage(|stage| {
        let scene = Scene::with_control_plane(stage, "storm");
        scene.hosts("workers", MACHINES);
        deploy(&scene, &pool("v1"), MACHINES.into(), 1);
        let hosts = scene.until_rolled("workers");
        assert_eq!(hosts.len(), usize::from(MACHINES));
        let remediations = Remediations::of(&scene);
        for host in &hosts {
            stage.kubelets.mute(host);
        }
        until_lost(&scene, &hosts);
        scene.apply(&[plain_check(&scene)]);
        remediations.until("some wait for their turn, and say so", |seen| {
            let all = seen.all("Metal3Remediation", &scene.namespace);
            let delayed = all.filter(|it| it["status"]["conditions"][0]["reason"] == "Delayed");
            match delayed.count() {
                0 => Err("none waits"),
                _ => Ok(()),
            }
        });
        let delayed = || {
            let ironward = stage.ironward();
            counted(ironward.as_ref().unwrap(), "ironward_remediation_delayed_total").unwrap()
        };
        until(PATIENCE, "that is counted", delayed, |it| *it > 0.0).unwrap();
        // Its successor counts the same, and goes on where it was.
        stage.kill_and_start_ironward();
        // A machine speaks again once it was off.
        let mut silent = hosts.clone();
        while !silent.is_empty() {
            let off = stage.watched.until(PATIENCE, "one more is off", |seen| {
                // Also those that were off for a moment when nobody looked.
                let past = seen.past("BareMetalHost", &scene.namespace);
                let off = past.filter(|host| {
                    host["status"]["poweredOn"] == false && reboots(host).next().is_some()
                });
                let off: BTreeSet<_> = off.map(name).filter(|host| silent.contains(host)).collect();
                if off.is_empty() { Err(format!("{} are silent", silent.len())) } else { Ok(off) }
            });
            for host in off.unwrap_or_else(|error| panic!("{error:#}\n{}", stage.last_words())) {
                stage.kubelets.unmute(&host);
                silent.remove(&host);
            }
        }
        remediations.until("all are remembered as recovered", |seen| {
            let all = seen.all("HostHistory", &scene.namespace);
            let well = all.filter(|it| it["counts"]["recovered"] == 1).count();
            if well == usize::from(MACHINES) { Ok(()) } else { Err(format!("{well}")) }
        });
        let twice: Vec<_> = hosts.iter().filter(|host| times_off(&scene, host) != 1).collect();
        assert!(twice.is_empty(), "{twice:?}");
        // A fifth of all machines, of which one is the control plane's.
        assert!(remediations.most_at_one_time() <= 20, "{}", remediations.most_at_one_time());
        assert_eq!(scene.until_rolled("workers"), hosts);
    });
}
