//! The clusters of Nodes: one connection for each that something is remediated in, dropped with the last of them. Whoever cannot be reached keeps
//! nobody else waiting: connecting is done beside the passes, and what a pass asks has a timeout.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use futures::StreamExt;
use k8s_openapi::api::{
    core::v1::{Node, Pod},
    storage::v1::VolumeAttachment,
};
use kube::{
    Api, Client, ResourceExt,
    api::ListParams,
    runtime::{WatchStreamExt, reflector::Store, watcher},
};
use tokio::{
    sync::watch,
    task::{AbortHandle, JoinHandle},
    time::timeout,
};

use super::places::{Places, cluster_of};
use crate::{adapters::workload_cluster, api::Metal3Remediation, controllers::remediation::read};

/// How long anything asked of a cluster may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long one to which something could not be written counts as unreachable.
const TROUBLE: Duration = Duration::from_secs(30);
/// How soon one that cannot be reached is tried again, at first and in the end.
const RETRY: (Duration, Duration) = (Duration::from_secs(2), Duration::from_mins(1));
/// The version of Kubernetes whose out-of-service taint can be relied on: 1.28.
const OUT_OF_SERVICE: (u32, u32) = (1, 28);

type Key = (String, String);

pub(super) struct Workloads {
    client: Client,
    places: Arc<Places>,
    open: Mutex<BTreeMap<Key, Arc<Workload>>>,
}

/// A cluster.
pub(super) struct Workload {
    key: Key,
    places: Arc<Places>,
    state: watch::Receiver<State>,
    connecting: JoinHandle<()>,
    /// Those whose pods and volumes are being waited for.
    fencing: Mutex<BTreeMap<String, AbortHandle>>,
    /// Why something could not be written, and when.
    trouble: Mutex<Option<(Instant, String)>>,
}

/// Something could not be written to a cluster that answers.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Trouble(pub String);

#[derive(Clone)]
enum State {
    Connecting,
    Unreachable(String),
    Reachable(Reached),
}

#[derive(Clone)]
pub(super) struct Reached {
    pub client: Client,
    pub knows_out_of_service: bool,
}

impl Drop for Workload {
    fn drop(&mut self) {
        self.connecting.abort();
        for (_, watching) in self.fencing().iter() {
            watching.abort();
        }
    }
}

impl Workloads {
    pub fn new(client: Client, places: Arc<Places>) -> Self {
        Self { client, places, open: Mutex::default() }
    }

    /// The cluster, which is connected to from now on.
    pub fn of(&self, namespace: &str, name: &str) -> Arc<Workload> {
        let key = (namespace.to_owned(), name.to_owned());
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let workload = open.entry(key.clone()).or_insert_with(|| {
            let (tell, state) = watch::channel(State::Connecting);
            let (client, places) = (self.client.clone(), Arc::clone(&self.places));
            let connecting =
                tokio::spawn(keep_connected(client, key.clone(), tell, Arc::clone(&places)));
            let (fencing, trouble) = (Mutex::default(), Mutex::default());
            Arc::new(Workload { key, places, state, connecting, fencing, trouble })
        });
        Arc::clone(workload)
    }

    /// Drops the connections that nobody needs any more.
    pub fn keep_only(&self, needed: &Store<Metal3Remediation>) {
        let needed = needed.state();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|key, _| needed.iter().any(|it| cluster_of(it).as_ref() == Some(key)));
    }
}

impl Workload {
    /// The way to it, or why there is none.
    pub async fn reach(&self) -> Result<Reached, String> {
        if let Some((when, why)) = &*self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
            && when.elapsed() < TROUBLE
        {
            return Err(why.clone());
        }
        let mut state = self.state.clone();
        let known = state.wait_for(|it| !matches!(it, State::Connecting));
        match timeout(PATIENCE, known).await {
            Ok(Ok(state)) => match &*state {
                State::Reachable(reached) => Ok(reached.clone()),
                State::Unreachable(why) => Err(why.clone()),
                State::Connecting => Err("it is being connected to".to_owned()),
            },
            Ok(Err(_)) | Err(_) => Err("it does not answer".to_owned()),
        }
    }

    /// Something could not be written: for a while it counts as unreachable, lest it be tried without end.
    pub fn be_in_trouble(&self, why: &str) {
        let trouble = Some((Instant::now(), why.to_owned()));
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }

    /// Wakes whoever waits for the pods and volumes of a Node to be gone, when one is. Until then, or until it is not fenced any more.
    pub fn watch_fence(&self, client: &Client, node: &str) {
        let mut fencing = self.fencing();
        if fencing.get(node).is_some_and(|it| !it.is_finished()) {
            return;
        }
        let (places, key, name) = (Arc::clone(&self.places), self.key.clone(), node.to_owned());
        let pods: Api<Pod> = Api::all(client.clone());
        let of_node = watcher::Config::default().fields(&format!("spec.nodeName={node}"));
        let pods = watcher(pods, of_node).default_backoff().filter_map(async |event| {
            matches!(event, Ok(watcher::Event::Delete(_) | watcher::Event::InitDone)).then_some(())
        });
        let volumes: Api<VolumeAttachment> = Api::all(client.clone());
        let volumes = watcher(volumes, watcher::Config::default()).default_backoff();
        let volumes = volumes.filter_map(async |event| {
            matches!(event, Ok(watcher::Event::Delete(_) | watcher::Event::InitDone)).then_some(())
        });
        let task = tokio::spawn(async move {
            let mut news = Box::pin(futures::stream::select(pods, volumes));
            while news.next().await.is_some() {
                places.wake_node(&key, &name);
            }
        });
        fencing.insert(node.to_owned(), task.abort_handle());
    }

