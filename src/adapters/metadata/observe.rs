//! Reads all that a decision depends on: the Secrets and the Metal3Metadata as they are at one instant, the machines as they were heard of.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, anyhow};
use futures::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::Secret as StoredSecret, apimachinery::pkg::apis::meta::v1::OwnerReference,
};
use kube::{
    Api, Resource, ResourceExt,
    api::{ListParams, PartialObjectMeta},
};
use serde::de::DeserializeOwned;
use std::fmt::Debug;

use super::{
    PAGE,
    followed::{
        FollowedHost, FollowedMachine, cluster, given, host_of, hosts, link, machines, owner,
    },
    reconcile::Reconciler,
};
use crate::{
    adapters::clock,
    api::{
        Metal3Cluster, Metal3Metadata,
        cluster_api::{self, CLUSTER_NAME, Cluster},
    },
    controllers::metadata::{
        digest,
        observed::{Machine, Observed, Secret, is_machine},
        plan::RESERVED,
    },
    domain::metadata::{META_DATA_KEY, SECRET_TYPE},
    template::metadata::{Host, Node, Object, Templates},
};

/// How often the Secrets are listed again because the Metal3Metadata has changed meanwhile.
const TRIES: usize = 10;
/// How many machines are looked up at one time.
const AT_ONCE: usize = 16;

impl Reconciler {
    /// None if it is gone.
    pub(super) async fn observe(&self, namespace: &str, name: &str) -> Result<Option<Observed>> {
        for _ in 0..TRIES {
            let api: Api<Metal3Metadata> = Api::namespaced(self.client.clone(), namespace);
            let found = api.get_opt(name).await.context("could not read the Metal3Metadata")?;
            let Some(metadata) = found else { return Ok(None) };
            let secrets = self.secrets(namespace).await?;
            let after = api.get_metadata_opt(name).await;
            let after = after.context("could not read the Metal3Metadata")?;
            let version = after.and_then(|it| it.metadata.resource_version);
            if version == metadata.metadata.resource_version {
                return self.complete(metadata, secrets).await.map(Some);
            }
        }
        Err(anyhow!("the Metal3Metadata changes all the time"))
    }

    async fn secrets(&self, namespace: &str) -> Result<Vec<Secret>> {
        let api: Api<StoredSecret> = Api::namespaced(self.client.clone(), namespace);
        let of_type = ListParams::default().fields(&format!("type={SECRET_TYPE}"));
        let found = pages(&api, of_type).await.context("could not list the Secrets")?;
        Ok(found.into_iter().filter_map(secret).collect())
    }

    async fn complete(&self, metadata: Metal3Metadata, secrets: Vec<Secret>) -> Result<Observed> {
        let namespace = metadata.namespace().unwrap_or_default();
        let found = self.concerned(&metadata, &secrets).await?;
        let asks = |it: &FollowedMachine| link(it).is_some_and(|it| it.1 == metadata.name_any());
        let asking = found.iter().filter(|it| asks(it));
        let named: BTreeSet<&str> = asking.filter_map(cluster).collect();
        let (clusters, paused) = self.clusters(&namespace, &named).await?;
        let templates = Templates::parse(&metadata.spec.meta_data);
        let hosts = if templates.speak_of_the_host() {
            let wanted: BTreeSet<&str> = found.iter().filter_map(host_of).collect();
            self.hosts(&namespace, &wanted).await?
        } else {
            BTreeMap::new()
        };
        let owners = if templates.speak_of_the_machine() {
            self.owners(&namespace).await?
        } else {
            BTreeMap::new()
        };
        let machine = |it: &FollowedMachine| {
            let node = node(it, &hosts, &owners);
            let is_cluster_paused = cluster(it).is_some_and(|it| paused.contains(it));
            let is_paused = is_cluster_paused || cluster_api::is_paused(&it.metadata, None);
            Machine {
                name: it.name_any(),
                uid: it.uid().unwrap_or_default(),
                version: it.resource_version().unwrap_or_default(),
                created: it.metadata.creation_timestamp.as_ref().map(|time| time.0),
                is_being_deleted: it.metadata.deletion_timestamp.is_some(),
                is_paused,
                link: link(it).filter(|it| it.1 == metadata.name_any()).map(|it| it.0),
                refers_to: given(it).map(str::to_owned),
                node,
            }
        };
        Ok(Observed {
            machines: found.iter().map(machine).collect(),
            secrets,
            taken: BTreeSet::new(),
            clusters,
            has_written: false,
            now: now(),
            metadata,
        })
    }

