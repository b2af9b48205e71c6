//! Many machines at once: each becomes one host, whoever is killed, and a report is read once.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use ironward_e2e::{eventually::eventually, fleet::counted, ironic::Settings};
use serde_json::{Value, json};

use crate::rack::{PATIENCE, Rack, report, reported};

/// More than Ironic gives in one answer. More still by hand: `IRONWARD_DISCOVERED_NODES=5000`.
const NODES: usize = 1_100;

#[test]
fn every_machine_becomes_one_host_and_is_read_once() -> Result<()> {
    let wanted = std::env::var_os("IRONWARD_DISCOVERED_NODES");
    let nodes = wanted.and_then(|it| it.to_str()?.parse().ok()).unwrap_or(NODES);
    let rack =
        Rack::start("discovery", &Settings { machines: 1, ramdisk: false, ..Settings::default() })?;
    // One is reported, and the others are made like it in Ironic's database, which takes no time.
    reported(&rack.ironic, &report("pattern", &["02:ff:ff:ff:ff:ff"]))?;
    eventually(PATIENCE, "its report is there", || {
        let found = rack.ironic.api().get("/v1/nodes").map_err(|error| error.to_string())?;
        let uuid = found["nodes"][0]["uuid"].as_str().unwrap_or_default().to_owned();
        let inventory = rack.ironic.api().get(&format!("/v1/nodes/{uuid}/inventory"));
        inventory.map(drop).map_err(|error| error.to_string())
    })?;
    rack.ironic.multiply(nodes - 1)?;
    let name = json!({"prefix": "host-", "hardwareDetails": "boot-mac"});
    rack.discover("first", &json!({"resourceNameTemplate": name}))?;
    rack.discover("second", &json!({"resourceNameTemplate": {"hardwareDetails": "boot-mac"}}))?;

    let count = || rack.hosts().map(|hosts| hosts.len()).unwrap_or_default();
    eventually(PATIENCE, "some are there", || {
        if count() > nodes / 3 { Ok(()) } else { Err(count()) }
    })?;
    let before = count();
    rack.kill_and_start()?;
    let patience = PATIENCE * 3;
    eventually(patience, "all are there", || if count() >= nodes { Ok(()) } else { Err(count()) })
        .with_context(|| rack.ironward().process.log_tail())?;
    let taken = i64::try_from(nodes)?;
    let polled = rack.until_polled("first", |status| status["created"] == nodes)?;
    ensure!(polled["status"]["seen"] == nodes, "{:#}", polled["status"]);

    // Of those that were left, and of those that were created just before the kill, at most.
    let read = counted(&rack.ironward(), "ironward_discovery_reports_total")?;
    #[expect(clippy::cast_precision_loss, reason = "some thousands")]
    let most = (nodes - before) as f64;
    ensure!(read <= most, "{read} reports were read for {most} machines");
    let hosts: Value =
        serde_json::from_str(&rack.kubectl.expect(&["get", "bmh", "--output=json"])?)?;
    let hosts = hosts["items"].as_array().context("no list")?;
    let macs: BTreeSet<_> =
        hosts.iter().filter_map(|host| host["spec"]["bootMACAddress"].as_str()).collect();
    ensure!(
        (hosts.len(), macs.len()) == (nodes, nodes),
        "{} hosts, {} machines",
        hosts.len(),
        macs.len()
    );
    ensure!(hosts.iter().all(
        |host| host["metadata"]["annotations"]["ironward.dev/discovered-by"] == "default/first"
    ));
    rack.until_polled("second", |status| crate::rack::skipped(status, "TakenByAnother") == taken)?;

    // At rest, a poll costs pages: of nodes, and now and then of ports.
    let asked = counted(&rack.ironward(), "ironward_ironic_requests_total")?;
    let last = polled["status"]["lastPoll"].clone();
    rack.until_polled("first", |status| status["lastPoll"] != last)?;
    rack.until_polled("second", |status| status["lastPoll"] != last)?;
    let pages = nodes.div_ceil(1000) + 1;
    let asked = counted(&rack.ironward(), "ironward_ironic_requests_total")? - asked;
    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    let most = (pages * 2 * 4) as f64;
    ensure!(asked <= most, "{asked} requests for two polls of {nodes} nodes");
    Ok(())
}
