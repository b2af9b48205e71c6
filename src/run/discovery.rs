//! Who makes hosts of machines that report in.

use std::sync::Arc;

use prometheus_client::registry::Registry;

use super::{Leading, Running, ironic::Reading, namespace};
use crate::{
    adapters::{
        discovery::{Discoverer, Forgotten, Metrics},
        leadership,
    },
    cli::{Settings, controllers::Controller},
};

/// What is counted, if hosts are to be discovered here.
pub(super) fn metrics(settings: &Settings, registry: &mut Registry) -> Option<Metrics> {
    settings.controllers.has(Controller::Discovery).then(|| Metrics::new(registry))
}

/// Discovers while this replica is the one that reconciles.
pub(super) fn keep(
    settings: &Settings,
    running: &Running,
    leading: &Leading,
    reading: &Reading,
    metrics: Metrics,
) {
    let client = running.client.clone();
    let forgotten = Forgotten::new(client.clone(), namespace(settings, &running.client));
    let (ironic, snapshot) = (Arc::clone(&reading.client), Arc::clone(&reading.snapshot));
    let keep = move || {
        let (ironic, snapshot) = (Arc::clone(&ironic), Arc::clone(&snapshot));
        Discoverer::new(client.clone(), ironic, snapshot, forgotten.clone(), metrics.clone()).keep()
    };
    running.until_stopped(leadership::while_leader(leading.0.clone(), keep));
}
