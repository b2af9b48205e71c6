//! Many hosts that an operator has made available, made of one: in the API server and in Ironic, with all that it has left behind
//! there. Registering a thousand takes an Ironic on SQLite a quarter of an hour.

use crate::{control_plane::ControlPlane, fleet::Member, ironic::Ironic, watched::Kind};
use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};
use ironward::uniqueness::{KEY, POLICY, lease_name};
use kube::{
    Api, Client, ResourceExt,
    api::{
        ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
        PostParams,
    },
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fmt};
use tokio::runtime::Runtime;

pub(super) const HOST: Kind = ("metal3.io", "v1alpha1", "BareMetalHost");
const SECRET: Kind = ("", "v1", "Secret");
const LEASE: Kind = ("coordination.k8s.io", "v1", "Lease");

/// What an operator keeps for a host under the name of the host.
const KEPT: [Kind; 3] = [
    ("metal3.io", "v1alpha1", "HostFirmwareSettings"),
    ("metal3.io", "v1alpha1", "HostFirmwareComponents"),
    ("metal3.io", "v1alpha1", "HardwareData"),
];

/// What else is left behind in the namespace.
const LEFT: [Kind; 3] = [("metal3.io", "v1alpha1", "FirmwareSchema"), LEASE, ("", "v1", "Event")];

/// As many as a few clients make at a time.
const AT_ONCE: usize = 16;

/// Words, and what stands in their place in a copy.
type Words = Vec<(String, String)>;

/// The objects of a namespace, past all operators.
pub(super) struct Objects {
    runtime: Runtime,
    client: Client,
    namespace: String,
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Objects").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl Objects {
    /// Those of a namespace of this control plane.
    pub fn of(plane: &ControlPlane, namespace: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let client = plane.client(&runtime)?;
        Ok(Self { runtime, client, namespace: namespace.to_owned() })
    }

    /// Asks for the end of all hosts.
    pub fn delete_hosts(&self) -> Result<()> {
        let (delete, all) = (DeleteParams::default(), ListParams::default());
        self.runtime.block_on(self.api(HOST).delete_collection(&delete, &all))?;
        Ok(())
    }

    /// Makes one host of a copy of the first for each of the others, while no operator looks.
    pub fn copy(&self, ironic: &Ironic, first: &Member, others: &[Member]) -> Result<()> {
        let pattern = self.runtime.block_on(self.pattern(first))?;
        let copies = stream::iter(others.iter().enumerate())
            .map(|(number, other)| self.copied(&pattern, number, other))
            .buffer_unordered(AT_ONCE)
            .try_collect::<Vec<Words>>();
        let copies = self.runtime.block_on(copies)?;
        ironic.copy_node(&copies)
    }

