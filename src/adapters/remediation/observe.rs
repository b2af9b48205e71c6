//! Reads what a decision depends on, and what is to be written to: the objects as they are now, not as they were heard of.

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Node;
use kube::{Api, ResourceExt, api::ListParams};

use super::{followed::key, reconcile::Reconciler, workload::Reached};
use crate::{
    adapters::clock,
    api::{
        BareMetalHost, Metal3Machine, Metal3Remediation,
        cluster_api::{Cluster, Machine},
    },
    controllers::remediation::{
        observed::{NoHost, Observed, Storm, Workload},
        read, storm,
    },
    domain::remediation::{Phase, power_off_annotation},
};

/// The annotation by which a Metal3Machine names its host.
const HOST: &str = "metal3.io/BareMetalHost";

/// What is known, and the objects that it is known from.
pub(super) struct Scene {
    pub seen: Observed,
    pub remediation: Metal3Remediation,
    pub machine: Option<Machine>,
    pub host: Option<BareMetalHost>,
    pub node: Option<(Reached, Node)>,
}

impl Scene {
    /// The Cluster, once that is known.
    pub fn cluster(&self) -> Option<(String, String)> {
        let namespace = self.remediation.namespace().unwrap_or_default();
        Some((namespace, self.seen.machine.as_ref()?.cluster.clone()))
    }

    pub fn host_key(&self) -> Option<(String, String)> {
        self.host.as_ref().map(|host| key(&host.metadata))
    }
}

impl Reconciler {
    /// All that a decision about this remediation depends on.
    pub(super) async fn observe(&self, remediation: Metal3Remediation) -> Result<Scene> {
        let namespace = remediation.namespace().unwrap_or_default();
        let machines: Api<Machine> = Api::namespaced(self.client.clone(), &namespace);
        let found = machines.get_opt(&remediation.name_any()).await;
        let found = found.context("could not read the Machine")?;
        let machine = found.filter(|it| read::is_owner(&remediation.metadata, &it.metadata));
        let cluster = match &machine {
            Some(machine) => {
                let clusters: Api<Cluster> = Api::namespaced(self.client.clone(), &namespace);
                let found = clusters.get_opt(&machine.spec.cluster_name).await;
                found.context("could not read the Cluster")?
            }
            None => None,
        };
        let facts = read::remediation(&remediation, cluster.as_ref());
        let metal3_machine = machine.as_ref().and_then(read::metal3_machine);
        let host = self.host(&remediation, machine.as_ref()).await?;
        let (workload, node) = self.workload(&remediation, machine.as_ref(), &facts).await;
        let seen = Observed {
            now: clock::now(),
            machine: machine.as_ref().map(read::machine),
            host: host
                .as_ref()
                .map(|host| read::host(host, &facts.uid, metal3_machine))
                .map_err(|why| *why),
            workload,
            storm: Storm::default(),
            remediation: facts,
        };
        let mut scene = Scene { seen, remediation, machine, host: host.ok(), node };
        self.places.note(&scene.remediation.metadata, scene.host_key(), node_key(&scene));
        self.look_about(&mut scene).await?;
        Ok(scene)
    }

    /// How much is going on. It matters to those who have not begun.
    pub(super) async fn look_about(&self, scene: &mut Scene) -> Result<()> {
        let Some(cluster) = scene.cluster() else { return Ok(()) };
        if scene.seen.remediation.phase().is_some() {
            return Ok(());
        }
        let size = self.clusters.size(&self.client, &cluster.0, &cluster.1).await?;
        let labels = scene.machine.as_ref().and_then(|it| it.metadata.labels.clone());
        let checks = size.limits(&cluster.1, &labels.unwrap_or_default());
        let host = scene.host_key();
        let metadata = &scene.remediation.metadata;
        let crowd = self.places.crowd(&self.remediations, metadata, &cluster, host.as_ref());
        scene.seen.storm = Storm {
            limit: storm::limit(self.limit, &checks, size.machines),
            active: crowd.active,
            on_this_host: crowd.on_this_host,
        };
        Ok(())
    }

