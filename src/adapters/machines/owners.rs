//! The owner of a pool: a MachineDeployment, or a control plane of whatever kind.

use anyhow::{Context, Result};
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, ListParams},
    discovery,
};
use serde_json::Value;

use super::{observe::stored, reconcile::Reconciler};
use crate::{
    api::cluster_api::{CONTROL_PLANE_GROUP, Cluster, ContractReference, MachineDeployment},
    domain::node_reuse::Pool,
};

/// The owner of a pool.
pub(super) struct PoolOwner {
    pub is_leaving: bool,
    /// How many machines there are to be.
    pub replicas: Option<usize>,
    /// The template that new machines are made from, if it says that itself.
    pub template: Option<String>,
}

impl Reconciler {
    /// The owner of a pool, in a Cluster if that is known.
    pub(super) async fn pool_owner(
        &self,
        namespace: &str,
        pool: &Pool,
        cluster: Option<&Cluster>,
    ) -> Result<Option<PoolOwner>> {
        match pool {
            Pool::MachineDeployment(name) => {
                let api: Api<MachineDeployment> = Api::namespaced(self.client.clone(), namespace);
                let found = api.get_opt(name).await;
                let found =
                    found.with_context(|| format!("could not read MachineDeployment {name}"))?;
                Ok(found.map(|it| of_deployment(&it)))
            }
            Pool::ControlPlane(name) => {
                let reference = cluster.and_then(|it| it.spec.control_plane_ref.clone());
                match reference.filter(|it| it.name == *name) {
                    Some(reference) => self.control_plane(namespace, &reference).await,
                    None => Ok(None),
                }
            }
        }
    }

    /// The same for the value of a label, in which a long name is cut.
    pub(super) async fn labelled_owner(
        &self,
        namespace: &str,
        label: &str,
        cluster: Option<&str>,
    ) -> Result<Option<(Pool, PoolOwner)>> {
        let cluster = cluster.map(|name| stored(&self.clusters, namespace, name));
        let clusters = match cluster {
            Some(cluster) => cluster.into_iter().collect(),
            // Whoever reserved it did not write down for which.
            None => self.clusters_of(namespace),
        };
        for cluster in clusters.iter().filter(|it| it.metadata.deletion_timestamp.is_none()) {
            let Some(reference) = &cluster.spec.control_plane_ref else { continue };
            let pool = Pool::ControlPlane(reference.name.clone());
            if pool.matches(label) {
                let owner = self.control_plane(namespace, reference).await?;
                return Ok(owner.map(|owner| (pool, owner)));
            }
        }
        let api: Api<MachineDeployment> = Api::namespaced(self.client.clone(), namespace);
        let all = api.list(&ListParams::default()).await;
        let all = all.context("could not read the MachineDeployments")?;
        let found = all.into_iter().find_map(|it| {
            let pool = Pool::MachineDeployment(it.name_any());
            let is_of_cluster = clusters.iter().any(|cluster| {
                cluster.name_any() == it.spec.cluster_name
                    && cluster.metadata.deletion_timestamp.is_none()
            });
            (pool.matches(label) && is_of_cluster).then(|| (pool, of_deployment(&it)))
        });
        Ok(found)
    }

    fn clusters_of(&self, namespace: &str) -> Vec<Cluster> {
        let all = self.clusters.state().into_iter();
        all.filter(|it| it.namespace().as_deref() == Some(namespace))
            .map(|it| (*it).clone())
            .collect()
    }

    async fn control_plane(
        &self,
        namespace: &str,
        reference: &ContractReference,
    ) -> Result<Option<PoolOwner>> {
        let ContractReference { kind, name, .. } = reference;
        let group = discovery::group(&self.client, CONTROL_PLANE_GROUP).await;
        let group = group.with_context(|| format!("the cluster has no {CONTROL_PLANE_GROUP}"))?;
        let Some((resource, _)) = group.recommended_kind(kind) else { return Ok(None) };
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), namespace, &resource);
        let found = api.get_opt(name).await;
        let found = found.with_context(|| format!("could not read {kind} {name}"))?;
        Ok(found.map(|it| of_control_plane(&it)))
    }
}

fn of_deployment(deployment: &MachineDeployment) -> PoolOwner {
    PoolOwner {
        is_leaving: deployment.metadata.deletion_timestamp.is_some(),
        replicas: deployment.spec.replicas.and_then(|it| it.try_into().ok()),
        template: None,
    }
}

fn of_control_plane(control_plane: &DynamicObject) -> PoolOwner {
    let spec = &control_plane.data["spec"];
    // Today's contract, and the one before.
    let template =
        ["/machineTemplate/spec/infrastructureRef/name", "/machineTemplate/infrastructureRef/name"];
    let template = template.iter().find_map(|path| spec.pointer(path)).and_then(Value::as_str);
    PoolOwner {
        is_leaving: control_plane.metadata.deletion_timestamp.is_some(),
        replicas: spec["replicas"].as_u64().and_then(|it| it.try_into().ok()),
        template: template.map(str::to_owned),
    }
}
