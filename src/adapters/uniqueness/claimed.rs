//! The claims of a cluster as they are heard of. What is done about one is bound to the version that was seen, so that one which is
//! not the newest any more does no harm.

use std::{
    collections::BTreeMap,
    sync::{PoisonError, RwLock, RwLockWriteGuard},
};

use futures::StreamExt;
use k8s_openapi::api::coordination::v1::Lease;
use kube::runtime::watcher;
use tokio::sync::watch;

use super::claims::Claims;
use crate::uniqueness::{Claim, is_lease_name, subject};

/// A claim, and what it is about; that is empty if the Lease does not tell.
#[derive(Debug, Clone)]
pub struct Seen {
    pub policy: String,
    pub key: String,
    pub claim: Claim,
}

/// All claims, by the names of their Leases.
#[derive(Debug, Default)]
pub struct Claimed {
    all: RwLock<BTreeMap<String, Seen>>,
    is_listed: watch::Sender<bool>,
}

impl Claimed {
    /// Those that are known now, once all were listed.
    pub async fn all(&self) -> BTreeMap<String, Seen> {
        // It cannot be closed while it is held here.
        let _ = self.is_listed.subscribe().wait_for(|it| *it).await;
        self.all.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Listens for as long as it runs.
    pub async fn follow(&self, claims: &Claims) {
        let mut changes = std::pin::pin!(claims.changes());
        let mut listed = BTreeMap::new();
        while let Some(change) = changes.next().await {
            match change {
                Ok(watcher::Event::Init) => listed.clear(),
                Ok(watcher::Event::InitApply(lease)) => listed.extend(seen(&lease)),
                Ok(watcher::Event::InitDone) => {
                    *self.all_mut() = std::mem::take(&mut listed);
                    self.is_listed.send_replace(true);
                }
                Ok(watcher::Event::Apply(lease)) => self.all_mut().extend(seen(&lease)),
                Ok(watcher::Event::Delete(lease)) => {
                    self.all_mut().remove(lease.metadata.name.as_deref().unwrap_or_default());
                }
                Err(error) => tracing::warn!(%error, "the claims cannot be followed"),
            }
        }
    }

    fn all_mut(&self) -> RwLockWriteGuard<'_, BTreeMap<String, Seen>> {
        self.all.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Other Leases are none.
fn seen(lease: &Lease) -> Option<(String, Seen)> {
    let name = lease.metadata.name.as_deref().filter(|name| is_lease_name(name))?;
    let (policy, key) = subject(lease).unwrap_or_default();
    let (policy, key) = (policy.to_owned(), key.to_owned());
    Some((name.to_owned(), Seen { policy, key, claim: Claim::from(lease) }))
}
