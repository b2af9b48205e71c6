//! One test's part of the stage: a namespace with a cluster and hosts that no other test has.

use crate::stage::{PATIENCE, Stage};
use anyhow::Result;
use ironward_e2e::{
    eventually::eventually,
    kubectl::Kubectl,
    machines::{Cluster, Keeper, Template},
    watched::Seen,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    sync::atomic::{AtomicU8, Ordering},
};

pub struct Scene<'a> {
    pub stage: &'a Stage,
    pub kubectl: Kubectl,
    pub cluster: Cluster,
    pub namespace: String,
}

impl<'a> Scene<'a> {
    /// With a cluster that has no machines yet.
    pub fn new(stage: &'a Stage, name: &str, keeper: Keeper) -> Self {
        let kubectl = stage.plane.kubectl();
        kubectl.expect(&["create", "namespace", name]).unwrap();
        let kubectl = kubectl.in_namespace(name);
        let create = || Cluster::create(&stage.plane, &kubectl, name, keeper);
        let cluster = eventually(PATIENCE, "a cluster is stored", create).unwrap();
        Self { stage, kubectl, cluster, namespace: name.to_owned() }
    }

    /// With a control plane that is initialized, by the Node of a host of its own.
    pub fn with_control_plane(stage: &'a Stage, name: &str) -> Self {
        let scene = Self::new(stage, name, Keeper::Nobody);
        scene.hosts("control-plane", 1);
        scene.apply(&scene.cluster.control_plane_machine("control-plane-0", Some("control-plane")));
        scene
    }

    /// Creates hosts `<namespace>-<pool>-<number>`, labelled with their pool.
    pub fn hosts(&self, pool: &str, count: u8) -> Vec<String> {
        static NUMBER: AtomicU8 = AtomicU8::new(1);
        let first = NUMBER.fetch_add(count, Ordering::Relaxed);
        let names: Vec<_> =
            (0..count).map(|number| format!("{}-{pool}-{number}", self.namespace)).collect();
        let objects: Vec<Value> = names
            .iter()
            .zip(first..)
            .flat_map(|(name, number)| {
                let secret = json!({
                    "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
                    "stringData": {"username": "root", "password": "calvin"},
                });
                let host = json!({
                    "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
                    "metadata": {"name": name, "labels": {"pool": pool}},
                    "spec": {
                        "online": true, "inspectionMode": "disabled",
                        "bootMACAddress": format!("52:54:00:00:00:{number:02x}"),
                        "bmc": {
                            "address": format!("redfish://192.0.2.{number}/redfish/v1/Systems/1"),
                            "credentialsName": name,
                        },
                    },
                });
                [secret, host]
            })
            .collect();
        self.apply(&objects);
        names
    }

    /// Stores objects; again where somebody was not there who has to be asked.
    pub fn apply(&self, objects: &[Value]) {
        self.insist("stored", || self.cluster.apply(objects));
    }

    /// Deletes a host that nobody has, and waits until it is gone.
    pub fn delete_host(&self, name: &str) {
        let allow = ["annotate", "bmh", name, "--overwrite", "ironward.dev/allow-delete="];
        self.insist("allowed", || self.kubectl.expect(&allow).map(drop));
        let delete = ["delete", "bmh", name, "--wait=false"];
        self.insist("deleted", || self.kubectl.expect(&delete).map(drop));
        self.until(&format!("{name} is gone"), |seen| {
            let host = seen.get("BareMetalHost", &self.namespace, name);
            host.map_or(Ok(()), |host| Err(format!("{host:#}")))
        });
    }

    pub fn template(&self, template: &Template) {
        self.apply(&[self.cluster.template(template)]);
    }

