//! A control plane, an Ironic that discovers, and an Ironward that makes hosts of what it discovers.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use ironward_e2e::{
    cluster,
    control_plane::ControlPlane,
    eventually::eventually,
    ironic::{Driver, Ironic, Settings},
    ironward::{Ironward, Options},
    kubectl::Kubectl,
};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Enough for the slowest: a poll every ten seconds, and cleaning.
pub const PATIENCE: Duration = Duration::from_mins(5);

pub struct Rack {
    pub kubectl: Kubectl,
    pub ironic: Ironic,
    pub plane: ControlPlane,
    ironward: Mutex<Ironward>,
    options: Options,
}

impl Rack {
    /// With these controllers.
    pub fn start(controllers: &str, settings: &Settings) -> Result<Self> {
        let discovery = Some(Driver::FakeHardware);
        let ironic = Ironic::start(&Settings { discovery, power_sync: None, ..settings.clone() })?;
        let plane = ControlPlane::start()?;
        cluster::install_kinds(&plane)?;
        let options = Options {
            flags: vec![
                format!("--controllers={controllers}"),
                "--provisioner=ironic".to_owned(),
                format!("--ironic-url={}", ironic.url()),
                format!("--deploy-iso-url={}", ironic.ramdisk_url()),
            ],
            ..Options::default()
        };
        let ironward = Mutex::new(Ironward::start_with(&plane, &options)?);
        let kubectl = plane.kubectl().in_namespace("default");
        let rack = Self { kubectl, ironic, plane, ironward, options };
        rack.ironward().wait_until_ready()?;
        rack.ironward().wait_until_in_force(&rack.plane)?;
        Ok(rack)
    }

    pub fn ironward(&self) -> MutexGuard<'_, Ironward> {
        self.ironward.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills it as the kernel does when memory runs out, and starts it again.
    pub fn kill_and_start(&self) -> Result<()> {
        let mut ironward = self.ironward();
        ironward.process.signal(Signal::KILL)?;
        ironward.process.wait_for_exit(PATIENCE)?;
        self.kubectl.expect(&["delete", "lease", "ironward", "--ignore-not-found"])?;
        *ironward = Ironward::start_with(&self.plane, &self.options)?;
        ironward.wait_until_ready()
    }

    pub fn create(&self, object: &Value) -> Result<()> {
        let create = ["create", "--filename", "-"];
        self.kubectl.expect_with_input(&create, &object.to_string()).map(drop)
    }

    /// A discovery that looks every ten seconds.
    pub fn discover(&self, name: &str, spec: &Value) -> Result<()> {
        let mut discovery = json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHostDiscovery",
            "metadata": {"name": name}, "spec": spec,
        });
        discovery["spec"]["interval"] = json!("10s");
        self.create(&discovery)
    }

    pub fn until(
        &self,
        kind: &str,
        name: &str,
        what: &str,
        is_so: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        let seen = eventually(PATIENCE, &format!("{name}: {what}"), || {
            let found = self.kubectl.get(kind, name).map_err(|error| error.to_string())?;
            if is_so(&found) { Ok(found) } else { Err(format!("{:#}", found["status"])) }
        });
        seen.with_context(|| self.ironward().process.log_tail())
    }

    pub fn until_state(&self, name: &str, state: &str) -> Result<Value> {
        self.until("bmh", name, state, |host| host["status"]["provisioning"]["state"] == state)
    }

    /// The names of all hosts.
    pub fn hosts(&self) -> Result<Vec<String>> {
        let hosts = self.kubectl.expect(&["get", "bmh", "--output=name"])?;
        Ok(hosts.lines().filter_map(|line| line.split('/').nth(1)).map(str::to_owned).collect())
    }

    /// Waits until a discovery has looked again, after it was told this.
    pub fn until_polled(&self, name: &str, is_so: impl Fn(&Value) -> bool) -> Result<Value> {
        self.until("bmhd", name, "its status says so", |found| is_so(&found["status"]))
    }
}

/// How many nodes a status skips for a reason.
pub fn skipped(status: &Value, reason: &str) -> i64 {
    let skipped = status["skipped"].as_array().map_or(&[][..], Vec::as_slice);
    let found = skipped.iter().find(|it| it["reason"] == reason);
    found.and_then(|it| it["count"].as_i64()).unwrap_or_default()
}

/// Whether a status tells this of some node.
pub fn tells(status: &Value, reason: &str) -> bool {
    let refusals = status["refusals"].as_array().map_or(&[][..], Vec::as_slice);
    refusals.iter().any(|it| it["reason"] == reason)
}

/// A report of a machine that need not exist.
pub fn report(hostname: &str, macs: &[&str]) -> Value {
    let card = |(place, mac): (usize, &&str)| json!({"name": format!("eth{place}"), "mac_address": mac, "ipv4_address": "172.22.0.9", "has_carrier": true});
    json!({"inventory": {
        "interfaces": macs.iter().enumerate().map(card).collect::<Vec<_>>(),
        "cpu": {"count": 4, "architecture": "x86_64", "flags": []},
        "memory": {"physical_mb": 8192},
        "disks": [{"name": "/dev/sda", "size": 107_374_182_400_u64, "rotational": false}],
        "boot": {"current_boot_mode": "uefi", "pxe_interface": macs.first()},
        "system_vendor": {"serial_number": "S1", "manufacturer": "Nobody", "product_name": "Nothing"},
        "hostname": hostname,
    }})
}

/// Hands it in; Ironic must take it.
pub fn reported(ironic: &Ironic, hardware: &Value) -> Result<()> {
    let answer = ironic.report(hardware)?;
    ensure!(answer.status == 202, "{answer:?}");
    Ok(())
}
