//! A control plane with the kinds, replicas of the metadata controller, and pools of machines to put on it.

use ironward_e2e::{
    cluster,
    control_plane::ControlPlane,
    eventually::{eventually, until},
    ironward,
    kubectl::Kubectl,
    ports,
    process_group::Process,
};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path, process::Command, sync::OnceLock, time::Duration};

pub const PATIENCE: Duration = Duration::from_mins(3);

/// The one that all tests share.
pub fn plane() -> &'static ControlPlane {
    static PLANE: OnceLock<ControlPlane> = OnceLock::new();
    PLANE.get_or_init(|| {
        let plane = ControlPlane::start().unwrap();
        cluster::install_kinds(&plane).unwrap();
        plane
    })
}

/// The controller alone. It leads while it holds the Lease of a namespace: two with one Lease take turns, two with two both lead.
pub struct Replica {
    pub name: String,
    namespace: String,
    process: Process,
}

impl Replica {
    /// With a Lease of its own.
    pub fn start(name: &str, kubeconfig: &Path) -> Self {
        Self::start_with_lease(name, &format!("lease-{name}"), kubeconfig)
    }

    pub fn start_with_lease(name: &str, namespace: &str, kubeconfig: &Path) -> Self {
        let plane = plane();
        let kubectl = plane.kubectl();
        let _ = kubectl.run(&["create", "namespace", namespace]);
        let [probes] = ports::free().unwrap().map(|port: u16| format!("127.0.0.1:{port}"));
        let mut command = Command::new(ironward::binary().unwrap());
        command
            .args(["run", "--controllers=metadata", "--probe-address", &probes])
            .args(["--namespace", namespace, "--replica", name])
            .env("KUBECONFIG", kubeconfig);
        let process = plane.spawn(name, command).unwrap();
        Self { name: name.to_owned(), namespace: namespace.to_owned(), process }
    }

    pub fn start_again(&mut self, kubeconfig: &Path) {
        *self = Self::start_with_lease(&self.name, &self.namespace, kubeconfig);
    }

    /// Whether it holds its Lease. Who does is told by its name and a number.
    pub fn leads(&self) -> bool {
        let kubectl = plane().kubectl().in_namespace(&self.namespace);
        let lease = kubectl.get("lease", "ironward").unwrap_or_default();
        let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default();
        holder.rsplit_once('-').is_some_and(|(name, _)| name == self.name)
    }

    /// Takes its Lease from whoever holds it: the next to look has it.
    pub fn free_lease(&self) {
        let kubectl = plane().kubectl().in_namespace(&self.namespace);
        let free = json!({"spec": {"holderIdentity": ""}}).to_string();
        // There may be none yet.
        let _ =
            kubectl.run(&["patch", "lease", "ironward", "--type=merge", "--patch", &free]).unwrap();
    }

    /// As the kernel does when memory runs out.
    pub fn kill(&self) {
        self.process.signal(Signal::KILL).unwrap();
        self.process.wait_for_exit(PATIENCE).unwrap();
    }

    pub fn log_tail(&self) -> String {
        self.process.log_tail()
    }
}

/// A namespace with one Metal3Metadata, `pool`.
pub struct Pool {
    pub kubectl: Kubectl,
}

