//! What all tests share: a stage on which machines are remediated, and what is looked at there.

use crate::{
    scene::{Scene, consumer, name},
    stage::{CONTROLLERS, Stage, provide},
};
use ::ironward::adapters::clock;
use ironward_e2e::{
    eventually::eventually,
    ironward::{self, Options},
    machines::{INFRASTRUCTURE, Template},
    node::apart::{self, Apart},
    watched::{Kind, Seen, Watched},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fmt::Display,
    process::Command,
    sync::{Mutex, OnceLock, PoisonError},
    time::Duration,
};

/// Two attempts of a hundred seconds each, which is the least that there is, and what is around them.
pub const PATIENCE: Duration = Duration::from_mins(8);

const KINDS: [Kind; 2] =
    [(INFRASTRUCTURE, "v1beta2", "Metal3Remediation"), ("ironward.dev", "v1alpha1", "HostHistory")];

/// Runs a test on the stage that all share, whose hosts are a demo.
pub fn on_stage(test: impl FnOnce(&Stage) + Send) {
    static SHARED: OnceLock<Option<(Apart, Stage)>> = OnceLock::new();
    if let Some((apart, stage)) = SHARED.get_or_init(start) {
        apart.within(|| test(stage)).unwrap();
    }
}

/// Runs one on a stage of its own: where Ironward is killed, for others would notice.
pub fn on_own_stage(test: impl FnOnce(&Stage) + Send) {
    if let Some((apart, stage)) = start() {
        apart.within(|| test(&stage)).unwrap();
    }
}

/// Starts something large. One after the other, for together they take longer than some of them wait.
pub fn starting<T>(start: impl FnOnce() -> T) -> T {
    static STARTING: Mutex<()> = Mutex::new(());
    let _alone = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    start()
}

/// None where it has to be skipped.
fn start() -> Option<(Apart, Stage)> {
    if apart::is_skipped() {
        return None;
    }
    provide();
    let apart = Apart::provide().unwrap();
    let demo = ["--provisioner=demo", "--demo-seconds=1"].map(str::to_owned);
    let flags = [controllers()].into_iter().chain(demo).collect();
    let options = Options { flags, ..Options::default() };
    let stage = starting(|| apart.within(|| Stage::start(options))).unwrap();
    Some((apart, stage))
}

pub fn controllers() -> String {
    format!("{CONTROLLERS},remediation")
}

/// The remediations and histories of a stage.
pub struct Remediations<'a> {
    scene: &'a Scene<'a>,
    watched: Watched,
}

impl<'a> Remediations<'a> {
    pub fn of(scene: &'a Scene<'a>) -> Self {
        let kubeconfig = scene.stage.plane.admin_kubeconfig();
        Self { scene, watched: Watched::start(kubeconfig, &KINDS).unwrap() }
    }

    /// Waits until they are as they should be.
    pub fn until<T, S: Display>(&self, what: &str, look: impl FnMut(&Seen) -> Result<T, S>) -> T {
        self.watched.until(PATIENCE, what, look).unwrap_or_else(|error| {
            panic!("{}: {error:#}\n{}", self.scene.namespace, self.scene.stage.last_words())
        })
    }

    /// Waits until one is in a phase.
    pub fn until_phase(&self, machine: &str, phase: &str) -> Value {
        self.until(&format!("{machine} is {phase}"), |seen| {
            let found = seen.get("Metal3Remediation", &self.scene.namespace, machine);
            let found = found.map_err(|error| error.to_string())?;
            if found["status"]["phase"] == phase {
                Ok(found.clone())
            } else {
                Err(format!("{found:#}"))
            }
        })
    }

    /// Waits until one says why nothing is done, in this word.
    pub fn until_reason(&self, machine: &str, reason: &str) -> Value {
        self.until(&format!("{machine}: {reason}"), |seen| {
            let found = seen.get("Metal3Remediation", &self.scene.namespace, machine);
            let found = found.map_err(|error| error.to_string())?;
            if found["status"]["conditions"][0]["reason"] == reason {
                Ok(found.clone())
            } else {
                Err(format!("{found:#}"))
            }
        })
    }