    /// Changes an object, and waits until that is seen where it is watched.
    pub fn patch(&self, kind: &str, name: &str, patch: &Value) {
        let patch = patch.to_string();
        let mut stored = String::new();
        self.insist("changed", || {
            let output = "--output=jsonpath={.kind} {.metadata.resourceVersion}";
            stored = self.kubectl.expect(&[
                "patch",
                kind,
                name,
                "--type=merge",
                "--patch",
                &patch,
                output,
            ])?;
            Ok(())
        });
        let (kind, version) = stored.split_once(' ').unwrap();
        let version: u64 = version.parse().unwrap();
        self.until(&format!("the change of {kind} {name} is seen"), |seen| {
            let Ok(object) = seen.get(kind, &self.namespace, name) else { return Ok(()) };
            let seen = object["metadata"]["resourceVersion"].as_str();
            let seen = seen.and_then(|seen| seen.parse::<u64>().ok());
            if seen >= Some(version) { Ok(()) } else { Err(format!("{seen:?}")) }
        });
    }

    /// Changes an object, unless somebody has taken it away meanwhile.
    pub fn patch_if_there(&self, kind: &str, name: &str, patch: &Value) -> Result<()> {
        let patch = patch.to_string();
        let patch = ["patch", kind, name, "--type=merge", "--patch", &patch];
        match self.kubectl.expect(&patch) {
            Err(error) if format!("{error:#}").contains("(NotFound)") => Ok(()),
            patched => patched.map(drop),
        }
    }

    /// Has a MachineDeployment or a control plane roll to another template.
    pub fn roll_to(&self, kind: &str, name: &str, template: &str) {
        let reference = json!({"infrastructureRef": {"name": template}});
        let spec = if kind == "kubeadmcontrolplane" {
            json!({"machineTemplate": {"spec": reference}})
        } else {
            json!({"template": {"spec": reference}})
        };
        self.patch(kind, name, &json!({"spec": spec}));
    }

    pub fn insist(&self, what: &str, mut work: impl FnMut() -> Result<()>) {
        self.telling(eventually(PATIENCE, what, || work().map_err(|error| format!("{error:#}"))));
    }

    /// Waits until all that is seen is as it should be.
    pub fn until<T, S: Display>(&self, what: &str, look: impl FnMut(&Seen) -> Result<T, S>) -> T {
        self.telling(self.stage.watched.until(PATIENCE, what, look))
    }

    fn telling<T>(&self, seen: Result<T>) -> T {
        match seen {
            Ok(seen) => seen,
            Err(error) => {
                let objects = self.stage.watched.now(|seen| self.story(seen));
                panic!("{}: {error:#}\n{objects}\n{}", self.namespace, self.stage.last_words())
            }
        }
    }

    /// What stands around, in short.
    fn story(&self, seen: &Seen) -> String {
        let mut lines = Vec::new();
        for kind in ["BareMetalHost", "Metal3Machine", "Machine", "MachineDeployment", "Cluster"] {
            for object in seen.all(kind, &self.namespace) {
                let metadata = &object["metadata"];
                lines.push(format!(
                    "{kind} {} labels={} deleted={} consumer={} status={}",
                    metadata["name"],
                    metadata["labels"],
                    metadata["deletionTimestamp"],
                    object["spec"]["consumerRef"]["name"],
                    object["status"],
                ));
            }
        }
        lines.join("\n")
    }

    /// Waits until as many machines as wanted are there, all up to date and available, and no other.
    pub fn until_rolled(&self, deployment: &str) -> BTreeSet<String> {
        self.until(&format!("{deployment} is rolled out"), |seen| {
            let owner = seen
                .get("MachineDeployment", &self.namespace, deployment)
                .map_err(|error| error.to_string())?;
            let template = &owner["spec"]["template"]["spec"]["infrastructureRef"]["name"];
            let machines =
                machines_of(seen, &self.namespace, ("deployment", deployment), template)?;
            is_rolled(owner, machines.len()).map(|()| hosts_of(seen, &self.namespace, &machines))
        })
    }

    /// The same of the control plane.
    pub fn until_control_plane_rolled(&self) -> BTreeSet<String> {
        self.until("the control plane is rolled out", |seen| {
            let owner = seen
                .get("KubeadmControlPlane", &self.namespace, &self.cluster.name)
                .map_err(|error| error.to_string())?;
            let label = ("cluster.x-k8s.io/control-plane-name", self.cluster.name.as_str());
            let template = &owner["spec"]["machineTemplate"]["spec"]["infrastructureRef"]["name"];
            let machines = machines_of(seen, &self.namespace, label, template)?;
            is_rolled(owner, machines.len()).map(|()| hosts_of(seen, &self.namespace, &machines))
        })
    }
}

