//! Ironic: one client and one look at all its nodes, for whoever works with it.

use std::sync::Arc;

use anyhow::Result;
use prometheus_client::registry::Registry;

use super::{Leading, Running};
use crate::{
    adapters::{
        ironic::{Client, Metrics, Snapshot},
        leadership,
    },
    cli::{
        Settings,
        controllers::{Controller, Provisioner},
    },
};

/// An Ironic, and what is known of its nodes.
pub(super) struct Reading {
    pub client: Arc<Client>,
    pub snapshot: Arc<Snapshot>,
}

/// What there is to read, if somebody needs it.
pub(super) fn reading(settings: &Settings, metrics: &mut Registry) -> Result<Option<Reading>> {
    let wanted = &settings.controllers;
    let hosts = wanted.has(Controller::Host) && wanted.provisioner == Some(Provisioner::Ironic);
    if !hosts && !wanted.has(Controller::Discovery) {
        return Ok(None);
    }
    let metrics = Metrics::new(metrics);
    let client = Arc::new(Client::new(&settings.ironic.settings()?, metrics.clone())?);
    let snapshot = Arc::new(Snapshot::new(Arc::clone(&client), metrics));
    Ok(Some(Reading { client, snapshot }))
}

/// Reads while this replica is the one that reconciles.
pub(super) fn keep_read(running: &Running, leading: &Leading, reading: &Reading) {
    let snapshot = Arc::clone(&reading.snapshot);
    let keep = move || Arc::clone(&snapshot).keep_read();
    running.until_stopped(leadership::while_leader(leading.0.clone(), keep));
}
