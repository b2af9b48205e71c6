//! Machines that Ironic has discovered: what it found out is looked up and nothing else is done, until somebody says how their BMCs are reached.

use anyhow::{Context, Result, ensure};
use ironward::controllers::host::provisioner::{Operation, Outcome, RebootMode};
use ironward_e2e::ironic::{Method, Power};
use serde_json::json;

use super::stage::{PREPARE, REGISTER, shared};

#[test]
fn a_discovered_machine_is_imported_and_managed_when_its_bmc_is_known() -> Result<()> {
    let stage = shared()?;
    let (side, api) = (&stage.side, stage.ironic.api());
    let (mut host, machine) = stage.host()?;
    let bmc = host.bmc.take();
    // By its boot MAC, as nobody has named it.
    machine.boot_from_network()?;
    let learnt = side.done(&mut host, &Operation::Import)?;
    let details = learnt.hardware.context("nothing was found")?;
    ensure!(details.ram_mebibytes == Some(32 << 10), "{details:?}");
    let id = host.provisioning_id.clone().context("no id")?;
    let node = api.node(&id)?;
    ensure!(node["provision_state"] == "enroll" && node["name"].is_null(), "{node}");

    // Without a BMC it becomes available, under its name and on the driver that it has.
    side.done(&mut host, &REGISTER)?;
    side.done(&mut host, &PREPARE)?;
    let node = api.node(&id)?;
    ensure!(node["provision_state"] == "available" && node["driver"] == "fake-hardware", "{node}");
    ensure!(node["name"] == format!("default~{}", machine.name), "{node}");
    ensure!(node["automated_clean"] == true, "{node}");

    // With one it is told all that a new node would have been.
    host.bmc = bmc;
    side.done(&mut host, &REGISTER)?;
    let node = api.node(&id)?;
    ensure!(node["driver"] == "redfish" && node["power_interface"] == "redfish", "{node}");
    ensure!(node["boot_interface"] == "redfish-virtual-media", "{node}");
    // Ironic still takes it for off, as the driver that it had said.
    side.done(&mut host, &Operation::PowerOff { mode: RebootMode::Hard, force: true })?;
    ensure!(machine.power()? == Power::Off);
    // It was booted to be discovered, and never since.
    ensure!(machine.past()?.boots == 1, "{:?}", machine.past()?);
    side.done(&mut host, &Operation::Delete)?;
    ensure!(api.call(Method::GET, &format!("/v1/nodes/{id}"), None)?.status == 404);
    Ok(())
}

#[test]
fn an_import_waits_for_what_is_not_known_yet_and_leaves_the_node_alone() -> Result<()> {
    let stage = shared()?;
    let (side, api) = (&stage.side, stage.ironic.api());
    let (mut host, _) = stage.host()?;
    host.bmc = None;
    let waits = |host: &_| -> Result<()> {
        side.read();
        let seen = side.perform(host, &Operation::Import);
        ensure!(matches!(seen, Ok(Outcome::Moving { .. })), "{seen:?}");
        Ok(())
    };
    waits(&host)?;
    // A node that was never inspected.
    let node = api.create_node(&json!({"driver": "fake-hardware"}))?;
    let id = node["uuid"].as_str().context("no id")?;
    host.provisioning_id = Some(id.to_owned());
    waits(&host)?;
    ensure!(api.node(id)?["updated_at"] == node["updated_at"]);
    side.done(&mut host, &Operation::Delete)?;
    ensure!(api.call(Method::GET, &format!("/v1/nodes/{id}"), None)?.status == 404);
    Ok(())
}

#[test]
fn a_node_that_was_found_after_all_were_read_is_not_left_behind() -> Result<()> {
    let stage = shared()?;
    let api = stage.ironic.api();
    // Its snapshot is older than the node, which has no name.
    let side = stage.another_side()?;
    let (mut host, _) = stage.host()?;
    let node = api.create_node(&json!({"driver": "fake-hardware"}))?;
    let id = node["uuid"].as_str().context("no id")?;
    host.provisioning_id = Some(id.to_owned());
    side.done(&mut host, &Operation::Delete)?;
    ensure!(api.call(Method::GET, &format!("/v1/nodes/{id}"), None)?.status == 404);
    Ok(())
}
