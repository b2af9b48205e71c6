//! Many hosts, and machines without Cluster API: for who wants to know what it costs to bring the two together. Hosts are available because
//! somebody says so, or because an operator with a simulation makes them so.

use crate::{
    control_plane::ControlPlane,
    machines::INFRASTRUCTURE,
    watched::{Kind, Watched},
};
use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};
use kube::{
    Api, Client,
    api::{
        ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams,
    },
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::Range,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::runtime::Runtime;

/// As many as a few clients make at a time.
const AT_ONCE: usize = 16;
const LOOK: Duration = Duration::from_millis(200);

/// Who makes hosts what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hosts {
    /// We do.
    Played,
    /// An operator that has a simulation of machines.
    Simulated,
}

const HOST: Kind = ("metal3.io", "v1alpha1", "BareMetalHost");
const METAL3_MACHINE: Kind = (INFRASTRUCTURE, "v1beta2", "Metal3Machine");
const MACHINE: Kind = ("cluster.x-k8s.io", "v1beta2", "Machine");
const NODE: Kind = ("", "v1", "Node");

/// The hosts and machines of a namespace, whose cluster has the same name.
pub struct PlayedHosts {
    runtime: Runtime,
    client: Client,
    namespace: String,
    watched: Watched,
    under: Hosts,
    writes_images: AtomicBool,
}

impl fmt::Debug for PlayedHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlayedHosts").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl PlayedHosts {
    /// Without any hosts yet.
    pub fn start(plane: &ControlPlane, namespace: &str, under: Hosts) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let client = plane.client(&runtime)?;
        let watched = Watched::start(plane.admin_kubeconfig(), &[HOST, METAL3_MACHINE])?;
        let namespace = namespace.to_owned();
        Ok(Self {
            runtime,
            client,
            namespace,
            watched,
            under,
            writes_images: AtomicBool::default(),
        })
    }

    /// Creates hosts, each with a Secret of its own: operators write to it.
    pub fn create(&self, numbers: Range<usize>) -> Result<()> {
        let secrets = self.api(("", "v1", "Secret"));
        self.each(numbers, async |api: Api<DynamicObject>, number| {
            let secret = json!({
                "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name(number)},
                "stringData": {"username": "root", "password": "calvin"},
            });
            secrets.create(&PostParams::default(), &serde_json::from_value(secret)?).await?;
            let host: DynamicObject = serde_json::from_value(host(number))?;
            api.create(&PostParams::default(), &host).await?;
            if self.under == Hosts::Played {
                let patch = Patch::Merge(status("available", &Value::Null));
                api.patch_status(&name(number), &PatchParams::default(), &patch).await?;
            }
            Ok(())
        })
    }

    fn api(&self, kind: Kind) -> Api<DynamicObject> {
        let (group, version, kind) = kind;
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    /// Does something for each number, several at a time.
    fn each(
        &self,
        numbers: Range<usize>,
        work: impl AsyncFn(Api<DynamicObject>, usize) -> Result<()>,
    ) -> Result<()> {
        let api = self.api(HOST);
        self.runtime.block_on(
            stream::iter(numbers)
                .map(|number| work(api.clone(), number))
                .buffer_unordered(AT_ONCE)
                .try_collect(),
        )
    }

    /// Creates machines as Cluster API has them when they want infrastructure.
    pub fn create_machines(&self, numbers: Range<usize>) -> Result<()> {
        let (api, cluster) = (self.api(MACHINE), &self.namespace);
        self.each(numbers, async |_, number| {
            let machine = json!({
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
                "metadata": {"name": name(number), "labels": labels(cluster)},
                "spec": {
                    "clusterName": cluster, "bootstrap": {"dataSecretName": "join"},
                    "infrastructureRef": {
                        "apiGroup": INFRASTRUCTURE, "kind": "Metal3Machine", "name": name(number),
                    },
                },
            });
            api.create(&PostParams::default(), &serde_json::from_value(machine)?).await?;
            Ok(())
        })
    }

    /// Creates their infrastructure, which is all that a provider waits for.
    pub fn create_metal3_machines(&self, numbers: Range<usize>) -> Result<()> {
        let owners = self.runtime.block_on(self.api(MACHINE).list(&ListParams::default()))?;
        let owners: BTreeMap<_, _> =
            owners.items.into_iter().map(|it| (it.metadata.name, it.metadata.uid)).collect();
        let (api, cluster) = (self.api(METAL3_MACHINE), &self.namespace);
        self.each(numbers, async |_, number| {
            let name = name(number);
            let owner = owners.get(&Some(name.clone())).context("there are fewer Machines")?;
            let machine = json!({
                "apiVersion": format!("{INFRASTRUCTURE}/v1beta2"), "kind": "Metal3Machine",
                "metadata": {
                    "name": name, "labels": labels(cluster),
                    "ownerReferences": [{
                        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "controller": true,
                        "name": name, "uid": owner,
                    }],
                },
                "spec": {"image": {
                    "url": "http://192.0.2.200/node-v1.36.1.qcow2",
                    "checksum": "http://192.0.2.200/SHA256SUMS", "checksumType": "sha256",
                    "diskFormat": "qcow2",
                }},
            });
            api.create(&PostParams::default(), &serde_json::from_value(machine)?).await?;
            Ok(())
        })
    }

    /// From now on images are written to hosts that are to have one, at once, and a Node comes up; and disks are given back. Where an operator
    /// does all that, only Nodes come up.
    pub fn write_images(&self) {
        if self.writes_images.swap(true, Ordering::Relaxed) {
            return;
        }
        let (hosts, watched, under) = (self.api(HOST), self.watched.clone(), self.under);
        let namespace = self.namespace.clone();
        let (group, version, kind) = NODE;
        let node = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let nodes = Api::<DynamicObject>::all_with(self.client.clone(), &node);
        // For as long as the runtime is there.
        self.runtime.spawn(async move {
            let up = Mutex::new(BTreeSet::new());
            loop {
                let due = watched.now(|seen| {
                    let all = seen.all("BareMetalHost", &namespace);
                    match under {
                        Hosts::Played => all.filter_map(due).collect::<Vec<_>>(),
                        Hosts::Simulated => all.filter_map(booted).collect(),
                    }
                });
                stream::iter(due)
                    .for_each_concurrent(AT_ONCE, |(name, uid, status)| {
                        let (hosts, nodes, up) = (&hosts, &nodes, &up);
                        async move {
                            if under == Hosts::Simulated && lock(up).contains(&uid) {
                                return;
                            }
                            let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {
                                "name": name,
                                "labels": {"metal3.io/uuid": uid, "kubernetes.io/hostname": name},
                            }});
                            // Whatever fails is found due again.
                            if let Ok(node) = serde_json::from_value(node)
                                && nodes.create(&PostParams::default(), &node).await.is_ok()
                            {
                                lock(up).insert(uid);
                            }
                            if under == Hosts::Played {
                                let patch = Patch::Merge(status);
                                let _ = hosts
                                    .patch_status(&name, &PatchParams::default(), &patch)
                                    .await;
                            }
                        }
                    })
                    .await;
                tokio::time::sleep(LOOK).await;
            }
        });
    }

    /// How many hosts are available.
    #[must_use]
    pub fn available(&self) -> usize {
        self.count("BareMetalHost", |host| host["status"]["provisioning"]["state"] == "available")
    }

    /// How many hosts have a machine.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.count("BareMetalHost", |host| host["spec"]["consumerRef"]["kind"] == "Metal3Machine")
    }

    /// How many machines are provisioned.
    #[must_use]
    pub fn provisioned(&self) -> usize {
        self.count("Metal3Machine", |it| it["status"]["initialization"]["provisioned"] == true)
    }

    fn count(&self, kind: &str, counts: impl Fn(&Value) -> bool) -> usize {
        self.watched.now(|seen| seen.all(kind, &self.namespace).filter(|it| counts(it)).count())
    }
}

