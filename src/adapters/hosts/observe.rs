//! Reads what a decision depends on. Only what it does depend on in the host's state, and once a pass: a fleet that is idle costs two reads a
//! host now and then.

use std::{cell::OnceCell, collections::BTreeMap};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::{FIELD_MANAGER, SECRET_LABEL, reconcile::Reconciler};
use crate::{
    adapters::clock,
    api::{BareMetalHost, HardwareData, hardware::HardwareDetails},
    controllers::host::{
        hidden::Hidden,
        machine::{ConfigDrive, Identity},
        observed::{self, Observed},
        secrets::{BmcSecret, Data, FirstBoot, Named, config_drive, network_data},
    },
    domain::provisioning_state::ProvisioningState as State,
};

/// The key of a Docker config in its Secret.
const DOCKER_CONFIG: &str = ".dockerconfigjson";

/// What a pass has read beside the host. It is not read again: a pass is soon over, a change of the BMC's Secret wakes the host, and what the
/// host names does not change in a pass, for each of its writes is refused if anybody else has written.
#[derive(Default)]
pub(super) struct Read {
    bmc: OnceCell<BmcSecret>,
    secrets: BTreeMap<String, Option<Data>>,
    hardware_data: OnceCell<Option<HardwareDetails>>,
}

impl Reconciler {
    /// All that a decision about this host depends on.
    pub(super) async fn observe(&self, host: BareMetalHost, read: &mut Read) -> Result<Observed> {
        let now = clock::now();
        let status = host.status.clone().unwrap_or_default();
        let state = observed::state(&status).unwrap_or_default();
        let is_image_due = matches!(state, State::Available | State::Ready | State::Provisioning)
            && (host.spec.image.is_some() || host.spec.custom_deploy.is_some());
        let (config_drive, image_pull_secret) = if is_image_due {
            (self.first_boot(&host, read).await?, self.pull_secret(&host, read).await?)
        } else {
            (Ok(ConfigDrive::default()), None)
        };
        // Who leaves needs none, and while it is inspected we find out for ourselves.
        let is_leaving = host.metadata.deletion_timestamp.is_some();
        let is_due = status.hardware.is_none() && state != State::Inspecting && !is_leaving;
        let hardware_data = if is_due { self.hardware_data(&host, read).await? } else { None };
        let duplicate_of = match &self.occupants {
            Some(occupants) if status.provisioning.id.is_empty() => {
                occupants.wait_until_ready().await?;
                occupants.older_than(&host.namespace().unwrap_or_default(), &host.name_any())
            }
            _ => None,
        };
        Ok(Observed {
            secret: self.bmc_secret(&host, read).await?,
            ramdisk_network: self.ramdisk_network(&host, read).await?,
            room: self.ledger.room(&host.uid().unwrap_or_default(), now),
            host,
            now,
            hardware_data,
            config_drive,
            image_pull_secret,
            duplicate_of: duplicate_of.or_else(|| marked_duplicate(&status)),
            done: Vec::new(),
            settings: self.settings,
        })
    }

