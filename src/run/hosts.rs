//! Who keeps hosts as they should be, and with which machines.

use std::{sync::Arc, time::Duration};

use prometheus_client::registry::Registry;

use super::{Leading, Running, ironic::Reading, namespace};
use crate::{
    adapters::{
        demo::Demo, discovery::Forgotten, hosts, ironic::Ironic, leadership, uniqueness::Occupants,
    },
    cli::{
        Settings,
        controllers::{Controller, Provisioner as Provisioners},
    },
    controllers::host::{observed, provisioner::Provisioner},
};

/// Who does things to machines.
pub(super) struct Provisioning {
    provisioner: Arc<dyn Provisioner>,
    metrics: hosts::Metrics,
}

/// What hosts are to be kept with, if they are to be kept here.
pub(super) fn provisioning(
    settings: &Settings,
    metrics: &mut Registry,
    reading: Option<&Reading>,
) -> Option<Provisioning> {
    let wanted = &settings.controllers;
    let provisioner: Arc<dyn Provisioner> = match wanted
        .provisioner
        .filter(|_| wanted.has(Controller::Host))?
    {
        Provisioners::Demo => Arc::new(Demo::new(Duration::from_secs(wanted.demo_seconds.into()))),
        Provisioners::Ironic => {
            let Reading { client, snapshot } = reading?;
            let ramdisk = settings.ironic.ramdisk();
            Arc::new(Ironic::new(Arc::clone(client), Arc::clone(snapshot), ramdisk))
        }
    };
    Some(Provisioning { provisioner, metrics: hosts::Metrics::new(metrics) })
}

/// Keeps them while this replica is the one that reconciles.
pub(super) fn keep(
    settings: &Settings,
    running: &Running,
    leading: &Leading,
    occupants: Option<&Arc<Occupants>>,
    provisioning: Provisioning,
) {
    let Provisioning { provisioner, metrics } = provisioning;
    let wanted = &settings.controllers;
    let keeper = hosts::Keeper {
        client: running.client.clone(),
        replica: settings.replica.clone(),
        provisioner,
        occupants: occupants.cloned(),
        forgotten: Forgotten::new(running.client.clone(), namespace(settings, &running.client)),
        provisioning_limit: wanted.provisioning_limit.try_into().unwrap_or(usize::MAX),
        settings: observed::Settings { max_provisioning_retries: wanted.max_provisioning_retries },
        metrics,
    };
    let keep = move || keeper.clone().keep();
    running.until_stopped(leadership::while_leader(leading.0.clone(), keep));
}