    async fn pattern<'a>(&self, member: &'a Member) -> Result<Pattern<'a>> {
        let host = serde_json::to_value(self.api(HOST).get(&member.name).await?)?;
        let secret = serde_json::to_value(self.api(SECRET).get(&member.name).await?)?;
        let mut kept = Vec::new();
        for kind in KEPT {
            if let Some(object) = self.api(kind).get_opt(&member.name).await? {
                kept.push((kind, serde_json::to_value(object)?));
            }
        }
        let claims = self.leases_of_keys().await?.into_iter().map(serde_json::to_value);
        let claims = claims.collect::<Result<_, _>>()?;
        Ok(Pattern { member, host, secret, kept, claims })
    }

    async fn leases_of_keys(&self) -> Result<Vec<DynamicObject>> {
        Ok(self.api(LEASE).list(&ListParams::default().labels(POLICY)).await?.items)
    }

    /// What Ironward keeps so that no two hosts have the same address.
    pub fn claims(&self) -> Result<BTreeSet<String>> {
        let leases = self.runtime.block_on(self.leases_of_keys())?;
        Ok(leases.iter().map(ResourceExt::name_any).collect())
    }

    /// Gives back what differs.
    async fn copied(&self, pattern: &Pattern<'_>, number: usize, to: &Member) -> Result<Words> {
        let text = |value: &Value| value.as_str().map(str::to_owned).context("not a word");
        let from = pattern.member;
        let mut words: Words = [
            (from.bmc_address.as_str(), to.bmc_address.as_str()),
            (system(from)?, system(to)?),
            (&from.boot_mac, &to.boot_mac),
            (&from.name, &to.name),
            (&from.password, &to.password),
        ]
        .map(|(from, to)| (from.to_owned(), to.to_owned()))
        .into();
        let node = text(&pattern.host["status"]["provisioning"]["ID"])?;
        words.push((node, format!("00000000-0000-4000-9000-{number:012}")));

        let create = PostParams::default();
        let mut host = copy_of(&pattern.host, &words)?;
        let mut status = host["status"].take();
        let made = self.api(HOST).create(&create, &serde_json::from_value(host)?).await?;
        let uid = made.uid().context("a host without a uid")?;
        words.push((text(&pattern.host["metadata"]["uid"])?, uid));

        let mut secret = copy_of(&pattern.secret, &words)?;
        secret["data"].take();
        secret["stringData"] = json!({"username": to.username, "password": to.password});
        let secret = self.api(SECRET).create(&create, &serde_json::from_value(secret)?).await?;
        // Or else they would be taken for new ones, and tried.
        for credentials in ["goodCredentials", "triedCredentials"] {
            if let Some(version) = status.pointer_mut(&format!("/{credentials}/credentialsVersion"))
            {
                *version = json!(secret.resource_version());
            }
        }
        self.set_status(HOST, &to.name, status).await?;
        for (kind, object) in &pattern.kept {
            let mut object = copy_of(object, &words)?;
            let status = object["status"].take();
            self.api(*kind).create(&create, &serde_json::from_value(object)?).await?;
            if !status.is_null() {
                self.set_status(*kind, &to.name, status).await?;
            }
        }
        for claim in &pattern.claims {
            let claim = claim_of(copy_of(claim, &words)?)?;
            self.api(LEASE).create(&create, &claim).await?;
        }
        Ok(words)
    }

    async fn set_status(&self, kind: Kind, name: &str, status: Value) -> Result<()> {
        let patch = Patch::Merge(json!({"status": status}));
        self.api(kind).patch_status(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Removes all that an operator and its hosts leave behind, without asking it.
    pub fn clear(&self) -> Result<()> {
        let delete = DeleteParams::default();
        for kind in [HOST, SECRET].into_iter().chain(KEPT).chain(LEFT) {
            let api = self.api(kind);
            self.runtime.block_on(async {
                let found = api.list(&ListParams::default()).await?;
                let held = found.items.iter().filter(|object| !object.finalizers().is_empty());
                let patch = &Patch::Merge(json!({"metadata": {"finalizers": null}}));
                stream::iter(held)
                    .map(|object| {
                        let (api, name) = (&api, object.name_any());
                        async move { api.patch(&name, &PatchParams::default(), patch).await }
                    })
                    .buffer_unordered(AT_ONCE)
                    .try_collect::<Vec<DynamicObject>>()
                    .await?;
                api.delete_collection(&delete, &ListParams::default()).await
            })?;
        }
        Ok(())
    }

    fn api(&self, kind: Kind) -> Api<DynamicObject> {
        let (group, version, kind) = kind;
        let mut resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        // The kinds whose own name is a plural already.
        for kept in ["hostfirmwaresettings", "hostfirmwarecomponents", "hardwaredata"] {
            if resource.kind.eq_ignore_ascii_case(kept) {
                kept.clone_into(&mut resource.plural);
            }
        }
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }
}

/// A host with what belongs to it.
struct Pattern<'a> {
    member: &'a Member,
    host: Value,
    secret: Value,
    kept: Vec<(Kind, Value)>,
    claims: Vec<Value>,
}

/// The id of its system at the BMC, by which Ironic knows it.
fn system(member: &Member) -> Result<&str> {
    member.bmc_address.rsplit('/').next().context("a BMC without a path")
}

/// An object with other words in the place of some, and without what the API server gives it.
fn copy_of(object: &Value, words: &Words) -> Result<Value> {
    let mut text = object.to_string();
    for (from, to) in words {
        text = text.replace(from, to);
    }
    let mut copy: Value = serde_json::from_str(&text)?;
    let metadata = copy["metadata"].as_object_mut().context("an object without metadata")?;
    for field in ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"] {
        metadata.remove(field);
    }
    Ok(copy)
}

/// A claim under the name of the key that it is for now.
fn claim_of(copy: Value) -> Result<DynamicObject> {
    let mut claim: DynamicObject = serde_json::from_value(copy)?;
    let said = |name: &str| claim.annotations().get(name).context("a claim that says little");
    claim.metadata.name = Some(lease_name(said(POLICY)?, said(KEY)?));
    Ok(claim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_its_own_words_and_nothing_of_the_api_server() {
        let object = json!({
            "metadata": {"name": "a", "uid": "1", "ownerReferences": [{"uid": "of-a"}]},
            "status": {"mac": "02:00"},
        });
        let words = [("02:00", "02:01"), ("of-a", "of-b"), ("\"a\"", "\"b\"")];
        let words: Words = words.map(|(from, to)| (from.to_owned(), to.to_owned())).into();
        let expected = json!({
            "metadata": {"name": "b", "ownerReferences": [{"uid": "of-b"}]},
            "status": {"mac": "02:01"},
        });
        assert_eq!(copy_of(&object, &words).unwrap(), expected);
    }
}
