//! The page: hosts by state, one host's story, and who was refused what, for people with a browser. It changes nothing.
//!
//! It keeps a row of each host and not the host: what else a person looks at is read when they do.

mod gate;
mod server;

use std::sync::{Arc, PoisonError, RwLock};

use futures::StreamExt;
use kube::{
    Api, Client,
    core::PartialObjectMeta,
    runtime::{WatchStreamExt, watcher, watcher::Event},
};
use tokio::sync::{mpsc, watch};

use self::gate::Gate;
use crate::{
    api::{BareMetalHost, HostHistory},
    page::{Denial, Denials, Row, Rows},
};

pub use self::server::{Listener, bind, serve};

/// How many hosts are read at one time.
const PORTION: u32 = 500;
/// Denials that wait to be written down; more at one time are not remembered.
const WAITING: usize = 256;

/// What is shown, and to whom.
pub struct Page {
    client: Client,
    gate: Gate,
    sight: RwLock<Sight>,
    /// How often something has changed.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Sight {
    hosts: Rows,
    denials: Denials,
    /// Whether all hosts were heard of.
    is_complete: bool,
}

/// Where admission tells of those it refuses.
pub type Tell = mpsc::Sender<Denial>;

impl Page {
    /// A page that knows nothing yet, and where it is to be told of denials.
    #[must_use]
    pub fn new(client: Client) -> (Arc<Self>, Tell, mpsc::Receiver<Denial>) {
        let gate = Gate::new(client.clone());
        let (tell, told) = mpsc::channel(WAITING);
        let page = Self { client, gate, sight: RwLock::default(), changes: watch::Sender::new(0) };
        (Arc::new(page), tell, told)
    }

    /// Writes down who is refused what.
    pub async fn listen(self: Arc<Self>, mut told: mpsc::Receiver<Denial>) {
        while let Some(denial) = told.recv().await {
            self.change(|sight| sight.denials.add(denial));
        }
    }

    /// Follows the hosts for as long as it runs.
    pub async fn follow(self: Arc<Self>) {
        let config = watcher::Config::default().page_size(PORTION);
        let hosts: Api<BareMetalHost> = Api::all(self.client.clone());
        let mut events = std::pin::pin!(watcher(hosts, config).default_backoff());
        let mut listed = Rows::default();
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => listed = Rows::default(),
                Ok(Event::InitApply(host)) => {
                    let row = Row::of(&host);
                    listed.0.insert(row.key(), row);
                }
                Ok(Event::InitDone) => {
                    let hosts = std::mem::take(&mut listed);
                    self.change(|sight| (sight.hosts, sight.is_complete) = (hosts, true));
                }
                Ok(Event::Apply(host)) => {
                    let row = Row::of(&host);
                    self.change(|sight| drop(sight.hosts.0.insert(row.key(), row)));
                }
                Ok(Event::Delete(host)) => {
                    let key = Row::of(&host).key();
                    self.change(|sight| drop(sight.hosts.0.remove(&key)));
                }
                Err(error) => tracing::warn!(%error, "the page cannot follow the hosts"),
            }
        }
    }

    /// Follows what happens to hosts without a change of the host itself. It is read when somebody looks.
    pub async fn follow_histories(self: Arc<Self>) {
        let config = watcher::Config::default().page_size(PORTION);
        let histories: Api<PartialObjectMeta<HostHistory>> = Api::all(self.client.clone());
        let mut events = std::pin::pin!(watcher(histories, config).default_backoff());
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Apply(_) | Event::Delete(_) | Event::InitDone) => self.change(|_| {}),
                Ok(Event::Init | Event::InitApply(_)) => {}
                Err(error) => {
                    tracing::warn!(%error, "the page cannot follow the histories of hosts");
                }
            }
        }
    }

    fn change(&self, change: impl FnOnce(&mut Sight)) {
        change(&mut self.sight.write().unwrap_or_else(PoisonError::into_inner));
        self.changes.send_modify(|count| *count += 1);
    }

    fn look<T>(&self, look: impl FnOnce(&Sight) -> T) -> T {
        look(&self.sight.read().unwrap_or_else(PoisonError::into_inner))
    }
}
