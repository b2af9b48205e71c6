//! Who keeps hosts as they should be, and with which machines.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use prometheus_client::registry::Registry;

use super::{Leading, Running};
use crate::{
    adapters::{demo::Demo, hosts, ironic, leadership, uniqueness::Occupants},
    cli::{
        Settings,
        controllers::{Controller, Provisioner as Provisioners},
    },
    controllers::host::{observed, provisioner::Provisioner},
};

/// Who does things to machines, and what it reads for that.
pub(super) struct Provisioning {
    provisioner: Arc<dyn Provisioner>,
    snapshot: Option<Arc<ironic::Snapshot>>,
    metrics: hosts::Metrics,
}

/// What hosts are to be kept with, if they are to be kept here.
pub(super) fn provisioning(
    settings: &Settings,
    metrics: &mut Registry,
) -> Result<Option<Provisioning>> {
    let wanted = &settings.controllers;
    let Some(provisioner) = wanted.provisioner.filter(|_| wanted.has(Controller::Host)) else {
        return Ok(None);
    };
    let counted = hosts::Metrics::new(metrics);
    Ok(Some(match provisioner {
        Provisioners::Demo => {
            let demo = Demo::new(Duration::from_secs(wanted.demo_seconds.into()));
            Provisioning { provisioner: Arc::new(demo), snapshot: None, metrics: counted }
        }
        Provisioners::Ironic => {
            let metrics = ironic::Metrics::new(metrics);
            let ironic = &settings.ironic;
            let client = Arc::new(ironic::Client::new(&ironic.settings()?, metrics.clone())?);
            let snapshot = Arc::new(ironic::Snapshot::new(Arc::clone(&client), metrics));
            let ironic = ironic::Ironic::new(client, Arc::clone(&snapshot), ironic.ramdisk());
            Provisioning {
                provisioner: Arc::new(ironic),
                snapshot: Some(snapshot),
                metrics: counted,
            }
        }
    }))
}

/// Keeps them while this replica is the one that reconciles. Only that one reads Ironic.
pub(super) fn keep(
    settings: &Settings,
    running: &Running,
    leading: &Leading,
    occupants: Option<&Arc<Occupants>>,
    provisioning: Provisioning,
) {
    let Provisioning { provisioner, snapshot, metrics } = provisioning;
    let wanted = &settings.controllers;
    let keeper = hosts::Keeper {
        client: running.client.clone(),
        replica: settings.replica.clone(),
        provisioner,
        occupants: occupants.cloned(),
        provisioning_limit: wanted.provisioning_limit.try_into().unwrap_or(usize::MAX),
        settings: observed::Settings { max_provisioning_retries: wanted.max_provisioning_retries },
        metrics,
    };
    let keep = move || {
        let (keeper, snapshot) = (keeper.clone(), snapshot.clone());
        async move {
            tokio::select! {
                () = keeper.keep() => {}
                () = keep_read(snapshot) => {}
            }
        }
    };
    running.until_stopped(leadership::while_leader(leading.0.clone(), keep));
}

async fn keep_read(snapshot: Option<Arc<ironic::Snapshot>>) {
    match snapshot {
        Some(snapshot) => snapshot.keep_read().await,
        None => std::future::pending().await,
    }
}
