//! Which hosts there are: followed, so that a poll costs the API server nothing. What is kept of each is small.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use futures::StreamExt;
use kube::{
    Api, Client, Resource,
    api::{ApiResource, ObjectMeta},
    core::Object,
    runtime::{WatchStreamExt, watcher},
};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::{
    api::BareMetalHost,
    controllers::discovery::hosts::{Host, Hosts, Key},
    domain::host_discovery::annotations::DISCOVERED_BY,
};

/// How many hosts are read at one time.
const PAGE: u32 = 500;

/// A host, as far as it is followed.
type Followed = Object<Spec, Status>;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Spec {
    #[serde(rename = "bootMACAddress")]
    boot_mac_address: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Status {
    hardware: Option<Hardware>,
    provisioning: Option<Provisioning>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Hardware {
    nics: Option<Vec<Nic>>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Nic {
    mac: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Provisioning {
    #[serde(rename = "ID")]
    id: String,
}

/// The hosts of the cluster.
pub(super) struct Known {
    book: Mutex<Book>,
    is_ready: watch::Sender<bool>,
}

#[derive(Default)]
struct Book {
    hosts: Hosts,
    /// Which object it is that has a name.
    uids: BTreeMap<Key, String>,
    /// Those that were told of since a list was begun, and those that were created meanwhile.
    listed: Option<BTreeSet<Key>>,
}

impl Known {
    pub fn new() -> Self {
        Self { book: Mutex::default(), is_ready: watch::Sender::new(false) }
    }

    /// Follows them for as long as it runs.
    pub async fn follow(&self, client: Client) {
        let api: Api<Followed> = Api::all_with(client, &ApiResource::erase::<BareMetalHost>(&()));
        let changes = watcher(api, watcher::Config::default().page_size(PAGE)).default_backoff();
        let mut changes = std::pin::pin!(changes);
        while let Some(change) = changes.next().await {
            match change {
                Ok(watcher::Event::Init) => self.open().listed = Some(BTreeSet::new()),
                Ok(watcher::Event::InitApply(host) | watcher::Event::Apply(host)) => {
                    self.open().set(&host.metadata, read(&host));
                }
                Ok(watcher::Event::Delete(host)) => self.open().remove(&host.metadata),
                Ok(watcher::Event::InitDone) => {
                    self.open().end_list();
                    self.is_ready.send_replace(true);
                }
                Err(error) => tracing::warn!(%error, "the hosts cannot be followed"),
            }
        }
    }

    /// Waits until all were seen once.
    pub async fn wait_until_ready(&self) {
        // The sender lives as long as this.
        let _ = self.is_ready.subscribe().wait_for(|it| *it).await;
    }

    /// One that was created a moment ago: it is told of later, and must not be created again meanwhile.
    pub fn add(&self, metadata: &ObjectMeta, host: Host) {
        self.open().set(metadata, host);
    }

    /// Lets somebody look at them, for as short as it takes to decide.
    pub fn look<T>(&self, with: impl FnOnce(&Hosts) -> T) -> T {
        with(&self.open().hosts)
    }

    fn open(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn set(&mut self, metadata: &ObjectMeta, host: Host) {
        let key = key(metadata);
        if let Some(listed) = &mut self.listed {
            listed.insert(key.clone());
        }
        self.uids.insert(key.clone(), metadata.uid.clone().unwrap_or_default());
        self.hosts.set(key, host);
    }

    /// One that has its name since is another.
    fn remove(&mut self, metadata: &ObjectMeta) {
        let key = key(metadata);
        if self.uids.get(&key).map(String::as_str) == metadata.uid.as_deref() {
            self.uids.remove(&key);
            self.hosts.remove(&key);
        }
    }

    fn end_list(&mut self) {
        let listed = self.listed.take().unwrap_or_default();
        let gone: Vec<Key> =
            self.hosts.keys().filter(|key| !listed.contains(key)).cloned().collect();
        for key in gone {
            self.uids.remove(&key);
            self.hosts.remove(&key);
        }
    }
}

fn key(metadata: &ObjectMeta) -> Key {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Key { namespace: text(&metadata.namespace), name: text(&metadata.name) }
}

fn read(host: &Followed) -> Host {
    let status = host.status.clone().unwrap_or_default();
    let nics = status.hardware.and_then(|it| it.nics).unwrap_or_default();
    let macs = nics.into_iter().filter_map(|nic| nic.mac).chain(host.spec.boot_mac_address.clone());
    let annotations = host.meta().annotations.as_ref();
    Host {
        macs: macs.filter_map(|mac| mac.parse().ok()).collect(),
        node: status.provisioning.map(|it| it.id).filter(|id| !id.is_empty()),
        discovered_by: annotations.and_then(|all| all.get(DISCOVERED_BY)).cloned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(name: &str, uid: &str) -> ObjectMeta {
        ObjectMeta {
            name: Some(name.into()),
            namespace: Some("lab".into()),
            uid: Some(uid.into()),
            ..ObjectMeta::default()
        }
    }

    fn names(known: &Known) -> Vec<String> {
        known.look(|hosts| hosts.keys().map(|key| key.name.clone()).collect())
    }

    #[test]
    fn what_is_gone_is_forgotten_and_what_was_made_meanwhile_is_not() {
        let known = Known::new();
        known.add(&metadata("a", "1"), Host::default());
        known.add(&metadata("b", "2"), Host::default());
        known.open().listed = Some(BTreeSet::new());
        known.open().set(&metadata("b", "2"), Host::default());
        known.add(&metadata("c", "3"), Host::default());
        known.open().end_list();
        assert_eq!(names(&known), ["b", "c"]);
        // The one that had the name before.
        known.open().remove(&metadata("c", "0"));
        known.open().remove(&metadata("b", "2"));
        assert_eq!(names(&known), ["c"]);
    }
}
