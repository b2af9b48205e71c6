//! Watches the cluster's definitions: whether it has the kinds that we work with, which the probes say, and
//! by which schemas policies merge.
//!
//! A cluster has hundreds of definitions, each with the schema of every version; only the schemas
//! that a policy changes objects by are kept.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    adapters::{probes::Readiness, webhook::policies::InForce},
    api::{self, installed},
    policy::{Kind, PolicySet, Schemas},
};
use futures::StreamExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client, ResourceExt,
    runtime::{WatchStreamExt, watcher},
};
use tokio::sync::watch;

/// How many definitions are read at one time.
const PAGE: u32 = 3;

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
    // By pages: a definition takes a megabyte while it is read.
    let config = watcher::Config::default().page_size(PAGE);
    let changes = watcher(Api::all(client.clone()), config).default_backoff();
    let mut changes = std::pin::pin!(changes);
    let wanted: Vec<_> = api::definitions().map(without_schemas).collect();
    let (mut followed, mut listed) = (Followed::default(), Followed::default());
    while let Some(change) = changes.next().await {
        let are_schemas_new = match change {
            Ok(watcher::Event::Init) => {
                listed = Followed::default();
                continue;
            }
            // Half of a first list says nothing of what is missing.
            Ok(watcher::Event::InitApply(crd)) => {
                listed.take(crd, &merged);
                continue;
            }
            Ok(watcher::Event::InitDone) => {
                followed = std::mem::take(&mut listed);
                true
            }
            Ok(watcher::Event::Apply(crd)) => followed.take(crd, &merged),
            Ok(watcher::Event::Delete(crd)) => followed.forget(&crd),
            Err(error) => {
                let missing = vec![format!("the cluster's kinds cannot be watched: {error}")];
                say(Readiness { missing }, &publish.readiness);
                continue;
            }
        };
        if are_schemas_new {
            publish.schemas.send_replace(Arc::new(followed.schemas.clone()));
        }
        let missing = installed::missing(&wanted, followed.definitions.values());
        say(Readiness { missing }, &publish.readiness);
    }
}

/// The definitions of the cluster.
#[derive(Default)]
struct Followed {
    /// By name, without their schemas.
    definitions: BTreeMap<String, CustomResourceDefinition>,
    schemas: Schemas,
}

impl Followed {
    /// Whether schemas have changed.
    fn take(&mut self, crd: CustomResourceDefinition, merged: &Merged) -> bool {
        let is_merged = merged.includes(&crd);
        if is_merged && let Ok(definition) = serde_json::to_value(&crd) {
            self.schemas.set(&definition);
        }
        self.definitions.insert(crd.name_any(), without_schemas(crd));
        is_merged
    }

    fn forget(&mut self, crd: &CustomResourceDefinition) -> bool {
        self.definitions.remove(&crd.name_any());
        self.schemas.remove(&crd.spec.group, &crd.spec.names.kind)
    }
}

fn without_schemas(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    crd.metadata.managed_fields = None;
    crd.metadata.annotations = None;
    crd.spec.versions.iter_mut().for_each(|version| version.schema = None);
    crd
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