fn is_rolled(owner: &Value, machines: usize) -> Result<(), String> {
    let (wanted, status) = (&owner["spec"]["replicas"], &owner["status"]);
    let is_so = status["observedGeneration"] == owner["metadata"]["generation"]
        && status["replicas"] == *wanted
        && status["upToDateReplicas"] == *wanted
        && status["availableReplicas"] == *wanted
        && *wanted == json!(machines);
    if is_so { Ok(()) } else { Err(format!("{machines} machines, {status}")) }
}

/// The names of the Metal3Machines with a label, also of those that are being deleted, if all were made from this template: the owner
/// may say that it has seen a change before it counts by it.
fn machines_of(
    seen: &Seen,
    namespace: &str,
    (label, value): (&str, &str),
    template: &Value,
) -> Result<BTreeSet<String>, String> {
    let mut machines = BTreeSet::new();
    for machine in seen.all("Metal3Machine", namespace) {
        let metadata = &machine["metadata"];
        if metadata["labels"][label] != value {
            continue;
        }
        let of = &metadata["annotations"]["cluster.x-k8s.io/cloned-from-name"];
        if of != template {
            return Err(format!("{} is of {of}, not {template}", name(machine)));
        }
        machines.insert(name(machine));
    }
    Ok(machines)
}

/// The hosts that these machines hold.
pub fn hosts_of(seen: &Seen, namespace: &str, machines: &BTreeSet<String>) -> BTreeSet<String> {
    seen.all("BareMetalHost", namespace)
        .filter(|host| {
            let consumer = &host["spec"]["consumerRef"];
            let name = consumer["name"].as_str().unwrap_or_default();
            consumer["kind"] == "Metal3Machine" && machines.contains(name)
        })
        .map(name)
        .collect()
}

pub fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

/// The label of a host that is kept for a pool.
pub const REUSE: &str = "infrastructure.cluster.x-k8s.io/node-reuse";

pub fn reserved_for(host: &Value) -> Option<&str> {
    host["metadata"]["labels"][REUSE].as_str()
}

/// The Metal3Machine that holds a host.
pub fn consumer(host: &Value) -> Option<&str> {
    let consumer = &host["spec"]["consumerRef"];
    consumer["name"].as_str().filter(|_| consumer["kind"] == "Metal3Machine")
}

impl Scene<'_> {
    /// Looks back on all that was stored of the hosts: no host went from one machine to another without being free in between, and
    /// none that was kept for a pool went to another. Says for which pools hosts were kept.
    pub fn pools_that_kept_hosts(&self) -> BTreeSet<String> {
        self.stage.watched.now(|seen| {
            let pool_of: BTreeMap<String, String> = seen
                .past("Metal3Machine", &self.namespace)
                .map(|machine| (name(machine), pool_of(machine)))
                .collect();
            let mut last: BTreeMap<String, &Value> = BTreeMap::new();
            let mut pools = BTreeSet::new();
            for host in seen.past("BareMetalHost", &self.namespace) {
                pools.extend(reserved_for(host).map(str::to_owned));
                let Some(before) = last.insert(name(host), host) else { continue };
                let Some(machine) = consumer(host) else { continue };
                assert!(
                    consumer(before).is_none_or(|held_by| held_by == machine),
                    "{} went from one machine to another at once: {before:#} {host:#}",
                    name(host)
                );
                if let Some(pool) = reserved_for(before)
                    && consumer(before).is_none()
                {
                    assert_eq!(pool_of[machine], pool, "{} went to a stranger", name(host));
                    assert_eq!(reserved_for(host), None, "{} is still kept", name(host));
                }
            }
            pools
        })
    }
}

/// What the hosts of a machine are kept for.
fn pool_of(machine: &Value) -> String {
    let labels = &machine["metadata"]["labels"];
    let of =
        |label: &str, prefix: &str| labels[label].as_str().map(|name| format!("{prefix}-{name}"));
    of("cluster.x-k8s.io/control-plane-name", "cp")
        .or_else(|| of("deployment", "md"))
        .unwrap_or_default()
}
