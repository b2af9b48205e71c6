//! Makes hosts of machines that report in: carries out what [`controllers::discovery`](crate::controllers::discovery) decides. Done by one replica, on
//! the same look at Ironic as all else.

mod expressions;
mod followed;
mod forgotten;
mod memory;
mod metrics;
mod round;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::StreamExt;
use kube::{
    Api, Client, ResourceExt,
    runtime::{
        WatchStreamExt,
        reflector::{Store, store::Writer},
        watcher,
    },
};
use tokio::{sync::Notify, time};

use self::{followed::Known, round::Kept};
pub use self::{
    forgotten::{Forgotten, NAME as FORGOTTEN},
    metrics::Metrics,
};
use crate::{
    adapters::{clock, ironic},
    api::BareMetalHostDiscovery,
    controllers::discovery::interval::until_due,
};

/// Who writes.
const FIELD_MANAGER: &str = "ironward-discovery";
/// How soon it is tried again what could not be read or written.
const AFTER_ERROR: Duration = Duration::from_secs(10);
/// How long to wait where there is nothing to wait for.
const LONG: Duration = Duration::from_hours(1);
/// How old what is known of Ironic may be when a poll begins.
const FRESH: Duration = Duration::from_secs(5);

/// What hosts are discovered with.
pub struct Discoverer {
    client: Client,
    ironic: Arc<ironic::Client>,
    snapshot: Arc<ironic::Snapshot>,
    forgotten: Forgotten,
    metrics: Metrics,
    hosts: Known,
    /// What was written, until it is told of.
    written: Mutex<BTreeMap<String, BareMetalHostDiscovery>>,
    changed: Notify,
}

impl Discoverer {
    /// One that knows nothing yet.
    #[must_use]
    pub fn new(
        client: Client,
        ironic: Arc<ironic::Client>,
        snapshot: Arc<ironic::Snapshot>,
        forgotten: Forgotten,
        metrics: Metrics,
    ) -> Self {
        Self {
            client,
            ironic,
            snapshot,
            forgotten,
            metrics,
            hosts: Known::new(),
            written: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Discovers for as long as it runs.
    pub async fn keep(self) {
        let writer = Writer::default();
        let store = writer.as_reader();
        tokio::select! {
            () = self.hosts.follow(self.client.clone()) => {}
            () = self.follow(writer) => {}
            () = self.work(store) => {}
        }
    }

    async fn follow(&self, writer: Writer<BareMetalHostDiscovery>) {
        let api: Api<BareMetalHostDiscovery> = Api::all(self.client.clone());
        let changes = watcher(api, watcher::Config::default()).default_backoff().reflect(writer);
        let mut changes = std::pin::pin!(changes);
        while let Some(change) = changes.next().await {
            match change {
                Ok(_) => self.changed.notify_one(),
                Err(error) => tracing::warn!(%error, "the discoveries cannot be followed"),
            }
        }
    }

    async fn work(&self, store: Store<BareMetalHostDiscovery>) {
        self.hosts.wait_until_ready().await;
        // The writer lives as long as this.
        let _ = store.wait_until_ready().await;
        let mut kept = Kept::default();
        loop {
            let pause = self.look(&store, &mut kept).await;
            tokio::select! {
                () = time::sleep(pause) => {}
                () = self.changed.notified() => {}
            }
        }
    }

    /// Polls if somebody is due; says when somebody is next.
    async fn look(&self, store: &Store<BareMetalHostDiscovery>, kept: &mut Kept) -> Duration {
        let now = clock::now();
        let all: Vec<_> = store.state().iter().map(|it| self.newest(it)).collect();
        let is_due = |it: &BareMetalHostDiscovery| is_told(it) && until_due(it, now).is_zero();
        if all.iter().any(is_due) {
            self.snapshot.refresh(FRESH).await;
            let due = all.iter().map(|it| (it.clone(), is_due(it))).collect();
            if let Err(error) = self.poll(kept, due).await {
                tracing::warn!(error = format!("{error:#}"), "a poll was not made");
                return AFTER_ERROR;
            }
        }
        let now = clock::now();
        let all: Vec<_> = store.state().iter().map(|it| self.newest(it)).collect();
        let pauses = all.iter().filter(|it| is_told(it)).map(|it| until_due(it, now));
        // One that is still due could not be polled.
        pauses.map(|it| if it.is_zero() { AFTER_ERROR } else { it }).min().unwrap_or(LONG)
    }

    /// A discovery with what was last written to it.
    fn newest(&self, heard: &BareMetalHostDiscovery) -> BareMetalHostDiscovery {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let uid = heard.uid().unwrap_or_default();
        match written.get(&uid) {
            Some(ours) if version(ours) > version(heard) => ours.clone(),
            Some(_) => {
                written.remove(&uid);
                heard.clone()
            }
            None => heard.clone(),
        }
    }

    fn wrote(&self, discovery: BareMetalHostDiscovery) {
        let uid = discovery.uid().unwrap_or_default();
        self.written.lock().unwrap_or_else(PoisonError::into_inner).insert(uid, discovery);
    }
}

fn version(discovery: &BareMetalHostDiscovery) -> u64 {
    discovery.resource_version().and_then(|it| it.parse().ok()).unwrap_or_default()
}

/// Whether there is something to do about it, or to say of it: one that is switched off says so once.
fn is_told(discovery: &BareMetalHostDiscovery) -> bool {
    let status = discovery.status.as_ref();
    let is_known = status.and_then(|it| it.observed_generation) == discovery.metadata.generation;
    !(discovery.spec.suspend == Some(true) && is_known)
}
