//! From its creation to its deletion, as it is seen by people, by Ironic and by the BMC.

use std::fs;

use anyhow::{Context, Result, ensure};
use ironward_e2e::{
    certificates::Authority,
    eventually::eventually,
    gate::Gate,
    ironic::{Credentials, Ironic, Power, Settings},
};
use serde_json::{Value, json};

use crate::stage::{PATIENCE, Stage, Way, image};

/// Who comes to Ironic needs a password, and a certificate to be let through to it.
fn well_guarded(authority: &Authority) -> Result<Stage> {
    let ironic = Ironic::start(&Settings {
        machines: 2,
        credentials: Some(Credentials::new("ironward", "correct horse")),
        tls: true,
        ..Settings::default()
    })?;
    let ca_pem = ironic.ca_pem().context("no authority")?;
    let gate = Gate::open_to_certified(ironic.url(), ca_pem, authority)?;
    let way = Way {
        url: gate.url(),
        ca_pem: Some(fs::read_to_string(authority.certificate())?),
        identity: Some(authority.for_user("ironward", &[])?),
    };
    Stage::with(ironic, way)
}

#[test]
fn a_host_goes_through_its_whole_life() -> Result<()> {
    let files = tempfile::tempdir()?;
    let stage = well_guarded(&Authority::new(files.path())?)?;
    lives(&stage)?;
    is_never_off(&stage)
}

fn lives(stage: &Stage) -> Result<()> {
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
    stage.until(name, "its architecture is filled in", |host| {
        host["spec"]["architecture"] == "x86_64"
    })?;
    let id = host["status"]["provisioning"]["ID"].as_str().context("no id")?.to_owned();
    ensure!(api.node(&id)?["provision_state"] == "available");
    is_found_by_one_id(stage, &host)?;

    let mut patch = image(&stage.ironic);
    patch["spec"]["metaData"] = json!({"name": rendered(stage)?});
    stage.patch(name, &patch)?;
    stage.until_state(name, "provisioned")?;
    ensure!(machine.power()? == Power::On);
    let past = machine.past()?;
    ensure!(past.steps == ["erase_devices_metadata", "write_image"], "{past:?}");
    let files = past.config_drive.context("no config drive")?;
    let meta_data: Value = serde_json::from_str(&files["/openstack/latest/meta_data.json"])?;
    ensure!(meta_data["metal3-name"] == name && meta_data["local_hostname"] == name, "{meta_data}");
    let rendered = (&meta_data["local-hostname"], &meta_data["rack"]);
    ensure!(rendered == (&json!("worker-np1-0"), &json!("007")), "{meta_data}");
    ensure!(meta_data["uuid"] == host["metadata"]["uid"], "{meta_data}");

    // Off for as long as somebody wants it, and off and on again.
    let power = |on: bool| move |host: &Value| host["status"]["poweredOn"] == on;
    stage.annotate(name, r#"reboot.metal3.io/fencing={"mode": "hard"}"#)?;
    stage.until(name, "it is off", power(false))?;
    ensure!(machine.power()? == Power::Off);
    stage.annotate(name, "reboot.metal3.io/fencing-")?;
    stage.until(name, "it is on", power(true))?;
    ensure!(machine.power()? == Power::On);
    stage.annotate(name, "reboot.metal3.io=")?;
    stage.until(name, "it is rebooted", |host| {
        host["metadata"]["annotations"]["reboot.metal3.io"].is_null() && power(true)(host)
    })?;
    ensure!(machine.power()? == Power::On);

    // The mode changes with the image, and counts.
    let boots = machine.past()?.boots;
    stage.patch(name, &json!({"spec": {"image": null, "automatedCleaningMode": "disabled"}}))?;
    stage.until_free(name)?;
    ensure!(machine.past()?.boots == boots, "{:?}", machine.past()?);

    stage.delete(name)?;
    ensure!(api.get("/v1/nodes")?["nodes"] == json!([]));
    ensure!(machine.power()? == Power::Off);
    Ok(())
}

/// The Secret that the templates of a Metal3Metadata were rendered to for a machine.
fn rendered(stage: &Stage) -> Result<String> {
    let kind = |kind: &str, name: &str, spec: &Value| {
        json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": kind,
            "metadata": {"name": name}, "spec": spec,
        })
    };
    let templates = json!({"local-hostname": "worker-np1-{{ getIndex }}", "rack": "{{ printf \"%03d\" (getIndexWithOffset 7) }}"});
    stage.create(&kind("Metal3Metadata", "np1", &json!({"metaData": templates})))?;
    let image =
        json!({"url": "http://192.0.2.200/image.qcow2", "checksum": "http://192.0.2.200/SUMS"});
    let spec = json!({"image": image, "metaData": {"configRef": {"name": "np1"}}});
    stage.create(&kind("Metal3Machine", "worker-x", &spec))?;
    eventually(PATIENCE, "the machine has metadata", || {
        let machine =
            stage.kubectl.get("metal3machine", "worker-x").map_err(|it| it.to_string())?;
        let secret = machine["spec"]["metaData"]["dataSecret"]["name"].as_str().map(str::to_owned);
        secret.ok_or_else(|| machine.to_string())
    })
}

