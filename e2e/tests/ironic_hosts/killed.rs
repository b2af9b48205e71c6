//! Ironward killed at every request that changes something in Ironic, once before Ironic has seen it and once before Ironward knows that it has,
//! through whole lives: of a host as most are, of one that was discovered, of one that runs what others put there, and of one that is given up while it is imported. All go
//! on where they were: one node, one image written, nothing left behind.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use axum::http::Method;
use ironward_e2e::{
    eventually::eventually,
    gate::Gate,
    haunt::haunt,
    ironic::{Driver, Ironic, Machine, Method as Verb, Power, Settings},
};
use serde_json::{Value, json};

use crate::stage::{PATIENCE, Stage, Way, bmc, discovered, image};

/// What is asked of Ironic, in words that are the same each time it is.
fn step(method: &Method, path: &str, body: &[u8]) -> Option<String> {
    // What was found out is only read, and is a step nevertheless.
    if [Method::GET, Method::HEAD].contains(method) && !path.ends_with("/inventory") {
        return None;
    }
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let what = if let Some(changes) = body.as_array() {
        // A JSON patch: which fields.
        let paths: BTreeSet<_> = changes.iter().map(|it| it["path"].to_string()).collect();
        format!("{paths:?}")
    } else {
        body["target"].to_string()
    };
    let path: Vec<_> =
        path.split('/').map(|part| if part.len() == 36 { "ID" } else { part }).collect();
    Some(format!("{method} {} {what}", path.join("/")))
}

#[test]
fn a_host_outlives_its_controller_at_every_step() -> Result<()> {
    let discovery = Some(Driver::FakeHardware);
    let ironic = Ironic::start(&Settings { machines: 4, discovery, ..Settings::default() })?;
    let gate = Gate::open_to(ironic.url())?;
    let way = Way { url: gate.url(), ca_pem: None, identity: None };
    let stage = Stage::with(ironic, way)?;
    let killed = haunt(&gate, &stage, step, || {
        // One after the other: a kill for the sake of one would take the moment after a request of another with it.
        let lives = [usual, found, given_up, external];
        lives.iter().try_for_each(|life| life(&stage, stage.ironic.take_machine()?))
    })?;
    ensure!(stage.ironic.api().get("/v1/nodes")?["nodes"] == json!([]));
    let steps = [
        "POST /v1/nodes",
        "POST /v1/ports",
        "manage",
        "inspect",
        "inventory",
        "states/raid",
        "clean",
        "provide",
        "active",
        "adopt",
        "/driver\\\"",
        "deleted",
        "power on",
        "power off",
        "PUT /v1/nodes/ID/maintenance",
        "DELETE /v1/nodes/ID",
    ];
    for moment in ["Before", "After"] {
        for step in steps {
            let is_it = |it: &&String| it.starts_with(moment) && it.contains(step);
            ensure!(killed.iter().any(|it| is_it(&it)), "{moment} {step}: {killed:#?}");
        }
    }
    Ok(())
}

/// How often a step was taken on a machine.
fn times(machine: &Machine, step: &str) -> Result<usize> {
    Ok(machine.past()?.steps.iter().filter(|it| *it == step).count())
}

/// With volumes, so that there is something to prepare.
fn usual(stage: &Stage, machine: &Machine) -> Result<()> {
    let name = machine.name.as_str();
    stage.create_secret(machine, &machine.credentials.password)?;
    let volumes = json!({"raid": {"softwareRAIDVolumes": [{"level": "1"}]}});
    stage.create_host_with(machine, &volumes)?;
    let registered = stage.until_free(name)?;
    ensure!(times(machine, "create_configuration")? == 1, "{:?}", machine.past()?);

    stage.patch(name, &image(&stage.ironic))?;
    let provisioned = stage.until_state(name, "provisioned")?;
    let id = "/status/provisioning/ID";
    ensure!(registered.pointer(id) == provisioned.pointer(id), "{provisioned:#}");
    ensure!(times(machine, "write_image")? == 1, "{:?}", machine.past()?);
    stage.until(name, "it is on", |host| host["status"]["poweredOn"] == true)?;

    stage.patch(name, &json!({"spec": {"image": null}}))?;
    stage.until_free(name)?;
    ensure!(times(machine, "write_image")? == 1, "{:?}", machine.past()?);

    stage.delete(name)?;
    ensure!(machine.power()? == Power::Off);
    Ok(())
}

