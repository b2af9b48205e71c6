//! Has the replicas of pools follow the number of hosts that they can have: carries out what [`controllers::autoscale`](crate::controllers::autoscale)
//! decides. Done by one replica, whoever keeps the machines.

mod followed;
mod metrics;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use futures::{FutureExt, StreamExt, future::BoxFuture};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Api, Client, Resource, ResourceExt,
    api::Patch,
    runtime::reflector::{ObjectRef, Store},
};
use serde_json::json;
use tokio::{sync::Notify, time};

pub use self::metrics::Metrics;
use self::{
    followed::{FollowedMachine, Hosts, namespace},
    metrics::Direction,
};
use crate::{
    adapters::{
        events::Events,
        machines::{follow, hash},
        patch::{is_conflict, precondition, written_by},
    },
    api::{
        Metal3MachineTemplate,
        cluster_api::{
            AUTOSCALER_MAX, Cluster, ContractReference, DEPLOYMENT_NAME, GROUP, MachineDeployment,
            MachineSet, SET_NAME, is_paused, owner,
        },
    },
    controllers::{
        autoscale::{
            decide,
            observed::{Kind, Machine, Observed, Pool, PoolId},
            plan::{Plan, Reason, Scaling},
        },
        host_choice::selector::Selector,
        machine::plan::HOST,
    },
    domain::host_discovery::autoscale::AUTOSCALE,
};

const FIELD_MANAGER: &str = "ironward-autoscale";
/// How often all is looked at, unless something changes before.
const LOOK: Duration = Duration::from_secs(10);
/// What comes together is looked at together.
const TOGETHER: Duration = Duration::from_secs(1);

/// What pools are scaled with.
#[derive(Clone)]
pub struct Keeper {
    /// The cluster.
    pub client: Client,
    /// What this replica is called in events.
    pub replica: String,
    /// What is counted.
    pub metrics: Metrics,
}

/// All that is followed.
struct Stores {
    hosts: Hosts,
    machines: Store<FollowedMachine>,
    deployments: Store<MachineDeployment>,
    sets: Store<MachineSet>,
    templates: Store<Metal3MachineTemplate>,
    clusters: Store<Cluster>,
}

/// What is kept from one look to the next.
#[derive(Default)]
struct Kept {
    /// Since when a pool has fewer hosts than machines.
    short: BTreeMap<(String, PoolId), Instant>,
    /// What was told of a pool.
    told: BTreeMap<(String, PoolId), String>,
}

