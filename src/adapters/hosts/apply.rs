//! Carries out a plan. Makes no choices: what is written, and in which order, is said in [`Plan`].

use anyhow::{Context, Result};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{
    Api, Resource, ResourceExt,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

use super::{FIELD_MANAGER, followed::place_of, reconcile::Reconciler};
use crate::{
    adapters::patch,
    api::{BareMetalHost, HardwareData, hardware::HardwareDetails},
    controllers::host::{
        annotations::PAUSED,
        events,
        plan::{FINALIZER, Plan},
    },
};

impl Reconciler {
    pub(super) fn hosts(&self, host: &BareMetalHost) -> Api<BareMetalHost> {
        Api::namespaced(self.client.clone(), &host.namespace().unwrap_or_default())
    }

    /// Writes what a plan says of a host, and returns the host as it is then.
    pub(super) async fn write(&self, host: BareMetalHost, plan: &Plan) -> Result<BareMetalHost> {
        if let Some(details) = &plan.hardware_data {
            self.write_hardware_data(&host, details).await?;
        }
        let mut host = host;
        if let Some(status) = &plan.status {
            let before = host.status.as_ref().map_or(Ok(json!({})), serde_json::to_value)?;
            let patch = json!({
                "metadata": patch::precondition(&host.metadata),
                "status": patch::difference(&before, &serde_json::to_value(status)?),
            });
            let written = self
                .hosts(&host)
                .patch_status(
                    &host.name_any(),
                    &patch::written_by(FIELD_MANAGER),
                    &Patch::Merge(patch),
                )
                .await;
            host = written.context("could not write the status")?;
            self.note(&host);
        }
        if plan.architecture.is_some() || !plan.remove_annotations.is_empty() {
            host = self.patch_host(&host, change_of_host(plan)).await?;
        }
        if !plan.forget.is_empty() {
            let name = format!("{}/{}", host.namespace().unwrap_or_default(), host.name_any());
            self.forgotten.add(&plan.forget, &name).await?;
        }
        for event in &plan.events {
            self.tell(&host, event).await;
        }
        Ok(host)
    }

    /// Keeps the host until the provisioner has forgotten it.
    pub(super) async fn guard(&self, host: &BareMetalHost) -> Result<BareMetalHost> {
        let mut finalizers = host.finalizers().to_vec();
        finalizers.push(FINALIZER.to_owned());
        self.patch_host(host, json!({"metadata": {"finalizers": finalizers}})).await
    }

    /// Lets it go.
    pub(super) async fn release(&self, host: &BareMetalHost) -> Result<()> {
        let finalizers: Vec<_> = host.finalizers().iter().filter(|it| *it != FINALIZER).collect();
        self.patch_host(host, json!({"metadata": {"finalizers": finalizers}})).await?;
        Ok(())
    }

    /// What is stored of the host, for the provisioning limit.
    pub(super) fn note(&self, host: &BareMetalHost) {
        let is_paused = host.annotations().contains_key(PAUSED);
        let place = host.status.as_ref().and_then(|status| place_of(status, is_paused));
        self.ledger.note(&host.metadata, place);
    }

    async fn patch_host(&self, host: &BareMetalHost, mut change: Value) -> Result<BareMetalHost> {
        json_patch::merge(&mut change, &json!({"metadata": patch::precondition(&host.metadata)}));
        let patch = Patch::Merge(change);
        let written = self
            .hosts(host)
            .patch(&host.name_any(), &patch::written_by(FIELD_MANAGER), &patch)
            .await;
        written.context("could not write the host")
    }

    async fn write_hardware_data(
        &self,
        host: &BareMetalHost,
        details: &HardwareDetails,
    ) -> Result<()> {
        let namespace = host.namespace().unwrap_or_default();
        let api: Api<HardwareData> = Api::namespaced(self.client.clone(), &namespace);
        let data = json!({
            "apiVersion": HardwareData::api_version(&()), "kind": HardwareData::kind(&()),
            "metadata": {"name": host.name_any(), "ownerReferences": [owner(host)]},
            "spec": {"hardware": details},
        });
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        api.patch(&host.name_any(), &parameters, &Patch::Apply(&data))
            .await
            .context("could not write the HardwareData")?;
        Ok(())
    }

    /// What cannot be told is logged: the status says the same.
    async fn tell(&self, host: &BareMetalHost, event: &events::Event) {
        let state = host.status.as_ref().map(|status| status.provisioning.state.clone());
        let action = state.as_deref().filter(|it| !it.is_empty()).unwrap_or("new");
        let about = host.object_ref(&());
        let told = self.events.publish(event.reason, &event.note, action, &about);
        if let Err(error) = told.await {
            tracing::warn!(%error, reason = %event.reason, "an event could not be written");
        }
    }
}

/// What a plan changes of a host beside its status.
fn change_of_host(plan: &Plan) -> Value {
    let mut change = json!({});
    if let Some(architecture) = &plan.architecture {
        change["spec"] = json!({"architecture": architecture});
    }
    for key in &plan.remove_annotations {
        change["metadata"]["annotations"][key] = Value::Null;
    }
    change
}

/// The host as the owner of what goes with it.
pub(super) fn owner(host: &BareMetalHost) -> OwnerReference {
    OwnerReference {
        api_version: BareMetalHost::api_version(&()).into_owned(),
        kind: BareMetalHost::kind(&()).into_owned(),
        name: host.name_any(),
        uid: host.uid().unwrap_or_default(),
        ..OwnerReference::default()
    }
}
