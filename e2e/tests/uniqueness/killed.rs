//! Ironward killed at each step of the protocol: before the API server has seen a write, and before Ironward knows that
//! it has. Whatever is left behind, one host has the key, another can have it in the end, and no claim is left over.

use crate::stage::{PATIENCE, alone, claims, create, unguarded, until};
use ironward_e2e::{
    control_plane::ControlPlane,
    gate::{Gate, Moment},
    ironward::{Ironward, Options},
    kubectl::Kubectl,
};
use rustix::process::Signal;
use std::thread;

const GRACE: u32 = 2;

/// An API server behind a gate, and the Ironward that is killed there.
struct Scene {
    plane: ControlPlane,
    gate: Gate,
    options: Options,
    kubectl: Kubectl,
}

impl Scene {
    fn new() -> Self {
        let plane = unguarded();
        let gate = Gate::open(&plane.own_kubeconfig().unwrap()).unwrap();
        let options = Options {
            claim_grace: Some(GRACE),
            kubeconfig: Some(gate.kubeconfig(plane.dir()).unwrap()),
            ..Options::default()
        };
        let kubectl = plane.kubectl().in_namespace("default");
        Self { plane, gate, options, kubectl }
    }

    fn start(&self) -> Ironward {
        let ironward = Ironward::start_with(&self.plane, &self.options).unwrap();
        ironward.wait_until_ready().unwrap();
        ironward.wait_until_in_force(&self.plane).unwrap();
        ironward
    }

    /// Kills Ironward when it writes or deletes what has this in its path or body, while `act` is going on, and
    /// starts it again.
    fn kill_at(
        &self,
        ironward: &Ironward,
        moment: Moment,
        methods: &'static [&'static str],
        about: &str,
        act: impl FnOnce() + Send,
    ) -> Ironward {
        let about = about.to_owned();
        let held = self.gate.hold(moment, move |method, path, body| {
            path.contains("/leases")
                && methods.contains(&method.as_str())
                && (path.contains(&about) || String::from_utf8_lossy(body).contains(&about))
        });
        thread::scope(|scope| {
            let acting = scope.spawn(act);
            held.wait(PATIENCE).unwrap();
            ironward.process.signal(Signal::KILL).unwrap();
            acting.join().unwrap();
        });
        self.start()
    }

    fn macs_claimed(&self) -> Vec<(String, String)> {
        claims(&self.kubectl, "unique-boot-mac")
    }

    fn expect_claims(&self, expected: &[(&str, &str)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(mac, name)| {
                let claim = format!("unique-boot-mac.52-54-00-00-00-{mac}");
                (claim, format!("baremetalhosts.metal3.io default/{name}"))
            })
            .collect();
        until("just what is stored is claimed", || self.macs_claimed(), |them| *them == expected);
    }
}

#[test]
fn a_step_at_which_it_is_killed_leaves_nothing_wrong() {
    let _alone = alone();
    let scene = Scene::new();
    let mut ironward = scene.start();
    for (moment, at) in [(Moment::Before, 1), (Moment::After, 2)] {
        ironward = at_the_claim(&scene, &ironward, moment, at);
        ironward = at_the_taking_over(&scene, &ironward, moment, at);
        ironward = at_the_taking_back(&scene, &ironward, moment, at);
        ironward = at_the_sweep(&scene, &ironward, moment, at);
        ironward = at_the_rebuilding(&scene, &ironward, moment, at);
        scene.kubectl.expect(&["delete", "bmh", "--all"]).unwrap();
        scene.expect_claims(&[]);
    }
}

/// A create whose claim is, or is not, stored; the host is not.
fn at_the_claim(scene: &Scene, ironward: &Ironward, moment: Moment, at: u8) -> Ironward {
    let mac = format!("52:54:00:00:00:0{at}");
    let ironward = scene.kill_at(ironward, moment, &["POST"], &mac, || {
        let answer = create(&scene.kubectl, "a", &mac, "");
        assert!(!answer.success, "nobody could have admitted it");
    });
    assert!(!scene.kubectl.run(&["get", "bmh", "a"]).unwrap().success);
    until("another can have it", || create(&scene.kubectl, "b", &mac, "").err, String::is_empty);
    let refused = create(&scene.kubectl, "a", &mac, "");
    assert!(!refused.success && refused.err.contains("default/b"), "{}", refused.err);
    scene.expect_claims(&[(&format!("0{at}"), "b")]);
    ironward
}

/// The holder is gone, and another takes its place, whether or not the claim was swept away by then.
fn at_the_taking_over(scene: &Scene, ironward: &Ironward, moment: Moment, at: u8) -> Ironward {
    let mac = format!("52:54:00:00:00:0{at}");
    scene.kubectl.expect(&["delete", "bmh", "b"]).unwrap();
    let ironward = scene.kill_at(ironward, moment, &["POST", "PATCH"], &mac, || {
        let taken = || create(&scene.kubectl, "c", &mac, "");
        until("it is killed", taken, |answer| !answer.err.contains("claimed moments ago"));
    });
    until("it can be had", || create(&scene.kubectl, "d", &mac, "").err, String::is_empty);
    scene.expect_claims(&[(&format!("0{at}"), "d")]);
    ironward
}

/// One key is claimed, the other is refused, so the first is given back.
fn at_the_taking_back(scene: &Scene, ironward: &Ironward, moment: Moment, at: u8) -> Ironward {
    let (mac, bmc) = (format!("52:54:00:00:00:0{at}"), format!("ipmi://192.0.2.{at}"));
    let ironward = scene.kill_at(ironward, moment, &["DELETE"], "unique-bmc-endpoint", || {
        let answer = create(&scene.kubectl, "e", &mac, &bmc);
        assert!(!answer.success, "its address is another's");
    });
    let claimed = || claims(&scene.kubectl, "unique-bmc-endpoint");
    until("what nobody has is let go", claimed, Vec::is_empty);
    let other =
        until("it can be had", || create(&scene.kubectl, "e", "", &bmc).err, String::is_empty);
    assert_eq!(other, "");
    scene.kubectl.expect(&["delete", "bmh", "e"]).unwrap();
    ironward
}

/// A host is deleted, and its claim with it.
fn at_the_sweep(scene: &Scene, ironward: &Ironward, moment: Moment, at: u8) -> Ironward {
    let claim = format!("unique-boot-mac.52-54-00-00-00-0{at}");
    let ironward = scene.kill_at(ironward, moment, &["DELETE"], &claim, || {
        scene.kubectl.expect(&["delete", "bmh", "d"]).unwrap();
    });
    scene.expect_claims(&[]);
    ironward
}

/// Somebody deletes a claim of a host that is there.
fn at_the_rebuilding(scene: &Scene, ironward: &Ironward, moment: Moment, at: u8) -> Ironward {
    let mac = format!("52:54:00:00:00:1{at}");
    assert!(create(&scene.kubectl, "f", &mac, "").success);
    let ironward = scene.kill_at(ironward, moment, &["POST"], &mac, || {
        let selector = "ironward.dev/unique-policy=unique-boot-mac";
        scene.kubectl.expect(&["delete", "leases", "--selector", selector]).unwrap();
    });
    scene.expect_claims(&[(&format!("1{at}"), "f")]);
    let refused = create(&scene.kubectl, "g", &mac, "");
    assert!(!refused.success && refused.err.contains("default/f"), "{}", refused.err);
    ironward
}
