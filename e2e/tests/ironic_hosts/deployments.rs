//! What can be put on a machine beside a disk image: an ISO that runs from memory, a deploy step of one's own; and below it, volumes. And how people
//! have something done again.

use std::time::Duration;

use anyhow::{Result, ensure};
use ironward_e2e::{
    eventually::eventually,
    ironic::{Fault, Power, Settings, Step},
};
use serde_json::{Value, json};

use crate::stage::{PATIENCE, Stage, image};

#[test]
fn a_live_iso_is_booted_and_a_step_of_ones_own_is_taken() -> Result<()> {
    let stage = Stage::start(&Settings { machines: 1, ..Settings::default() })?;
    let (api, machine) = (stage.ironic.api(), stage.ironic.take_machine()?);
    let name = machine.name.as_str();
    stage.create_secret(machine, &machine.credentials.password)?;
    stage.create_host_with(machine, &json!({"automatedCleaningMode": "disabled"}))?;
    let host = stage.until_state(name, "available")?;
    let id = host["status"]["provisioning"]["ID"].as_str().unwrap_or_default().to_owned();

    let boots = machine.past()?.boots;
    let (url, _) = stage.ironic.disk_image();
    stage.patch(name, &json!({"spec": {"image": {"url": url, "format": "live-iso"}}}))?;
    stage.until_state(name, "provisioned")?;
    ensure!(machine.past()?.boots == boots, "a ramdisk was booted: {:?}", machine.past()?);
    ensure!(machine.power()? == Power::On);
    let node = api.node(&id)?;
    ensure!(node["instance_info"]["boot_iso"] == url, "{node:#}");
    ensure!(node["deploy_interface"] == "ramdisk", "{node:#}");

    // From one to the other, by way of nothing.
    let custom = json!({"image": null, "customDeploy": {"method": "install_my_os"}});
    stage.patch(name, &json!({"spec": custom}))?;
    stage.until(name, "the step was taken", |host| {
        let provisioning = &host["status"]["provisioning"];
        provisioning["state"] == "provisioned"
            && provisioning["customDeploy"]["method"] == "install_my_os"
    })?;
    ensure!(machine.past()?.steps == ["install_my_os"], "{:?}", machine.past()?);
    ensure!(api.node(&id)?["deploy_interface"] == "custom-agent");

    // And back to the usual.
    let mut patch = image(&stage.ironic);
    patch["spec"]["customDeploy"] = json!(null);
    stage.patch(name, &patch)?;
    stage.until(name, "the image was written", |host| {
        let provisioning = &host["status"]["provisioning"];
        provisioning["state"] == "provisioned" && provisioning["image"]["format"] == "raw"
    })?;
    ensure!(machine.past()?.steps == ["install_my_os", "write_image"], "{:?}", machine.past()?);
    ensure!(api.node(&id)?["deploy_interface"] == "direct");
    Ok(())
}

#[test]
fn volumes_are_built_once_and_anew_when_they_are_changed() -> Result<()> {
    let stage = Stage::start(&Settings { machines: 1, ..Settings::default() })?;
    let (api, machine) = (stage.ironic.api(), stage.ironic.take_machine()?);
    let name = machine.name.as_str();
    let mirror = json!({"softwareRAIDVolumes": [{"level": "1"}]});
    stage.create_secret(machine, &machine.credentials.password)?;
    stage
        .create_host_with(machine, &json!({"automatedCleaningMode": "disabled", "raid": mirror}))?;
    let host = stage.until_state(name, "available")?;
    let id = host["status"]["provisioning"]["ID"].as_str().unwrap_or_default().to_owned();
    ensure!(host["status"]["provisioning"]["raid"]["softwareRAIDVolumes"][0]["level"] == "1");
    let built = ["delete_configuration", "erase_devices_metadata", "create_configuration"];
    ensure!(machine.past()?.steps == built, "{:?}", machine.past()?);
    let node = api.node(&id)?;
    ensure!(node["raid_interface"] == "agent", "{node:#}");
    let disk = &node["target_raid_config"]["logical_disks"][0];
    ensure!(disk["raid_level"] == "1" && disk["controller"] == "software", "{node:#}");

    // Nothing is built again because an image comes and goes.
    stage.patch(name, &image(&stage.ironic))?;
    stage.until_state(name, "provisioned")?;
    stage.patch(name, &json!({"spec": {"image": null}}))?;
    stage.until_free(name)?;
    ensure!(machine.past()?.steps[3..] == ["write_image"], "{:?}", machine.past()?);

    let stripe = json!({"softwareRAIDVolumes": [{"level": "1"}, {"level": "0"}]});
    stage.patch(name, &json!({"spec": {"raid": stripe}}))?;
    stage.until(name, "the volumes are others", |host| {
        let provisioning = &host["status"]["provisioning"];
        let volumes = provisioning["raid"]["softwareRAIDVolumes"].as_array();
        provisioning["state"] == "available" && volumes.is_some_and(|them| them.len() == 2)
    })?;
    ensure!(machine.past()?.steps[4..] == built, "{:?}", machine.past()?);
    Ok(())
}

#[test]
fn hardware_is_inspected_again_when_somebody_wants_that() -> Result<()> {
    let callback_timeout = Duration::from_mins(30);
    let stage = Stage::start(&Settings { machines: 1, callback_timeout, ..Settings::default() })?;
    let machine = stage.ironic.take_machine()?;
    let name = machine.name.as_str();
    stage.create_secret(machine, &machine.credentials.password)?;
    stage.create_host_with(machine, &json!({"automatedCleaningMode": "disabled"}))?;
    stage.until_state(name, "available")?;
    let boots = machine.past()?.boots;
    ensure!(boots == 1, "{:?}", machine.past()?);

    stage.kubectl.expect(&["annotate", "bmh", name, "inspect.metal3.io="])?;
    let is_done = |host: &Value| {
        let annotations = &host["metadata"]["annotations"];
        annotations["inspect.metal3.io"].is_null()
            && host["status"]["provisioning"]["state"] == "available"
    };
    let host = stage.until(name, "it is inspected again", is_done)?;
    ensure!(machine.past()?.boots == boots + 1, "{:?}", machine.past()?);
    ensure!(host["status"]["hardware"]["ramMebibytes"] == 32 << 10, "{host:#}");

    // An inspection that hangs is begun anew by a forced reboot.
    let hanging = Fault::ramdisk_is_slow(Step::Inspection, Duration::from_hours(1));
    let hanging = stage.ironic.inject(hanging.of(&machine.id).times(1))?;
    stage.kubectl.expect(&["annotate", "bmh", name, "inspect.metal3.io="])?;
    eventually(PATIENCE, "the ramdisk hangs", || match machine.past() {
        Ok(past) if past.faults == ["inspection"] => Ok(()),
        past => Err(format!("{past:?}")),
    })?;
    ensure!(machine.past()?.boots == boots + 2, "{:?}", machine.past()?);
    let wish = r#"reboot.metal3.io={"mode": "hard", "force": true}"#;
    stage.kubectl.expect(&["annotate", "bmh", name, wish])?;
    stage.until(name, "it is inspected after all", is_done)?;
    ensure!(machine.past()?.boots == boots + 3, "{:?}", machine.past()?);
    hanging.clear()
}
