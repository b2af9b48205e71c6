//! Who remediates machines.

use prometheus_client::registry::Registry;

use super::{Leading, Running};
use crate::{
    adapters::{leadership, remediation},
    cli::{Settings, controllers::Controller},
};

/// What is counted, if machines are to be remediated here.
pub(super) fn wanted(settings: &Settings, registry: &mut Registry) -> Option<remediation::Metrics> {
    let is_wanted = settings.controllers.has(Controller::Remediation);
    is_wanted.then(|| remediation::Metrics::new(registry))
}

/// Remediates while this replica is the one that reconciles.
pub(super) fn keep(
    settings: &Settings,
    running: &Running,
    leading: &Leading,
    metrics: remediation::Metrics,
) {
    let keeper = remediation::Keeper {
        client: running.client.clone(),
        replica: settings.replica.clone(),
        limit: settings.controllers.remediation_limit,
        metrics,
    };
    let keep = move || keeper.clone().keep();
    running.until_stopped(leadership::while_leader(leading.0.clone(), keep));
}
