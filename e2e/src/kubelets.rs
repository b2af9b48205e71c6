//! What becomes of a host once its image is written: it boots, and joins the cluster that its user data names as a Node.
//!
//! There is no machine here that could boot, so kubeadm and the kubelet are played. They act on what a real machine has of its own:
//! the image, the user data, and the host's name and id. A Node gets no providerID from them, as on bare metal.

use crate::machines::VERSION;
use anyhow::{Context, Result, ensure};
use ironward::adapters::clock;
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{ConfigMap, Node, Pod, Secret},
};
use kube::{
    Api, Client, Config, ResourceExt,
    api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc::channel},
    thread,
    time::{Duration, Instant},
};

const LOOK: Duration = Duration::from_millis(300);
/// So many looks that fail, one after the other, are more than a hiccup: about ten seconds.
const LASTING: u32 = 30;
/// As often as a kubelet does; the Node is unreachable after four times that.
const RENEWAL: Duration = Duration::from_secs(10);
const SYSTEM: &str = "kube-system";
const FIELD_MANAGER: &str = "kubelet";
const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

/// All machines of a cluster that are on. They end with the process.
#[derive(Clone)]
pub struct Kubelets {
    machines: Arc<Mutex<Machines>>,
}

#[derive(Default)]
struct Machines {
    /// What was booted: the Node of each host, and for whom.
    running: BTreeMap<String, Running>,
    /// Nodes whose kubelet says that it is not ready.
    sick: BTreeSet<String>,
    /// Hosts that come up with nothing that joins.
    mute: BTreeSet<String>,
}

struct Running {
    consumer: String,
    renewed: Instant,
    sick: bool,
}

/// What user data has kubeadm do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    First,
    ControlPlane,
    Worker,
}

impl fmt::Debug for Kubelets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kubelets").finish_non_exhaustive()
    }
}

