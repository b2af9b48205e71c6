//! Carries out a step of a plan. Makes no choices.

use anyhow::{Context, Result, ensure};
use kube::{Api, ResourceExt, api::Patch};
use serde_json::{Value, json};

use super::{parameters, reconcile::Reconciler, to_this, to_this_version};
use crate::{
    adapters::patch,
    api::{BareMetalHost, Metal3Machine, metal3machine::Metal3MachineStatus},
    controllers::host_choice::{Chosen, MachineId},
};

/// What came of a claim.
pub(super) enum Claim {
    /// The host is the machine's.
    Stored(Box<BareMetalHost>),
    /// Somebody else was faster.
    Outrun,
    /// The API server or a policy does not let it be written, in these words.
    Refused(String),
}

impl Reconciler {
    fn machines(&self, machine: &Metal3Machine) -> Api<Metal3Machine> {
        Api::namespaced(self.client.clone(), &machine.namespace().unwrap_or_default())
    }

    fn hosts(&self, namespace: &str) -> Api<BareMetalHost> {
        Api::namespaced(self.client.clone(), namespace)
    }

    pub(super) async fn patch_machine(
        &self,
        machine: &Metal3Machine,
        patch: &Value,
    ) -> Result<Metal3Machine> {
        let patch = to_this_version(machine, patch.clone());
        let written =
            self.machines(machine).patch(&machine.name_any(), &parameters(), &patch).await;
        written.context("could not write the Metal3Machine")
    }

    /// Nobody else writes a machine's status, so that it need not be the version that was read.
    pub(super) async fn write_status(
        &self,
        machine: &Metal3Machine,
        status: &Metal3MachineStatus,
    ) -> Result<Metal3Machine> {
        let before = machine.status.as_ref().map_or(Ok(json!({})), serde_json::to_value)?;
        let difference = patch::difference(&before, &serde_json::to_value(status)?);
        let patch = to_this(machine, json!({"status": difference}));
        let written =
            self.machines(machine).patch_status(&machine.name_any(), &parameters(), &patch).await;
        written.context("could not write the status")
    }

    pub(super) async fn patch_host(
        &self,
        host: &BareMetalHost,
        patch: &Value,
    ) -> Result<BareMetalHost> {
        let patch = to_this_version(host, patch.clone());
        let namespace = host.namespace().unwrap_or_default();
        let name = host.name_any();
        let written = self.hosts(&namespace).patch(&name, &parameters(), &patch).await;
        let written = written.with_context(|| format!("could not write host {name}"))?;
        self.fleet.note_own(&written);
        // Else it would be written again at once, and for ever.
        ensure!(
            written.resource_version() != host.resource_version(),
            "what was written to host {name} is not there: an admission webhook or policy of the cluster takes it back"
        );
        Ok(written)
    }

    /// Takes a host, unless it was seen to have changed since it was chosen.
    pub(super) async fn claim(
        &self,
        machine: &MachineId,
        chosen: &Chosen,
        patch: &Value,
    ) -> Result<Claim> {
        let Chosen { host: id, uid, version, .. } = chosen;
        // Those who chose it at the same time see it, before it is stored.
        let is_there = self.fleet.ask(|hosts| {
            let is_as_chosen = hosts.get(id).is_some_and(|it| {
                it.uid == *uid && it.version == *version && it.consumer.is_none()
            });
            if is_as_chosen {
                hosts.promise(id, machine);
            }
            is_as_chosen
        });
        if !is_there {
            return Ok(Claim::Outrun);
        }
        let api = self.hosts(&id.namespace);
        let written = api.patch(&id.name, &parameters(), &Patch::Merge(patch)).await;
        match written {
            Ok(host) => {
                self.fleet.note_own(&host);
                self.fleet.with(|hosts| hosts.leave(machine));
                Ok(Claim::Stored(Box::new(host)))
            }
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {
                // What it is now decides who may take it.
                let now = api.get_opt(&id.name).await;
                self.fleet.with(|hosts| hosts.break_promise(id));
                match now.with_context(|| format!("could not read host {}", id.name))? {
                    Some(host) => self.fleet.note(&host),
                    None => self.fleet.with(|hosts| hosts.forget(id)),
                }
                Ok(Claim::Outrun)
            }
            Err(kube::Error::Api(status)) if matches!(status.code, 400 | 403 | 422) => {
                self.fleet.with(|hosts| hosts.break_promise(id));
                let why = &status.message;
                Ok(Claim::Refused(format!("host {} cannot be taken: {why}", id.name)))
            }
            Err(error) => {
                self.fleet.with(|hosts| hosts.break_promise(id));
                Err(error).with_context(|| format!("could not take host {}", id.name))
            }
        }
    }
}