    async fn ramdisk_network(
        &self,
        host: &BareMetalHost,
        read: &mut Read,
    ) -> Result<Result<Option<Hidden<Value>>, String>> {
        let name = host.spec.preprovisioning_network_data_name.as_ref();
        let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(Ok(None)) };
        let data = self.secret(host, name, read).await?;
        Ok(network_data(Named { name, data: data.as_ref() }).map(Some))
    }

    async fn bmc_secret(&self, host: &BareMetalHost, read: &mut Read) -> Result<BmcSecret> {
        if let Some(secret) = read.bmc.get() {
            return Ok(secret.clone());
        }
        let secret = self.read_bmc_secret(host).await?;
        Ok(read.bmc.get_or_init(|| secret).clone())
    }

    async fn read_bmc_secret(&self, host: &BareMetalHost) -> Result<BmcSecret> {
        let name = host.spec.bmc.as_ref().map(|bmc| bmc.credentials_name.as_str());
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return Ok(BmcSecret::Unnamed);
        };
        let api = secrets(&self.client, host);
        let found = api.get_opt(name).await;
        let Some(mut secret) = found.with_context(|| format!("could not read Secret {name}"))?
        else {
            return Ok(BmcSecret::Missing);
        };
        if host.metadata.deletion_timestamp.is_none() && !is_owned(&secret, host) {
            // What we change is no other version of the credentials.
            secret = own(&api, &secret, host).await?;
        }
        let version = secret.resource_version().unwrap_or_default();
        Ok(BmcSecret::read(&data(secret), version))
    }

    async fn first_boot(
        &self,
        host: &BareMetalHost,
        read: &mut Read,
    ) -> Result<Result<ConfigDrive, String>> {
        let spec = &host.spec;
        let name = |reference: &Option<crate::api::references::SecretReference>| {
            reference.as_ref().and_then(|it| it.name.clone()).filter(|name| !name.is_empty())
        };
        let network = name(&spec.network_data).or(spec.preprovisioning_network_data_name.clone());
        let mut found = Vec::new();
        for name in [name(&spec.user_data), network, name(&spec.meta_data)] {
            let data = match &name {
                Some(name) => self.secret(host, name, read).await?,
                None => None,
            };
            found.push((name, data));
        }
        let [user_data, network_data, meta_data] = found.as_slice() else {
            return Ok(Ok(ConfigDrive::default()));
        };
        let named =
            |(name, data): &'_ (Option<String>, Option<Data>)| -> Option<(String, Option<Data>)> {
                Some((name.clone()?, data.clone()))
            };
        let all = [user_data, network_data, meta_data].map(named);
        let [user_data, network_data, meta_data] = all
            .each_ref()
            .map(|it| it.as_ref().map(|(name, data)| Named { name, data: data.as_ref() }));
        let secrets = FirstBoot { user_data, network_data, meta_data };
        Ok(config_drive(&Identity::of(host), &secrets))
    }

    async fn pull_secret(
        &self,
        host: &BareMetalHost,
        read: &mut Read,
    ) -> Result<Option<Hidden<String>>> {
        let name = host.spec.image.as_ref().and_then(|image| image.oci_auth_secret_name.as_ref());
        let Some(name) = name else { return Ok(None) };
        let data = self.secret(host, name, read).await?.unwrap_or_default();
        let config =
            data.get(DOCKER_CONFIG).and_then(|bytes| String::from_utf8(bytes.clone()).ok());
        Ok(config.map(Hidden::new))
    }

    /// Only in the host's own namespace: who may write hosts shall not read others' Secrets by them.
    async fn secret(
        &self,
        host: &BareMetalHost,
        name: &str,
        read: &mut Read,
    ) -> Result<Option<Data>> {
        if let Some(data) = read.secrets.get(name) {
            return Ok(data.clone());
        }
        let found = secrets(&self.client, host).get_opt(name).await;
        let found = found.with_context(|| format!("could not read Secret {name}"))?.map(data);
        read.secrets.insert(name.to_owned(), found.clone());
        Ok(found)
    }

    async fn hardware_data(
        &self,
        host: &BareMetalHost,
        read: &mut Read,
    ) -> Result<Option<HardwareDetails>> {
        if let Some(details) = read.hardware_data.get() {
            return Ok(details.clone());
        }
        let namespace = host.namespace().unwrap_or_default();
        let api: Api<HardwareData> = Api::namespaced(self.client.clone(), &namespace);
        let found =
            api.get_opt(&host.name_any()).await.context("could not read the HardwareData")?;
        let details = found.and_then(|found| found.spec.hardware);
        Ok(read.hardware_data.get_or_init(|| details).clone())
    }
}

fn secrets(client: &Client, host: &BareMetalHost) -> Api<Secret> {
    Api::namespaced(client.clone(), &host.namespace().unwrap_or_default())
}

fn data(secret: Secret) -> Data {
    secret
        .data
        .unwrap_or_default()
        .into_iter()
        .map(|(key, value)| (key, value.0))
        .collect::<BTreeMap<_, _>>()
}

fn is_owned(secret: &Secret, host: &BareMetalHost) -> bool {
    let (label, value) = SECRET_LABEL;
    secret.labels().get(label).is_some_and(|it| it == value)
        && secret
            .owner_references()
            .iter()
            .any(|owner| Some(&owner.uid) == host.metadata.uid.as_ref())
}

/// As in Metal3: the label by which we hear of changes, and the owner with which it is moved to another cluster.
async fn own(api: &Api<Secret>, secret: &Secret, host: &BareMetalHost) -> Result<Secret> {
    let (label, value) = SECRET_LABEL;
    let owned = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {
            "name": secret.name_any(),
            "uid": secret.uid(),
            "labels": {label: value},
            "ownerReferences": [super::apply::owner(host)],
        },
    });
    let parameters = kube::api::PatchParams::apply(&field_manager(host)).force();
    api.patch(&secret.name_any(), &parameters, &kube::api::Patch::Apply(&owned))
        .await
        .with_context(|| format!("could not mark Secret {} as that of a BMC", secret.name_any()))
}

/// One for each host: several may share a Secret, and none takes another's mark away.
fn field_manager(host: &BareMetalHost) -> String {
    format!("{FIELD_MANAGER}-{}", host.uid().unwrap_or_default())
}

/// The condition that tells of a duplicate, for clusters whose uniqueness is guarded by another release.
fn marked_duplicate(status: &crate::api::baremetalhost::BareMetalHostStatus) -> Option<String> {
    let conditions = status.conditions.iter().flatten();
    let mut marked = conditions.filter(|it| it.type_ == "Unique" && it.status == "False");
    marked.next().map(|it| it.message.clone())
}