    /// Nobody waits for them any more.
    pub fn leave_fence(&self, node: &str) {
        if let Some(watching) = self.fencing().remove(node) {
            watching.abort();
        }
    }

    fn fencing(&self) -> MutexGuard<'_, BTreeMap<String, AbortHandle>> {
        self.fencing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reached {
    /// The Node.
    pub async fn node(&self, name: &str) -> Result<Option<Node>, String> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        asked(nodes.get_opt(name)).await
    }

    /// How many of its pods are being deleted, and how many volumes are attached to it.
    pub async fn left(&self, node: &str) -> Result<(usize, usize), String> {
        let of_node = ListParams::default().fields(&format!("spec.nodeName={node}"));
        let pods = Api::<Pod>::all(self.client.clone());
        let pods = asked(pods.list_metadata(&of_node)).await?;
        let pods = pods.items.iter().filter(|pod| pod.metadata.deletion_timestamp.is_some());
        let volumes = Api::<VolumeAttachment>::all(self.client.clone());
        let volumes = asked(volumes.list(&ListParams::default())).await?;
        let volumes = volumes.items.iter().filter(|it| it.spec.node_name == node);
        Ok((pods.count(), volumes.count()))
    }
}

/// What a cluster says, within a time.
async fn asked<T>(question: impl Future<Output = kube::Result<T>>) -> Result<T, String> {
    match timeout(PATIENCE, question).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(in_words(&anyhow::Error::from(error))),
        Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
    }
}

/// What a cluster is to write, within a time. That somebody else wrote first, or deleted it, is no trouble: it is looked at again.
pub(super) async fn told<T>(request: impl Future<Output = kube::Result<T>>) -> Result<()> {
    match timeout(PATIENCE, request).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => {
            Err(kube::Error::Api(status).into())
        }
        Ok(Err(error)) => Err(Trouble(in_words(&error.into())).into()),
        Err(_) => Err(Trouble(format!("no answer within {} s", PATIENCE.as_secs())).into()),
    }
}

/// Without what is secret: a kubeconfig's contents are in no error of kube's.
fn in_words(error: &anyhow::Error) -> String {
    format!("{error:#}")
}

/// Connects, tells of Nodes that change, and connects again when it is cut off.
async fn keep_connected(
    client: Client,
    key: Key,
    state: watch::Sender<State>,
    places: Arc<Places>,
) {
    let (first, longest) = RETRY;
    let mut pause = first;
    loop {
        match connect(&client, &key).await {
            Ok(reached) => {
                pause = first;
                let nodes = reached.client.clone();
                state.send_replace(State::Reachable(reached));
                places.wake_cluster(&key);
                let why = in_words(&follow_nodes(nodes, &key, &places).await);
                state.send_replace(State::Unreachable(why));
            }
            Err(error) => {
                state.send_replace(State::Unreachable(in_words(&error)));
            }
        }
        places.wake_cluster(&key);
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}

async fn connect(client: &Client, (namespace, cluster): &Key) -> Result<Reached> {
    let workload = workload_cluster::connect(client, namespace, cluster, PATIENCE).await?;
    let version = timeout(PATIENCE, workload.apiserver_version()).await;
    let version = version.context("no answer in time")??;
    let number = |text: &str| text.trim_end_matches(|it: char| !it.is_ascii_digit()).parse();
    let version = (number(&version.major), number(&version.minor));
    let knows_out_of_service = match version {
        (Ok(major), Ok(minor)) => (major, minor) >= OUT_OF_SERVICE,
        _ => false,
    };
    Ok(Reached { client: workload, knows_out_of_service })
}

/// Wakes whoever waits for a Node that has changed in a way that matters, until the cluster does not answer any more.
async fn follow_nodes(client: Client, key: &Key, places: &Places) -> anyhow::Error {
    let nodes: Api<Node> = Api::all(client);
    let mut events = Box::pin(watcher(nodes, watcher::Config::default()));
    let mut known = BTreeMap::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Apply(node) | watcher::Event::InitApply(node)) => {
                let name = node.name_any();
                let facts = read::node(&node, 0, 0);
                // A kubelet that speaks again after a boot may have been ready all the time, as far as others knew.
                let facts = (facts.uid, facts.is_ready, facts.is_tainted, facts.heartbeat);
                if known.insert(name.clone(), facts.clone()) != Some(facts) {
                    places.wake_node(key, &name);
                }
            }
            Ok(watcher::Event::Delete(node)) => {
                known.remove(&node.name_any());
                places.wake_node(key, &node.name_any());
            }
            Ok(watcher::Event::Init | watcher::Event::InitDone) => {}
            // A watch that was only too old is begun again; the question of a pass says whether there is more to it.
            Err(watcher::Error::WatchError(error)) => {
                tracing::debug!(%error, "Nodes are listed again");
            }
            Err(error) => return error.into(),
        }
    }
    anyhow::anyhow!("the connection was closed")
}