impl Kubelets {
    /// Plays them for all hosts of a cluster, which is also the cluster that they join.
    pub fn start(kubeconfig: &Path) -> Result<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
        let kubelets = Self { machines: Arc::default() };
        let (tell, started) = channel();
        let own = kubelets.clone();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let played = runtime.map_err(anyhow::Error::from).and_then(|runtime| {
                runtime.block_on(async {
                    let options = KubeConfigOptions::default();
                    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
                    let client = Client::try_from(config)?;
                    let _ = tell.send(());
                    own.play(&client).await;
                    anyhow::Ok(())
                })
            });
            if let Err(error) = played {
                eprintln!("nothing boots: {error:#}");
            }
        });
        started.recv().context("nothing boots")?;
        Ok(kubelets)
    }

    /// Has the kubelet of a Node say that it is not ready, from now on.
    pub fn fail(&self, node: &str) {
        self.machines().sick.insert(node.to_owned());
    }

    /// The Node is ready again, or is when its host is booted next.
    pub fn heal(&self, node: &str) {
        self.machines().sick.remove(node);
    }

    /// Whatever is written to a host, no Node comes of it.
    pub fn mute(&self, host: &str) {
        self.machines().mute.insert(host.to_owned());
    }

    /// It speaks again when its host is booted next, or at once if it is on.
    pub fn unmute(&self, host: &str) {
        self.machines().mute.remove(host);
    }

    fn machines(&self) -> MutexGuard<'_, Machines> {
        self.machines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn play(&self, client: &Client) {
        // Said when it lasts: the API server may be busy, or the kinds not be there yet, and in the end it goes before its kubelets do.
        let mut failures = 0;
        loop {
            match self.look(client).await {
                Ok(()) => failures = 0,
                Err(error) => {
                    failures += 1;
                    if failures == LASTING {
                        eprintln!("a machine has not booted yet: {error:#}");
                    }
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn look(&self, client: &Client) -> Result<()> {
        let kind = ApiResource {
            group: "metal3.io".to_owned(),
            version: "v1alpha1".to_owned(),
            api_version: "metal3.io/v1alpha1".to_owned(),
            kind: "BareMetalHost".to_owned(),
            plural: "baremetalhosts".to_owned(),
        };
        let hosts = Api::<DynamicObject>::all_with(client.clone(), &kind);
        let hosts = match hosts.list(&ListParams::default().match_any()).await {
            Err(kube::Error::Api(answer)) if answer.code == 404 => return Ok(()),
            hosts => hosts?.items,
        };
        let on: BTreeMap<String, &DynamicObject> = hosts
            .iter()
            .filter(|host| {
                let status = &host.data["status"];
                status["provisioning"]["state"] == "provisioned" && status["poweredOn"] == true
            })
            .map(|host| (host.name_any(), host))
            .collect();
        // Off, or on for somebody else.
        self.machines().running.retain(|name, running| {
            on.get(name).is_some_and(|host| consumer(host) == running.consumer)
        });
        for (name, host) in on {
            let (is_mute, is_sick) = {
                let machines = self.machines();
                (machines.mute.contains(&name), machines.sick.contains(&name))
            };
            let known =
                self.machines().running.get(&name).map(|it| (it.renewed.elapsed(), it.sick));
            let done = match known {
                // Whenever it speaks again, it begins with what it is.
                _ if is_mute => {
                    self.machines().running.remove(&name);
                    continue;
                }
                None => boot(client, &name, host, is_sick).await,
                Some((_, was_sick)) if was_sick != is_sick => ready(client, &name, is_sick).await,
                Some((since, _)) if since > RENEWAL => renew(client, &name).await,
                Some(_) => continue,
            };
            // One that does not get any further keeps none of the others waiting.
            if let Err(error) = done {
                eprintln!("{name} is not up yet: {error:#}");
                continue;
            }
            let running =
                Running { consumer: consumer(host), renewed: Instant::now(), sick: is_sick };
            self.machines().running.insert(name, running);
        }
        Ok(())
    }
}

fn consumer(host: &DynamicObject) -> String {
    host.data["spec"]["consumerRef"]["name"].as_str().unwrap_or_default().to_owned()
}

/// What the first boot of a machine comes to.
async fn boot(client: &Client, name: &str, host: &DynamicObject, is_sick: bool) -> Result<()> {
    let user_data = &host.data["spec"]["userData"];
    let secret = user_data["name"].as_str().unwrap_or_default();
    let namespace = host.namespace().unwrap_or_default();
    let secret = Api::<Secret>::namespaced(client.clone(), &namespace).get(secret).await?;
    until_forgotten(client, name, &consumer(host)).await?;
    let image = host.data["status"]["provisioning"]["image"]["url"].as_str().unwrap_or_default();
    let version = version_of(image);
    let role = role_of(&secret)?;
    if role == Role::First {
        let data = json!({"ClusterConfiguration": format!(
            "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: {version}\n"
        )});
        let configuration = json!({"metadata": {"name": "kubeadm-config"}, "data": data});
        let api = Api::<ConfigMap>::namespaced(client.clone(), SYSTEM);
        there(api.create(&PostParams::default(), &serde_json::from_value(configuration)?).await)?;
    }
    let mut labels = json!({
        "kubernetes.io/hostname": name,
        // As users of Metal3 have kubeadm tell the kubelet, with `ds.meta_data.uuid`.
        "metal3.io/uuid": host.uid(),
    });
    let mut taints = json!([]);
    if role != Role::Worker {
        labels[CONTROL_PLANE] = json!("");
        taints = json!([{"key": CONTROL_PLANE, "effect": "NoSchedule"}]);
    }
    let node = json!({"metadata": {"name": name, "labels": labels}, "spec": {"taints": taints}});
    let api = Api::<Node>::all(client.clone());
    there(api.create(&PostParams::default(), &serde_json::from_value(node)?).await)?;
    let info = json!({"status": {
        "nodeInfo": node_info(&version, host),
        "addresses": [{"type": "Hostname", "address": name}],
    }});
    api.patch_status(name, &PatchParams::default(), &Patch::Merge(&info)).await?;
    ready(client, name, is_sick).await?;
    if role != Role::Worker {
        for component in ["kube-apiserver", "kube-controller-manager", "kube-scheduler"] {
            static_pod(client, component, name).await?;
        }
        certify(client, &secret).await?;
    }
    renew(client, name).await
}

/// A machine takes minutes to boot, and Cluster API moments to delete the Node of the machine that had the host before, which it does when
/// the host was given back. Here both take moments: who came up faster would have its own Node deleted.
async fn until_forgotten(client: &Client, name: &str, consumer: &str) -> Result<()> {
    let found = Api::<Node>::all(client.clone()).get_opt(name).await?;
    let id = found.and_then(|it| it.spec?.provider_id).unwrap_or_default();
    let is_own = id.is_empty() || id.rsplit('/').next() == Some(consumer);
    ensure!(is_own, "there still is the Node of {id}");
    Ok(())
}

/// What the kubelet says of its Node.
async fn ready(client: &Client, name: &str, is_sick: bool) -> Result<()> {
    let now = clock::now().to_string();
    let condition = |kind: &str, holds: bool| {
        json!({
            "type": kind, "status": if holds { "True" } else { "False" }, "reason": "Kubelet",
            "message": "", "lastHeartbeatTime": now, "lastTransitionTime": now,
        })
    };
    let conditions: Vec<Value> = ["MemoryPressure", "DiskPressure", "PIDPressure"]
        .iter()
        .map(|kind| condition(kind, false))
        .chain([condition("Ready", !is_sick)])
        .collect();
    let status = json!({"status": {"conditions": conditions}});
    let api = Api::<Node>::all(client.clone());
    gone(api.patch_status(name, &PatchParams::default(), &Patch::Strategic(&status)).await)
}

/// A Node that does not is unreachable soon, says the controller manager.
async fn renew(client: &Client, name: &str) -> Result<()> {
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name},
        "spec": {
            "holderIdentity": name, "leaseDurationSeconds": 40,
            "renewTime": format!("{:.6}", clock::now()),
        },
    });
    let api = Api::<Lease>::namespaced(client.clone(), "kube-node-lease");
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    api.patch(name, &parameters, &Patch::Apply(&lease)).await?;
    Ok(())
}