fn lock(up: &Mutex<BTreeSet<String>>) -> MutexGuard<'_, BTreeSet<String>> {
    up.lock().unwrap_or_else(PoisonError::into_inner)
}

fn name(number: usize) -> String {
    format!("number-{number}")
}

fn labels(cluster: &str) -> Value {
    json!({"cluster.x-k8s.io/cluster-name": cluster})
}

fn host(number: usize) -> Value {
    let [.., a, b, c] = number.to_be_bytes();
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": name(number)},
        "spec": {
            "online": true, "bootMACAddress": format!("02:00:00:{a:02x}:{b:02x}:{c:02x}"),
            "bmc": {
                "address": format!("redfish://10.{a}.{b}.{c}/redfish/v1/Systems/1"),
                "credentialsName": name(number),
            },
        },
    })
}

fn status(state: &str, image: &Value) -> Value {
    json!({"status": {
        "operationalStatus": "OK", "errorMessage": "", "errorCount": 0,
        "poweredOn": state == "provisioned",
        "provisioning": {"ID": "00000000-0000-0000-0000-000000000000", "state": state, "image": image},
    }})
}

/// A host on which an image runs: its name and id.
fn booted(host: &Value) -> Option<(String, String, Value)> {
    let metadata = &host["metadata"];
    let is_booted = host["status"]["provisioning"]["state"] == "provisioned";
    let text = |value: &Value| value.as_str().map(str::to_owned);
    is_booted.then_some((text(&metadata["name"])?, text(&metadata["uid"])?, Value::Null))
}

/// What the operator of hosts would do now: the host's name and id, and its new status.
fn due(host: &Value) -> Option<(String, String, Value)> {
    let (image, state) =
        (&host["spec"]["image"], host["status"]["provisioning"]["state"].as_str()?);
    let state = match state {
        "available" if image["url"].is_string() => "provisioned",
        "provisioned" if image["url"].is_null() => "available",
        _ => return None,
    };
    let metadata = &host["metadata"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Some((text(&metadata["name"])?, text(&metadata["uid"])?, status(state, image)))
}