    /// The machines that ask for it, own a Secret, or are named in the status. Who was not heard of is asked for: it may be too new.
    async fn concerned(
        &self,
        metadata: &Metal3Metadata,
        secrets: &[Secret],
    ) -> Result<Vec<FollowedMachine>> {
        let namespace = metadata.namespace().unwrap_or_default();
        let here = self.machines.state().into_iter();
        let here = here.filter(|it| it.namespace().as_deref() == Some(namespace.as_str()));
        let known: BTreeMap<String, _> = here.map(|it| (it.name_any(), it)).collect();
        let owners = secrets.iter().flat_map(|it| &it.owners).filter(|it| is_machine(it));
        let mut named: BTreeMap<String, Option<String>> =
            owners.map(|it| (it.name.clone(), Some(it.uid.clone()))).collect();
        for name in written(metadata) {
            named.entry(name).or_default();
        }
        let is_known = |(name, uid): &(&String, &Option<String>)| {
            let known = known.get(*name);
            known.is_some_and(|it| uid.is_none() || it.metadata.uid == **uid)
        };
        let unknown = named.iter().filter(|it| !is_known(it));
        let unknown: Vec<String> = unknown.map(|it| it.0.clone()).collect();
        let api: Api<FollowedMachine> =
            Api::namespaced_with(self.client.clone(), &namespace, &machines());
        let looked_up: Vec<Option<FollowedMachine>> = stream::iter(unknown)
            .map(|name| {
                let api = api.clone();
                async move { api.get_opt(&name).await }
            })
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
            .context("could not read a Metal3Machine")?;
        let mut found: BTreeMap<String, FollowedMachine> =
            looked_up.into_iter().flatten().map(|it| (it.name_any(), it)).collect();
        for (name, machine) in known {
            let asks = link(&machine).is_some_and(|it| it.1 == metadata.name_any());
            if asks || named.contains_key(&name) {
                found.entry(name).or_insert_with(|| (*machine).clone());
            }
        }
        Ok(found.into_values().collect())
    }

    /// The Metal3Clusters of Clusters, and which of those are paused. Where Cluster API is not installed, none is.
    async fn clusters(
        &self,
        namespace: &str,
        named: &BTreeSet<&str>,
    ) -> Result<(Vec<OwnerReference>, BTreeSet<String>)> {
        let mut paused = BTreeSet::new();
        if named.is_empty() {
            return Ok((Vec::new(), paused));
        }
        let api: Api<Cluster> = Api::namespaced(self.client.clone(), namespace);
        for name in named {
            match api.get(name).await {
                Ok(cluster) if cluster.is_paused() => {
                    paused.insert((*name).to_owned());
                }
                Ok(_) => {}
                // It is not there, or its kind is not.
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => return Err(error).context("could not read the Cluster"),
            }
        }
        let api: Api<Metal3Cluster> = Api::namespaced(self.client.clone(), namespace);
        let found = api.list_metadata(&ListParams::default()).await;
        let found = found.context("could not list the Metal3Clusters")?;
        let is_of = |it: &PartialObjectMeta<Metal3Cluster>| {
            let mut owners = it.owner_references().iter().filter(|it| it.kind == "Cluster");
            let label = it.labels().get(CLUSTER_NAME);
            owners.any(|it| named.contains(it.name.as_str()))
                || label.is_some_and(|it| named.contains(it.as_str()))
        };
        let owner = |it: PartialObjectMeta<Metal3Cluster>| OwnerReference {
            api_version: Metal3Cluster::api_version(&()).into_owned(),
            kind: Metal3Cluster::kind(&()).into_owned(),
            name: it.name_any(),
            uid: it.uid().unwrap_or_default(),
            ..OwnerReference::default()
        };
        Ok((found.items.into_iter().filter(is_of).map(owner).collect(), paused))
    }