/// The mirror of a Pod that the kubelet runs by itself, and that is well.
async fn static_pod(client: &Client, component: &str, node: &str) -> Result<()> {
    let name = format!("{component}-{node}");
    let pod = json!({
        "metadata": {
            "name": name, "labels": {"component": component, "tier": "control-plane"},
            "annotations": {"kubernetes.io/config.mirror": node},
        },
        "spec": {
            "nodeName": node, "hostNetwork": true,
            "containers": [{"name": component, "image": format!("registry.k8s.io/{component}")}],
            "tolerations": [{"operator": "Exists"}],
        },
    });
    let api = Api::<Pod>::namespaced(client.clone(), SYSTEM);
    there(api.create(&PostParams::default(), &serde_json::from_value(pod)?).await)?;
    let conditions: Vec<Value> = ["PodScheduled", "Initialized", "ContainersReady", "Ready"]
        .iter()
        .map(|kind| json!({"type": kind, "status": "True"}))
        .collect();
    let status = json!({"status": {"phase": "Running", "conditions": conditions}});
    gone(api.patch_status(&name, &PatchParams::default(), &Patch::Merge(&status)).await)
}

/// Says of a control plane's machine when its certificates run out, as its user may; else the control plane provider asks the
/// machine itself.
async fn certify(client: &Client, user_data: &Secret) -> Result<()> {
    let Some(owner) = user_data.owner_references().iter().find(|it| it.kind == "KubeadmConfig")
    else {
        return Ok(());
    };
    let kind = ApiResource {
        group: "bootstrap.cluster.x-k8s.io".to_owned(),
        version: "v1beta2".to_owned(),
        api_version: "bootstrap.cluster.x-k8s.io/v1beta2".to_owned(),
        kind: "KubeadmConfig".to_owned(),
        plural: "kubeadmconfigs".to_owned(),
    };
    let namespace = user_data.namespace().unwrap_or_default();
    let api = Api::<DynamicObject>::namespaced_with(client.clone(), &namespace, &kind);
    let annotation = "machine.cluster.x-k8s.io/certificates-expiry";
    let patch = json!({"metadata": {"annotations": {annotation: "2126-01-01T00:00:00Z"}}});
    gone(api.patch(&owner.name, &PatchParams::default(), &Patch::Merge(&patch)).await)
}

fn role_of(secret: &Secret) -> Result<Role> {
    let data = secret.data.as_ref().and_then(|data| data.get("value"));
    let data = data.with_context(|| format!("Secret {} has no value", secret.name_any()))?;
    let script = String::from_utf8_lossy(&data.0);
    Ok(if script.contains("kubeadm init") {
        Role::First
    } else if script.contains("controlPlane:") {
        Role::ControlPlane
    } else {
        Role::Worker
    })
}

/// The kubelet is of the version that the name of its image says, or of the one that machines want.
fn version_of(image: &str) -> String {
    let file = image.rsplit('/').next().unwrap_or_default();
    let version = file.split(['-', '_']).find_map(|part| {
        let part = part.trim_end_matches(".qcow2").trim_end_matches(".raw");
        let is_version = part.starts_with('v') && part.split('.').count() == 3;
        is_version.then(|| part.to_owned())
    });
    version.unwrap_or_else(|| VERSION.to_owned())
}

fn node_info(version: &str, host: &DynamicObject) -> Value {
    let id = host.uid().unwrap_or_default();
    json!({
        "kubeletVersion": version, "kubeProxyVersion": "", "containerRuntimeVersion": "containerd://2.2.0",
        "kernelVersion": "6.12", "osImage": "metal", "operatingSystem": "linux", "architecture": "amd64",
        "machineID": id, "systemUUID": id, "bootID": id,
    })
}

/// What was made before is as good.
fn there<T>(made: kube::Result<T>) -> Result<()> {
    unless(made, 409)
}

/// What nobody has any more needs no change.
fn gone<T>(changed: kube::Result<T>) -> Result<()> {
    unless(changed, 404)
}

fn unless<T>(result: kube::Result<T>, code: u16) -> Result<()> {
    match result {
        Err(kube::Error::Api(answer)) if answer.code == code => Ok(()),
        result => result.map(drop).map_err(anyhow::Error::from),
    }
}
