//! What is read of Cluster API: how large a Cluster is, and how many of its machines may be remediated at one time.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use kube::{
    Api, Client,
    api::{ListParams, PartialObjectMeta},
};

use crate::{
    api::cluster_api::{CLUSTER_NAME, Machine, MachineHealthCheck, TriggerIf},
    controllers::remediation::read::is_checked,
};

/// How long the size of a Cluster and its health checks are taken for what they were.
const FRESH: Duration = Duration::from_secs(15);

/// A Cluster by namespace and name.
type Key = (String, String);

/// How large Clusters are, and what their MachineHealthChecks say. Asked for by everyone who has not begun.
#[derive(Default)]
pub(super) struct Clusters {
    known: Mutex<BTreeMap<Key, (Instant, Size)>>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Size {
    pub machines: usize,
    checks: Vec<MachineHealthCheck>,
}

impl Size {
    /// The limits of those that look at a machine with these labels.
    pub fn limits(&self, cluster: &str, labels: &BTreeMap<String, String>) -> Vec<TriggerIf> {
        let of = self.checks.iter().filter(|check| is_checked(check, cluster, labels));
        of.map(|check| check.spec.remediation.trigger_if.clone()).collect()
    }
}

impl Clusters {
    pub async fn size(&self, client: &Client, namespace: &str, cluster: &str) -> Result<Size> {
        let key = (namespace.to_owned(), cluster.to_owned());
        if let Some((when, known)) = self.open().get(&key)
            && when.elapsed() < FRESH
        {
            return Ok(known.clone());
        }
        let of_cluster = ListParams::default().labels(&format!("{CLUSTER_NAME}={cluster}"));
        let machines: Api<PartialObjectMeta<Machine>> = Api::namespaced(client.clone(), namespace);
        let machines = machines.list(&of_cluster).await.context("could not list the Machines")?;
        let checks: Api<MachineHealthCheck> = Api::namespaced(client.clone(), namespace);
        let checks = checks.list(&ListParams::default()).await;
        let checks = checks.context("could not list the MachineHealthChecks")?.items;
        let size = Size { machines: machines.items.len(), checks };
        let mut known = self.open();
        known.retain(|_, (when, _)| when.elapsed() < FRESH);
        known.insert(key, (Instant::now(), size.clone()));
        Ok(size)
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<Key, (Instant, Size)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