impl Pool {
    pub fn new(namespace: &str, templates: &Value) -> Self {
        let kubectl = plane().kubectl();
        kubectl.expect(&["create", "namespace", namespace]).unwrap();
        let pool = Self { kubectl: kubectl.in_namespace(namespace) };
        pool.create(&[json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Metadata",
            "metadata": {"name": "pool"}, "spec": {"metaData": templates},
        })]);
        pool
    }

    pub fn create(&self, objects: &[Value]) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
        self.kubectl.expect_with_input(&["create", "--filename", "-"], &list).unwrap();
    }

    pub fn run(&self, arguments: &[&str]) -> String {
        self.kubectl.expect(arguments).unwrap()
    }

    pub fn patch(&self, kind: &str, name: &str, patch: &Value) {
        let patch = patch.to_string();
        self.run(&["patch", kind, name, "--type=merge", "--patch", &patch]);
    }

    pub fn template(&self, key: &str, source: &Value) {
        self.patch("metal3metadata", "pool", &json!({"spec": {"metaData": {key: source}}}));
    }

    pub fn patch_status(&self, patch: &Value) {
        let patch = patch.to_string();
        let to = ["patch", "metal3metadata", "pool", "--subresource=status", "--type=merge"];
        self.run(&[&to[..], &["--patch", &patch]].concat());
    }

    pub fn wipe(&self) {
        self.patch_status(&json!({"status": null}));
    }

    pub fn status(&self) -> Value {
        self.kubectl.get("metal3metadata", "pool").unwrap()["status"].clone()
    }

    pub fn indexes(&self) -> BTreeMap<String, String> {
        serde_json::from_value(self.status()["indexes"].clone()).unwrap_or_default()
    }

    pub fn list(&self, kind: &str) -> Vec<Value> {
        let list: Value = serde_json::from_str(&self.run(&["get", kind, "--output=json"])).unwrap();
        list["items"].as_array().unwrap().clone()
    }

    /// What each Secret of metadata holds.
    pub fn contents(&self) -> BTreeMap<String, BTreeMap<String, String>> {
        self.list("secrets")
            .iter()
            .filter(|it| is_metadata(it))
            .map(|it| (name(it), content(it)))
            .collect()
    }

    /// The Secret that each machine was given.
    pub fn given(&self) -> BTreeMap<String, String> {
        let machines = self.list("metal3machines");
        let given = |it: &Value| {
            let secret = it["spec"]["metaData"]["dataSecret"]["name"].as_str()?;
            Some((name(it), secret.to_owned()))
        };
        machines.iter().filter_map(given).collect()
    }

    /// Waits until the hostnames of the machines are these.
    pub fn until_hostnames(&self, expected: &[(&str, &str)]) {
        let expected: BTreeMap<_, _> = expected
            .iter()
            .map(|(machine, it)| ((*machine).to_owned(), (*it).to_owned()))
            .collect();
        let look = || {
            let contents = self.contents();
            let hostname = |secret: &String| contents.get(secret)?.get("local-hostname").cloned();
            let given = self.given();
            given
                .iter()
                .filter_map(|it| Some((it.0.clone(), hostname(it.1)?)))
                .collect::<BTreeMap<_, _>>()
        };
        until(PATIENCE, "the hostnames are those", look, |it| *it == expected).unwrap();
    }

    /// Waits until Ready has a reason, and returns its message.
    pub fn until_ready_is(&self, reason: &str) -> String {
        eventually(PATIENCE, &format!("the reason is {reason}"), || {
            let status = self.status();
            let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
            let ready = conditions.iter().find(|it| it["type"] == "Ready");
            match ready.filter(|it| it["reason"] == reason) {
                Some(ready) => Ok(ready["message"].as_str().unwrap_or_default().to_owned()),
                None => Err(status.to_string()),
            }
        })
        .unwrap()
    }
}

pub fn is_metadata(secret: &Value) -> bool {
    secret["type"] == "infrastructure.cluster.x-k8s.io/secret"
}

pub fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

pub fn content(secret: &Value) -> BTreeMap<String, String> {
    let secret: k8s_openapi::api::core::v1::Secret =
        serde_json::from_value(secret.clone()).unwrap();
    let yaml = &secret.data.unwrap()["metaData"].0;
    serde_saphyr::from_str(std::str::from_utf8(yaml).unwrap()).unwrap()
}

/// A machine that asks for metadata of `pool`.
pub fn machine(name: &str) -> Value {
    let mut machine = unasking(name);
    machine["spec"]["metaData"] = json!({"configRef": {"name": "pool"}});
    machine
}

/// One that does not.
pub fn unasking(name: &str) -> Value {
    json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine",
        "metadata": {"name": name, "labels": {"cluster.x-k8s.io/cluster-name": "prod"}},
        "spec": {"image": {"url": "http://192.0.2.200/image.qcow2", "checksum": "http://192.0.2.200/SUMS"}},
    })
}