    async fn hosts(
        &self,
        namespace: &str,
        wanted: &BTreeSet<&str>,
    ) -> Result<BTreeMap<String, Host>> {
        let api: Api<FollowedHost> = Api::namespaced_with(self.client.clone(), namespace, &hosts());
        let found = pages(&api, ListParams::default()).await.context("could not list the hosts")?;
        let found = found.into_iter().filter(|it| wanted.contains(it.name_any().as_str()));
        Ok(found.map(|it| (it.name_any(), host(&it))).collect())
    }

    /// The Machines of Cluster API by name; none where it is not installed.
    async fn owners(&self, namespace: &str) -> Result<BTreeMap<String, Object>> {
        let api: Api<cluster_api::Machine> = Api::namespaced(self.client.clone(), namespace);
        match api.list_metadata(&ListParams::default()).await {
            Ok(found) => Ok(found.into_iter().map(|it| (it.name_any(), object(&it))).collect()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(BTreeMap::new()),
            Err(error) => Err(error).context("could not list the Machines"),
        }
    }
}

/// All objects, page by page.
async fn pages<K: Resource + Clone + DeserializeOwned + Debug>(
    api: &Api<K>,
    parameters: ListParams,
) -> kube::Result<Vec<K>> {
    let mut parameters = parameters.limit(PAGE);
    let mut found = Vec::new();
    loop {
        let page = api.list(&parameters).await?;
        found.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => return Ok(found),
        }
    }
}

/// The machines that are named in the status, or in the annotation that keeps entries of it.
fn written(metadata: &Metal3Metadata) -> Vec<String> {
    let indexes = metadata.status.as_ref().and_then(|it| it.indexes.clone()).unwrap_or_default();
    let text = metadata.annotations().get(RESERVED).map(String::as_str).unwrap_or_default();
    let kept: BTreeMap<String, String> = serde_json::from_str(text).unwrap_or_default();
    indexes.into_values().chain(kept.into_values()).collect()
}

/// One whose name is that of metadata. What it holds is not kept.
fn secret(secret: StoredSecret) -> Option<Secret> {
    let name = secret.name_any().parse().ok()?;
    let content = secret.data.as_ref().and_then(|it| it.get(META_DATA_KEY));
    Some(Secret {
        name,
        digest: content.map(|it| digest(&it.0)),
        uid: secret.metadata.uid.unwrap_or_default(),
        version: secret.metadata.resource_version.unwrap_or_default(),
        owners: secret.metadata.owner_references.unwrap_or_default(),
        finalizers: secret.metadata.finalizers.unwrap_or_default(),
        is_being_deleted: secret.metadata.deletion_timestamp.is_some(),
    })
}

fn node(
    machine: &FollowedMachine,
    hosts: &BTreeMap<String, Host>,
    owners: &BTreeMap<String, Object>,
) -> Node {
    let owner = owner(machine).map(|it| {
        let named = Object { name: it.name.clone(), ..Object::default() };
        owners.get(&it.name).cloned().unwrap_or(named)
    });
    Node {
        index: 0,
        namespace: machine.namespace().unwrap_or_default(),
        cluster_name: cluster(machine).unwrap_or_default().to_owned(),
        machine: owner.unwrap_or_default(),
        metal3_machine: object(machine),
        metal3_machine_uid: machine.uid().unwrap_or_default(),
        host: host_of(machine).and_then(|it| hosts.get(it)).cloned().unwrap_or_default(),
    }
}

fn object(of: &impl ResourceExt) -> Object {
    Object {
        name: of.name_any(),
        labels: of.labels().clone(),
        annotations: of.annotations().clone(),
    }
}

fn host(host: &FollowedHost) -> Host {
    let hardware = host.status.as_ref().and_then(|it| it.hardware.as_ref());
    let nics = hardware.and_then(|it| it.nics.as_ref()).into_iter().flatten();
    Host {
        object: object(host),
        nics: nics.filter_map(|it| Some((it.name.clone(), it.mac.parse().ok()?))).collect(),
        boot_mac: host.spec.boot_mac_address.as_ref().and_then(|it| it.parse().ok()),
    }
}

/// Kubernetes stores whole seconds.
fn now() -> Timestamp {
    Timestamp::from_second(clock::now().as_second()).unwrap_or(Timestamp::UNIX_EPOCH)
}
