//! From its creation to its deletion, as it is seen by people, by Ironic and by the BMC.

use anyhow::{Context, Result, ensure};
use ironward_e2e::ironic::{Credentials, Power, Settings};
use serde_json::{Value, json};

use crate::stage::{Stage, image};

#[test]
fn a_host_goes_through_its_whole_life() -> Result<()> {
    let stage = Stage::start(&Settings {
        machines: 2,
        credentials: Some(Credentials::new("ironward", "correct horse")),
        tls: true,
        ..Settings::default()
    })?;
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

    stage.patch(name, &image(&stage.ironic))?;
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
    stage.until_free(name)?;
    ensure!(machine.past()?.boots == boots, "{:?}", machine.past()?);

    stage.delete(name)?;
    ensure!(api.get("/v1/nodes")?["nodes"] == json!([]));
    ensure!(machine.power()? == Power::Off);
    Ok(())
}
