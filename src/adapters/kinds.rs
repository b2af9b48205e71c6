//! Watches whether the cluster has the kinds that we work with, and says so to the probes.

use crate::{
    adapters::probes::Readiness,
    api::{self, installed},
};
use futures::StreamExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client,
    runtime::{WatchStreamExt, reflector, watcher},
};
use tokio::sync::watch;

/// Follows the cluster's definitions for as long as it runs.
pub async fn watch(client: Client, publish: watch::Sender<Readiness>) {
    let (reader, writer) = reflector::store::<CustomResourceDefinition>();
    let changes =
        watcher(Api::all(client), watcher::Config::default()).default_backoff().reflect(writer);
    let mut changes = std::pin::pin!(changes);
    let wanted = api::crds();
    while let Some(change) = changes.next().await {
        let missing = match change {
            // Half of a first list says nothing of what is missing.
            Ok(watcher::Event::Init | watcher::Event::InitApply(_)) => continue,
            Ok(watcher::Event::InitDone | watcher::Event::Apply(_) | watcher::Event::Delete(_)) => {
                installed::missing(&wanted, reader.state().iter().map(AsRef::as_ref))
            }
            Err(error) => vec![format!("the cluster's kinds cannot be watched: {error}")],
        };
        let readiness = Readiness { missing };
        if *publish.borrow() == readiness {
            continue;
        }
        match readiness.missing.as_slice() {
            [] => tracing::info!("ready: all kinds are installed"),
            missing => tracing::warn!(?missing, "not ready"),
        }
        publish.send_replace(readiness);
    }
}