    async fn host(
        &self,
        remediation: &Metal3Remediation,
        machine: Option<&Machine>,
    ) -> Result<Result<BareMetalHost, NoHost>> {
        let namespace = remediation.namespace().unwrap_or_default();
        let hosts: Api<BareMetalHost> = Api::namespaced(self.client.clone(), &namespace);
        let why = match self.chosen(&namespace, machine).await? {
            Ok(name) => match hosts.get_opt(&name).await.context("could not read the host")? {
                Some(host) => return Ok(Ok(host)),
                None => NoHost::Missing,
            },
            Err(why) => why,
        };
        // Whoever led to it is gone: it may still be kept off by us.
        let is_begun = matches!(
            remediation.status.as_ref().and_then(|status| status.phase),
            Some(Phase::Running | Phase::Waiting | Phase::Failed | Phase::DeletingMachine)
        );
        if !is_begun || remediation.finalizers().is_empty() {
            return Ok(Err(why));
        }
        let ours = power_off_annotation(&remediation.uid().unwrap_or_default());
        let all = hosts.list(&ListParams::default()).await.context("could not list the hosts")?;
        Ok(all.items.into_iter().find(|it| it.annotations().contains_key(&ours)).ok_or(why))
    }

    /// The name of the host that the Metal3Machine has chosen.
    async fn chosen(
        &self,
        namespace: &str,
        machine: Option<&Machine>,
    ) -> Result<Result<String, NoHost>> {
        let Some(name) = machine.and_then(read::metal3_machine) else {
            return Ok(Err(NoHost::AnotherProvider));
        };
        let api: Api<Metal3Machine> = Api::namespaced(self.client.clone(), namespace);
        let found = api.get_opt(name).await.context("could not read the Metal3Machine")?;
        let Some(found) = found else { return Ok(Err(NoHost::NoMetal3Machine)) };
        let host = found.annotations().get(HOST).and_then(|it| it.rsplit('/').next());
        Ok(host.filter(|it| !it.is_empty()).map(str::to_owned).ok_or(NoHost::Unchosen))
    }

    /// The Node, from the cluster that it is in.
    async fn workload(
        &self,
        remediation: &Metal3Remediation,
        machine: Option<&Machine>,
        facts: &crate::controllers::remediation::observed::Remediation,
    ) -> (Workload, Option<(Reached, Node)>) {
        let nobody = Workload::Reachable { knows_out_of_service: true, node: None };
        let Some((machine, name)) = machine.and_then(|it| Some((it, it.node()?))) else {
            return (nobody, None);
        };
        let namespace = remediation.namespace().unwrap_or_default();
        let cluster = self.workloads.of(&namespace, &machine.spec.cluster_name);
        let asked = async {
            let reached = cluster.reach().await?;
            let node = reached.node(name).await?;
            let facts = match &node {
                None => None,
                Some(node) if facts.phase() == Some(Phase::Running) => {
                    let (pods, volumes) = reached.left(name).await?;
                    Some(read::node(node, pods, volumes))
                }
                Some(node) => Some(read::node(node, 0, 0)),
            };
            Ok::<_, String>((reached, node, facts))
        };
        match asked.await {
            Err(why) => (Workload::Unreachable { why }, None),
            Ok((reached, node, facts)) => {
                let is_left = |it: &crate::controllers::remediation::observed::Node| {
                    it.is_tainted && it.pods_left + it.volumes_left > 0
                };
                if facts.as_ref().is_some_and(is_left) {
                    cluster.watch_fence(&reached.client, name);
                } else {
                    cluster.leave_fence(name);
                }
                let knows_out_of_service = reached.knows_out_of_service;
                let workload = Workload::Reachable { knows_out_of_service, node: facts };
                (workload, node.map(|node| (reached, node)))
            }
        }
    }
}

fn node_key(scene: &Scene) -> Option<((String, String), String)> {
    let node = scene.seen.machine.as_ref()?.node.clone()?;
    Some((scene.cluster()?, node))
}
