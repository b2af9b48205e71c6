//! What a thousand nodes cost.

use std::thread;

use anyhow::{Result, anyhow, ensure};
use ironward_e2e::ironic::Settings;
use serde_json::json;

use super::stage::Stage;

/// One more than Ironic gives in one answer.
const NODES: usize = 1001;
/// More buy nothing: Ironic is one process.
const THREADS: usize = 4;

#[test]
fn a_thousand_nodes_at_rest_cost_three_requests_a_tick_at_most() -> Result<()> {
    let settings =
        Settings { machines: 1, ramdisk: false, power_sync: None, ..Settings::default() };
    let stage = Stage::start(&settings)?;
    let api = stage.ironic.api();
    thread::scope(|scope| {
        let makers = (0..THREADS).map(|first| {
            scope.spawn(move || -> Result<()> {
                for number in (first..NODES).step_by(THREADS) {
                    let name = format!("default~host-{number}");
                    api.create_node(&json!({"name": name, "driver": "fake-hardware"}))?;
                }
                Ok(())
            })
        });
        let makers: Vec<_> = makers.collect();
        makers.into_iter().try_for_each(|maker| maker.join().map_err(|_| anyhow!("a panic"))?)
    })?;
    let side = &stage.side;
    // The first read after new nodes came also reads ports.
    side.read();
    ensure!(side.snapshot.nodes().len() == NODES, "{}", side.snapshot.nodes().len());
    let before = side.metrics.requests();
    side.read();
    let asked = side.metrics.requests() - before;
    ensure!(asked <= 3, "{asked} requests");
    Ok(())
}
