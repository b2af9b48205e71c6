//! Keeps Metal3Clusters: carries out what [`controllers::cluster`](crate::controllers::cluster) decides.

use std::sync::Arc;

use anyhow::{Context, Result};
use futures::StreamExt;
use kube::{
    Api, Client, ResourceExt,
    api::ListParams,
    runtime::{
        Controller,
        controller::{self, Action},
        reflector::{ObjectRef, Store},
        watcher,
    },
};
use serde_json::json;

use super::{
    AFTER_ERROR, Error, Keeper,
    following::{follow, hash},
    parameters, to_this_version, unless_outrun,
};
use crate::{
    adapters::{clock, listed::until_listed, patch},
    api::{
        Metal3Cluster,
        cluster_api::{self, CLUSTER_NAME, Cluster, GROUP, Machine},
    },
    controllers::cluster::{
        decide,
        observed::Observed,
        plan::{FINALIZER, Then},
    },
};

struct Reconciler {
    client: Client,
    owners: Store<Cluster>,
}

pub(super) async fn keep(keeper: Keeper) {
    let client = keeper.client;
    let clusters: Api<Metal3Cluster> = Api::all(client.clone());
    let (owners, changes) = follow::<Cluster, _>(client.clone(), |it| {
        hash((it.namespace(), it.name_any(), it.is_paused(), &it.spec.infrastructure_ref.is_some()))
    });
    let reconciler = Arc::new(Reconciler { client, owners });
    Controller::new(clusters, watcher::Config::default())
        .with_config(controller::Config::default().concurrency(8))
        .watches_stream(changes, |owner: Cluster| {
            let infrastructure = owner.spec.infrastructure_ref.as_ref()?;
            let namespace = owner.namespace().unwrap_or_default();
            (infrastructure.kind == "Metal3Cluster")
                .then(|| ObjectRef::new(&infrastructure.name).within(&namespace))
        })
        .run(
            |cluster, reconciler| async move {
                let (namespace, name) =
                    (cluster.namespace().unwrap_or_default(), cluster.name_any());
                let made = Box::pin(reconciler.pass(&namespace, &name)).await;
                unless_outrun(made)
                    .map_err(|error| Error::logged("Metal3Cluster", &namespace, &name, &error))
            },
            |_, _, _| Action::requeue(AFTER_ERROR),
            reconciler,
        )
        .for_each(async |_| {})
        .await;
}

impl Reconciler {
    async fn pass(&self, namespace: &str, name: &str) -> Result<Action> {
        let api: Api<Metal3Cluster> = Api::namespaced(self.client.clone(), namespace);
        let read = || async { api.get_opt(name).await.context("could not read the Metal3Cluster") };
        let Some(mut cluster) = read().await? else { return Ok(Action::await_change()) };
        loop {
            let seen = self.observe(cluster, namespace).await?;
            let plan = decide(&seen);
            tracing::debug!(cluster = name, ?plan.then, writes = plan.status.is_some(), "decided");
            cluster = seen.cluster;
            if let Some(status) = plan.status {
                let before = cluster.status.as_ref().map_or(Ok(json!({})), serde_json::to_value)?;
                let difference = patch::difference(&before, &serde_json::to_value(status)?);
                let patch = to_this_version(&cluster, json!({"status": difference}));
                cluster = api
                    .patch_status(name, &parameters(), &patch)
                    .await
                    .context("could not write the status")?;
            }
            let mut finalizers = cluster.finalizers().to_vec();
            match plan.then {
                Then::Await => return Ok(Action::await_change()),
                Then::After(pause) => return Ok(Action::requeue(pause)),
                Then::Guard => finalizers.push(FINALIZER.to_owned()),
                Then::Release => finalizers.retain(|it| it != FINALIZER),
            }
            let patch = to_this_version(&cluster, json!({"metadata": {"finalizers": finalizers}}));
            cluster = api
                .patch(name, &parameters(), &patch)
                .await
                .context("could not write the finalizer")?;
            if plan.then == Then::Release {
                return Ok(Action::await_change());
            }
        }
    }

    async fn observe(&self, cluster: Metal3Cluster, namespace: &str) -> Result<Observed> {
        until_listed(&self.owners).await.context("the Clusters are not followed")?;
        let owner = cluster_api::owner(&cluster.metadata, GROUP, Some("Cluster"));
        let owner = owner.and_then(|it| {
            let found = self.owners.get(&ObjectRef::new(&it.name).within(namespace));
            found.map(|found| (*found).clone())
        });
        let machines = if cluster.metadata.deletion_timestamp.is_some() {
            let machines: Api<Machine> = Api::namespaced(self.client.clone(), namespace);
            match cluster.labels().get(CLUSTER_NAME) {
                Some(of) => {
                    let labelled = ListParams::default().labels(&format!("{CLUSTER_NAME}={of}"));
                    let found = machines.list_metadata(&labelled).await;
                    found.context("could not count the Machines of the Cluster")?.items.len()
                }
                None => 0,
            }
        } else {
            0
        };
        Ok(Observed { cluster, owner, machines, now: clock::now() })
    }
}
