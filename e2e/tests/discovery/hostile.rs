//! Anybody who reaches the network can report anything.

use anyhow::{Result, ensure};
use ironward_e2e::ironic::Settings;
use serde_json::json;

use crate::rack::{Rack, report, reported, tells};

#[test]
fn hostile_reports_break_nothing_and_are_seen() -> Result<()> {
    let rack = Rack::start(
        "host,discovery",
        &Settings { machines: 1, ramdisk: false, ..Settings::default() },
    )?;
    let ironic = &rack.ironic;
    rack.discover(
        "rack",
        &json!({
            "resourceNameTemplate": {"hardwareDetails": "hostname"},
            "labels": [{"name": "example.com/host", "expression": "hardware.hostname"}],
        }),
    )?;
    // A host that somebody registered by hand, with one address that Ironic does not know.
    rack.create(&json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": {"name": "by-hand"},
        "spec": {"online": true, "bootMACAddress": "52:54:00:EE:00:01"},
    }))?;
    rack.until_state("by-hand", "unmanaged")?;

    let mac = |number: u8| format!("52:54:00:dd:00:{number:02x}");
    reported(ironic, &report("../../etc/passwd", &[&mac(1)]))?;
    reported(ironic, &report("Twin", &[&mac(2)]))?;
    reported(ironic, &report("twin", &[&mac(3)]))?;
    reported(ironic, &report("///", &[&mac(4)]))?;
    // The same card twice is one card.
    reported(ironic, &report("bonded", &[&mac(5), &mac(5)]))?;
    reported(ironic, &report("recognised", &["52:54:00:ee:00:01"]))?;
    // Ironic itself may refuse what is too long; if it does not, we do.
    let long = ironic.report(&report(&"x".repeat(1 << 20), &[&mac(6)]))?;
    let is_taken = long.status == 202;
    ensure!(is_taken || long.status >= 400, "{long:?}");
    ensure!(ironic.report(&report("none", &[]))?.status == 400);
    // The address of a node that there is.
    ensure!(ironic.report(&report("thief", &[&mac(9), &mac(1)]))?.status == 404);

    let expected = if is_taken { 7 } else { 6 };
    let polled = rack.until_polled("rack", |status| {
        let is_said = ["NoName", "NameClash", "LabelLeftOut"].iter().all(|it| tells(status, it));
        status["seen"] == expected && is_said && status["created"] == 4
    })?;
    let status = &polled["status"];
    ensure!(status["conditions"][0]["status"] == "True", "{status:#}");
    // Names that are not the first with theirs end with the address.
    let mut hosts = rack.hosts()?;
    hosts.sort();
    let twin = hosts.iter().filter(|name| name.starts_with("twin")).count();
    ensure!(twin == 2, "{hosts:?}");
    ensure!(
        hosts.contains(&"etc-passwd".to_owned()) && hosts.contains(&"bonded".to_owned()),
        "{hosts:?}"
    );
    ensure!(hosts.len() == 5, "{hosts:?}");
    let sent = status.to_string().len();
    ensure!(sent < 30_000, "{sent} bytes");
    rack.ironward()
        .process
        .exit_status()
        .map_or(Ok(()), |status| anyhow::bail!("it ended: {status}"))
}
