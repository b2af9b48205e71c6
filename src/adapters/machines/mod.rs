//! Keeps machines, their clusters and their templates as they should be: carries out what [`controllers::machine`], [`cluster`],
//! [`machine_template`] and [`reservation`] decide. Done by one replica, in the place of Metal3's CAPM3.
//!
//! [`controllers::machine`]: crate::controllers::machine
//! [`cluster`]: crate::controllers::cluster
//! [`machine_template`]: crate::controllers::machine_template
//! [`reservation`]: crate::controllers::reservation

mod apply;
mod clusters;
mod fleet;
mod following;
mod machine;
mod metrics;
mod observe;
mod owners;
mod reconcile;
mod reservations;
mod templates;
mod workload;

use std::{future::pending, time::Duration};

use futures::FutureExt;
use kube::{
    Client, Resource, ResourceExt,
    api::{Patch, PatchParams},
    runtime::controller::Action,
};
use serde_json::{Value, json};

pub(super) use self::following::{follow, hash};
pub use self::metrics::Metrics;
use crate::{
    adapters::{
        events::Events,
        other_operator::CLUSTER_API_PROVIDER_METAL3,
        patch::{is_conflict, written_by},
    },
    controllers::{events::Reason, host_choice::Patience, machine::observed::Settings},
};

/// How many objects are read at one time.
pub(super) const PAGE: u32 = 500;
/// How many are worked on at one time.
const AT_ONCE: u16 = 32;
/// How soon a pass is tried again that could not be made.
const AFTER_ERROR: Duration = Duration::from_secs(5);
/// Who writes.
const FIELD_MANAGER: &str = "ironward-machine";

/// What machines are kept with.
#[derive(Clone)]
pub struct Keeper {
    /// The cluster.
    pub client: Client,
    /// What this replica is called in events.
    pub replica: String,
    /// Which of the controllers run.
    pub wanted: Wanted,
    /// For how long machines wait for hosts of their pool.
    pub patience: Patience,
    /// What people have set for all machines.
    pub settings: Settings,
    /// What is counted.
    pub metrics: Metrics,
}

/// Which controllers run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// That of Metal3Clusters.
    pub clusters: bool,
    /// That of Metal3Machines.
    pub machines: bool,
    /// That of Metal3MachineTemplates.
    pub templates: bool,
}

impl Keeper {
    /// Keeps them for as long as it runs, and nobody else does.
    pub async fn keep(self) {
        let client = self.client.clone();
        CLUSTER_API_PROVIDER_METAL3.work_without(&client, || self.clone().work()).await;
    }

    async fn work(self) {
        let Wanted { clusters, machines, templates } = self.wanted;
        let _keeping = self.metrics.keeping();
        // Boxed: each holds what it reads.
        let clusters =
            if clusters { clusters::keep(self.clone()).boxed() } else { pending().boxed() };
        let templates =
            if templates { templates::keep(self.clone()).boxed() } else { pending().boxed() };
        let machines = if machines { machine::keep(self).boxed() } else { pending().boxed() };
        futures::future::join3(clusters, machines, templates).await;
    }

    fn events(&self) -> Events {
        Events::new(self.client.clone(), &self.replica)
    }
}

/// Tells people something. What cannot be told is logged: the status says the same.
async fn tell<K: Resource<DynamicType = ()>>(
    events: &Events,
    about: &K,
    reason: impl Reason,
    note: &str,
) {
    let word: &str = reason.into();
    if let Err(error) = events.publish(reason, note, word, &about.object_ref(&())).await {
        tracing::warn!(%error, reason = word, "an event could not be written");
    }
}

/// The patch, to this very object.
fn to_this<K: Resource>(object: &K, patch: Value) -> Patch<Value> {
    let mut patch = patch;
    patch["metadata"]["uid"] = json!(object.uid());
    Patch::Merge(patch)
}

/// The patch, only if nobody else has written since it was read, and to this very object.
fn to_this_version<K: Resource>(object: &K, patch: Value) -> Patch<Value> {
    let mut patch = patch;
    patch["metadata"]["resourceVersion"] = json!(object.resource_version());
    to_this(object, patch)
}

fn parameters() -> PatchParams {
    written_by(FIELD_MANAGER)
}

/// It was logged, with its causes, where it was found.
#[derive(Debug, thiserror::Error)]
#[error("a pass was not made")]
struct Error;

impl Error {
    fn logged(kind: &str, namespace: &str, name: &str, error: &anyhow::Error) -> Self {
        let object = format!("{kind} {namespace}/{name}");
        tracing::warn!(object, error = format!("{error:#}"), "a pass was not made");
        Self
    }
}

fn again() -> Action {
    Action::requeue(Duration::ZERO)
}

/// A conflict is no failure: it is decided anew, from what is there now.
fn unless_outrun(outcome: anyhow::Result<Action>) -> anyhow::Result<Action> {
    match outcome {
        Err(error) if is_conflict(&error) => Ok(again()),
        outcome => outcome,
    }
}
