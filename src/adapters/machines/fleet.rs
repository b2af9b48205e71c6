//! `Fleet`: the index of hosts, in step with what is stored, and whom to wake when one of them changes.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, MutexGuard, PoisonError},
};

use futures::{StreamExt, TryStreamExt};
use kube::{
    Api, Client,
    runtime::{WatchStreamExt, watcher},
};
use tokio::sync::{mpsc::UnboundedSender, watch};

use super::PAGE;
use crate::{
    api::BareMetalHost,
    controllers::host_choice::{Candidate, HostId, Hosts, MachineId},
};

pub(super) struct Fleet {
    book: Mutex<Book>,
    /// The machines that have to be looked at.
    wake: UnboundedSender<MachineId>,
    /// The hosts that are reserved, or were.
    set_aside: UnboundedSender<HostId>,
    is_read: watch::Sender<bool>,
}

#[derive(Default)]
struct Book {
    hosts: Hosts,
    /// What of them their machines depend on.
    digests: BTreeMap<HostId, u64>,
}

impl Fleet {
    pub fn new(wake: UnboundedSender<MachineId>, set_aside: UnboundedSender<HostId>) -> Self {
        Self { book: Mutex::default(), wake, set_aside, is_read: watch::Sender::new(false) }
    }

    /// Follows the hosts of the cluster.
    pub async fn follow(&self, client: Client) {
        let hosts: Api<BareMetalHost> = Api::all(client);
        let config = watcher::Config::default().page_size(PAGE);
        let mut events = watcher(hosts, config).default_backoff().boxed();
        loop {
            match events.try_next().await {
                Ok(Some(watcher::Event::Init)) => self.open().hosts.begin_list(),
                Ok(Some(watcher::Event::InitApply(host) | watcher::Event::Apply(host))) => {
                    self.note(&host);
                }
                Ok(Some(watcher::Event::Delete(host))) => self.forget(&Candidate::of(&host).id),
                Ok(Some(watcher::Event::InitDone)) => {
                    let woken = self.open().hosts.end_list();
                    self.wake_all(woken);
                    self.is_read.send_replace(true);
                }
                Ok(None) => return,
                Err(error) => tracing::warn!(%error, "the hosts cannot be followed"),
            }
        }
    }

    /// Waits until all hosts were read once.
    pub async fn wait_until_read(&self) {
        // The sender lives as long as we do.
        let _ = self.is_read.subscribe().wait_for(|it| *it).await;
    }

    /// What is stored of a host, as it was heard.
    pub fn note(&self, host: &BareMetalHost) {
        self.write_down(host, false);
    }

    /// What we wrote ourselves: its machine need not be told.
    pub fn note_own(&self, host: &BareMetalHost) {
        self.write_down(host, true);
    }

    fn write_down(&self, host: &BareMetalHost, is_own: bool) {
        let candidate = Candidate::of(host);
        let (id, digest) = (candidate.id.clone(), digest(host));
        let consumer = candidate.consumer.clone();
        let mut book = self.open();
        let before = book.hosts.get(&id).and_then(|it| it.consumer.clone());
        let waiting = book.hosts.note(candidate);
        let is_news = book.digests.insert(id.clone(), digest) != Some(digest);
        drop(book);
        self.wake_all(waiting);
        if is_news && !is_own {
            let last = before.filter(|it| Some(it) != consumer.as_ref());
            self.wake_all(last.into_iter().chain(consumer));
        }
        if is_news && is_set_aside(host) {
            // Nobody listens when the controller is being stopped.
            let _ = self.set_aside.send(id);
        }
    }

    fn forget(&self, id: &HostId) {
        let mut book = self.open();
        book.digests.remove(id);
        let woken = book.hosts.forget(id);
        drop(book);
        self.wake_all(woken);
    }

    /// Asks or changes the index, and wakes whom it says.
    pub fn with<I: IntoIterator<Item = MachineId>>(&self, change: impl FnOnce(&mut Hosts) -> I) {
        let woken = change(&mut self.open().hosts);
        self.wake_all(woken);
    }

    /// Asks the index.
    pub fn ask<T>(&self, question: impl FnOnce(&mut Hosts) -> T) -> T {
        question(&mut self.open().hosts)
    }

    /// Has a machine looked at.
    pub fn wake_all(&self, machines: impl IntoIterator<Item = MachineId>) {
        for machine in machines {
            // Nobody listens when the controller is being stopped.
            let _ = self.wake.send(machine);
        }
    }

    fn open(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a host is kept for somebody who has no machine.
fn is_set_aside(host: &BareMetalHost) -> bool {
    let labels = host.metadata.labels.as_ref();
    let consumer = host.spec.consumer_ref.as_ref();
    labels.is_some_and(|all| all.contains_key(crate::domain::node_reuse::LABEL))
        || consumer.is_some_and(|it| it.kind.as_deref() == Some("Cluster"))
}

fn digest(host: &BareMetalHost) -> u64 {
    let mut hasher = DefaultHasher::new();
    let metadata = &host.metadata;
    metadata.uid.hash(&mut hasher);
    metadata.generation.hash(&mut hasher);
    metadata.labels.hash(&mut hasher);
    metadata.annotations.hash(&mut hasher);
    metadata.deletion_timestamp.is_some().hash(&mut hasher);
    if let Some(status) = &host.status {
        status.provisioning.state.hash(&mut hasher);
        status.operational_status.hash(&mut hasher);
        status.error_message.hash(&mut hasher);
        status.powered_on.hash(&mut hasher);
    }
    hasher.finish()
}
