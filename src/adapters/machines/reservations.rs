//! Looks after reserved hosts: carries out what [`controllers::reservation`](crate::controllers::reservation) decides.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use kube::{Api, ResourceExt};
use tokio::sync::mpsc::UnboundedReceiver;

use super::{AFTER_ERROR, reconcile::Reconciler, tell};
use crate::{
    adapters::{clock, listed::until_listed, patch::is_conflict},
    api::BareMetalHost,
    controllers::{
        host_choice::{Candidate, HostId, MachineId, Standing},
        machine::pool::pool_of,
        reservation::{Observed, Owner, Plan, Reason, decide},
    },
    domain::node_reuse::{self, Pool},
};

/// Looks at hosts that are reserved when they change, and as often as the decision says.
pub(super) async fn keep(reconciler: &Reconciler, mut changed: UnboundedReceiver<HostId>) {
    let mut due: BTreeMap<HostId, Instant> = BTreeMap::new();
    loop {
        let next = due.values().min().copied();
        let pause = next.map(|next| next.saturating_duration_since(Instant::now()));
        tokio::select! {
            id = changed.recv() => match id {
                Some(id) => {
                    due.insert(id, Instant::now());
                }
                None => return,
            },
            () = tokio::time::sleep(pause.unwrap_or(Duration::from_hours(1))) => {
                let now = Instant::now();
                let ready: Vec<_> =
                    due.iter().filter(|(_, at)| **at <= now).map(|(id, _)| id.clone()).collect();
                for id in ready {
                    due.remove(&id);
                    let again = match reconciler.look_at(&id).await {
                        Ok(again) => again,
                        Err(error) if is_conflict(&error) => Some(Duration::ZERO),
                        Err(error) => {
                            let host = format!("{}/{}", id.namespace, id.name);
                            tracing::warn!(host, error = format!("{error:#}"), "a reservation could not be looked at");
                            Some(AFTER_ERROR)
                        }
                    };
                    if let Some(again) = again {
                        due.insert(id, Instant::now() + again);
                    }
                }
            }
        }
    }
}

impl Reconciler {
    /// Looks at a host that is reserved. When to look again.
    async fn look_at(&self, id: &HostId) -> Result<Option<Duration>> {
        self.fleet.wait_until_read().await;
        until_listed(&self.owners).await.context("the Machines are not followed")?;
        until_listed(&self.clusters).await.context("the Clusters are not followed")?;
        let api: Api<BareMetalHost> = Api::namespaced(self.client.clone(), &id.namespace);
        let Some(host) = api.get_opt(&id.name).await.context("could not read the host")? else {
            return Ok(None);
        };
        let seen = self.observe_reservation(host).await?;
        let plan = decide(&seen);
        tracing::debug!(host = id.name, ?plan, "decided");
        match plan {
            Plan::Leave => Ok(None),
            Plan::Keep(pause) => Ok(Some(pause)),
            Plan::Stamp(patch) => {
                self.patch_host(&seen.host, &patch).await?;
                Ok(Some(Duration::ZERO))
            }
            Plan::Release(why, patch) => {
                let host = self.patch_host(&seen.host, &patch).await?;
                self.metrics.release(why);
                let note = format!("the host is not kept for reuse any more: {why}");
                tell(&self.events, &host, Reason::ReservationReleased, &note).await;
                Ok(None)
            }
        }
    }

    async fn observe_reservation(&self, host: BareMetalHost) -> Result<Observed> {
        let namespace = host.namespace().unwrap_or_default();
        let candidate = Candidate::of(&host);
        let label = host.labels().get(node_reuse::LABEL).cloned().unwrap_or_default();
        let cluster = candidate.reservation.as_ref().and_then(|it| it.cluster.as_deref());
        let owner = match self.labelled_owner(&namespace, &label, cluster).await? {
            Some((pool, owner)) if !owner.is_leaving => Owner::There {
                // Without a number, as many as come.
                replicas: owner.replicas.unwrap_or(usize::MAX),
                settled: self.settled(&namespace, &pool),
            },
            Some(_) | None => Owner::Gone,
        };
        // Those that can be taken at once are kept first.
        let rank = |it: &Candidate| (it.standing != Standing::Free, it.id.clone());
        let own = rank(&candidate);
        let before = self
            .fleet
            .ask(|hosts| hosts.reserved_by(&namespace, &label).filter(|it| rank(it) < own).count());
        Ok(Observed { host, owner, before, now: clock::now() })
    }

    /// How many machines of a pool are as they should be, and have a host.
    fn settled(&self, namespace: &str, pool: &Pool) -> usize {
        let machines = self.owners.state();
        let of_pool = machines.iter().filter(|it| {
            it.namespace().as_deref() == Some(namespace)
                && it.metadata.deletion_timestamp.is_none()
                && !it.is_outdated()
                && pool_of(it).as_ref() == Some(pool)
        });
        let ids: Vec<_> = of_pool
            .map(|it| MachineId {
                namespace: namespace.to_owned(),
                name: it.spec.infrastructure_ref.name.clone(),
            })
            .collect();
        self.fleet.ask(|hosts| ids.iter().filter(|id| hosts.has_host(id)).count())
    }
}
