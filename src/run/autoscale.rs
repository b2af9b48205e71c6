//! Who has the replicas of pools follow their hosts.

use prometheus_client::registry::Registry;

use super::{Leading, Running};
use crate::{
    adapters::{autoscale, leadership},
    cli::{Settings, controllers::Controller},
};

/// What is counted, if pools are to be scaled here.
pub(super) fn metrics(settings: &Settings, registry: &mut Registry) -> Option<autoscale::Metrics> {
    let is_wanted = settings.controllers.has(Controller::Autoscale);
    is_wanted.then(|| autoscale::Metrics::new(registry))
}

/// Scales them while this replica is the one that reconciles.
pub(super) fn keep(
    settings: &Settings,
    running: &Running,
    leading: &Leading,
    metrics: autoscale::Metrics,
) {
    let (client, replica) = (running.client.clone(), settings.replica.clone());
    let keeper = autoscale::Keeper { client, replica, metrics };
    let keep = move || keeper.clone().keep();
    running.until_stopped(leadership::while_leader(leading.0.clone(), keep));
}
