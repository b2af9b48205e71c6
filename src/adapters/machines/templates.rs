//! Keeps Metal3MachineTemplates: carries out what [`controllers::machine_template`](crate::controllers::machine_template) decides.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt};
use kube::{
    Api, Client, ResourceExt,
    runtime::{
        Controller, WatchStreamExt,
        controller::{self, Action},
        reflector::ObjectRef,
        watcher,
    },
};
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::UnboundedReceiverStream;

use super::{AFTER_ERROR, Error, Keeper, PAGE, parameters, unless_outrun};
use crate::{
    api::{Metal3Machine, Metal3MachineTemplate},
    controllers::machine_template::{Clones, Observed, Plan, decide},
};

struct Reconciler {
    client: Client,
    clones: Mutex<Clones>,
    is_read: watch::Sender<bool>,
}

pub(super) async fn keep(keeper: Keeper) {
    let client = keeper.client;
    let templates: Api<Metal3MachineTemplate> = Api::all(client.clone());
    let (wake, woken) = mpsc::unbounded_channel();
    let clones = Mutex::default();
    let is_read = watch::Sender::new(false);
    let reconciler = Arc::new(Reconciler { client, clones, is_read });
    let kept = Controller::new(templates, watcher::Config::default())
        .with_config(controller::Config::default().concurrency(8))
        .reconcile_on(UnboundedReceiverStream::new(woken))
        .run(
            |template, reconciler| async move {
                let namespace = template.namespace().unwrap_or_default();
                let name = template.name_any();
                let made = reconciler.pass(&namespace, &name).await;
                unless_outrun(made).map_err(|error| {
                    Error::logged("Metal3MachineTemplate", &namespace, &name, &error)
                })
            },
            |_, _, _| Action::requeue(AFTER_ERROR),
            Arc::clone(&reconciler),
        )
        .for_each(async |_| {});
    tokio::select! {
        () = kept => {}
        () = reconciler.follow(&wake) => {}
    }
}

impl Reconciler {
    /// Follows the machines, and wakes their templates.
    async fn follow(&self, wake: &mpsc::UnboundedSender<ObjectRef<Metal3MachineTemplate>>) {
        let machines: Api<Metal3Machine> = Api::all(self.client.clone());
        let config = watcher::Config::default().page_size(PAGE);
        let mut events = watcher(machines, config).default_backoff().boxed();
        loop {
            let template = match events.try_next().await {
                Ok(Some(watcher::Event::Init)) => {
                    self.clones().clear();
                    None
                }
                Ok(Some(watcher::Event::InitApply(machine) | watcher::Event::Apply(machine))) => {
                    self.clones().note(&machine)
                }
                Ok(Some(watcher::Event::Delete(machine))) => {
                    self.clones().forget(&machine);
                    None
                }
                Ok(Some(watcher::Event::InitDone)) => {
                    self.is_read.send_replace(true);
                    None
                }
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!(%error, "the Metal3Machines cannot be followed");
                    None
                }
            };
            if let Some((namespace, name)) = template {
                // Nobody listens when the controller is being stopped.
                let _ = wake.send(ObjectRef::new(&name).within(&namespace));
            }
        }
    }

    async fn pass(&self, namespace: &str, name: &str) -> Result<Action> {
        let _ = self.is_read.subscribe().wait_for(|it| *it).await;
        let templates: Api<Metal3MachineTemplate> = Api::namespaced(self.client.clone(), namespace);
        let found = templates.get_opt(name).await.context("could not read the template")?;
        let Some(template) = found else { return Ok(Action::await_change()) };
        let clones = self.clones().of(namespace, name);
        let plan = decide(&Observed { template, clones });
        tracing::debug!(template = name, ?plan, "decided");
        let Plan::SetCleaningMode { mode, machines } = plan else {
            return Ok(Action::await_change());
        };
        let api: Api<Metal3Machine> = Api::namespaced(self.client.clone(), namespace);
        for machine in machines {
            let patch = kube::api::Patch::Merge(json!({"spec": {"automatedCleaningMode": mode}}));
            match api.patch(&machine, &parameters(), &patch).await {
                Ok(machine) => {
                    self.clones().note(&machine);
                }
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("could not write {machine}"));
                }
            }
        }
        Ok(Action::await_change())
    }

    fn clones(&self) -> MutexGuard<'_, Clones> {
        self.clones.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
