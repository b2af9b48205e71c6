//! What a thousand nodes cost.

use anyhow::{Result, ensure};
use ironward_e2e::{at_once::at_once, ironic::Settings};
use serde_json::json;

use super::stage::Stage;

/// One more than Ironic gives in one answer.
const NODES: usize = 1001;

#[test]
fn a_thousand_nodes_at_rest_cost_three_requests_a_tick_at_most() -> Result<()> {
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
    Ok(())
}
