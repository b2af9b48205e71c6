//! The kinds of Cluster API, as far as they are read here: who a machine belongs to, and what it waits for. They are never written
//! whole, and their definitions are Cluster API's own.

use k8s_openapi::apimachinery::pkg::{
    apis::meta::v1::{Condition, LabelSelector, ObjectMeta, OwnerReference},
    util::intstr::IntOrString,
};
use kube::CustomResource;
use serde::{Deserialize, Serialize};

use super::conditions::DeprecatedStatus;

/// The group of a Cluster, its Machines and their owners.
pub const GROUP: &str = "cluster.x-k8s.io";
/// The group of control planes, such as KubeadmControlPlane.
pub const CONTROL_PLANE_GROUP: &str = "controlplane.cluster.x-k8s.io";
/// The label that names the Cluster which something belongs to.
pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
/// The label of a Machine that names its MachineDeployment.
pub const DEPLOYMENT_NAME: &str = "cluster.x-k8s.io/deployment-name";
/// The label of a Machine that names its MachineSet.
pub const SET_NAME: &str = "cluster.x-k8s.io/set-name";
/// The annotation by which the cluster autoscaler is told that the replicas are its own.
pub const AUTOSCALER_MAX: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size";
/// The annotation that has an object left alone.
pub const PAUSED: &str = "cluster.x-k8s.io/paused";
/// The annotation of infrastructure that somebody else looks after.
pub const MANAGED_BY: &str = "cluster.x-k8s.io/managed-by";
/// The annotations that name the template which an object was made from.
pub const CLONED_FROM_NAME: &str = "cluster.x-k8s.io/cloned-from-name";
/// The kind of that template, with its group behind a dot.
pub const CLONED_FROM_GROUP_KIND: &str = "cluster.x-k8s.io/cloned-from-groupkind";
/// The annotation for which `clusterctl move` waits until it is gone.
pub const BLOCK_MOVE: &str = "clusterctl.cluster.x-k8s.io/block-move";

/// A reference to an object in the same namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContractReference {
    /// The group of its kind, without a version.
    pub api_group: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// What a Cluster should be.
#[derive(Debug, Clone, Default, PartialEq, Eq, CustomResource, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Cluster",
    namespaced,
    status = "ClusterStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq"
)]
pub struct ClusterSpec {
    /// Whether nothing of it is to be changed.
    pub paused: Option<bool>,
    /// Its infrastructure, such as a Metal3Cluster.
    pub infrastructure_ref: Option<ContractReference>,
    /// Its control plane, such as a KubeadmControlPlane.
    pub control_plane_ref: Option<ContractReference>,
}

/// What was last seen of a Cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterStatus {
    /// What was complete once.
    pub initialization: ClusterInitialization,
}

/// What was complete once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterInitialization {
    /// Whether the infrastructure was.
    pub infrastructure_provisioned: Option<bool>,
}

impl Cluster {
    /// Whether nothing of it is to be changed.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.spec.paused == Some(true)
    }

    /// Whether machines may be made.
    #[must_use]
    pub fn is_infrastructure_provisioned(&self) -> bool {
        let status = self.status.as_ref();
        status.is_some_and(|it| it.initialization.infrastructure_provisioned == Some(true))
    }
}

/// What a Machine should be.
#[derive(Debug, Clone, Default, PartialEq, Eq, CustomResource, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Machine",
    namespaced,
    status = "MachineStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq"
)]
pub struct MachineSpec {
    /// The Cluster that it belongs to.
    pub cluster_name: String,
    /// What its first boot is told.
    pub bootstrap: Bootstrap,
    /// What it runs on, such as a Metal3Machine.
    pub infrastructure_ref: ContractReference,
    /// Where it is to be.
    pub failure_domain: Option<String>,
}

/// What a first boot is told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Bootstrap {
    /// The Secret with it, once it is there.
    pub data_secret_name: Option<String>,
}

/// What was last seen of a Machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineStatus {
    /// Its Node, once that is known by its providerID.
    pub node_ref: Option<NodeReference>,
    /// Answers about it.
    pub conditions: Option<Vec<Condition>>,
    /// The same as Cluster API had them before.
    pub deprecated: Option<DeprecatedStatus>,
}

/// A Node of the workload cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeReference {
    /// Its name.
    pub name: String,
}

impl Machine {
    /// Its Node, once Cluster API has found it.
    #[must_use]
    pub fn node(&self) -> Option<&str> {
        let node = self.status.as_ref()?.node_ref.as_ref()?;
        Some(node.name.as_str()).filter(|name| !name.is_empty())
    }

    /// Whether it is to be replaced by one that is made from what its owner says now.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        let conditions = self.status.iter().flat_map(|it| it.conditions.iter().flatten());
        conditions.into_iter().any(|it| it.type_ == "UpToDate" && it.status == "False")
    }
}

/// What a MachineHealthCheck should do.
#[derive(Debug, Clone, Default, PartialEq, CustomResource, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "MachineHealthCheck",
    namespaced,
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq"
)]
pub struct MachineHealthCheckSpec {
    /// The Cluster whose machines it looks at.
    pub cluster_name: String,
    /// Which of them.
    pub selector: LabelSelector,
    /// What is done about those that are not healthy.
    pub remediation: HealthCheckRemediation,
}

/// What is done about machines that are not healthy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HealthCheckRemediation {
    /// When anything is done.
    pub trigger_if: TriggerIf,
    /// What remediations are made from. Without it, the owners of machines replace them.
    pub template_ref: TemplateReference,
}

/// When anything is done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TriggerIf {
    /// Not more than so many are unhealthy: a number, or a share.
    pub unhealthy_less_than_or_equal_to: Option<IntOrString>,
    /// So many are, such as `[3-5]`; it goes before the other.
    pub unhealthy_in_range: Option<String>,
}

/// A reference to a template, with its version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TemplateReference {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// What a MachineDeployment should be.
#[derive(Debug, Clone, Default, PartialEq, Eq, CustomResource, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "MachineDeployment",
    namespaced,
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq"
)]
pub struct MachineDeploymentSpec {
    /// The Cluster that its machines belong to.
    pub cluster_name: String,
    /// How many machines there are to be.
    pub replicas: Option<i64>,
    /// What they are made from.
    pub template: MachineTemplate,
}

/// What a MachineSet should be.
#[derive(Debug, Clone, Default, PartialEq, Eq, CustomResource, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta2",
    kind = "MachineSet",
    namespaced,
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq"
)]
pub struct MachineSetSpec {
    /// The Cluster that its machines belong to.
    pub cluster_name: String,
    /// How many machines there are to be.
    pub replicas: Option<i64>,
    /// What they are made from.
    pub template: MachineTemplate,
}

/// What machines are made from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineTemplate {
    /// What they should be.
    pub spec: MachineSpec,
}

/// The owner of an object that is of a group, whatever the version, and of a kind if that is given.
#[must_use]
pub fn owner<'a>(
    metadata: &'a ObjectMeta,
    group: &str,
    kind: Option<&str>,
) -> Option<&'a OwnerReference> {
    metadata.owner_references.iter().flatten().find(|it| {
        it.api_version.split_once('/').is_some_and(|(its, _)| its == group)
            && kind.is_none_or(|kind| it.kind == kind)
    })
}

/// Whether an object or its Cluster is left alone for now.
#[must_use]
pub fn is_paused(metadata: &ObjectMeta, cluster: Option<&Cluster>) -> bool {
    let annotations = metadata.annotations.as_ref();
    annotations.is_some_and(|all| all.contains_key(PAUSED))
        || cluster.is_some_and(Cluster::is_paused)
}