impl Keeper {
    /// Scales for as long as it runs.
    pub async fn keep(self) {
        let changed = Notify::new();
        let client = || self.client.clone();
        let (machines, machine_changes) =
            follow(client(), |it: &FollowedMachine| hash(&it.metadata.resource_version));
        let (deployments, deployment_changes) =
            follow(client(), |it: &MachineDeployment| hash(&it.metadata.resource_version));
        let (sets, set_changes) =
            follow(client(), |it: &MachineSet| hash(&it.metadata.resource_version));
        let (templates, template_changes) =
            follow(client(), |it: &Metal3MachineTemplate| hash(&it.metadata.resource_version));
        let (clusters, cluster_changes) =
            follow(client(), |it: &Cluster| hash((it.is_paused(), &it.metadata.annotations)));
        let hosts = Hosts::new();
        let stores = Stores { hosts, machines, deployments, sets, templates, clusters };
        let tell = || changed.notify_one();
        let following: Vec<BoxFuture<'_, ()>> = vec![
            machine_changes.for_each(async |_| tell()).boxed(),
            deployment_changes.for_each(async |_| tell()).boxed(),
            set_changes.for_each(async |_| tell()).boxed(),
            template_changes.for_each(async |_| tell()).boxed(),
            cluster_changes.for_each(async |_| tell()).boxed(),
            stores.hosts.follow(client(), &changed).boxed(),
        ];
        tokio::select! {
            _ = futures::future::join_all(following) => {}
            () = self.work(&stores, &changed) => {}
        }
    }

    async fn work(&self, stores: &Stores, changed: &Notify) {
        // The writers live as long as this.
        stores.hosts.wait_until_read().await;
        let _ = stores.machines.wait_until_ready().await;
        let _ = stores.deployments.wait_until_ready().await;
        let _ = stores.sets.wait_until_ready().await;
        let _ = stores.templates.wait_until_ready().await;
        let _ = stores.clusters.wait_until_ready().await;
        let events = Events::new(self.client.clone(), &self.replica);
        let mut kept = Kept::default();
        loop {
            self.look(stores, &events, &mut kept).await;
            tokio::select! {
                () = time::sleep(LOOK) => {}
                () = changed.notified() => time::sleep(TOGETHER).await,
            }
        }
    }

    /// Looks at every namespace that has such a pool.
    async fn look(&self, stores: &Stores, events: &Events, kept: &mut Kept) {
        let mut pools: BTreeMap<String, Vec<(Pool, ObjectMeta)>> = BTreeMap::new();
        for (namespace, pool, metadata) in stores.pools(kept) {
            pools.entry(namespace).or_default().push((pool, metadata));
        }
        let known: BTreeSet<(String, PoolId)> = pools
            .iter()
            .flat_map(|(namespace, all)| {
                all.iter().map(|(pool, _)| (namespace.clone(), pool.id.clone()))
            })
            .collect();
        kept.short.retain(|key, _| known.contains(key));
        kept.told.retain(|key, _| known.contains(key));
        for (namespace, all) in pools {
            let (pools, metadata): (Vec<Pool>, Vec<ObjectMeta>) = all.into_iter().unzip();
            let ids: Vec<PoolId> = pools.iter().map(|pool| pool.id.clone()).collect();
            let machines = stores.machines_of(&namespace);
            let plan =
                stores.hosts.look(&namespace, |hosts| decide(&Observed { pools, hosts, machines }));
            let metadata = ids.into_iter().zip(metadata).collect();
            self.carry_out(&namespace, plan, &metadata, events, kept).await;
        }
    }

    async fn carry_out(
        &self,
        namespace: &str,
        plan: Plan,
        metadata: &BTreeMap<PoolId, ObjectMeta>,
        events: &Events,
        kept: &mut Kept,
    ) {
        let key = |pool: &PoolId| (namespace.to_owned(), pool.clone());
        let is_short: BTreeSet<_> = plan.short.iter().map(key).collect();
        kept.short.retain(|known, _| known.0 != namespace || is_short.contains(known));
        for pool in is_short {
            kept.short.entry(pool).or_insert_with(Instant::now);
        }
        kept.told.retain(|known, _| {
            known.0 != namespace || plan.problems.iter().any(|(pool, _)| *pool == known.1)
        });
        for (pool, problem) in plan.problems {
            let told = kept.told.insert(key(&pool), problem.clone());
            if told.as_ref() != Some(&problem)
                && let Some(metadata) = metadata.get(&pool)
            {
                tell(events, &pool, metadata, Reason::NotScaledToHosts, &problem).await;
            }
        }
        for scaling in plan.scalings {
            let Some(metadata) = metadata.get(&scaling.pool) else { continue };
            match self.scale(namespace, &scaling, metadata).await {
                Ok(()) => {
                    let Scaling { pool, from, to, hosts } = &scaling;
                    let note = format!(
                        "replicas {from} to {to}: there are {hosts} hosts that it can have"
                    );
                    tracing::info!(namespace, pool = pool.name, from, to, hosts, "scaled to hosts");
                    let direction = if to > from { Direction::Up } else { Direction::Down };
                    self.metrics.scaled(direction);
                    tell(events, pool, metadata, Reason::ScaledToHosts, &note).await;
                }
                // It is looked at again when that is heard of.
                Err(error) if is_conflict(&error) => {}
                Err(error) => {
                    tracing::warn!(error = format!("{error:#}"), "a pool was not scaled");
                }
            }
        }
    }

    /// Writes replicas, unless somebody else has written the pool since.
    async fn scale(&self, namespace: &str, scaling: &Scaling, metadata: &ObjectMeta) -> Result<()> {
        let PoolId { kind, name } = &scaling.pool;
        let patch = json!({"metadata": precondition(metadata), "spec": {"replicas": scaling.to}});
        let (parameters, patch) = (written_by(FIELD_MANAGER), Patch::Merge(patch));
        let client = self.client.clone();
        let written = match kind {
            Kind::MachineDeployment => {
                let api: Api<MachineDeployment> = Api::namespaced(client, namespace);
                api.patch_scale(name, &parameters, &patch).await
            }
            Kind::MachineSet => {
                let api: Api<MachineSet> = Api::namespaced(client, namespace);
                api.patch_scale(name, &parameters, &patch).await
            }
        };
        written.map(drop).with_context(|| format!("could not scale {kind} {namespace}/{name}"))
    }
}

