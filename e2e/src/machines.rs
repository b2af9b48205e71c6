//! Clusters of machines as a user of Cluster API writes them down, on hosts of one namespace.

use crate::{certificates::Files, control_plane::ControlPlane, kubectl::Kubectl};
use anyhow::{Context, Result};
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use std::fs;

/// The group of what is Metal3's.
pub const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
/// What Kubernetes the machines run at first.
pub const VERSION: &str = "v1.36.1";

const CORE: &str = "cluster.x-k8s.io/v1beta2";
const CLUSTER_LABEL: &str = "cluster.x-k8s.io/cluster-name";
const POOL_LABEL: &str = "pool";
/// The Secret with user data that has a machine join as a worker.
const JOIN: &str = "join";

/// A cluster on the hosts of a namespace.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// What it is called. Its Secrets and its Metal3Cluster are called after it.
    pub name: String,
    /// `kubectl` in its namespace.
    pub kubectl: Kubectl,
}

/// A template of machines, as far as tests differ in it.
#[derive(Debug, Clone, Default)]
pub struct Template {
    /// What it is called.
    pub name: String,
    /// `spec.nodeReuse`.
    pub node_reuse: Option<bool>,
    /// `spec.template.spec.automatedCleaningMode`.
    pub automated_cleaning_mode: Option<&'static str>,
    /// The image, if not one that is nowhere; an upgrade has another.
    pub image: Option<Value>,
    /// The hosts that its machines may have, by their label `pool`.
    pub pool: Option<String>,
    /// The Metal3Metadata that `spec.template.spec.metaData.configRef` names.
    pub metadata: Option<&'static str>,
}

/// How a control plane is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeper {
    /// A KubeadmControlPlane with the cluster's name.
    Kubeadm,
    /// Nobody: one machine that was made by hand.
    Nobody,
    /// Nobody, and there is no Metal3Cluster yet either.
    NotYet,
}

impl Cluster {
    /// Creates it, with the way to its API server, which is that of the control plane itself.
    pub fn create(
        plane: &ControlPlane,
        kubectl: &Kubectl,
        name: &str,
        keeper: Keeper,
    ) -> Result<Self> {
        let cluster = Self { name: name.to_owned(), kubectl: kubectl.clone() };
        let kubeconfig = embedded_kubeconfig(plane, &user_of(name))?;
        let server = kubeconfig["clusters"][0]["cluster"]["server"].as_str().unwrap_or_default();
        let port = server.rsplit(':').next().and_then(|port| port.parse::<u16>().ok());
        let port = port.context("the API server has no port")?;
        let secret = json!({"value": kubeconfig.to_string()});
        let join = json!({"value": "#cloud-config\nruncmd: [kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml]\n"});
        let mut spec = json!({"infrastructureRef": reference("Metal3Cluster", name)});
        let mut objects = vec![
            cluster.secret(&format!("{name}-kubeconfig"), &secret),
            cluster.secret(JOIN, &join),
        ];
        if keeper != Keeper::NotYet {
            objects.push(json!({
                "apiVersion": format!("{INFRASTRUCTURE}/v1beta2"), "kind": "Metal3Cluster",
                "metadata": {"name": name},
                "spec": {"controlPlaneEndpoint": {"host": "127.0.0.1", "port": port}},
            }));
        }
        if keeper == Keeper::Kubeadm {
            spec["controlPlaneRef"] = json!({
                "apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": name,
            });
            // Of an etcd outside of its machines, which the provider only wants to have been given.
            let (Files { certificate, key }, authority) = plane.serving_certificate("etcd")?;
            let (certificate, key) = (fs::read_to_string(certificate)?, fs::read_to_string(key)?);
            let authority = fs::read_to_string(authority)?;
            objects.push(cluster.secret(&format!("{name}-etcd"), &json!({"tls.crt": authority})));
            let client = json!({"tls.crt": certificate, "tls.key": key});
            objects.push(cluster.secret(&format!("{name}-apiserver-etcd-client"), &client));
        }
        objects.push(json!({
            "apiVersion": CORE, "kind": "Cluster", "metadata": {"name": name}, "spec": spec,
        }));
        cluster.apply(&objects)?;
        Ok(cluster)
    }

    /// Says what Cluster API would, where it does not run: that the infrastructure is there.
    pub fn play_ready(&self) -> Result<()> {
        let now = "2026-01-01T00:00:00Z";
        let ready =
            json!({"type": "InfrastructureReady", "status": "True", "lastTransitionTime": now});
        let mut condition = ready.clone();
        condition["reason"] = json!("Ready");
        condition["message"] = json!("");
        let status = json!({"status": {
            "initialization": {"infrastructureProvisioned": true, "controlPlaneInitialized": true},
            "conditions": [condition], "deprecated": {"v1beta1": {"conditions": [ready]}},
        }});
        let patch = status.to_string();
        let patch = [
            "patch",
            "cluster",
            &self.name,
            "--subresource=status",
            "--type=merge",
            "--patch",
            &patch,
        ];
        self.kubectl.expect(&patch).map(drop)
    }

