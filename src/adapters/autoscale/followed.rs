//! What is followed, so that a look costs no request: hosts, as far as a choice depends on them, and the rest whole or by its metadata.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use futures::{StreamExt, TryStreamExt};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::PartialObjectMeta,
    runtime::{WatchStreamExt, watcher},
};
use tokio::sync::{Notify, watch};

use crate::{
    adapters::machines::PAGE,
    api::{BareMetalHost, Metal3Machine},
    controllers::host_choice::Candidate,
};

/// Hosts by namespace and name.
type ByName = BTreeMap<String, BTreeMap<String, Candidate>>;

/// The hosts of the cluster.
pub(super) struct Hosts {
    book: Mutex<Book>,
    is_read: watch::Sender<bool>,
}

#[derive(Default)]
struct Book {
    known: ByName,
    /// A new list, until it is complete.
    listed: Option<ByName>,
}

impl Hosts {
    pub fn new() -> Self {
        Self { book: Mutex::default(), is_read: watch::Sender::new(false) }
    }

    /// Follows them, and says when something has changed that counts.
    pub async fn follow(&self, client: Client, changed: &Notify) {
        let config = watcher::Config::default().page_size(PAGE);
        let events = watcher(Api::<BareMetalHost>::all(client), config).default_backoff();
        let mut events = events.boxed();
        loop {
            let counts = match events.try_next().await {
                Ok(Some(event)) => self.note(event),
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!(%error, "the hosts cannot be followed");
                    false
                }
            };
            if counts {
                changed.notify_one();
            }
        }
    }

    /// Waits until all were read once.
    pub async fn wait_until_read(&self) {
        // The sender lives as long as we do.
        let _ = self.is_read.subscribe().wait_for(|it| *it).await;
    }

    /// Lets somebody look at those of a namespace, for as short as it takes to decide.
    pub fn look<T>(&self, namespace: &str, with: impl FnOnce(Vec<&Candidate>) -> T) -> T {
        let book = self.open();
        with(book.known.get(namespace).into_iter().flat_map(BTreeMap::values).collect())
    }

    fn note(&self, event: watcher::Event<BareMetalHost>) -> bool {
        let mut book = self.open();
        match event {
            watcher::Event::Init => {
                book.listed = Some(ByName::new());
                false
            }
            watcher::Event::InitApply(host) => {
                let host = Candidate::of(&host);
                book.listed.get_or_insert_default().put(host);
                false
            }
            watcher::Event::InitDone => {
                book.known = book.listed.take().unwrap_or_default();
                drop(book);
                self.is_read.send_replace(true);
                true
            }
            watcher::Event::Apply(host) => {
                let host = Candidate::of(&host);
                let (now, version) = (host.clone(), host.version.clone());
                book.known.put(host).is_none_or(|before| Candidate { version, ..before } != now)
            }
            watcher::Event::Delete(host) => {
                let id = Candidate::of(&host).id;
                book.known.get_mut(&id.namespace).and_then(|all| all.remove(&id.name)).is_some()
            }
        }
    }

    fn open(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

trait Put {
    fn put(&mut self, host: Candidate) -> Option<Candidate>;
}

impl Put for ByName {
    fn put(&mut self, host: Candidate) -> Option<Candidate> {
        let id = host.id.clone();
        self.entry(id.namespace).or_default().insert(id.name, host)
    }
}

/// A Metal3Machine, as far as it is followed: there are as many as hosts, and nothing else of them is needed.
pub(super) type FollowedMachine = PartialObjectMeta<Metal3Machine>;

/// The namespace of an object.
pub(super) fn namespace<K: Resource>(object: &K) -> String {
    object.namespace().unwrap_or_default()
}
