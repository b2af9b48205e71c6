//! Whether one of Metal3's own operators works on the objects of this cluster. Two that do would fight over every one of them.

use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client, api::ListParams};

use crate::adapters::clock;

const EVERY: Duration = Duration::from_secs(15);

/// An operator in whose place ours works, and never beside it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OtherOperator {
    /// What it is called.
    pub name: &'static str,
    /// What its manager calls its Lease, in whatever namespace it runs.
    lease: &'static str,
    /// What both work on.
    objects: &'static str,
    /// Ours, by their names in --controllers.
    ours: &'static str,
}

/// Keeps hosts.
pub(crate) const BAREMETAL_OPERATOR: OtherOperator = OtherOperator {
    name: "baremetal-operator",
    lease: "baremetal-operator",
    objects: "hosts",
    ours: "`host`",
};

/// Keeps machines and their clusters and templates.
pub(crate) const CLUSTER_API_PROVIDER_METAL3: OtherOperator = OtherOperator {
    name: "cluster-api-provider-metal3",
    lease: "controller-leader-election-capm3",
    objects: "machines",
    ours: "`cluster`, `machine` and `machine-template`",
};

/// Keeps remediations, too.
pub(super) const METAL3_REMEDIATION: OtherOperator =
    OtherOperator { objects: "remediations", ours: "`remediation`", ..CLUSTER_API_PROVIDER_METAL3 };

impl OtherOperator {
    /// Does something for as long as the other does not hold its Lease. What is broken off is gone on with by whoever comes next, as after
    /// a crash.
    pub async fn work_without<F: Future<Output = ()>>(self, client: &Client, work: impl Fn() -> F) {
        loop {
            self.wait_until_gone(client).await;
            tokio::select! {
                () = work() => {}
                () = self.wait_until_there(client) => {}
            }
        }
    }

    /// Waits for as long as it holds its Lease, and says so.
    async fn wait_until_gone(self, client: &Client) {
        let Self { name, objects, ours, .. } = self;
        loop {
            match self.holder(client).await {
                Ok(None) => return,
                Ok(Some(holder)) => tracing::error!(
                    holder,
                    "{objects} are left alone: {name} works on them; remove it, or leave {ours} out of --controllers"
                ),
                Err(error) => self.doubt(&error),
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Waits until it holds its Lease: somebody may install it at any time.
    async fn wait_until_there(self, client: &Client) {
        loop {
            tokio::time::sleep(EVERY).await;
            match self.holder(client).await {
                Ok(None) => {}
                Ok(Some(_)) => return,
                Err(error) => self.doubt(&error),
            }
        }
    }

    fn doubt(self, error: &kube::Error) {
        let Self { name, objects, .. } = self;
        tracing::warn!(%error, "cannot find out whether {name} works on the {objects}");
    }

    /// Who holds its Lease, if anybody does.
    pub async fn holder(self, client: &Client) -> kube::Result<Option<String>> {
        let Self { lease: called, .. } = self;
        let leases: Api<Lease> = Api::all(client.clone());
        let named = ListParams::default().fields(&format!("metadata.name={called}"));
        let leases = leases.list(&named).await?;
        let held = leases.items.iter().find_map(|lease| {
            let holder = holder_of(lease)?;
            let namespace = lease.metadata.namespace.as_deref().unwrap_or_default();
            Some(format!("{holder} (Lease {namespace}/{called})"))
        });
        Ok(held)
    }
}

/// Who holds a Lease, if that has not run out.
pub(crate) fn holder_of(lease: &Lease) -> Option<&str> {
    let spec = lease.spec.as_ref()?;
    let holder = spec.holder_identity.as_deref().filter(|holder| !holder.is_empty())?;
    let lasts = SignedDuration::from_secs(spec.lease_duration_seconds.unwrap_or_default().into());
    let is_held = clock::now().duration_since(spec.renew_time.as_ref()?.0) <= lasts;
    is_held.then_some(holder)
}