    fn secret(&self, name: &str, data: &Value) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": name, "labels": {CLUSTER_LABEL: self.name}}, "stringData": data,
        })
    }

    /// Stores objects, whatever is stored of them.
    pub fn apply(&self, objects: &[Value]) -> Result<()> {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
        let apply = ["apply", "--server-side", "--force-conflicts", "--filename", "-"];
        self.kubectl.expect_with_input(&apply, &list).map(drop)
    }

    /// A template of machines.
    #[must_use]
    pub fn template(&self, template: &Template) -> Value {
        let Template { name, node_reuse, automated_cleaning_mode, image, pool, metadata } =
            template;
        let nowhere = || {
            json!({
                "url": format!("http://192.0.2.200/{name}-{VERSION}.qcow2"),
                "checksum": "http://192.0.2.200/SHA256SUMS", "checksumType": "sha256",
                "diskFormat": "qcow2",
            })
        };
        let mut machine = json!({"image": image.clone().unwrap_or_else(nowhere)});
        if let Some(mode) = automated_cleaning_mode {
            machine["automatedCleaningMode"] = json!(mode);
        }
        if let Some(pool) = pool {
            machine["hostSelector"] = json!({"matchLabels": {POOL_LABEL: pool}});
        }
        if let Some(metadata) = metadata {
            machine["metaData"] = json!({"configRef": {"name": metadata}});
        }
        let mut template = json!({
            "apiVersion": format!("{INFRASTRUCTURE}/v1beta2"), "kind": "Metal3MachineTemplate",
            "metadata": {"name": name}, "spec": {"template": {"spec": machine}},
        });
        if let Some(node_reuse) = node_reuse {
            template["spec"]["nodeReuse"] = json!(node_reuse);
        }
        template
    }

    /// Templates of metadata, by key.
    #[must_use]
    pub fn metadata(&self, name: &str, templates: &Value) -> Value {
        json!({
            "apiVersion": format!("{INFRASTRUCTURE}/v1beta2"), "kind": "Metal3Metadata",
            "metadata": {"name": name}, "spec": {"metaData": templates},
        })
    }

    /// A MachineDeployment whose upgrades take a machine away before they add one. All its machines get the same user data.
    #[must_use]
    pub fn machine_deployment(&self, name: &str, replicas: u16, template: &str) -> Value {
        let labels = json!({CLUSTER_LABEL: self.name, "deployment": name});
        json!({
            "apiVersion": CORE, "kind": "MachineDeployment",
            "metadata": {"name": name, "labels": labels},
            "spec": {
                "clusterName": self.name, "replicas": replicas,
                "selector": {"matchLabels": labels},
                "rollout": {"strategy": {
                    "type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1},
                }},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": self.machine_spec(template),
                },
            },
        })
    }

    fn machine_spec(&self, template: &str) -> Value {
        json!({
            "clusterName": self.name, "version": VERSION, "bootstrap": {"dataSecretName": JOIN},
            "infrastructureRef": reference("Metal3MachineTemplate", template),
        })
    }

    /// A machine of the control plane that nobody keeps: with its Node the control plane counts as initialized.
    #[must_use]
    pub fn control_plane_machine(&self, name: &str, pool: Option<&str>) -> [Value; 2] {
        let labels = json!({CLUSTER_LABEL: self.name, "cluster.x-k8s.io/control-plane": ""});
        let template =
            self.template(&Template { pool: pool.map(str::to_owned), ..Template::default() });
        let mut spec = self.machine_spec(name);
        spec["infrastructureRef"] = reference("Metal3Machine", name);
        [
            json!({
                "apiVersion": format!("{INFRASTRUCTURE}/v1beta2"), "kind": "Metal3Machine",
                "metadata": {"name": name, "labels": labels},
                "spec": template["spec"]["template"]["spec"],
            }),
            json!({
                "apiVersion": CORE, "kind": "Machine", "metadata": {"name": name, "labels": labels},
                "spec": spec,
            }),
        ]
    }

    /// The control plane, whose upgrades take a machine away before they add one.
    #[must_use]
    pub fn kubeadm_control_plane(&self, replicas: u16, template: &str) -> Value {
        json!({
            "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane",
            "metadata": {"name": self.name},
            "spec": {
                "replicas": replicas, "version": VERSION,
                "rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}}},
                "machineTemplate": {"spec": {
                    "infrastructureRef": reference("Metal3MachineTemplate", template),
                }},
                "kubeadmConfigSpec": {
                    "clusterConfiguration": {"etcd": {"external": {
                        "endpoints": ["https://192.0.2.201:2379"], "caFile": "/etc/etcd/ca.crt",
                        "certFile": "/etc/etcd/client.crt", "keyFile": "/etc/etcd/client.key",
                    }}},
                },
            },
        })
    }
}

/// A reference to something of Metal3's.
#[must_use]
pub fn reference(kind: &str, name: &str) -> Value {
    json!({"apiGroup": INFRASTRUCTURE, "kind": kind, "name": name})
}

/// Who they are to the API server that come with the kubeconfig of a cluster.
#[must_use]
pub fn user_of(cluster: &str) -> String {
    format!("cluster-{cluster}")
}

/// The kubeconfig of somebody to whom nothing is forbidden, with all files in it.
pub fn embedded_kubeconfig(plane: &ControlPlane, user: &str) -> Result<Value> {
    let text = fs::read_to_string(plane.kubeconfig_for(user, &["system:masters"])?)?;
    let mut config: Value = serde_json::from_str(&text)?;
    for (part, file) in [
        ("/clusters/0/cluster", "certificate-authority"),
        ("/users/0/user", "client-certificate"),
        ("/users/0/user", "client-key"),
    ] {
        let part = config.pointer_mut(part).and_then(Value::as_object_mut);
        let part = part.context("not the kubeconfig that was written")?;
        let path = part.remove(file).context("not the kubeconfig that was written")?;
        let content = fs::read(path.as_str().unwrap_or_default())?;
        part.insert(format!("{file}-data"), json!(ByteString(content)));
    }
    Ok(config)
}
