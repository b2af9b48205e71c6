//! Who keeps metadata.

use prometheus_client::registry::Registry;

use super::{Leading, Running};
use crate::{
    adapters::{leadership, metadata},
    cli::{Settings, controllers::Controller},
};

/// What is counted, if metadata are to be kept here.
pub(super) fn metrics(settings: &Settings, registry: &mut Registry) -> Option<metadata::Metrics> {
    let is_wanted = settings.controllers.has(Controller::Metadata);
    is_wanted.then(|| metadata::Metrics::new(registry))
}

/// Keeps them while this replica is the one that reconciles.
pub(super) fn keep(running: &Running, leading: &Leading, metrics: metadata::Metrics) {
    let keeper = metadata::Keeper { client: running.client.clone(), metrics };
    let keep = move || keeper.clone().keep();
    running.until_stopped(leadership::while_leader(leading.0.clone(), keep));
}
