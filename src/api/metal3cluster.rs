//! Metal3Cluster: what a cluster needs beyond its machines.

use super::conditions::{self, DeprecatedStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::core::{Reason, Rule};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;
use std::collections::BTreeMap;

/// What a Metal3Cluster should be.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, CustomResource, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "Metal3Cluster",
    namespaced,
    status = "Metal3ClusterStatus",
    category = "cluster-api",
    shortname = "m3c",
    shortname = "m3cluster",
    shortname = "m3clusters",
    shortname = "metal3c",
    shortname = "metal3cluster",
    derive = "Default",
    derive = "PartialEq",
    attr = "cfg_attr(all(), serde(default = \"Metal3Cluster::default\"))",
    validation = spec_is_there(),
    doc = "The infrastructure of a Cluster of Cluster API on bare metal: the address of its API \
        server and its failure domains. The machines themselves are Metal3Machines. Nothing sets \
        up the address; something on the control plane nodes, such as kube-vip or keepalived, has \
        to hold it.",
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since the Metal3Cluster was created"
    ),
    printcolumn(
        name = "Provisioned",
        type_ = "string",
        json_path = ".status.initialization.provisioned",
        description = "Whether the infrastructure of the cluster is complete"
    ),
    printcolumn(
        name = "Error",
        type_ = "string",
        json_path = ".status.deprecated.v1beta1.failureReason",
        description = "What went wrong last"
    ),
    printcolumn(
        name = "Cluster",
        type_ = "string",
        json_path = r".metadata.labels.cluster\.x-k8s\.io/cluster-name",
        description = "The Cluster that it belongs to"
    ),
    printcolumn(
        name = "Endpoint",
        type_ = "string",
        json_path = ".spec.controlPlaneEndpoint",
        description = "Address of the API server"
    )
)]
#[x_kube(validation = host_is_there())]
pub struct Metal3ClusterSpec {
    /// Where the API server of the cluster is reached: a virtual IP or a load balancer in front of
    /// the control plane nodes. It is not created for you.
    pub control_plane_endpoint: Option<ApiEndpoint>,

    /// Whether a cloud provider in the cluster gives Nodes their providerID. With false (default)
    /// the controller writes it to the Nodes itself.
    #[schemars(extend("default" = false))]
    pub cloud_provider_enabled: Option<bool>,

    /// Parts of the site that fail independently, such as racks or rooms. Cluster API spreads
    /// control plane machines over those with controlPlane: true. A host belongs to the one that
    /// its label infrastructure.cluster.x-k8s.io/failure-domain names.
    #[schemars(
        length(min = 1, max = 100),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub failure_domains: Option<Vec<FailureDomain>>,
}

/// Where an API server is reached.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
pub struct ApiEndpoint {
    /// IP address or DNS name.
    #[schemars(length(min = 1, max = 512))]
    pub host: Option<String>,
    /// Port, 6443 if left out.
    #[schemars(range(min = 1, max = 65535), extend("default" = 6443))]
    pub port: Option<i32>,
}

/// A part of the site that fails independently.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureDomain {
    /// Name of the failure domain, as in the label of the hosts.
    #[schemars(length(min = 1, max = 256))]
    pub name: String,
    /// Whether control plane machines may be placed here.
    pub control_plane: Option<bool>,
    /// Anything else about it.
    pub attributes: Option<BTreeMap<String, String>>,
}

/// What was last seen of a Metal3Cluster.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3ClusterStatus {
    /// What Cluster API waits for before it creates machines.
    pub initialization: Option<Initialization>,
    /// The failure domains, copied from the spec for Cluster API.
    #[schemars(
        length(min = 1, max = 100),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub failure_domains: Option<Vec<FailureDomain>>,
    /// When the status was last written.
    pub last_updated: Option<Time>,
    /// Answers about the cluster: BaremetalInfrastructureReady, Ready, Paused.
    #[serde(default)]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Option<Vec<Condition>>,
    /// What older versions of Cluster API read.
    pub deprecated: Option<DeprecatedStatus>,
}

/// What Cluster API waits for.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
pub struct Initialization {
    /// Whether the infrastructure was complete once. It never becomes false again.
    pub provisioned: Option<bool>,
}

const HOST_IS_MISSING: &str = "controlPlaneEndpoint.host is missing: write the IP address or DNS \
                               name under which the API server of the cluster will be reached";

fn spec_is_there() -> Rule {
    // With `oldSelf` a cluster that came without it can still be updated and deleted.
    Rule::new("has(self.spec) || oldSelf.hasValue() && !has(oldSelf.value().spec)")
        .optional_old_self(true)
        .field_path(".spec")
        .message(HOST_IS_MISSING)
        .reason(Reason::FieldValueRequired)
}

fn host_is_there() -> Rule {
    Rule::new("has(self.controlPlaneEndpoint) && has(self.controlPlaneEndpoint.host)")
        .message(HOST_IS_MISSING)
        .field_path(".controlPlaneEndpoint.host")
        .reason(Reason::FieldValueRequired)
}
