//! Watches the cluster's definitions: whether it has the kinds that we work with, which the probes say, and
//! by which schemas policies merge.
//!
//! A cluster has hundreds of definitions, each with the schema of every version; only the schemas
//! that a policy changes objects by are kept.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    adapters::{probes::Readiness, webhook::policies::InForce},
    api::{self, installed},
    policy::{Kind, PolicySet, Schemas},
};
use futures::StreamExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client,
    runtime::{
        WatchStreamExt,
        reflector::{self, Store},
        watcher,
    },
};
use tokio::sync::watch;

/// What is published of the definitions.
#[derive(Debug)]
pub struct Publish {
    /// What stands in the way of being ready.
    pub readiness: watch::Sender<Readiness>,
    /// What policies merge by.
    pub schemas: watch::Sender<Arc<Schemas>>,
}

/// Follows the cluster's definitions for as long as it runs.
pub async fn watch(client: Client, mut policies: watch::Receiver<InForce>, publish: Publish) {
    loop {
        let merged = Merged::by(&policies.borrow_and_update().policies);
        let is_enough = |in_force: &InForce| Merged::by(&in_force.policies) == merged;
        let others = policies.wait_for(|in_force| !is_enough(in_force));
        tokio::select! {
            () = follow(&client, merged.clone(), &publish) => {}
            changed = others => if changed.is_err() { return; },
        }
    }
}

/// The definitions by which mutating policies merge.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Merged {
    /// A policy has a wildcard.
    All,
    /// By their names.
    These(BTreeSet<String>),
}

impl Merged {
    fn by(policies: &PolicySet) -> Self {
        let mutating = policies.rules().filter(|rule| rule.kind == Kind::MutatingAdmissionPolicy);
        let mut names = BTreeSet::new();
        for rule in mutating.flat_map(|rule| &rule.constraints.resource_rules) {
            for group in &rule.api_groups {
                for resource in &rule.resources {
                    let resource = resource.split('/').next().unwrap_or_default();
                    if group == "*" || resource == "*" {
                        return Self::All;
                    }
                    names.insert(format!("{resource}.{group}"));
                }
            }
        }
        Self::These(names)
    }

    fn includes(&self, crd: &CustomResourceDefinition) -> bool {
        match self {
            Self::All => true,
            Self::These(names) => crd.metadata.name.as_ref().is_some_and(|it| names.contains(it)),
        }
    }
}

async fn follow(client: &Client, merged: Merged, publish: &Publish) {
    let (reader, writer) = reflector::store::<CustomResourceDefinition>();
    let kept = merged.clone();
    let changes = watcher(Api::all(client.clone()), watcher::Config::default())
        .default_backoff()
        .modify(move |crd: &mut CustomResourceDefinition| {
            crd.metadata.managed_fields = None;
            if !kept.includes(crd) {
                crd.spec.versions.iter_mut().for_each(|version| version.schema = None);
            }
        })
        .reflect(writer);
    let mut changes = std::pin::pin!(changes);
    let wanted = api::crds();
    while let Some(change) = changes.next().await {
        let missing = match change {
            // Half of a first list says nothing of what is missing.
            Ok(watcher::Event::Init | watcher::Event::InitApply(_)) => continue,
            Ok(watcher::Event::InitDone) => {
                publish.schemas.send_replace(schemas(&merged, &reader));
                installed::missing(&wanted, reader.state().iter().map(AsRef::as_ref))
            }
            Ok(watcher::Event::Apply(crd) | watcher::Event::Delete(crd)) => {
                if merged.includes(&crd) {
                    publish.schemas.send_replace(schemas(&merged, &reader));
                }
                installed::missing(&wanted, reader.state().iter().map(AsRef::as_ref))
            }
            Err(error) => vec![format!("the cluster's kinds cannot be watched: {error}")],
        };
        say(Readiness { missing }, &publish.readiness);
    }
}

fn schemas(merged: &Merged, reader: &Store<CustomResourceDefinition>) -> Arc<Schemas> {
    let crds = reader.state().into_iter().filter(|crd| merged.includes(crd));
    let crds: Vec<_> = crds.filter_map(|crd| serde_json::to_value(&*crd).ok()).collect();
    Arc::new(Schemas::from_crds(&crds))
}

fn say(readiness: Readiness, publish: &watch::Sender<Readiness>) {
    if *publish.borrow() == readiness {
        return;
    }
    match readiness.missing.as_slice() {
        [] => tracing::info!("ready: all kinds are installed"),
        missing => tracing::warn!(?missing, "not ready"),
    }
    publish.send_replace(readiness);
}
