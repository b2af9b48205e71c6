//! An Ironic that is killed, or does not answer: nothing piles up, and all goes on when it is back.

use std::{sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use futures::StreamExt;
use ironward::controllers::host::provisioner::Error;
use ironward_e2e::{
    eventually::eventually,
    ironic::{DriverCall, Fault, Settings},
};

use super::stage::{DEPROVISION, PREPARE, Stage};

const PATIENCE: Duration = Duration::from_mins(3);

#[test]
fn a_killed_ironic_is_waited_for_and_what_it_did_is_told_as_failed() -> Result<()> {
    let stage = Stage::start(&Settings { machines: 1, ramdisk: false, ..Settings::default() })?;
    let side = &stage.side;
    let mut host = stage.fake_host("survivor")?;
    side.done(&mut host, &PREPARE)?;
    let forever = Fault::driver_is_slow(DriverCall::Deploy, Duration::from_hours(1));
    let forever = stage.ironic.inject(forever.of("default~survivor"))?;
    let image = stage.image()?;
    eventually(PATIENCE, "it is being deployed", || {
        side.read();
        let seen = side.perform(&host, &image);
        let node =
            stage.ironic.api().node("default~survivor").map_err(|error| error.to_string())?;
        if node["provision_state"] == "deploying" {
            Ok(())
        } else {
            Err(format!("{seen:?}, {node}"))
        }
    })?;

    stage.ironic.crash()?;
    forever.clear()?;
    side.read();
    side.read();
    ensure!(side.snapshot.failures() == 2);
    // Hosts ask nothing of an Ironic that cannot even be read.
    let before = side.metrics.requests();
    for _ in 0..100 {
        let told = side.perform(&host, &image);
        ensure!(matches!(told, Err(Error::Unreachable(_))), "{told:?}");
    }
    ensure!(side.metrics.requests() == before);

    stage.ironic.restart()?;
    side.read();
    ensure!(side.snapshot.failures() == 0);
    let told = side.fails(&host, &image)?;
    ensure!(told.contains("can't be resumed by conductor"), "{told}");
    side.done(&mut host, &DEPROVISION)?;
    side.done(&mut host, &image)?;
    Ok(())
}

#[test]
fn an_ironic_that_does_not_answer_is_asked_once_at_a_time() -> Result<()> {
    let stage = Stage::start(&Settings { machines: 1, ramdisk: false, ..Settings::default() })?;
    let side = &stage.side;
    let mut host = stage.fake_host("patient")?;
    side.done(&mut host, &PREPARE)?;
    let mut woken = side.snapshot.changes();
    let reading = side.runtime.spawn(Arc::clone(&side.snapshot).keep_read());

    stage.ironic.freeze()?;
    let before = side.metrics.requests();
    eventually(PATIENCE, "the silence is noticed", || match side.snapshot.failures() {
        0 => Err("no failure".to_owned()),
        _ => Ok(()),
    })?;
    // Each read may be tried twice.
    let asked = side.metrics.requests() - before;
    ensure!(asked <= 2 * u64::from(side.snapshot.failures()) + 2, "{asked} requests");
    let told = side.perform(&host, &PREPARE);
    ensure!(matches!(told, Err(Error::Unreachable(_))), "{told:?}");

    stage.ironic.thaw()?;
    eventually(PATIENCE, "it is read again", || match side.snapshot.failures() {
        0 => Ok(()),
        failures => Err(format!("{failures} failures")),
    })?;
    // What others do to a node wakes its host.
    stage.ironic.api().provision("default~patient", "active")?;
    let name = side.runtime.block_on(async {
        let first = tokio::time::timeout(PATIENCE, woken.next()).await;
        first.ok().flatten().map(|host| host.name)
    });
    ensure!(name.as_deref() == Some("patient"), "{name:?}");
    reading.abort();
    Ok(())
}
