//! What the programs of a node are told.

use crate::node::{apart::ADDRESS, packages::Packages};
use anyhow::Result;
use serde_json::{Value, json};
use std::path::Path;

/// What the node is called.
pub const NAME: &str = "node-1";
/// The image that holds the place of a pod.
pub const PAUSE: &str = "ironward.test/pause:1";
/// The addresses of pods, of those that are kept for documentation.
const PODS: &str = "198.51.100.0/24";

/// containerd's, in TOML.
pub fn containerd(dir: &Path, packages: &Packages) -> Result<String> {
    let path = |name: &str| json!(dir.join(name)).to_string();
    Ok(format!(
        "version = 2\nroot = {root}\nstate = {state}\n\
         [grpc]\naddress = {socket}\n\
         [plugins.'io.containerd.grpc.v1.cri']\nsandbox_image = '{PAUSE}'\nrestrict_oom_score_adj = true\n\
         [plugins.'io.containerd.grpc.v1.cri'.cni]\nbin_dir = {plugins}\nconf_dir = {networks}\n\
         [plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc]\nruntime_type = 'io.containerd.runc.v2'\n\
         [plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc.options]\nBinaryName = {runc}\n",
        root = path("containerd"),
        state = path("containerd-state"),
        socket = path("containerd.sock"),
        plugins = json!(packages.network_plugins()?),
        networks = path("networks"),
        runc = json!(packages.program("runc")?),
    ))
}

/// The network of pods. Each has a line to the node and none to another pod, so that all they send passes by the rules of
/// Services.
pub fn network(dir: &Path) -> Value {
    json!({
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [{
            "type": "ptp",
            "ipam": {
                "type": "host-local",
                "dataDir": dir.join("addresses"),
                "ranges": [[{ "subnet": PODS }]],
                "routes": [{ "dst": "0.0.0.0/0" }],
            },
        }],
    })
}

/// The kubelet's.
pub fn kubelet(dir: &Path, authority: &Path) -> Value {
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": { "enabled": false },
            "webhook": { "enabled": false },
            "x509": { "clientCAFile": authority },
        },
        "authorization": { "mode": "AlwaysAllow" },
        "containerRuntimeEndpoint": format!("unix://{}", dir.join("containerd.sock").display()),
        "podLogsDir": dir.join("pod-logs"),
        "volumePluginDir": dir.join("volume-plugins"),
        "clusterDNS": [ADDRESS],
        "clusterDomain": "cluster.local",
        "resolvConf": "",
        // Control groups as they are on machines that have those of version 1 only, and are containers themselves.
        "failCgroupV1": false,
        "cgroupDriver": "cgroupfs",
        "cgroupsPerQOS": false,
        "enforceNodeAllocatable": [],
        "failSwapOn": false,
        // A machine of developers may be full; nothing here is to be evicted for that.
        "evictionHard": {},
        "localStorageCapacityIsolation": false,
        "imageGCHighThresholdPercent": 100,
        "readOnlyPort": 0,
        "healthzPort": 0,
        // How soon a changed ConfigMap is in the pods; a minute by default.
        "syncFrequency": "5s",
    })
}

/// kube-proxy's.
pub fn proxy(kubeconfig: &Path) -> Value {
    json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": { "kubeconfig": kubeconfig },
        "hostnameOverride": NAME,
        "bindAddress": ADDRESS,
        "mode": "nftables",
        "clusterCIDR": PODS,
        // The limits of the machine, which a network of its own may not change.
        "conntrack": {
            "maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s",
        },
    })
}
