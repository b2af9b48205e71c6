//! Who keeps hosts as they should be.

use std::{sync::Arc, time::Duration};

use super::{Leading, Running};
use crate::{
    adapters::{demo::Demo, hosts::Keeper, leadership, uniqueness::Occupants},
    cli::{
        Settings,
        controllers::{Controller, Provisioner as Provisioners},
    },
    controllers::host::{observed, provisioner::Provisioner},
};

/// Starts it, if hosts are to be kept here.
pub(super) fn keep(
    settings: &Settings,
    running: &Running,
    leading: &Leading,
    occupants: Option<&Arc<Occupants>>,
) {
    let wanted = &settings.controllers;
    let Some(provisioner) = wanted.provisioner.filter(|_| wanted.has(Controller::Host)) else {
        return;
    };
    let provisioner: Arc<dyn Provisioner> = match provisioner {
        Provisioners::Demo => Arc::new(Demo::new(Duration::from_secs(wanted.demo_seconds.into()))),
    };
    let keeper = Keeper {
        client: running.client.clone(),
        replica: settings.replica.clone(),
        provisioner,
        occupants: occupants.cloned(),
        provisioning_limit: wanted.provisioning_limit.try_into().unwrap_or(usize::MAX),
        settings: observed::Settings { max_provisioning_retries: wanted.max_provisioning_retries },
    };
    let keep = move || keeper.clone().keep();
    running.until_stopped(leadership::while_leader(leading.0.clone(), keep));
}
