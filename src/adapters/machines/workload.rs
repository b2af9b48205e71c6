//! The Nodes of workload clusters, followed while somebody waits for one of them: by the kubeconfig that Cluster API keeps in a Secret. A
//! cluster that cannot be reached keeps nobody waiting but those who need its Nodes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1;
use kube::{Api, Client, ResourceExt, api::Patch, runtime::watcher};
use serde_json::json;
use tokio::task::AbortHandle;

use super::{PAGE, fleet::Fleet, parameters};
use crate::{
    adapters::workload_cluster,
    api::{Metal3Machine, cluster_api::CLUSTER_NAME},
    controllers::{
        host_choice::MachineId,
        machine::node::{self, Description, Found, Node},
    },
};

/// How long the Nodes of a cluster are followed for which nobody waits.
const IDLE: Duration = Duration::from_mins(5);
/// How soon a cluster that cannot be reached is tried again.
const RETRY: Duration = Duration::from_secs(15);
/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A cluster by namespace and name.
type Key = (String, String);

/// The workload clusters whose Nodes somebody waits for.
pub(super) struct Workloads {
    client: Client,
    fleet: Arc<Fleet>,
    clusters: Mutex<BTreeMap<Key, Workload>>,
}

/// A workload cluster.
struct Workload {
    nodes: BTreeMap<String, Node>,
    /// Why its Nodes are not known.
    trouble: Option<String>,
    client: Option<Client>,
    /// Who waits for a Node.
    waiting: BTreeSet<MachineId>,
    /// Since when nobody does.
    idle: Instant,
    follower: AbortHandle,
}

impl Drop for Workload {
    fn drop(&mut self) {
        self.follower.abort();
    }
}

/// Ends what follows Nodes, when nobody keeps machines here any more.
pub(super) struct UntilDropped(pub Arc<Workloads>);

impl Drop for UntilDropped {
    fn drop(&mut self) {
        self.0.open().clear();
    }
}

impl Workloads {
    pub fn new(client: Client, fleet: Arc<Fleet>) -> Self {
        Self { client, fleet, clusters: Mutex::default() }
    }

    /// Looks for a machine's Node. Who finds none is woken when something changes.
    pub fn look(
        self: &Arc<Self>,
        machine: &MachineId,
        cluster: &str,
        of: &Description<'_>,
    ) -> Found {
        let key = (machine.namespace.clone(), cluster.to_owned());
        let mut clusters = self.open();
        let workload = clusters.entry(key.clone()).or_insert_with(|| self.begin(key));
        let found = match &workload.trouble {
            Some(trouble) => Found::Unreachable(trouble.clone()),
            None => node::find(workload.nodes.values(), of),
        };
        if matches!(found, Found::Named(_)) {
            workload.waiting.remove(machine);
            workload.idle = Instant::now();
        } else {
            workload.waiting.insert(machine.clone());
        }
        found
    }

    /// A machine waits for no Node any more.
    pub fn forget(&self, machine: &MachineId) {
        for workload in self.open().values_mut() {
            if workload.waiting.remove(machine) {
                workload.idle = Instant::now();
            }
        }
    }

    /// Gives a Node its providerID.
    pub async fn name(&self, machine: &Metal3Machine, node: &str, provider_id: &str) -> Result<()> {
        let namespace = machine.namespace().unwrap_or_default();
        let cluster = machine.labels().get(CLUSTER_NAME).cloned().unwrap_or_default();
        let key = (namespace, cluster);
        let client = self.open().get(&key).and_then(|it| it.client.clone());
        let client = client.context("the workload cluster is not reached")?;
        let nodes: Api<v1::Node> = Api::all(client);
        let patch = Patch::Merge(json!({"spec": {"providerID": provider_id}}));
        let named = nodes.patch(node, &parameters(), &patch).await;
        let named =
            named.with_context(|| format!("could not write the providerID of Node {node}"))?;
        if let Some(workload) = self.open().get_mut(&key) {
            workload.nodes.insert(node.to_owned(), facts(&named));
        }
        Ok(())
    }

    fn begin(self: &Arc<Self>, key: Key) -> Workload {
        let own = Arc::downgrade(self);
        let follower = tokio::spawn(async move {
            loop {
                let Some(workloads) = own.upgrade() else { return };
                let trouble = match workloads.follow(&key).await {
                    Ok(()) => return,
                    Err(trouble) => trouble,
                };
                tracing::info!(
                    cluster = format!("{}/{}", key.0, key.1),
                    error = format!("{trouble:#}"),
                    "the Nodes of a cluster are not known"
                );
                if let Some(workload) = workloads.open().get_mut(&key) {
                    workload.trouble = Some(format!("{trouble:#}"));
                }
                drop(workloads);
                tokio::time::sleep(RETRY).await;
            }
        });
        Workload {
            nodes: BTreeMap::new(),
            trouble: Some("its Nodes were not read yet".to_owned()),
            client: None,
            waiting: BTreeSet::new(),
            idle: Instant::now(),
            follower: follower.abort_handle(),
        }
    }

    /// Follows the Nodes of a cluster until nobody has waited for one for a while.
    async fn follow(&self, key: &Key) -> Result<()> {
        let client = workload_cluster::connect(&self.client, &key.0, &key.1, TIMEOUT).await?;
        if let Some(workload) = self.open().get_mut(key) {
            workload.client = Some(client.clone());
        }
        let nodes: Api<v1::Node> = Api::all(client);
        let mut events = watcher(nodes, watcher::Config::default().page_size(PAGE)).boxed();
        loop {
            let event = tokio::time::timeout(IDLE, events.try_next()).await;
            let mut clusters = self.open();
            let Some(workload) = clusters.get_mut(key) else { return Ok(()) };
            if workload.waiting.is_empty() && workload.idle.elapsed() > IDLE {
                clusters.remove(key);
                return Ok(());
            }
            match event {
                Err(_) => {}
                Ok(Ok(Some(watcher::Event::Init))) => workload.nodes.clear(),
                Ok(Ok(Some(watcher::Event::InitApply(node)))) => {
                    workload.nodes.insert(node.name_any(), facts(&node));
                }
                Ok(Ok(Some(watcher::Event::InitDone))) => {
                    workload.trouble = None;
                    self.fleet.wake_all(workload.waiting.iter().cloned());
                }
                Ok(Ok(Some(watcher::Event::Apply(node)))) => {
                    let facts = facts(&node);
                    let before = workload.nodes.insert(node.name_any(), facts.clone());
                    if before.as_ref() != Some(&facts) {
                        self.fleet.wake_all(workload.waiting.iter().cloned());
                    }
                }
                Ok(Ok(Some(watcher::Event::Delete(node)))) => {
                    // Who finds the Node of the machine before it sees it go.
                    if workload.nodes.remove(&node.name_any()).is_some() {
                        self.fleet.wake_all(workload.waiting.iter().cloned());
                    }
                }
                Ok(Ok(None)) => return Err(anyhow!("its Nodes are not told any more")),
                Ok(Err(error)) => return Err(error).context("could not read its Nodes"),
            }
        }
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<Key, Workload>> {
        self.clusters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn facts(node: &v1::Node) -> Node {
    let spec = node.spec.as_ref();
    Node {
        name: node.name_any(),
        host_uid: node.labels().get(node::LABEL).cloned(),
        hostname: node.labels().get("kubernetes.io/hostname").cloned(),
        provider_id: spec.and_then(|it| it.provider_id.clone()).filter(|it| !it.is_empty()),
    }
}
