//! Who keeps machines, their clusters and their templates.

use std::time::Duration;

use prometheus_client::registry::Registry;

use super::{Leading, Running};
use crate::{
    adapters::{leadership, machines},
    cli::{Settings, controllers::Controller},
    controllers::{host_choice::Patience, machine::observed},
};

/// What is counted, if anything of it is kept here.
pub(super) fn metrics(settings: &Settings, registry: &mut Registry) -> Option<machines::Metrics> {
    is_wanted(settings).then(|| machines::Metrics::new(registry))
}

/// Keeps them while this replica is the one that reconciles.
pub(super) fn keep(
    settings: &Settings,
    running: &Running,
    leading: &Leading,
    metrics: machines::Metrics,
) {
    let set = &settings.controllers;
    let keeper = machines::Keeper {
        client: running.client.clone(),
        replica: settings.replica.clone(),
        wanted: wanted(settings),
        patience: Patience(Duration::from_secs(set.node_reuse_patience_seconds.into())),
        settings: observed::Settings { is_fast_track: set.fast_track },
        metrics,
    };
    let keep = move || keeper.clone().keep();
    running.until_stopped(leadership::while_leader(leading.0.clone(), keep));
}

fn wanted(settings: &Settings) -> machines::Wanted {
    let wanted = &settings.controllers;
    machines::Wanted {
        clusters: wanted.has(Controller::Cluster),
        machines: wanted.has(Controller::Machine),
        templates: wanted.has(Controller::MachineTemplate),
    }
}

fn is_wanted(settings: &Settings) -> bool {
    let machines::Wanted { clusters, machines, templates } = wanted(settings);
    clusters || machines || templates
}
