//! A control plane with the host controller, and hosts to put on it.

use anyhow::Result;
use ironward_e2e::{
    cluster,
    control_plane::ControlPlane,
    eventually::eventually,
    gate::Gate,
    haunt::Victim,
    ironward::{Ironward, Options},
    kubectl::Kubectl,
    process_group::Process,
};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

pub use ironward_e2e::alone::in_company;

/// Enough for a life in which Ironward is killed at every step.
pub const PATIENCE: Duration = Duration::from_mins(4);

/// A control plane, and an Ironward that can be killed.
pub struct Stage {
    pub plane: ControlPlane,
    pub kubectl: Kubectl,
    /// Whoever holds it may end it and start another.
    ironward: Mutex<Option<Ironward>>,
    options: Options,
}

impl Stage {
    /// With the kinds, and nobody yet who keeps hosts.
    pub fn new(flags: &[&str]) -> Self {
        let plane = ControlPlane::start().unwrap();
        cluster::install_kinds(&plane).unwrap();
        let kubectl = plane.kubectl().in_namespace("default");
        let mut all = vec!["--controllers=host".to_owned(), "--provisioner=demo".to_owned()];
        all.extend(flags.iter().map(|&flag| flag.to_owned()));
        let options = Options { flags: all, ..Options::default() };
        Self { plane, kubectl, ironward: Mutex::default(), options }
    }

    /// Has Ironward speak with the API server through a gate.
    pub fn put_gate(&mut self) -> Gate {
        let gate = Gate::open(&self.plane.own_kubeconfig().unwrap()).unwrap();
        self.options.kubeconfig = Some(gate.kubeconfig(self.plane.dir()).unwrap());
        gate
    }

    /// Has every change of a host written down, in a format of kubectl's.
    pub fn watch(&self, format: &str) -> Process {
        let mut kubectl = Command::new(self.kubectl.folder().join("kubectl"));
        kubectl.env("KUBECONFIG", self.plane.admin_kubeconfig());
        kubectl.args(["get", "bmh", "--watch", "--no-headers", "--output", format]);
        self.plane.spawn("watch", kubectl).unwrap()
    }

    pub fn start(&self) {
        self.start_again().unwrap();
        let ironward = self.ironward();
        ironward.as_ref().unwrap().wait_until_in_force(&self.plane).unwrap();
    }

    fn ironward(&self) -> MutexGuard<'_, Option<Ironward>> {
        self.ironward.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log_tail(&self) -> String {
        self.ironward().as_ref().map(|it| it.process.log_tail()).unwrap_or_default()
    }

    /// As a person does who is told that nobody answers for hosts at the moment.
    fn insist(&self, arguments: &[&str], input: &str) {
        eventually(PATIENCE, "somebody answers", || {
            self.kubectl.expect_with_input(arguments, input).map_err(|error| error.to_string())
        })
        .unwrap();
    }

    /// What Prometheus would be told.
    pub fn metrics(&self) -> String {
        self.ironward().as_ref().unwrap().probe("metrics").unwrap().1
    }

    pub fn host(&self, name: &str) -> Value {
        self.kubectl.get("bmh", name).unwrap()
    }

    /// Looks at a host until it is as it should be.
    pub fn until(&self, name: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let seen = eventually(PATIENCE, &format!("{name}: {what}"), || {
            let host = self.host(name);
            if is_so(&host) { Ok(host) } else { Err(format!("{:#}", host["status"])) }
        });
        match seen {
            Ok(host) => host,
            Err(error) => panic!("{error:#}\n{}", self.log_tail()),
        }
    }

    pub fn until_state(&self, name: &str, state: &str) -> Value {
        self.until(name, state, |host| host["status"]["provisioning"]["state"] == state)
    }

    pub fn until_gone(&self, name: &str) {
        eventually(PATIENCE, &format!("{name} is gone"), || {
            let answer = self.kubectl.run(&["get", "bmh", name, "--output", "yaml"]).unwrap();
            if answer.err.contains("NotFound") { Ok(()) } else { Err(answer.out) }
        })
        .unwrap();
    }

    pub fn patch(&self, name: &str, patch: &Value) {
        let patch = patch.to_string();
        self.insist(&["patch", "bmh", name, "--type=merge", "--patch", &patch], "");
    }

    pub fn annotate(&self, name: &str, annotation: &str) {
        self.insist(&["annotate", "bmh", name, "--overwrite", annotation], "");
    }

    pub fn delete(&self, name: &str) {
        self.annotate(name, "ironward.dev/allow-delete=");
        self.insist(&["delete", "bmh", name, "--wait=false"], "");
    }

    /// How often something was told of a host.
    pub fn told(&self, name: &str, reason: &str) -> u64 {
        let events = self.kubectl.expect(&["get", "events", "--output", "json"]).unwrap();
        let events: Value = serde_json::from_str(&events).unwrap();
        let of_host =
            events["items"].as_array().unwrap().iter().filter(|event| {
                event["involvedObject"]["name"] == name && event["reason"] == reason
            });
        // Counted in a series from the second on.
        of_host.map(|event| event["series"]["count"].as_u64().unwrap_or(1)).sum()
    }
}

impl Victim for Stage {
    fn kill(&self) -> Result<()> {
        let ironward = self.ironward().take().unwrap();
        ironward.process.signal(Signal::KILL)?;
        ironward.process.wait_for_exit(PATIENCE).map(drop)
    }

    /// It does not wait until the one that was killed is no longer awaited.
    fn start_again(&self) -> Result<()> {
        self.kubectl.expect(&["delete", "lease", "ironward", "--ignore-not-found"])?;
        let ironward = Ironward::start_with(&self.plane, &self.options)?;
        ironward.wait_until_ready()?;
        *self.ironward() = Some(ironward);
        Ok(())
    }
}

pub fn secret(name: &str, password: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
        "stringData": {"username": "root", "password": password},
    })
}

/// A host with addresses of its own.
pub fn host(name: &str, number: u8) -> Value {
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": {"name": name},
        "spec": {
            "online": true,
            "bootMACAddress": format!("52:54:00:00:00:{number:02x}"),
            "bmc": {
                "address": format!("redfish://192.0.2.{number}/redfish/v1/Systems/1"),
                "credentialsName": format!("{name}-bmc"),
            },
        },
    })
}

pub fn image(name: &str) -> Value {
    json!({"spec": {"image": {
        "url": format!("http://192.0.2.200/{name}.qcow2"),
        "checksum": "http://192.0.2.200/SHA256SUMS", "checksumType": "sha256",
    }}})
}

impl Stage {
    pub fn create(&self, object: &Value) {
        self.insist(&["create", "--filename", "-"], &object.to_string());
    }

    pub fn create_host(&self, name: &str, number: u8) {
        self.create(&secret(&format!("{name}-bmc"), "calvin"));
        self.create(&host(name, number));
    }
}
