//! Hosts that are available because somebody says so, and machines without Cluster API: for who wants to know what it costs to bring
//! the two together, and nothing else.

use crate::{
    control_plane::ControlPlane,
    machines::INFRASTRUCTURE,
    watched::{Kind, Watched},
};
use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};
use kube::{
    Api, Client, Config,
    api::{
        ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
        PostParams,
    },
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::runtime::Runtime;

/// As many as a few clients make at a time.
const AT_ONCE: usize = 16;
const LOOK: Duration = Duration::from_millis(200);

/// The Secret of all BMCs.
const CREDENTIALS: &str = "bmc";

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
    writes_images: Arc<AtomicBool>,
}

impl fmt::Debug for PlayedHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlayedHosts").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl PlayedHosts {
    /// Creates hosts, all of them available.
    pub fn start(plane: &ControlPlane, namespace: &str, count: usize) -> Result<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let kubeconfig = Kubeconfig::read_from(plane.admin_kubeconfig())?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let client = runtime.block_on(async {
            let options = KubeConfigOptions::default();
            let config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
            anyhow::Ok(Client::try_from(config)?)
        })?;
        let watched = Watched::start(plane.admin_kubeconfig(), &[HOST, METAL3_MACHINE])?;
        let namespace = namespace.to_owned();
        let hosts = Self { runtime, client, namespace, watched, writes_images: Arc::default() };
        hosts.create_credentials()?;
        hosts.each(count, async |api: Api<DynamicObject>, number| {
            let host: DynamicObject = serde_json::from_value(host(number))?;
            api.create(&PostParams::default(), &host).await?;
            let patch = Patch::Merge(status("available", &Value::Null));
            api.patch_status(&name(number), &PatchParams::default(), &patch).await?;
            Ok(())
        })?;
        Ok(hosts)
    }

    /// What all BMCs take, which CAPM3 labels when it takes a host.
    fn create_credentials(&self) -> Result<()> {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": CREDENTIALS},
            "stringData": {"username": "root", "password": "calvin"},
        });
        let secret = serde_json::from_value(secret)?;
        let api = self.api(("", "v1", "Secret"));
        self.runtime.block_on(api.create(&PostParams::default(), &secret))?;
        Ok(())
    }

    fn api(&self, kind: Kind) -> Api<DynamicObject> {
        let (group, version, kind) = kind;
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    /// Does something for each number, several at a time.
    fn each(
        &self,
        count: usize,
        work: impl AsyncFn(Api<DynamicObject>, usize) -> Result<()>,
    ) -> Result<()> {
        let api = self.api(HOST);
        self.runtime.block_on(
            stream::iter(0..count)
                .map(|number| work(api.clone(), number))
                .buffer_unordered(AT_ONCE)
                .try_collect(),
        )
    }

    /// Creates machines as Cluster API has them when they want infrastructure.
    pub fn create_machines(&self, count: usize) -> Result<()> {
        let (api, cluster) = (self.api(MACHINE), &self.namespace);
        self.each(count, async |_, number| {
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
    pub fn create_metal3_machines(&self, count: usize) -> Result<()> {
        let owners = self.runtime.block_on(self.api(MACHINE).list(&ListParams::default()))?;
        let owners: Vec<DynamicObject> = owners.items;
        let (api, cluster) = (self.api(METAL3_MACHINE), &self.namespace);
        self.each(count, async |_, number| {
            let owner = owners.get(number).context("there are fewer Machines")?;
            let machine = json!({
                "apiVersion": format!("{INFRASTRUCTURE}/v1beta2"), "kind": "Metal3Machine",
                "metadata": {
                    "name": owner.metadata.name, "labels": labels(cluster),
                    "ownerReferences": [{
                        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "controller": true,
                        "name": owner.metadata.name, "uid": owner.metadata.uid,
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

    /// Deletes that again.
    pub fn delete_metal3_machines(&self) -> Result<()> {
        let parameters = (DeleteParams::default(), ListParams::default());
        let api = self.api(METAL3_MACHINE);
        self.runtime.block_on(api.delete_collection(&parameters.0, &parameters.1))?;
        Ok(())
    }

    /// From now on images are written to hosts that are to have one, at once, and a Node comes up; and disks are given back.
    pub fn write_images(&self, is_so: bool) {
        if self.writes_images.swap(is_so, Ordering::Relaxed) || !is_so {
            return;
        }
        let (hosts, watched) = (self.api(HOST), self.watched.clone());
        let (namespace, goes_on) = (self.namespace.clone(), self.writes_images.clone());
        let (group, version, kind) = NODE;
        let node = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let nodes = Api::<DynamicObject>::all_with(self.client.clone(), &node);
        self.runtime.spawn(async move {
            while goes_on.load(Ordering::Relaxed) {
                let due = watched.now(|seen| {
                    seen.all("BareMetalHost", &namespace).filter_map(due).collect::<Vec<_>>()
                });
                stream::iter(due)
                    .for_each_concurrent(AT_ONCE, |(name, uid, status)| {
                        let (hosts, nodes) = (&hosts, &nodes);
                        async move {
                            let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {
                                "name": name,
                                "labels": {"metal3.io/uuid": uid, "kubernetes.io/hostname": name},
                            }});
                            // Whatever fails is found due again.
                            if let Ok(node) = serde_json::from_value(node) {
                                let _ = nodes.create(&PostParams::default(), &node).await;
                            }
                            let patch = Patch::Merge(status);
                            let _ =
                                hosts.patch_status(&name, &PatchParams::default(), &patch).await;
                        }
                    })
                    .await;
                tokio::time::sleep(LOOK).await;
            }
        });
    }

    /// How many hosts have a machine.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.count("BareMetalHost", |host| host["spec"]["consumerRef"]["kind"] == "Metal3Machine")
    }

    /// How many machines are there.
    #[must_use]
    pub fn machines(&self) -> usize {
        self.count("Metal3Machine", |_| true)
    }

    /// How many of them are provisioned.
    #[must_use]
    pub fn provisioned(&self) -> usize {
        self.count("Metal3Machine", |it| it["status"]["initialization"]["provisioned"] == true)
    }

    fn count(&self, kind: &str, counts: impl Fn(&Value) -> bool) -> usize {
        self.watched.now(|seen| seen.all(kind, &self.namespace).filter(|it| counts(it)).count())
    }

    /// Removes them all.
    pub fn end(&self) -> Result<()> {
        self.write_images(false);
        let (delete, all) = (DeleteParams::default(), ListParams::default());
        for kind in [HOST, MACHINE] {
            self.runtime.block_on(self.api(kind).delete_collection(&delete, &all))?;
        }
        let (group, version, kind) = NODE;
        let node = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let nodes = Api::<DynamicObject>::all_with(self.client.clone(), &node);
        self.runtime.block_on(nodes.delete_collection(&delete, &all))?;
        Ok(())
    }
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
                "credentialsName": CREDENTIALS,
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
