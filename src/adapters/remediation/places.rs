//! `Places`: who has to do with which host and Node, who has begun, and whom to wake.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use kube::{
    ResourceExt,
    api::ObjectMeta,
    runtime::reflector::{ObjectRef, Store},
};
use tokio::sync::mpsc::UnboundedSender;

use super::{followed::key, named};
use crate::{
    api::{Metal3Remediation, cluster_api::CLUSTER_NAME},
    controllers::remediation::{REMEDIATING, Why},
    domain::remediation::Phase,
};

type Key = (String, String);

pub(super) struct Places {
    book: Mutex<Book>,
    wake: UnboundedSender<ObjectRef<Metal3Remediation>>,
}

#[derive(Default)]
struct Book {
    /// Who was looked at, by their hosts. Two may have the same: the second is to wait.
    hosts: BTreeMap<Key, BTreeSet<Key>>,
    /// By their Nodes: by namespace and name of the Cluster, and by name.
    nodes: BTreeMap<(Key, String), BTreeSet<Key>>,
    /// Those that begin now: stored to have begun they are a moment later.
    beginning: BTreeMap<String, Key>,
}

/// How much is going on in a Cluster, but for one remediation.
pub(super) struct Crowd {
    pub active: usize,
    pub on_this_host: Option<String>,
}

impl Book {
    fn note(&mut self, who: &Key, host: Option<Key>, node: Option<(Key, String)>) {
        self.forget(who);
        if let Some(host) = host {
            self.hosts.entry(host).or_default().insert(who.clone());
        }
        if let Some(node) = node {
            self.nodes.entry(node).or_default().insert(who.clone());
        }
    }

    fn forget(&mut self, who: &Key) {
        self.hosts.retain(|_, those| !those.remove(who) || !those.is_empty());
        self.nodes.retain(|_, those| !those.remove(who) || !those.is_empty());
    }
}

impl Places {
    pub fn new(wake: UnboundedSender<ObjectRef<Metal3Remediation>>) -> Self {
        Self { book: Mutex::default(), wake }
    }

    /// What a remediation has to do with, so that it is woken by it.
    pub fn note(&self, who: &ObjectMeta, host: Option<Key>, node: Option<(Key, String)>) {
        self.open().note(&key(who), host, node);
    }

    pub fn of_host(&self, host: &ObjectMeta) -> Vec<ObjectRef<Metal3Remediation>> {
        self.open().hosts.get(&key(host)).into_iter().flatten().map(reference).collect()
    }

    /// The Nodes of a Cluster that somebody waits for.
    pub fn nodes_of(&self, cluster: &Key) -> BTreeSet<String> {
        let book = self.open();
        let of = book.nodes.keys().filter(|(its, _)| its == cluster);
        of.map(|(_, node)| node.clone()).collect()
    }

    pub fn wake_node(&self, cluster: &Key, node: &str) {
        let book = self.open();
        for who in book.nodes.get(&(cluster.clone(), node.to_owned())).into_iter().flatten() {
            // Nobody listens when the controller is being stopped.
            let _ = self.wake.send(reference(who));
        }
    }

    /// Wakes all that have to do with a Cluster: it can be reached again, or not any more.
    pub fn wake_cluster(&self, cluster: &Key) {
        for node in self.nodes_of(cluster) {
            self.wake_node(cluster, &node);
        }
    }

    /// How many others of a Cluster have begun and are not at their end.
    pub fn crowd(
        &self,
        all: &Store<Metal3Remediation>,
        who: &ObjectMeta,
        cluster: &Key,
        host: Option<&Key>,
    ) -> Crowd {
        crowd(&self.open(), all, who, cluster, host)
    }

    /// Takes a place before it is stored that it is taken. False if others were faster.
    pub fn take(
        &self,
        all: &Store<Metal3Remediation>,
        who: &ObjectMeta,
        cluster: &Key,
        host: Option<&Key>,
        limit: usize,
    ) -> bool {
        let mut book = self.open();
        let crowd = crowd(&book, all, who, cluster, host);
        let is_free = crowd.active < limit && crowd.on_this_host.is_none();
        if is_free {
            let uid = who.uid.clone().unwrap_or_default();
            book.beginning.insert(uid, cluster.clone());
        }
        is_free
    }

    /// It did not begin after all.
    pub fn give_back(&self, who: &ObjectMeta) {
        self.open().beginning.remove(who.uid.as_deref().unwrap_or_default());
    }

    /// A remediation is gone.
    pub fn forget(&self, who: &ObjectMeta, all: &Store<Metal3Remediation>) {
        {
            let mut book = self.open();
            book.beginning.remove(who.uid.as_deref().unwrap_or_default());
            book.forget(&key(who));
        }
        self.wake_waiting(who, all);
    }

