//! Hosts on a real API server and a real Ironic, with a BMC, a ramdisk and a disk image: all of it together.

use std::{fs, time::Duration};

use anyhow::{Context, Result, ensure};
use ironward_e2e::{
    cluster,
    control_plane::ControlPlane,
    eventually::eventually,
    ironic::{Credentials, Ironic, Machine, Power, Settings},
    ironward::{Ironward, Options},
    kubectl::Kubectl,
};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_mins(3);

struct Stage {
    kubectl: Kubectl,
    ironward: Ironward,
    ironic: Ironic,
    _plane: ControlPlane,
    _files: tempfile::TempDir,
}

impl Stage {
    fn start() -> Result<Self> {
        let ironic = Ironic::start(&Settings {
            machines: 2,
            credentials: Some(Credentials::new("ironward", "correct horse")),
            tls: true,
            ..Settings::default()
        })?;
        let files = tempfile::tempdir()?;
        let path = |name: &str| files.path().join(name);
        fs::write(path("username"), "ironward")?;
        fs::write(path("password"), "correct horse")?;
        fs::write(path("ca.crt"), ironic.ca_pem().context("no authority")?)?;
        let plane = ControlPlane::start()?;
        cluster::install_kinds(&plane)?;
        let kubectl = plane.kubectl().in_namespace("default");
        let flags = vec![
            "--controllers=host".to_owned(),
            "--provisioner=ironic".to_owned(),
            format!("--ironic-url={}", ironic.url()),
            format!("--ironic-auth-dir={}", files.path().display()),
            format!("--ironic-ca-file={}", path("ca.crt").display()),
            format!("--deploy-iso-url={}", ironic.ramdisk_url()),
        ];
        let options = Options { flags, ..Options::default() };
        let ironward = Ironward::start_with(&plane, &options)?;
        ironward.wait_until_ready()?;
        ironward.wait_until_in_force(&plane)?;
        Ok(Self { kubectl, ironward, ironic, _plane: plane, _files: files })
    }

    fn create(&self, object: &Value) -> Result<()> {
        let text = object.to_string();
        self.kubectl.expect_with_input(&["create", "--filename", "-"], &text).map(drop)
    }

    fn create_secret(&self, machine: &Machine, password: &str) -> Result<()> {
        self.create(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": machine.name},
            "stringData": {"username": machine.credentials.username, "password": password},
        }))
    }

    fn create_host(&self, machine: &Machine) -> Result<()> {
        self.create(&json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": machine.name},
            "spec": {
                "online": true,
                "bootMACAddress": machine.boot_mac,
                "bmc": {"address": machine.bmc_address(), "credentialsName": machine.name},
            },
        }))
    }

    fn patch(&self, name: &str, patch: &Value) -> Result<()> {
        let patch = patch.to_string();
        self.kubectl.expect(&["patch", "bmh", name, "--type=merge", "--patch", &patch]).map(drop)
    }

    fn until(&self, name: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Result<Value> {
        let seen = eventually(PATIENCE, &format!("{name}: {what}"), || {
            let host = self.kubectl.get("bmh", name).map_err(|error| error.to_string())?;
            if is_so(&host) { Ok(host) } else { Err(format!("{:#}", host["status"])) }
        });
        seen.with_context(|| self.ironward.process.log_tail())
    }

    fn until_state(&self, name: &str, state: &str) -> Result<Value> {
        self.until(name, state, |host| host["status"]["provisioning"]["state"] == state)
    }
}

#[test]
fn a_host_goes_through_its_whole_life() -> Result<()> {
    let stage = Stage::start()?;
    let (api, machine) = (stage.ironic.api(), stage.ironic.take_machine()?);
    let name = machine.name.as_str();

    // With a wrong password it is told which Secret is to be looked at, and goes on when that is right.
    stage.create_secret(machine, "guessed-password")?;
    stage.create_host(machine)?;
    let failed = stage
        .until(name, "it is told", |host| host["status"]["errorType"] == "registration error")?;
    ensure!(!failed.to_string().contains("guessed-password"), "{failed:#}");
    let right = json!({"stringData": {"password": machine.credentials.password}}).to_string();
    stage.kubectl.expect(&["patch", "secret", name, "--type=merge", "--patch", &right])?;

    let host = stage.until_state(name, "available")?;
    ensure!(host["status"]["hardware"]["ramMebibytes"] == 32 << 10, "{host:#}");
    let id = host["status"]["provisioning"]["ID"].as_str().context("no id")?.to_owned();
    ensure!(api.node(&id)?["provision_state"] == "available");

    let (url, sha256) = stage.ironic.disk_image();
    let image = json!({"url": url, "checksum": sha256, "checksumType": "sha256", "format": "raw"});
    stage.patch(name, &json!({"spec": {"image": image}}))?;
    stage.until_state(name, "provisioned")?;
    ensure!(machine.power()? == Power::On);
    let past = machine.past()?;
    ensure!(past.steps == ["erase_devices_metadata", "write_image"], "{past:?}");
    let files = past.config_drive.context("no config drive")?;
    let meta_data: Value = serde_json::from_str(&files["/openstack/latest/meta_data.json"])?;
    ensure!(meta_data["metal3-name"] == name && meta_data["local-hostname"] == name, "{meta_data}");

    // The mode changes with the image, and counts.
    let boots = machine.past()?.boots;
    stage.patch(name, &json!({"spec": {"image": null, "automatedCleaningMode": "disabled"}}))?;
    stage.until(name, "it is available, without an image", |host| {
        let provisioning = &host["status"]["provisioning"];
        provisioning["state"] == "available" && provisioning["image"].is_null()
    })?;
    ensure!(machine.past()?.boots == boots, "{:?}", machine.past()?);

    stage.kubectl.expect(&["annotate", "bmh", name, "ironward.dev/allow-delete="])?;
    stage.kubectl.expect(&["delete", "bmh", name, "--wait=false"])?;
    eventually(PATIENCE, "the host is gone", || {
        let answer = stage.kubectl.run(&["get", "bmh", name]).map_err(|error| error.to_string())?;
        if answer.err.contains("NotFound") { Ok(()) } else { Err(answer.out) }
    })
    .with_context(|| stage.ironward.process.log_tail())?;
    ensure!(api.get("/v1/nodes")?["nodes"] == json!([]));
    ensure!(machine.power()? == Power::Off);
    Ok(())
}
