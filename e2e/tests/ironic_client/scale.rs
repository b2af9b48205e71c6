//! What a thousand nodes cost.

use anyhow::{Context, Result, ensure};
use futures::{FutureExt, StreamExt};
use ironward::{
    controllers::host::provisioner::{Operation, Outcome},
    ironic::power::PowerState,
};
use ironward_e2e::{at_once::at_once, eventually::eventually, ironic::Settings};
use serde_json::json;
use std::time::Duration;

use super::stage::Stage;

/// One more than Ironic gives in one answer.
const NODES: usize = 1001;

#[test]
fn a_thousand_nodes_cost_three_requests_a_tick_at_rest_and_one_while_one_of_them_moves()
-> Result<()> {
    let settings =
        Settings { machines: 1, ramdisk: false, power_sync: None, ..Settings::default() };
    let stage = Stage::start(&settings)?;
    let api = stage.ironic.api();
    let names: Vec<_> = (0..NODES).map(|number| format!("default~host-{number}")).collect();
    at_once(&names, |name| {
        api.create_node(&json!({"name": name, "driver": "fake-hardware"})).map(drop)
    })?;
    let side = &stage.side;
    // The first read after new nodes came also reads ports.
    side.read();
    let known = side.snapshot.all().map_err(anyhow::Error::msg)?.nodes.len();
    ensure!(known == NODES, "{known}");
    let before = side.metrics.requests();
    side.read();
    let asked = side.metrics.requests() - before;
    ensure!(asked <= 3, "{asked} requests");

    let host = stage.fake_host("mover")?;
    let mut woken = side.snapshot.changes();
    let moved = side.perform(&host, &Operation::PowerOn { force: false });
    ensure!(matches!(moved, Ok(Outcome::Moving { .. })), "{moved:?}");
    let power = || {
        let nodes = side.snapshot.all().map_err(anyhow::Error::msg)?.nodes;
        let node = nodes.iter().find(|it| it.name.as_deref() == Some("default~mover"));
        anyhow::Ok(node.context("there is no such node")?.power_state)
    };
    let (before, mut glances) = (side.metrics.requests(), 0);
    eventually(Duration::from_mins(1), "it is seen to be on", || {
        glances += 1;
        ensure!(side.runtime.block_on(side.snapshot.glance()), "all were to be read");
        let power = power()?;
        ensure!(power == Some(PowerState::On), "{power:?}");
        Ok(())
    })?;
    let asked = side.metrics.requests() - before;
    ensure!(asked == glances, "{asked} requests for {glances} glances");
    let found = woken.next().now_or_never().flatten();
    ensure!(found.as_ref() == Some(&host.identity), "{found:?}");
    ensure!(!side.runtime.block_on(side.snapshot.glance()), "nothing moves any more");
    Ok(())
}