    /// Wakes the next of those who wait for room in the Cluster of one that is at its end, or has begun: whoever begins wakes the next,
    /// until there is no more room.
    pub fn wake_waiting(&self, who: &ObjectMeta, all: &Store<Metal3Remediation>) {
        /// More than one, for one may have no use for it any more.
        const NEXT: usize = 4;
        let cluster = who.labels.as_ref().and_then(|labels| labels.get(CLUSTER_NAME));
        let mut waiting: Vec<_> = all
            .state()
            .into_iter()
            .filter(|it| it.namespace() == who.namespace && it.uid() != who.uid && is_delayed(it))
            .filter(|it| {
                let its = it.labels().get(CLUSTER_NAME);
                its.is_none() || cluster.is_none() || its == cluster
            })
            .collect();
        waiting.sort_by_key(|it| (it.creation_timestamp().map(|time| time.0), it.name_any()));
        for next in waiting.into_iter().take(NEXT) {
            let _ = self.wake.send(named(&next.metadata));
        }
    }

    fn open(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn crowd(
    book: &Book,
    all: &Store<Metal3Remediation>,
    who: &ObjectMeta,
    cluster: &Key,
    host: Option<&Key>,
) -> Crowd {
    let others = all.state();
    let others = others.iter().filter(|it| it.uid() != who.uid);
    let active: BTreeMap<_, _> = others
        .filter(|it| {
            let is_beginning = book.beginning.contains_key(it.uid().unwrap_or_default().as_str());
            matches!(phase(it), Some(Phase::Running | Phase::Waiting))
                || (phase(it).is_none() && is_beginning)
        })
        .filter(|it| {
            let begun = book.beginning.get(it.uid().unwrap_or_default().as_str());
            begun == Some(cluster) || cluster_of(it).as_ref() == Some(cluster)
        })
        .map(|it| (key(&it.metadata), it.name_any()))
        .collect();
    let mut on_this_host = host.and_then(|host| book.hosts.get(host)).into_iter().flatten();
    let on_this_host = on_this_host.find_map(|it| active.get(it));
    Crowd { active: active.len(), on_this_host: on_this_host.cloned() }
}

fn phase(remediation: &Metal3Remediation) -> Option<Phase> {
    remediation.status.as_ref().and_then(|status| status.phase)
}

/// Whether it waits for room, as far as is stored.
fn is_delayed(remediation: &Metal3Remediation) -> bool {
    let status = remediation.status.as_ref();
    let mut conditions = status.iter().flat_map(|it| it.conditions.iter().flatten());
    let shown = conditions.find(|it| it.type_ == REMEDIATING);
    let delayed: &str = Why::Delayed.into();
    phase(remediation).is_none() && shown.is_none_or(|it| it.reason == delayed)
}

/// By its label, which it has before it begins.
pub(super) fn cluster_of(remediation: &Metal3Remediation) -> Option<Key> {
    let cluster = remediation.labels().get(CLUSTER_NAME)?;
    Some((remediation.namespace().unwrap_or_default(), cluster.clone()))
}

fn reference((namespace, name): &Key) -> ObjectRef<Metal3Remediation> {
    ObjectRef::new(name).within(namespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::runtime::{reflector, watcher::Event};
    use serde_json::json;

    fn remediation(name: &str, phase: Option<&str>) -> Metal3Remediation {
        serde_json::from_value(json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Remediation",
            "metadata": {
                "name": name, "namespace": "lab", "uid": name, "labels": {CLUSTER_NAME: "c"},
            },
            "spec": {}, "status": {"phase": phase},
        }))
        .unwrap()
    }

    fn lab(name: &str) -> Key {
        ("lab".to_owned(), name.to_owned())
    }

    #[test]
    fn whoever_comes_second_to_a_host_sees_the_first_at_work_on_it() {
        let (wake, _woken) = tokio::sync::mpsc::unbounded_channel();
        let places = Places::new(wake);
        let (store, mut writer) = reflector::store();
        let [first, second] = [remediation("first", Some("Running")), remediation("second", None)];
        for it in [&first, &second] {
            writer.apply_watcher_event(&Event::Apply(it.clone()));
            places.note(&it.metadata, Some(lab("host-0")), None);
        }
        let (cluster, host) = (lab("c"), lab("host-0"));
        let crowd = places.crowd(&store, &second.metadata, &cluster, Some(&host));
        assert_eq!((crowd.active, crowd.on_this_host.as_deref()), (1, Some("first")));
        assert!(!places.take(&store, &second.metadata, &cluster, Some(&host), 9));
        let host = ObjectMeta {
            name: Some("host-0".to_owned()),
            namespace: Some("lab".to_owned()),
            ..ObjectMeta::default()
        };
        assert_eq!(places.of_host(&host).len(), 2);
        // And it is its turn when the first is gone.
        writer.apply_watcher_event(&Event::Delete(first.clone()));
        places.forget(&first.metadata, &store);
        assert!(places.take(&store, &second.metadata, &cluster, Some(&lab("host-0")), 9));
    }

    #[test]
    fn a_place_is_taken_before_that_is_stored() {
        let (wake, _woken) = tokio::sync::mpsc::unbounded_channel();
        let places = Places::new(wake);
        let (store, mut writer) = reflector::store();
        let [first, second] = [remediation("first", None), remediation("second", None)];
        for it in [&first, &second] {
            writer.apply_watcher_event(&Event::Apply(it.clone()));
        }
        assert!(places.take(&store, &first.metadata, &lab("c"), None, 1));
        assert!(!places.take(&store, &second.metadata, &lab("c"), None, 1));
        places.give_back(&first.metadata);
        assert!(places.take(&store, &second.metadata, &lab("c"), None, 1));
    }
}
