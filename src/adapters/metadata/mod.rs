//! Keeps an index and a Secret for every machine that asks for metadata: carries out what
//! [`controllers::metadata`](crate::controllers::metadata) decides. Done by one replica; two that do it harm nobody.

mod apply;
mod changes;
mod followed;
mod metrics;
mod observe;
mod reconcile;
mod wake;

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use kube::{
    Api, Client,
    runtime::{
        Controller, WatchStreamExt,
        controller::{self, Action},
        reflector::{ObjectRef, store::Writer},
        watcher,
    },
};

pub use self::metrics::Metrics;
use self::{
    changes::changes,
    followed::{Followed, resource, whatever_counts},
    reconcile::Reconciler,
};

/// How many objects are read at one time.
const PAGE: u32 = 500;
/// How many Metal3Metadata are worked on at one time.
const AT_ONCE: u16 = 4;
/// How soon a pass is tried again that could not be made.
const AFTER_ERROR: Duration = Duration::from_secs(5);
/// Who writes.
const FIELD_MANAGER: &str = "ironward-metadata";

/// What metadata are kept with.
#[derive(Clone)]
pub struct Keeper {
    /// The cluster.
    pub client: Client,
    /// What is counted.
    pub metrics: Metrics,
}

impl Keeper {
    /// Keeps them for as long as it runs.
    pub async fn keep(self) {
        let all: Api<Followed> = Api::all_with(self.client.clone(), &resource());
        let writer = Writer::new(resource());
        let reader = writer.as_reader();
        let watched = watcher(all, watcher::Config::default().page_size(PAGE))
            .default_backoff()
            .modify(|it| it.metadata.managed_fields = None)
            .reflect(writer);
        let changed = changes("Metal3Metadata", watched, whatever_counts);
        let (machines, woken) = wake::up(&self.client, reader.clone());
        let reconciler =
            Arc::new(Reconciler { client: self.client, machines, metrics: self.metrics });
        Controller::for_stream_with(changed, reader, resource())
            .with_config(controller::Config::default().concurrency(AT_ONCE))
            .reconcile_on(woken)
            .run(reconcile, error_policy, reconciler)
            .for_each(async |result| {
                if let Err(error) = result {
                    tracing::debug!(%error, "a pass was not made");
                }
            })
            .await;
    }
}

async fn reconcile(metadata: Arc<Followed>, reconciler: Arc<Reconciler>) -> Result<Action, Error> {
    let reference = ObjectRef::from_obj_with(&*metadata, resource());
    let namespace = reference.namespace.clone().unwrap_or_default();
    reconciler.counted_pass(&namespace, &reference.name).await.map_err(|error| {
        let name = format!("{namespace}/{}", reference.name);
        tracing::warn!(metadata = name, error = format!("{error:#}"), "a pass was not made");
        Error
    })
}

/// It was logged, with its causes, where it was found.
#[derive(Debug, thiserror::Error)]
#[error("a pass was not made")]
struct Error;

#[allow(clippy::needless_pass_by_value, reason = "the signature is kube's")]
fn error_policy(_: Arc<Followed>, _: &Error, _: Arc<Reconciler>) -> Action {
    Action::requeue(AFTER_ERROR)
}