    /// Whether Ironward itself deleted one because its machine was well, and not whoever made it.
    pub fn ended_by_itself(&self, machine: &str) -> bool {
        self.watched.now(|seen| {
            let past = seen.past("Metal3Remediation", &self.scene.namespace);
            let mut past = past.filter(|it| name(it) == machine);
            past.any(|it| it["status"]["conditions"][0]["reason"] == "Recovered")
        })
    }

    /// Waits until one that was there is gone.
    pub fn until_gone(&self, machine: &str) {
        self.until(&format!("{machine} is remediated"), |seen| {
            let has_been = seen
                .past("Metal3Remediation", &self.scene.namespace)
                .any(|it| it["metadata"]["name"] == machine);
            match seen.get("Metal3Remediation", &self.scene.namespace, machine) {
                Err(_) if has_been => Ok(()),
                Err(error) => Err(error.to_string()),
                Ok(found) => Err(format!("{found:#}")),
            }
        });
    }

    /// Waits until the history of a host is as it should be.
    pub fn until_history(&self, host: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        self.until(&format!("{host}: {what}"), |seen| {
            let found = seen.get("HostHistory", &self.scene.namespace, host);
            let found = found.map_err(|error| error.to_string())?;
            if is_so(found) { Ok(found.clone()) } else { Err(format!("{found:#}")) }
        })
    }

    /// How many were at work at one time, at most, by all that was heard of them.
    pub fn most_at_one_time(&self) -> usize {
        self.watched.now(|seen| {
            let mut active = BTreeMap::new();
            let past = seen.past("Metal3Remediation", &self.scene.namespace);
            past.map(|it| {
                let is_active =
                    it["status"]["phase"] == "Running" || it["status"]["phase"] == "Waiting";
                active.insert(name(it), is_active && it["metadata"]["deletionTimestamp"].is_null());
                active.values().filter(|it| **it).count()
            })
            .max()
            .unwrap_or_default()
        })
    }
}

/// How often a host was switched off, by all that was heard of it.
pub fn times_off(scene: &Scene<'_>, host: &str) -> usize {
    scene.stage.watched.now(|seen| {
        let past = seen.past("BareMetalHost", &scene.namespace).filter(|it| name(it) == host);
        let power: Vec<_> = past.map(|it| it["status"]["poweredOn"] == true).collect();
        power.windows(2).filter(|pair| pair[0] && !pair[1]).count()
    })
}

/// The machine that has a host.
pub fn machine_of(scene: &Scene<'_>, host: &str) -> String {
    scene.stage.watched.now(|seen| {
        let host = seen.get("BareMetalHost", &scene.namespace, host).unwrap();
        consumer(host).unwrap().to_owned()
    })
}

/// A deployment of machines, remediated by reboots as often as it says.
pub fn deploy(scene: &Scene<'_>, template: &Template, replicas: u16, retry_limit: u32) {
    scene.template(template);
    let machines = scene.cluster.machine_deployment("workers", replicas, &template.name);
    scene.apply(&[machines, reboot(retry_limit)]);
}

/// What is to be done about machines that are not well.
pub fn reboot(retry_limit: u32) -> Value {
    json!({
        "apiVersion": format!("{INFRASTRUCTURE}/v1beta2"), "kind": "Metal3RemediationTemplate",
        "metadata": {"name": "reboot"},
        "spec": {"template": {"spec": {"strategy": {
            "type": "Reboot", "retryLimit": retry_limit, "timeoutSeconds": 100,
        }}}},
    })
}

/// A MachineHealthCheck that has them remediated, all at one time if need be.
pub fn check(scene: &Scene<'_>) {
    check_those(scene, &json!({"deployment": "workers"}));
}

/// The same for the machines with these labels.
pub fn check_those(scene: &Scene<'_>, labels: &Value) {
    let mut check = plain_check(scene);
    check["spec"]["selector"]["matchLabels"] = labels.clone();
    check["spec"]["remediation"]["triggerIf"] = json!({"unhealthyLessThanOrEqualTo": "100%"});
    scene.apply(&[check]);
}

