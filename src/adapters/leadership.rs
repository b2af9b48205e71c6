//! Which replica reconciles: the one that holds a Lease. All of them serve admission.

use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use kube_lease_manager::LeaseManagerBuilder;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How long a replica that is gone keeps the others waiting, in seconds.
const DURATION: u64 = 15;
/// How long before that a replica renews what it holds.
const GRACE: u64 = 5;

/// How soon the others notice that it was let go. Left to itself, the manager looks when it would have ended.
const LOOK: Duration = Duration::from_secs(1);

/// What is elected.
#[derive(Debug, Clone)]
pub struct Election {
    /// Where the Lease is.
    pub namespace: String,
    /// What it is called.
    pub name: String,
    /// What this replica is called, unlike any other.
    pub replica: String,
}

/// Takes part in the election until told to stop; then lets go of the Lease at once, so that
/// another replica need not wait.
async fn elect(
    client: Client,
    election: &Election,
    stop: &CancellationToken,
    is_leader: &watch::Sender<bool>,
) -> Result<()> {
    let Election { namespace, name, .. } = election;
    let leases = Api::<Lease>::namespaced(client.clone(), namespace);
    let manager = LeaseManagerBuilder::new(client, name)
        .with_namespace(namespace)
        .with_identity(&election.replica)
        .with_duration(DURATION)
        .with_grace(GRACE)
        .with_field_manager("ironward-leadership")
        .build()
        .await
        .with_context(|| {
            format!(
                "could not take part in the election by Lease {namespace}/{name} (--namespace): does \
                 the namespace exist, and may we write Leases in it?"
            )
        })?;
    loop {
        tokio::select! {
            changed = manager.changed() => match changed {
                Ok(now) => {
                    let who = if now { "this replica reconciles" } else { "another replica reconciles" };
                    tracing::info!(lease = name, "{who}");
                    is_leader.send_replace(now);
                }
                Err(error) => {
                    is_leader.send_replace(false);
                    tracing::warn!(%error, lease = name, "the election cannot be followed");
                    tokio::time::sleep(Duration::from_secs(GRACE)).await;
                }
            },
            // With a manager that knows nothing of the last holder.
            () = let_go(&leases, name), if !*is_leader.borrow() => return Ok(()),
            () = stop.cancelled() => break,
        }
    }
    is_leader.send_replace(false);
    manager.release().await.with_context(|| format!("could not let go of Lease {namespace}/{name}"))
}

/// Resolves when nobody holds the Lease.
async fn let_go(leases: &Api<Lease>, name: &str) {
    loop {
        tokio::time::sleep(LOOK).await;
        let found = leases.get_opt(name).await.ok().flatten();
        let spec = found.and_then(|lease| lease.spec);
        if spec.is_some_and(|spec| spec.holder_identity.is_none_or(|holder| holder.is_empty())) {
            return;
        }
    }
}

/// The same for as long as it is not told to stop, whatever fails.
pub async fn keep_electing(
    client: Client,
    election: Election,
    stop: CancellationToken,
    is_leader: watch::Sender<bool>,
) {
    while !stop.is_cancelled() {
        if let Err(error) = elect(client.clone(), &election, &stop, &is_leader).await {
            tracing::warn!(error = format!("{error:#}"), "nobody is elected here");
            let pause = tokio::time::sleep(Duration::from_secs(GRACE));
            stop.run_until_cancelled(pause).await;
        }
    }
}

/// Runs work while this replica is the one that reconciles, from its beginning each time.
pub async fn while_leader<F: Future<Output = ()>>(
    mut is_leader: watch::Receiver<bool>,
    work: impl Fn() -> F,
) {
    while is_leader.wait_for(|it| *it).await.is_ok() {
        tokio::select! {
            () = work() => {}
            lost = is_leader.wait_for(|it| !*it) => if lost.is_err() { return; },
        }
    }
}
