//! What is kept of machines while nothing is done with them, and what of machines, hosts and Metal3Metadata is worth a pass. A cluster's
//! definitions may be Metal3's own: only what is needed is read.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource, ResourceExt, api::ApiResource, core::Object};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{
    api::{
        BareMetalHost, Metal3Machine, Metal3Metadata,
        cluster_api::{self, CLUSTER_NAME},
        metal3machine::MachineMetaData,
    },
    controllers::{
        machine::plan::HOST,
        metadata::{observed::Link, plan::LINK},
    },
};

/// A Metal3Machine, as far as it is followed.
pub(super) type FollowedMachine = Object<MachineSpec, Nothing>;
/// A BareMetalHost, as far as templates can show it.
pub(super) type FollowedHost = Object<HostSpec, HostStatus>;
/// A Metal3Metadata, as far as it is followed.
pub(super) type Followed = Object<Spec, Status>;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct MachineSpec {
    pub meta_data: Option<MachineMetaData>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Nothing {}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct HostSpec {
    #[serde(rename = "bootMACAddress")]
    pub boot_mac_address: Option<String>,
    pub consumer_ref: Option<Consumer>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Consumer {
    kind: String,
    name: String,
    namespace: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct HostStatus {
    pub hardware: Option<Hardware>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Hardware {
    pub nics: Option<Vec<Nic>>,
}

#[derive(Debug, Clone, Default, Hash, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Nic {
    pub name: String,
    pub mac: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Spec {
    pub meta_data: BTreeMap<String, String>,
}

/// The indexes may be thousands: that they have changed is enough.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Status {
    indexes: Hashed,
    secrets: Hashed,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
struct Hashed(u64);

impl<'de> Deserialize<'de> for Hashed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(Self(hash(&value.to_string())))
    }
}

pub(super) fn machines() -> ApiResource {
    ApiResource::erase::<Metal3Machine>(&())
}

pub(super) fn hosts() -> ApiResource {
    ApiResource::erase::<BareMetalHost>(&())
}

pub(super) fn resource() -> ApiResource {
    ApiResource::erase::<Metal3Metadata>(&())
}

/// The Metal3Metadata that a machine asks for, in its own namespace.
pub(super) fn link(machine: &FollowedMachine) -> Option<(Link, &str)> {
    let given = machine.spec.meta_data.as_ref();
    if let Some(reference) = given.and_then(|it| it.config_ref.as_ref()) {
        let other = reference.namespace.as_deref().filter(|it| !it.is_empty());
        let is_here = other.is_none() || other == machine.metadata.namespace.as_deref();
        return is_here.then_some((Link::ConfigRef, reference.name.as_str()));
    }
    let name = machine.annotations().get(LINK).filter(|it| !it.is_empty())?;
    Some((Link::Annotation, name))
}

/// The Secret that a machine was given.
pub(super) fn given(machine: &FollowedMachine) -> Option<&str> {
    let given = machine.spec.meta_data.as_ref()?;
    let rendered = given.data_secret.as_ref().map(|it| it.name.as_str());
    rendered.or(given.name.as_deref()).filter(|it| !it.is_empty())
}

/// The Cluster that a machine belongs to.
pub(super) fn cluster(machine: &FollowedMachine) -> Option<&str> {
    machine.labels().get(CLUSTER_NAME).map(String::as_str).filter(|it| !it.is_empty())
}

/// The Machine of Cluster API that a machine belongs to.
pub(super) fn owner(machine: &FollowedMachine) -> Option<&OwnerReference> {
    cluster_api::owner(&machine.metadata, cluster_api::GROUP, Some("Machine"))
}

/// The name of the host that a machine has taken, in its own namespace.
pub(super) fn host_of(machine: &FollowedMachine) -> Option<&str> {
    let (_, name) = machine.annotations().get(HOST)?.split_once('/')?;
    Some(name)
}

/// The Metal3Machine that has taken a host.
pub(super) fn consumer(host: &FollowedHost) -> Option<(&str, &str)> {
    let consumer = host.spec.consumer_ref.as_ref().filter(|it| it.kind == "Metal3Machine")?;
    let here = host.metadata.namespace.as_deref().unwrap_or_default();
    let namespace = if consumer.namespace.is_empty() { here } else { &consumer.namespace };
    Some((namespace, &consumer.name))
}

/// What of a Metal3Metadata must change for it to be looked at.
pub(super) fn whatever_counts(metadata: &Followed) -> u64 {
    let status = metadata.status.clone().unwrap_or_default();
    let is_deleted = metadata.metadata.deletion_timestamp.is_some();
    let meta = &metadata.metadata;
    hash(&(meta.generation, &meta.annotations, is_deleted, status.indexes, status.secrets))
}

/// The same of a machine.
pub(super) fn what_counts_of_a_machine(machine: &FollowedMachine) -> u64 {
    let meta = &machine.metadata;
    let is_deleted = meta.deletion_timestamp.is_some();
    let link = link(machine).map(|(_, name)| name);
    let owner = owner(machine).map(|it| &it.name);
    hash(&(&meta.uid, &meta.labels, &meta.annotations, is_deleted, link, given(machine), owner))
}

/// The same of a host.
pub(super) fn what_counts_of_a_host(host: &FollowedHost) -> u64 {
    let nics = host.status.as_ref().and_then(|it| it.hardware.as_ref()).map(|it| &it.nics);
    let (meta, spec) = (&host.metadata, &host.spec);
    hash(&(&meta.labels, &meta.annotations, &spec.boot_mac_address, consumer(host), nics))
}

/// The same of a Machine of Cluster API.
pub(super) fn what_counts_of_metadata(object: &impl Resource) -> u64 {
    let meta = object.meta();
    hash(&(&meta.labels, &meta.annotations))
}

fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