/// One that says nothing of how many.
pub fn plain_check(scene: &Scene<'_>) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck",
        "metadata": {"name": "workers"},
        "spec": {
            "clusterName": scene.cluster.name,
            "selector": {"matchLabels": {"deployment": "workers"}},
            "checks": {"unhealthyNodeConditions": [
                {"type": "Ready", "status": "False", "timeoutSeconds": 1},
                {"type": "Ready", "status": "Unknown", "timeoutSeconds": 1},
            ], "nodeStartupTimeoutSeconds": 30},
            "remediation": {"templateRef": {
                "apiVersion": format!("{INFRASTRUCTURE}/v1beta2"),
                "kind": "Metal3RemediationTemplate", "name": "reboot",
            }},
        },
    })
}

/// Waits until Nodes have not been ready for longer than MachineHealthCheck waits. Whoever it finds later has to be lucky: it does not go on to the
/// next machine when it meets one that is being remediated, and meets them in any order.
pub fn until_lost<'a>(scene: &Scene<'_>, nodes: impl IntoIterator<Item = &'a String>) {
    let nodes: Vec<_> = nodes.into_iter().collect();
    let is_lost = |seen: &Seen, node: &str| {
        let node = seen.get("Node", "", node).ok()?;
        let mut conditions = node["status"]["conditions"].as_array()?.iter();
        let ready = conditions.find(|it| it["type"] == "Ready" && it["status"] != "True")?;
        let since: Time = serde_json::from_value(ready["lastTransitionTime"].clone()).ok()?;
        (clock::now().duration_since(since.0).as_secs() > 3).then_some(())
    };
    eventually(PATIENCE, "Nodes are lost", || {
        let others = scene.stage.watched.now(|seen| {
            let others = nodes.iter().filter(|node| is_lost(seen, node).is_none());
            others.map(|node| (*node).clone()).collect::<Vec<_>>()
        });
        if others.is_empty() { Ok(()) } else { Err(others.join(" ")) }
    })
    .unwrap();
}

/// Waits until a host is as it should be.
pub fn until_host(scene: &Scene<'_>, host: &str, what: &str, is_so: impl Fn(&Value) -> bool) {
    scene
        .stage
        .watched
        .until(PATIENCE, &format!("{host}: {what}"), |seen| {
            let found = seen.get("BareMetalHost", &scene.namespace, host);
            let found = found.map_err(|error| error.to_string())?;
            if is_so(found) { Ok(()) } else { Err(format!("{found:#}")) }
        })
        .unwrap_or_else(|error| panic!("{error:#}\n{}", scene.stage.last_words()));
}

pub fn pool(template: &str) -> Template {
    Template { name: template.to_owned(), pool: Some("workers".to_owned()), ..Template::default() }
}

/// Whether somebody decides about a host's power by an annotation, and by which.
pub fn reboots(host: &Value) -> impl Iterator<Item = &str> {
    let annotations = host["metadata"]["annotations"].as_object();
    let keys = annotations.into_iter().flatten().map(|(key, _)| key.as_str());
    keys.filter(|key| key.starts_with("reboot.metal3.io"))
}

/// Whether a host ever was in a way, by all that was heard of it.
pub fn was_so(scene: &Scene<'_>, host: &str, is_so: impl Fn(&Value) -> bool) -> bool {
    scene.stage.watched.now(|seen| {
        let past = seen.past("BareMetalHost", &scene.namespace);
        past.filter(|it| name(it) == host).any(is_so)
    })
}

/// What is typed, in the namespace of a scene.
pub fn run(scene: &Scene<'_>, arguments: &[&str]) -> String {
    let output = Command::new(ironward::binary().unwrap())
        .args(arguments)
        .args(["--namespace", &scene.namespace])
        .env("KUBECONFIG", scene.stage.plane.admin_kubeconfig())
        .output()
        .unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {out}{err}");
    out.into_owned()
}
