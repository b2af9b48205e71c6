//! Whether Metal3's own operator works on the hosts of this cluster. Two that do would fight over every one of them.

use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client, api::ListParams};

use crate::adapters::clock;

/// What baremetal-operator's manager calls its Lease, in whatever namespace it runs.
const LEASE: &str = "baremetal-operator";
const EVERY: Duration = Duration::from_secs(15);

/// Waits for as long as it holds its Lease, and says so.
pub(super) async fn wait_until_gone(client: &Client) {
    loop {
        match holder(client).await {
            Ok(None) => return,
            Ok(Some(holder)) => tracing::error!(
                holder,
                "hosts are left alone: baremetal-operator works on them; remove it, or leave `host` out of --controllers"
            ),
            Err(error) => doubt(&error),
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Waits until it holds its Lease: somebody may install it at any time.
pub(super) async fn wait_until_there(client: &Client) {
    loop {
        tokio::time::sleep(EVERY).await;
        match holder(client).await {
            Ok(None) => {}
            Ok(Some(_)) => return,
            Err(error) => doubt(&error),
        }
    }
}

fn doubt(error: &kube::Error) {
    tracing::warn!(%error, "cannot find out whether baremetal-operator works on the hosts");
}

async fn holder(client: &Client) -> kube::Result<Option<String>> {
    let leases: Api<Lease> = Api::all(client.clone());
    let named = ListParams::default().fields(&format!("metadata.name={LEASE}"));
    let leases = leases.list(&named).await?;
    let held = leases.items.into_iter().find_map(|lease| {
        let spec = lease.spec?;
        let holder = spec.holder_identity.filter(|holder| !holder.is_empty())?;
        let lasts =
            SignedDuration::from_secs(spec.lease_duration_seconds.unwrap_or_default().into());
        let is_held = clock::now().duration_since(spec.renew_time?.0) <= lasts;
        let namespace = lease.metadata.namespace.unwrap_or_default();
        is_held.then(|| format!("{holder} (Lease {namespace}/{LEASE})"))
    });
    Ok(held)
}
