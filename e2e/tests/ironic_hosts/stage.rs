//! A control plane, an Ironic, and an Ironward that can be killed.

use std::{
    fs,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result};
use ironward_e2e::{
    cluster,
    control_plane::ControlPlane,
    eventually::eventually,
    ironic::{Ironic, Machine, Settings},
    ironward::{Ironward, Options},
    kubectl::Kubectl,
};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Enough for a life in which Ironward is killed at every step.
pub const PATIENCE: Duration = Duration::from_mins(6);

pub struct Stage {
    pub kubectl: Kubectl,
    pub ironic: Ironic,
    /// Whoever holds it may end it and start another.
    ironward: Mutex<Ironward>,
    options: Options,
    plane: ControlPlane,
    _files: tempfile::TempDir,
}

impl Stage {
    pub fn start(settings: &Settings) -> Result<Self> {
        let ironic = Ironic::start(settings)?;
        let url = ironic.url().to_owned();
        Self::with(ironic, &url)
    }

    /// With another way to Ironic than the straight one.
    pub fn with(ironic: Ironic, url: &str) -> Result<Self> {
        let files = tempfile::tempdir()?;
        let path = |name: &str| files.path().join(name);
        let plane = ControlPlane::start()?;
        cluster::install_kinds(&plane)?;
        let kubectl = plane.kubectl().in_namespace("default");
        let mut flags = vec![
            "--controllers=host".to_owned(),
            "--provisioner=ironic".to_owned(),
            format!("--ironic-url={url}"),
            format!("--deploy-iso-url={}", ironic.ramdisk_url()),
        ];
        if let Some(credentials) = ironic.credentials() {
            fs::write(path("username"), &credentials.username)?;
            fs::write(path("password"), &credentials.password)?;
            flags.push(format!("--ironic-auth-dir={}", files.path().display()));
        }
        if let Some(authority) = ironic.ca_pem() {
            fs::write(path("ca.crt"), authority)?;
            flags.push(format!("--ironic-ca-file={}", path("ca.crt").display()));
        }
        let options = Options { flags, ..Options::default() };
        let ironward = Mutex::new(Ironward::start_with(&plane, &options)?);
        let stage = Self { kubectl, ironward, options, ironic, plane, _files: files };
        stage.ironward().wait_until_ready()?;
        stage.ironward().wait_until_in_force(&stage.plane)?;
        Ok(stage)
    }

    fn ironward(&self) -> MutexGuard<'_, Ironward> {
        self.ironward.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As the kernel does when memory runs out.
    pub fn kill(&self) -> Result<()> {
        let ironward = self.ironward();
        ironward.process.signal(Signal::KILL)?;
        ironward.process.wait_for_exit(PATIENCE).map(drop)
    }

    /// Starts it again. It does not wait until the one that was killed is no longer awaited.
    pub fn start_again(&self) -> Result<()> {
        self.kubectl.expect(&["delete", "lease", "ironward", "--ignore-not-found"])?;
        let mut ironward = self.ironward();
        *ironward = Ironward::start_with(&self.plane, &self.options)?;
        ironward.wait_until_ready()
    }

    pub fn create(&self, object: &Value) -> Result<()> {
        let text = object.to_string();
        self.kubectl.expect_with_input(&["create", "--filename", "-"], &text).map(drop)
    }

    pub fn create_secret(&self, machine: &Machine, password: &str) -> Result<()> {
        self.create(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": machine.name},
            "stringData": {"username": machine.credentials.username, "password": password},
        }))
    }

    pub fn create_host(&self, machine: &Machine) -> Result<()> {
        self.create_host_with(machine, &json!({}))
    }

    /// With more in its spec.
    pub fn create_host_with(&self, machine: &Machine, spec: &Value) -> Result<()> {
        let mut host = json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": machine.name},
            "spec": spec,
        });
        host["spec"]["online"] = json!(true);
        host["spec"]["bootMACAddress"] = json!(machine.boot_mac);
        let address = machine.bmc_address();
        host["spec"]["bmc"] = json!({"address": address, "credentialsName": machine.name});
        self.create(&host)
    }

    pub fn patch(&self, name: &str, patch: &Value) -> Result<()> {
        let patch = patch.to_string();
        self.insist(&["patch", "bmh", name, "--type=merge", "--patch", &patch])
    }

    /// As a person does who is told that nobody answers for hosts at the moment.
    fn insist(&self, arguments: &[&str]) -> Result<()> {
        self.telling(eventually(PATIENCE, "somebody answers", || {
            self.kubectl.expect(arguments).map(drop).map_err(|error| error.to_string())
        }))
    }

    /// Deletes a host, and waits until it is gone.
    pub fn delete(&self, name: &str) -> Result<()> {
        self.insist(&["annotate", "bmh", name, "--overwrite", "ironward.dev/allow-delete="])?;
        self.insist(&["delete", "bmh", name, "--wait=false"])?;
        self.telling(eventually(PATIENCE, "the host is gone", || {
            let answer =
                self.kubectl.run(&["get", "bmh", name]).map_err(|error| error.to_string())?;
            if answer.err.contains("NotFound") { Ok(()) } else { Err(answer.out) }
        }))
    }

    pub fn until(&self, name: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Result<Value> {
        self.telling(eventually(PATIENCE, &format!("{name}: {what}"), || {
            let host = self.kubectl.get("bmh", name).map_err(|error| error.to_string())?;
            if is_so(&host) { Ok(host) } else { Err(format!("{:#}", host["status"])) }
        }))
    }

    pub fn until_state(&self, name: &str, state: &str) -> Result<Value> {
        self.until(name, state, |host| host["status"]["provisioning"]["state"] == state)
    }

    /// Available, with nothing on it.
    pub fn until_free(&self, name: &str) -> Result<Value> {
        self.until(name, "it is available, without an image", |host| {
            let provisioning = &host["status"]["provisioning"];
            provisioning["state"] == "available" && provisioning["image"].is_null()
        })
    }

    fn telling<T>(&self, seen: Result<T>) -> Result<T> {
        seen.with_context(|| self.ironward().process.log_tail())
    }
}

/// A patch that has the disk image of an Ironic written.
pub fn image(ironic: &Ironic) -> Value {
    let (url, sha256) = ironic.disk_image();
    json!({"spec": {"image": {
        "url": url, "checksum": sha256, "checksumType": "sha256", "format": "raw",
    }}})
}
