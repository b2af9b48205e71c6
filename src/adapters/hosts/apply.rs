//! Carries out a plan. Makes no choices: what is written, and in which order, is said in [`Plan`].

use anyhow::{Context, Result};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{
    Api, Resource, ResourceExt,
    api::{Patch, PatchParams},
    runtime::events::{Event, EventType},
};
use serde_json::{Value, json};

use super::{FIELD_MANAGER, followed::place_of, merge, reconcile::Reconciler};
use crate::{
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
                "metadata": precondition(&host),
                "status": merge::difference(&before, &serde_json::to_value(status)?),
            });
            let written = self
                .hosts(&host)
                .patch_status(&host.name_any(), &parameters(), &Patch::Merge(patch))
                .await;
            host = written.context("could not write the status")?;
            self.note(&host);
        }
        if !plan.remove_annotations.is_empty() {
            let removed = plan.remove_annotations.iter().map(|key| (key.clone(), Value::Null));
            let annotations = Value::Object(removed.collect());
            host = self.patch_metadata(&host, &json!({"annotations": annotations})).await?;
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
        self.patch_metadata(host, &json!({"finalizers": finalizers})).await
    }

    /// Lets it go.
    pub(super) async fn release(&self, host: &BareMetalHost) -> Result<()> {
        let finalizers: Vec<_> = host.finalizers().iter().filter(|it| *it != FINALIZER).collect();
        self.patch_metadata(host, &json!({"finalizers": finalizers})).await?;
        Ok(())
    }

    /// What is stored of the host, for the provisioning limit.
    pub(super) fn note(&self, host: &BareMetalHost) {
        let is_paused = host.annotations().contains_key(PAUSED);
        let place = host.status.as_ref().and_then(|status| place_of(status, is_paused));
        self.ledger.note(&host.metadata, place);
    }

    async fn patch_metadata(&self, host: &BareMetalHost, change: &Value) -> Result<BareMetalHost> {
        let mut metadata = precondition(host);
        if let (Value::Object(metadata), Value::Object(change)) = (&mut metadata, change) {
            metadata.extend(change.clone());
        }
        let patch = Patch::Merge(json!({"metadata": metadata}));
        let written = self.hosts(host).patch(&host.name_any(), &parameters(), &patch).await;
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
        let event = Event {
            type_: if event.reason.is_warning() { EventType::Warning } else { EventType::Normal },
            reason: event.reason.to_string(),
            note: Some(event.note.clone()),
            action: state.filter(|it| !it.is_empty()).unwrap_or_else(|| "new".to_owned()),
            secondary: None,
        };
        if let Err(error) = self.events.publish(&event, &host.object_ref(&())).await {
            tracing::warn!(%error, reason = event.reason, "an event could not be written");
        }
    }
}

/// Written only if nobody else has written since it was read, and to this very object.
fn precondition(host: &BareMetalHost) -> Value {
    json!({"uid": host.metadata.uid, "resourceVersion": host.metadata.resource_version})
}

fn parameters() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
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
