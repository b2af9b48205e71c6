//! A control plane, an Ironic, and an Ironward that can be killed.

use std::{
    fs,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result};
use ironward_e2e::{
    certificates::Files,
    cluster,
    control_plane::ControlPlane,
    eventually::eventually,
    haunt::Victim,
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
    pub plane: ControlPlane,
    _files: tempfile::TempDir,
}

/// A way to Ironic.
pub struct Way {
    pub url: String,
    /// The certificate of who signed that of whoever is there.
    pub ca_pem: Option<String>,
    /// What Ironward shows there.
    pub identity: Option<Files>,
}

impl Stage {
    pub fn start(settings: &Settings) -> Result<Self> {
        let ironic = Ironic::start(settings)?;
        let url = ironic.url().to_owned();
        let ca_pem = ironic.ca_pem().map(str::to_owned);
        Self::with(ironic, Way { url, ca_pem, identity: None })
    }

    /// With another way to Ironic than the straight one.
    pub fn with(ironic: Ironic, way: Way) -> Result<Self> {
        let files = tempfile::tempdir()?;
        let path = |name: &str| files.path().join(name);
        let Way { url, ca_pem, identity } = way;
        let plane = ControlPlane::start()?;
        cluster::install_kinds(&plane)?;
        let kubectl = plane.kubectl().in_namespace("default");
        let mut flags = vec![
            "--controllers=host,metadata".to_owned(),
            "--provisioner=ironic".to_owned(),
            format!("--ironic-url={url}"),
            format!("--deploy-iso-url={}", ironic.ramdisk_url()),
        ];
        if let Some(credentials) = ironic.credentials() {
            fs::write(path("username"), &credentials.username)?;
            fs::write(path("password"), &credentials.password)?;
            flags.push(format!("--ironic-auth-dir={}", files.path().display()));
        }
        if let Some(authority) = ca_pem {
            fs::write(path("ca.crt"), authority)?;
            flags.push(format!("--ironic-ca-file={}", path("ca.crt").display()));
        }
        if let Some(Files { certificate, key }) = identity {
            flags.push(format!("--ironic-client-cert-file={}", certificate.display()));
            flags.push(format!("--ironic-client-key-file={}", key.display()));
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

    pub fn create(&self, object: &Value) -> Result<()> {
        self.insist(&["create", "--filename", "-"], &object.to_string())
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
        host["spec"]["bmc"] = bmc(machine);
        self.create(&host)
    }

    pub fn patch(&self, name: &str, patch: &Value) -> Result<()> {
        let patch = patch.to_string();
        self.insist(&["patch", "bmh", name, "--type=merge", "--patch", &patch], "")
    }

    pub fn annotate(&self, name: &str, annotation: &str) -> Result<()> {
        self.insist(&["annotate", "bmh", name, "--overwrite", annotation], "")
    }

    /// As a person does who is told that nobody answers for hosts at the moment.
    fn insist(&self, arguments: &[&str], input: &str) -> Result<()> {
        self.telling(eventually(PATIENCE, "somebody answers", || {
            let answer = self.kubectl.expect_with_input(arguments, input);
            answer.map(drop).map_err(|error| error.to_string())
        }))
    }

    /// Waits until a host is told something.
    pub fn until_told(&self, name: &str, reason: &str) -> Result<()> {
        let about = format!("--field-selector=involvedObject.name={name},reason={reason}");
        self.telling(eventually(PATIENCE, &format!("{name} is told {reason}"), || {
            match self.kubectl.expect(&["get", "events", "--no-headers", &about]) {
                Ok(events) if !events.trim().is_empty() => Ok(()),
                other => Err(format!("{other:?}")),
            }
        }))
    }

    /// Deletes a host, and waits until it is gone.
    pub fn delete(&self, name: &str) -> Result<()> {
        self.annotate(name, "ironward.dev/allow-delete=")?;
        self.insist(&["delete", "bmh", name, "--wait=false"], "")?;
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

/// `spec.bmc` of a machine.
pub fn bmc(machine: &Machine) -> Value {
    json!({"address": machine.bmc_address(), "credentialsName": machine.name})
}

/// A host as discovery makes it: nobody has said how its BMC is reached, and its node is known.
pub fn discovered(machine: &Machine, id: &str) -> Value {
    let status = json!({
        "errorMessage": "", "operationalStatus": "", "poweredOn": true,
        "provisioning": {"ID": id, "state": ""},
    });
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {
            "name": machine.name,
            "annotations": {"baremetalhost.metal3.io/status": status.to_string()},
        },
        "spec": {"online": true, "bootMACAddress": machine.boot_mac},
    })
}

impl Victim for Stage {
    fn kill(&self) -> Result<()> {
        let ironward = self.ironward();
        ironward.process.signal(Signal::KILL)?;
        ironward.process.wait_for_exit(PATIENCE).map(drop)
    }

    /// It does not wait until the one that was killed is no longer awaited.
    fn start_again(&self) -> Result<()> {
        self.kubectl.expect(&["delete", "lease", "ironward", "--ignore-not-found"])?;
        let mut ironward = self.ironward();
        *ironward = Ironward::start_with(&self.plane, &self.options)?;
        ironward.wait_until_ready()
    }
}

/// A patch that has the disk image of an Ironic written.
pub fn image(ironic: &Ironic) -> Value {
    let (url, sha256) = ironic.disk_image();
    json!({"spec": {"image": {
        "url": url, "checksum": sha256, "checksumType": "sha256", "format": "raw",
    }}})
}