impl Stores {
    /// All pools with the annotation, and where they are.
    fn pools(&self, kept: &Kept) -> Vec<(String, Pool, ObjectMeta)> {
        let deployments = self.deployments.state();
        let deployments = deployments.iter().map(|it| {
            let spec = &it.spec;
            let template = &spec.template.spec.infrastructure_ref;
            (Kind::MachineDeployment, &it.metadata, &spec.cluster_name, spec.replicas, template)
        });
        let sets = self.sets.state();
        // One that belongs to a MachineDeployment has the annotation from there, and its replicas, too.
        let is_alone =
            |it: &&Arc<MachineSet>| owner(&it.metadata, GROUP, Some("MachineDeployment")).is_none();
        let sets = sets.iter().filter(is_alone).map(|it| {
            let spec = &it.spec;
            let template = &spec.template.spec.infrastructure_ref;
            (Kind::MachineSet, &it.metadata, &spec.cluster_name, spec.replicas, template)
        });
        let mut pools = Vec::new();
        for (kind, metadata, cluster, replicas, template) in deployments.chain(sets) {
            let annotations = metadata.annotations.as_ref();
            let Some(annotation) = annotations.and_then(|all| all.get(AUTOSCALE)) else { continue };
            let namespace = metadata.namespace.clone().unwrap_or_default();
            let id = PoolId { kind, name: metadata.name.clone().unwrap_or_default() };
            let found = self.clusters.get(&ObjectRef::new(cluster).within(&namespace));
            let since = kept.short.get(&(namespace.clone(), id.clone()));
            let pool = Pool {
                created: metadata.creation_timestamp.as_ref().map(|it| it.0),
                cluster: cluster.clone(),
                annotation: annotation.clone(),
                // What Kubernetes takes nothing for.
                replicas: replicas.and_then(|it| it.try_into().ok()).unwrap_or(1),
                is_left_alone: metadata.deletion_timestamp.is_some()
                    || found.is_none()
                    || is_paused(metadata, found.as_deref()),
                has_autoscaler: annotations.is_some_and(|all| all.contains_key(AUTOSCALER_MAX)),
                selector: self.selector(&namespace, template),
                short_for: since.map_or(Duration::ZERO, Instant::elapsed),
                id,
            };
            pools.push((namespace, pool, metadata.clone()));
        }
        pools
    }

    /// Which hosts the machines of a template take.
    fn selector(&self, namespace: &str, template: &ContractReference) -> Result<Selector, String> {
        let ContractReference { kind, name, .. } = template;
        if kind != "Metal3MachineTemplate" {
            return Err(format!("its machines are made from a {kind}, which has no hostSelector"));
        }
        let found = self.templates.get(&ObjectRef::new(name).within(namespace));
        let found = found.ok_or_else(|| format!("there is no Metal3MachineTemplate {name}"))?;
        let selector = found.spec.template.spec.host_selector.as_ref();
        Selector::read(selector).map_err(|error| format!("Metal3MachineTemplate {name}: {error}"))
    }

    fn machines_of(&self, wanted: &str) -> BTreeMap<String, Machine> {
        let all = self.machines.state();
        let here = all.iter().filter(|it| namespace(&***it) == wanted);
        here.map(|it| {
            let label = |key: &str| it.labels().get(key).cloned();
            let machine = Machine {
                deployment: label(DEPLOYMENT_NAME),
                set: label(SET_NAME),
                has_host: it.annotations().contains_key(HOST),
                is_leaving: it.metadata.deletion_timestamp.is_some(),
            };
            (it.name_any(), machine)
        })
        .collect()
    }
}

/// Tells something of a pool. What cannot be told is logged.
async fn tell(events: &Events, pool: &PoolId, metadata: &ObjectMeta, reason: Reason, note: &str) {
    let mut about = match pool.kind {
        Kind::MachineDeployment => MachineDeployment::default().object_ref(&()),
        Kind::MachineSet => MachineSet::default().object_ref(&()),
    };
    about.name.clone_from(&metadata.name);
    about.namespace.clone_from(&metadata.namespace);
    about.uid.clone_from(&metadata.uid);
    if let Err(error) = events.publish(reason, note, "Scale", &about).await {
        let reason: &str = reason.into();
        tracing::warn!(%error, reason, "an event could not be written");
    }
}
