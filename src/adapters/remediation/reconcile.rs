//! A pass: read, decide, write, do one thing, and so on until there is nothing to do for a while.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result};
use kube::{
    Api, Client,
    api::ObjectMeta,
    runtime::{controller::Action, reflector::Store},
};

use super::{
    machines::Clusters,
    metrics::Metrics,
    observe::Scene,
    places::Places,
    workload::{Trouble, Workloads},
};
use crate::{
    adapters::events::Events,
    api::Metal3Remediation,
    controllers::remediation::{
        decide,
        plan::{Plan, Then},
        storm::Limit,
    },
    domain::remediation::Phase,
};

/// More steps than any pass has. One that has them is left for a moment, lest it take all the time there is.
const STEPS: usize = 30;
const PAUSE: Duration = Duration::from_secs(5);

pub(super) struct Reconciler {
    pub client: Client,
    pub events: Events,
    pub remediations: Store<Metal3Remediation>,
    pub places: Arc<Places>,
    pub workloads: Arc<Workloads>,
    pub clusters: Clusters,
    pub limit: Option<Limit>,
    pub metrics: Metrics,
}

impl Reconciler {
    pub async fn counted_pass(&self, metadata: &ObjectMeta) -> Result<Action> {
        self.metrics.passes.counted(Box::pin(self.pass(metadata))).await
    }

    async fn pass(&self, metadata: &ObjectMeta) -> Result<Action> {
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        let name = metadata.name.as_deref().unwrap_or_default();
        let api: Api<Metal3Remediation> = Api::namespaced(self.client.clone(), namespace);
        for _ in 0..STEPS {
            let Some(found) = api.get_opt(name).await.context("could not read the remediation")?
            else {
                return Ok(Action::await_change());
            };
            let mut scene = self.observe(found).await?;
            let mut plan = decide(&scene.seen);
            if begins(&scene, &plan) && !self.take_place(&scene) {
                self.look_about(&mut scene).await?;
                plan = decide(&scene.seen);
                if begins(&scene, &plan) {
                    // It became free again meanwhile.
                    continue;
                }
            }
            tracing::debug!(remediation = name, ?plan.then, writes = plan.status.is_some(), "decided");
            let written = self.write(&mut scene, &plan).await;
            if written.is_err() && begins(&scene, &plan) {
                self.places.give_back(&scene.remediation.metadata);
            }
            written?;
            self.metrics.told(&plan.events);
            if makes_room(&scene, &plan) {
                self.places.wake_waiting(&scene.remediation.metadata, &self.remediations);
            }
            match &plan.then {
                Then::Await => return Ok(Action::await_change()),
                Then::After(pause) => return Ok(Action::requeue(*pause)),
                Then::Again => {}
                Then::Do(action) => match self.act(&scene, action).await {
                    Ok(()) => self.metrics.done(action),
                    Err(error) => self.bear(&scene, error)?,
                },
            }
        }
        Ok(Action::requeue(PAUSE))
    }

    /// What cannot be written to the cluster of a Node is a fact to decide by, and no failure of the pass.
    fn bear(&self, scene: &Scene, error: anyhow::Error) -> Result<()> {
        match (error.downcast_ref::<Trouble>(), scene.cluster()) {
            (Some(trouble), Some((namespace, cluster))) => {
                self.workloads.of(&namespace, &cluster).be_in_trouble(&trouble.0);
                Ok(())
            }
            _ => Err(error),
        }
    }

    fn take_place(&self, scene: &Scene) -> bool {
        let Some(cluster) = scene.cluster() else { return false };
        let limit = scene.seen.storm.limit;
        let (metadata, host) = (&scene.remediation.metadata, scene.host_key());
        self.places.take(&self.remediations, metadata, &cluster, host.as_ref(), limit)
    }
}

fn begins(scene: &Scene, plan: &Plan) -> bool {
    let after = plan.status.as_ref().and_then(|status| status.phase);
    scene.seen.remediation.phase().is_none() && after == Some(Phase::Running)
}

/// Whether it is to be looked at who is next: a place is free, or one was taken and there may be more.
fn makes_room(scene: &Scene, plan: &Plan) -> bool {
    let before = scene.seen.remediation.phase();
    let after = plan.status.as_ref().and_then(|status| status.phase);
    after.is_some_and(|after| before != Some(after) && after != Phase::Waiting)
}