/// Not even when it is deleted. It is rebooted in one go.
/// Who looks for the uid of a host finds what was refused of it, what was done about it, and what Ironic was asked because of it.
fn is_found_by_one_id(stage: &Stage, host: &Value) -> Result<()> {
    let text = |field: &str| host["metadata"][field].as_str().context("a host has it");
    let (name, id) = (text("name")?, text("uid")?);
    let nonsense = json!({"spec": {"bmc": {"address": "nonsense://192.0.2.1"}}}).to_string();
    let patch = ["patch", "bmh", name, "--type=merge", "--patch", &nonsense];
    let answer = stage.kubectl.run(&patch)?;
    ensure!(answer.err.contains("[host-bmc-address]"), "{}", answer.err);
    let own = fs::read_to_string(stage.plane.dir().join("ironward.log"))?;
    for words in ["denied", "asking Ironic"] {
        let is_told = own.lines().any(|line| line.contains(id) && line.contains(words));
        ensure!(is_told, "no {words} of {id}:\n{own}");
    }
    let said = stage.ironic.log();
    ensure!(said.contains(&format!("req-{id}")), "no req-{id}:\n{said}");
    Ok(())
}

fn is_never_off(stage: &Stage) -> Result<()> {
    let (api, machine) = (stage.ironic.api(), stage.ironic.take_machine()?);
    let name = machine.name.as_str();
    stage.create_secret(machine, &machine.credentials.password)?;
    let spec = json!({
        "disablePowerOff": true, "architecture": "aarch64",
        "inspectionMode": "disabled", "automatedCleaningMode": "disabled",
    });
    stage.create_host_with(machine, &spec)?;
    let is_on = |host: &Value| {
        let status = &host["status"];
        status["provisioning"]["state"] == "available" && status["poweredOn"] == true
    };
    stage.until(name, "it is available and on", is_on)?;
    ensure!(machine.power()? == Power::On);
    let node = api.at_version("1.95").node(&format!("default~{name}"))?;
    ensure!(node["disable_power_off"] == true, "{node:#}");
    ensure!(node["properties"]["cpu_arch"] == "aarch64", "{node:#}");

    stage.annotate(name, r#"reboot.metal3.io={"mode": "hard", "force": true}"#)?;
    stage.until(name, "it is rebooted", |host| {
        host["metadata"]["annotations"]["reboot.metal3.io"].is_null() && is_on(host)
    })?;
    stage.until_told(name, "Rebooted")?;
    stage.delete(name)?;
    ensure!(api.get("/v1/nodes")?["nodes"] == json!([]));
    ensure!(machine.power()? == Power::On);
    Ok(())
}
