//! `Hosts`: which hosts there are, found by what a machine can be recognised by.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::mac::Mac;

/// A host by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Its namespace.
    pub namespace: String,
    /// Its name there.
    pub name: String,
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// What is kept of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Host {
    /// The addresses of all its cards: the one that it boots from, and those that were found in it.
    pub macs: BTreeSet<Mac>,
    /// Its node in Ironic.
    pub node: Option<String>,
    /// The discovery that made it, as its annotation says.
    pub discovered_by: Option<String>,
}

/// All hosts.
#[derive(Debug, Clone, Default)]
pub struct Hosts {
    all: BTreeMap<Key, Host>,
    by_mac: BTreeMap<Mac, BTreeSet<Key>>,
    by_node: BTreeMap<String, Key>,
}

impl Hosts {
    /// There is a host, or it is otherwise than before.
    pub fn set(&mut self, key: Key, host: Host) {
        self.remove(&key);
        for mac in &host.macs {
            self.by_mac.entry(*mac).or_default().insert(key.clone());
        }
        if let Some(node) = &host.node {
            self.by_node.insert(node.clone(), key.clone());
        }
        self.all.insert(key, host);
    }

    /// There is a host no more.
    pub fn remove(&mut self, key: &Key) {
        let Some(host) = self.all.remove(key) else { return };
        for mac in &host.macs {
            if let Some(keys) = self.by_mac.get_mut(mac) {
                keys.remove(key);
                if keys.is_empty() {
                    self.by_mac.remove(mac);
                }
            }
        }
        if let Some(node) = &host.node
            && self.by_node.get(node) == Some(key)
        {
            self.by_node.remove(node);
        }
    }

    /// A host by name.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Host> {
        self.all.get(key)
    }

    /// The names of all of them.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.all.keys()
    }

    /// The host that is known to have a node.
    #[must_use]
    pub fn of_node(&self, uuid: &str) -> Option<&Key> {
        self.by_node.get(uuid)
    }

    /// The hosts that have one of these addresses.
    #[must_use]
    pub fn with_any_of(&self, macs: &BTreeSet<Mac>) -> BTreeSet<&Key> {
        macs.iter().filter_map(|mac| self.by_mac.get(mac)).flatten().collect()
    }

    /// How many of them a discovery has made.
    #[must_use]
    pub fn made_by(&self, discovery: &str) -> usize {
        self.all.values().filter(|host| host.discovered_by.as_deref() == Some(discovery)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key { namespace: "lab".into(), name: name.into() }
    }

    fn host(macs: &[&str], node: Option<&str>) -> Host {
        let macs = macs.iter().map(|mac| mac.parse().unwrap()).collect();
        Host { macs, node: node.map(str::to_owned), discovered_by: None }
    }

    fn macs(mac: &str) -> BTreeSet<Mac> {
        BTreeSet::from([mac.parse().unwrap()])
    }

    #[test]
    fn a_host_is_found_by_any_spelling_of_any_card_and_no_longer_by_what_it_lost() {
        let mut hosts = Hosts::default();
        hosts.set(key("a"), host(&["52:54:00:00:00:01", "52:54:00:00:00:02"], Some("n1")));
        hosts.set(key("b"), host(&["52:54:00:00:00:02"], None));
        assert_eq!(hosts.with_any_of(&macs("52-54-00-00-00-01")), BTreeSet::from([&key("a")]));
        assert_eq!(hosts.with_any_of(&macs("5254.0000.0002")).len(), 2);
        assert_eq!(hosts.of_node("n1"), Some(&key("a")));

        hosts.set(key("a"), host(&["52:54:00:00:00:03"], Some("n2")));
        assert!(hosts.with_any_of(&macs("52:54:00:00:00:01")).is_empty());
        assert_eq!((hosts.of_node("n1"), hosts.of_node("n2")), (None, Some(&key("a"))));
        hosts.remove(&key("a"));
        assert!(hosts.with_any_of(&macs("52:54:00:00:00:03")).is_empty());
        assert_eq!((hosts.of_node("n2"), hosts.get(&key("a"))), (None, None));
    }
}
