//! The life of a machine, from a BMC address to nothing, on the redfish driver with TLS and a
//! password; and what cleaning does on the way.

use anyhow::{Context, Result, ensure};
use ironward::{
    controllers::host::provisioner::{Operation, RebootMode},
    domain::automated_cleaning::AutomatedCleaningMode,
};
use ironward_e2e::ironic::{Method, Power};
use serde_json::Value;

use super::stage::{DEPROVISION, INSPECT, PREPARE, REGISTER, shared};

#[test]
fn a_machine_goes_through_its_whole_life() -> Result<()> {
    let stage = shared()?;
    let (side, api) = (&stage.another_side()?, stage.ironic.api());
    let (mut host, machine) = stage.host()?;
    let host = &mut host;

    side.done(host, &REGISTER)?;
    let id = host.provisioning_id.clone().context("no id")?;
    let node = api.node(&id)?;
    ensure!(node["provision_state"] == "manageable", "{node}");
    ensure!(node["name"] == format!("default~{}", machine.name), "{node}");
    ensure!(node["automated_clean"] == true && node["boot_interface"] == "redfish-virtual-media");

    // A host at rest is not worth a request, however often somebody looks.
    let before = side.metrics.requests();
    for _ in 0..20 {
        side.done(host, &REGISTER)?;
        side.done(host, &Operation::Observe)?;
    }
    ensure!(side.metrics.requests() == before);

    let details = side.done(host, &INSPECT)?.hardware.context("nothing was found")?;
    ensure!(details.ram_mebibytes == Some(32 << 10), "{details:?}");
    let nics = details.nics.context("no cards")?;
    ensure!(nics.iter().any(|nic| nic.mac.as_ref() == Some(&machine.other_mac)), "{nics:?}");
    ensure!(machine.past()?.boots == 1);

    side.done(host, &PREPARE)?;
    ensure!(api.node(&id)?["provision_state"] == "available");
    ensure!(machine.past()?.steps == ["erase_devices_metadata"], "{:?}", machine.past()?);

    let learnt = side.done(host, &Operation::PowerOn { force: false })?;
    ensure!(learnt.powered_on == Some(true) && machine.power()? == Power::On);
    side.done(host, &Operation::PowerOff { mode: RebootMode::Soft, force: false })?;
    ensure!(machine.power()? == Power::Off);

    side.done(host, &stage.image()?)?;
    let node = api.node(&id)?;
    ensure!(node["instance_uuid"] == *host.identity.uid, "{node}");
    ensure!(machine.power()? == Power::On);
    let past = machine.past()?;
    ensure!(past.steps == ["erase_devices_metadata", "write_image"], "{past:?}");
    let files = past.config_drive.context("no config drive")?;
    ensure!(files["/openstack/latest/user_data"] == "#cloud-config\n", "{files:?}");
    let meta_data: Value = serde_json::from_str(&files["/openstack/latest/meta_data.json"])?;
    ensure!(meta_data["local-hostname"] == "worker-0", "{meta_data}");
    // It is not written again, however often somebody asks.
    side.done(host, &stage.image()?)?;
    ensure!(machine.past()?.steps.len() == 2);

    side.done(host, &DEPROVISION)?;
    ensure!(api.node(&id)?["provision_state"] == "available");
    ensure!(machine.past()?.boots == 4, "{:?}", machine.past()?);

    side.done(host, &Operation::Delete)?;
    ensure!(api.call(Method::GET, &format!("/v1/nodes/{id}"), None)?.status == 404);
    side.done(host, &Operation::Delete)?;
    Ok(())
}

#[test]
fn a_mode_that_changed_a_moment_ago_decides_about_cleaning() -> Result<()> {
    let stage = shared()?;
    let (side, api) = (&stage.side, stage.ironic.api());
    let (mut host, machine) = stage.host()?;
    let host = &mut host;
    host.automated_cleaning = AutomatedCleaningMode::Disabled;
    side.done(host, &REGISTER)?;
    side.done(host, &PREPARE)?;
    let id = host.provisioning_id.clone().context("no id")?;
    ensure!(machine.past()?.boots == 0, "{:?}", machine.past()?);
    let cleaned = || -> Result<usize> { Ok(times_cleaned(&api.history(&id)?)) };
    ensure!(cleaned()? == 0, "{:?}", api.history(&id)?);

    // It was not to be cleaned when it was provisioned; it is when it is deprovisioned.
    side.done(host, &stage.image()?)?;
    let boots = machine.past()?.boots;
    host.automated_cleaning = AutomatedCleaningMode::Metadata;
    side.done(host, &DEPROVISION)?;
    ensure!(machine.past()?.boots == boots + 1, "{:?}", machine.past()?);
    ensure!(cleaned()? == 1, "{:?}", api.history(&id)?);

    // And the other way round.
    side.done(host, &stage.image()?)?;
    let boots = machine.past()?.boots;
    host.automated_cleaning = AutomatedCleaningMode::Disabled;
    side.done(host, &DEPROVISION)?;
    ensure!(machine.past()?.boots == boots, "{:?}", machine.past()?);
    ensure!(cleaned()? == 1, "{:?}", api.history(&id)?);
    Ok(())
}

#[test]
fn fake_hardware_is_cleaned_as_its_host_says() -> Result<()> {
    let stage = shared()?;
    let (side, api) = (&stage.side, stage.ironic.api());
    for (mode, expected) in
        [(AutomatedCleaningMode::Metadata, 2), (AutomatedCleaningMode::Disabled, 0)]
    {
        let name = format!("fake-{mode}");
        let mut host = stage.fake_host(&name)?;
        host.automated_cleaning = mode;
        side.done(&mut host, &PREPARE)?;
        side.done(&mut host, &stage.image()?)?;
        side.done(&mut host, &DEPROVISION)?;
        let history = api.history(&format!("default~{name}"))?;
        ensure!(times_cleaned(&history) == expected, "{mode}: {history:#?}");
        side.done(&mut host, &Operation::Delete)?;
    }
    Ok(())
}

#[test]
fn what_runs_is_adopted_when_ironic_has_forgotten_it() -> Result<()> {
    let stage = shared()?;
    let (side, api) = (&stage.side, stage.ironic.api());
    let (mut host, machine) = stage.host()?;
    let host = &mut host;
    host.automated_cleaning = AutomatedCleaningMode::Disabled;
    side.done(host, &REGISTER)?;
    side.done(host, &PREPARE)?;
    let image = stage.image()?;
    side.done(host, &image)?;
    let boots = machine.past()?.boots;
    side.done(host, &Operation::Detach { force: false })?;
    ensure!(api.get("/v1/nodes")?.to_string().find(&machine.name).is_none());
    ensure!(machine.power()? == Power::On);

    let Operation::Provision(provision) = &image else { anyhow::bail!("no image") };
    host.image.clone_from(&provision.image);
    side.done(host, &REGISTER)?;
    side.done(host, &Operation::Adopt { retry: false })?;
    let node = api.node(&format!("default~{}", machine.name))?;
    ensure!(node["provision_state"] == "active", "{node}");
    ensure!(node["instance_uuid"] == *host.identity.uid, "{node}");
    // Nothing was written, and it counts as provisioned.
    side.done(host, &image)?;
    ensure!(machine.past()?.boots == boots, "{:?}", machine.past()?);
    ensure!(machine.power()? == Power::On);
    Ok(())
}

/// How often a node's history tells of it.
fn times_cleaned(history: &[String]) -> usize {
    history.iter().filter(|event| event.contains("Cleaning completed")).count()
}
