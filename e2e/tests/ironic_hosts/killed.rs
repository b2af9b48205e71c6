//! Ironward killed at every request that changes something in Ironic, once before Ironic has seen it and once before Ironward knows that it has,
//! through a whole life. It goes on where it was: one node, one image written, nothing left behind.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Result, anyhow, ensure};
use ironward_e2e::{
    gate::Gate,
    ironic::{Ironic, Power, Settings},
};
use serde_json::{Value, json};

use crate::stage::{Stage, image};

/// How often it is looked whether the life is over.
const LOOK: Duration = Duration::from_millis(200);

/// What is asked of Ironic, in words that are the same each time it is.
fn step(method: &str, path: &str, body: &[u8]) -> String {
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
    format!("{method} {} {what}", path.join("/"))
}

type Killed = Arc<Mutex<BTreeSet<String>>>;

/// Kills Ironward at each step that it has not been killed at, until the life is over.
fn haunt(stage: &Stage, gate: &Gate, killed: &Killed, is_over: &AtomicBool) -> Result<()> {
    let hold = || {
        let seen = Arc::clone(killed);
        gate.hold_at_any(move |at, method, path, body| {
            if ["GET", "HEAD"].contains(&method.as_str()) {
                return false;
            }
            let step = format!("{at:?} {}", step(method.as_str(), path, body));
            seen.lock().unwrap_or_else(PoisonError::into_inner).insert(step)
        })
    };
    let mut request = hold();
    while !is_over.load(Ordering::Relaxed) {
        if request.wait(LOOK).is_ok() {
            stage.kill()?;
            // Before it can do anything again.
            request = hold();
            stage.start_again()?;
        }
    }
    Ok(())
}

#[test]
fn a_host_outlives_its_controller_at_every_step() -> Result<()> {
    let ironic = Ironic::start(&Settings { machines: 1, ..Settings::default() })?;
    let gate = Gate::open_to(ironic.url())?;
    let stage = Stage::with(ironic, &gate.url())?;
    let (killed, is_over) = (Killed::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        let haunting = scope.spawn(|| haunt(&stage, &gate, &killed, &is_over));
        let lived = live(&stage);
        is_over.store(true, Ordering::Relaxed);
        haunting.join().map_err(|_| anyhow!("a panic"))??;
        lived
    })?;
    let killed = killed.lock().unwrap_or_else(PoisonError::into_inner);
    let steps = [
        "POST /v1/nodes",
        "manage",
        "inspect",
        "provide",
        "active",
        "deleted",
        "power off",
        "DELETE",
    ];
    for moment in ["Before", "After"] {
        for step in steps {
            let is_it = |it: &&String| it.starts_with(moment) && it.contains(step);
            ensure!(killed.iter().any(|it| is_it(&it)), "{moment} {step}: {killed:#?}");
        }
    }
    Ok(())
}

fn live(stage: &Stage) -> Result<()> {
    let (api, machine) = (stage.ironic.api(), stage.ironic.take_machine()?);
    let name = machine.name.as_str();
    let nodes =
        || -> Result<usize> { Ok(api.get("/v1/nodes")?["nodes"].as_array().map_or(0, Vec::len)) };
    stage.create_secret(machine, &machine.credentials.password)?;
    stage.create_host(machine)?;
    let registered = stage.until_free(name)?;
    ensure!(nodes()? == 1);

    stage.patch(name, &image(&stage.ironic))?;
    let provisioned = stage.until_state(name, "provisioned")?;
    let id = "/status/provisioning/ID";
    ensure!(registered.pointer(id) == provisioned.pointer(id), "{provisioned:#}");
    let written = |past: &[String]| past.iter().filter(|step| *step == "write_image").count();
    ensure!(written(&machine.past()?.steps) == 1, "{:?}", machine.past()?);
    stage.until(name, "it is on", |host| host["status"]["poweredOn"] == true)?;

    stage.patch(name, &json!({"spec": {"image": null}}))?;
    stage.until_free(name)?;
    ensure!(written(&machine.past()?.steps) == 1, "{:?}", machine.past()?);
    ensure!(nodes()? == 1);

    stage.delete(name)?;
    ensure!(nodes()? == 0);
    ensure!(machine.power()? == Power::Off);
    Ok(())
}
