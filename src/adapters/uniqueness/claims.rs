//! Claims as they are in the cluster: one Lease for each key.

use anyhow::{Context, Result};
use futures::Stream;
use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
    runtime::{WatchStreamExt, watcher},
};

use crate::adapters::clock;
use crate::uniqueness::{Claim, Content, Undo, Write};

const PAGE: u32 = 500;

/// The claims of a cluster.
#[derive(Debug, Clone)]
pub struct Claims {
    leases: Api<Lease>,
    namespace: String,
    /// How long a request that relies on a claim may still be stored.
    pub grace: SignedDuration,
}

/// What became of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It made this version.
    Done(String),
    /// Another was faster.
    TooLate,
}

impl Claims {
    /// Those in a namespace.
    #[must_use]
    pub fn new(client: Client, namespace: &str, grace: SignedDuration) -> Self {
        let leases = Api::namespaced(client, namespace);
        Self { leases, namespace: namespace.to_owned(), grace }
    }

    /// The claim as it is now, not as a cache has it.
    pub async fn read(&self, lease: &str) -> Result<Option<Claim>> {
        let found = self.leases.get_opt(lease).await;
        let found = found.with_context(|| format!("could not read the claim {lease}"))?;
        Ok(found.as_ref().map(Claim::from))
    }

    /// Writes a claim.
    pub async fn write(&self, content: &Content, write: Write<'_>) -> Result<Outcome> {
        let lease = content.lease(&self.namespace, write, clock::now());
        let name = content.name();
        let written = match write {
            Write::Create => self.leases.create(&PostParams::default(), &lease).await,
            Write::Renew(_) | Write::TakeOver(_) => {
                self.leases.patch(&name, &PatchParams::default(), &Patch::Merge(&lease)).await
            }
        };
        match written {
            Ok(written) => Ok(Outcome::Done(written.metadata.resource_version.unwrap_or_default())),
            Err(error) if is_too_late(&error, write) => Ok(Outcome::TooLate),
            Err(error) => Err(error).with_context(|| {
                let namespace = &self.namespace;
                format!("could not write the claim {name} in namespace {namespace}")
            }),
        }
    }

    /// Deletes a claim, if it is still of that version.
    pub async fn delete(&self, lease: &str, version: &str) -> Result<()> {
        let preconditions =
            Preconditions { resource_version: Some(version.to_owned()), ..Default::default() };
        let parameters = DeleteParams::default().preconditions(preconditions);
        match self.leases.delete(lease, &parameters).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => Ok(()),
            Err(error) => Err(error).with_context(|| format!("could not delete the claim {lease}")),
        }
    }

    /// Takes back what a refused request wrote. What fails is left to the sweep.
    pub async fn undo(&self, undone: &[Undo]) {
        for Undo { lease, version } in undone {
            if let Err(error) = self.delete(lease, version).await {
                tracing::warn!(error = format!("{error:#}"), "a claim is left to the sweep");
            }
        }
    }

    /// All claims, and what becomes of them, for as long as it is read.
    pub fn changes(&self) -> impl Stream<Item = watcher::Result<watcher::Event<Lease>>> + use<> {
        let config = watcher::Config::default().page_size(PAGE);
        watcher(self.leases.clone(), config).default_backoff()
    }
}

/// `AlreadyExists` and `Conflict` are both 409; a claim that is to be renewed may be gone.
fn is_too_late(error: &kube::Error, write: Write<'_>) -> bool {
    let kube::Error::Api(status) = error else { return false };
    status.code == 409 || (status.code == 404 && write != Write::Create)
}