/// Somebody has plugged it in. What Ironic found out then is enough, and stays when somebody says how its BMC is reached.
fn found(stage: &Stage, machine: &Machine) -> Result<()> {
    let (api, name) = (stage.ironic.api(), machine.name.as_str());
    machine.boot_from_network()?;
    let ports = format!("/v1/ports?address={}&fields=node_uuid", machine.boot_mac);
    let id = eventually(PATIENCE, "the machine has a node", || {
        let ports = api.get(&ports).map_err(|error| error.to_string())?;
        ports["ports"][0]["node_uuid"].as_str().map(str::to_owned).ok_or(ports.to_string())
    })?;
    stage.create(&discovered(machine, &id))?;
    let host = stage.until_free(name)?;
    ensure!(host["status"]["hardware"]["ramMebibytes"] == 32 << 10, "{host:#}");
    ensure!(host["status"]["provisioning"]["ID"] == *id, "{host:#}");
    let node = api.node(&id)?;
    ensure!(node["driver"] == "fake-hardware", "{node:#}");
    ensure!(node["name"] == format!("default~{name}"), "{node:#}");
    stage.annotate(name, r#"reboot.metal3.io={"mode": "hard"}"#)?;
    stage.until(name, "it is not rebooted", |host| {
        host["metadata"]["annotations"]["reboot.metal3.io"].is_null()
    })?;

    stage.create_secret(machine, &machine.credentials.password)?;
    stage.patch(name, &json!({"spec": {"bmc": bmc(machine)}}))?;
    let host = stage.until(name, "its BMC is taken", |host| {
        host["status"]["goodCredentials"]["credentials"]["name"] == *name
    })?;
    ensure!(host["status"]["provisioning"]["ID"] == *id, "{host:#}");
    let node = api.node(&id)?;
    ensure!(node["driver"] == "redfish", "{node:#}");
    ensure!(node["boot_interface"] == "redfish-virtual-media", "{node:#}");
    ensure!(node["inspection_finished_at"].is_null(), "it was inspected: {node:#}");
    stage.delete(name)?;
    ensure!(machine.power()? == Power::Off);
    Ok(())
}

/// Its node tells nothing of it, so that it waits; until nobody wants it any more.
fn given_up(stage: &Stage, machine: &Machine) -> Result<()> {
    let (api, name) = (stage.ironic.api(), machine.name.as_str());
    let node = api.create_node(&json!({"driver": "fake-hardware"}))?;
    let id = node["uuid"].as_str().unwrap_or_default();
    stage.create(&discovered(machine, id))?;
    stage.until_state(name, "importing")?;
    stage.delete(name)?;
    ensure!(api.call(Verb::GET, &format!("/v1/nodes/{id}"), None)?.status == 404);
    Ok(())
}

/// What runs on it is nobody's business here: it is taken over, let go and taken over again.
fn external(stage: &Stage, machine: &Machine) -> Result<()> {
    let (api, name) = (stage.ironic.api(), machine.name.as_str());
    machine.set_power(Power::On)?;
    stage.create_secret(machine, &machine.credentials.password)?;
    stage.create_host_with(machine, &json!({"externallyProvisioned": true}))?;
    let is_taken = |host: &Value| {
        let status = &host["status"];
        status["provisioning"]["state"] == "externally provisioned"
            && status["operationalStatus"] == "OK"
            && status["provisioning"]["ID"] != ""
    };
    let node = format!("default~{name}");
    let is_active = || {
        eventually(PATIENCE, "what runs is adopted", || match api.node(&node) {
            Ok(node) if node["provision_state"] == "active" => Ok(()),
            other => Err(format!("{other:?}")),
        })
    };
    stage.until(name, "it is taken over", is_taken)?;
    is_active()?;

    stage.annotate(name, "baremetalhost.metal3.io/detached=")?;
    stage.until(name, "it is let go", |host| host["status"]["operationalStatus"] == "detached")?;
    ensure!(api.call(Verb::GET, &format!("/v1/nodes/{node}"), None)?.status == 404);
    ensure!(machine.power()? == Power::On);
    stage.annotate(name, "baremetalhost.metal3.io/detached-")?;
    stage.until(name, "it is taken over again", is_taken)?;
    is_active()?;
    ensure!(machine.past()?.boots == 0, "{:?}", machine.past()?);

    stage.delete(name)?;
    ensure!(machine.past()?.boots == 0, "{:?}", machine.past()?);
    ensure!(machine.power()? == Power::Off);
    Ok(())
}
