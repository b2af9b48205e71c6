//! What is known of all nodes, and since when: from reading all of them at once, and from reading one.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Instant,
};

use crate::ironic::node::{Node, Port};

/// All nodes, as they were when each was last read.
#[derive(Debug, Default)]
pub(super) struct Known {
    nodes: HashMap<String, Entry>,
    names: HashMap<String, String>,
    /// Which node has which MAC address.
    ports: HashMap<String, String>,
}

#[derive(Debug)]
struct Entry {
    node: Arc<Node>,
    read: Instant,
    /// Something was asked of it since.
    stale: bool,
}

/// What is known of one node.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Sight {
    /// It is like this.
    Node(Arc<Node>),
    /// It is there, and must be read again.
    Stale(String),
    /// There was none when all were read.
    Absent,
}

/// What reading all of them has shown.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Difference {
    /// The nodes that are new, gone or otherwise than before, and those of which something was asked since.
    pub changed: Vec<String>,
    /// Those of them that are new, so that their ports are not known.
    pub new: Vec<String>,
}

impl Known {
    /// The node with an id, or with a name.
    pub fn find(&self, id: Option<&str>, name: &str) -> Sight {
        let by_id = id.and_then(|id| self.nodes.get(id));
        let by_name = || self.nodes.get(self.names.get(name)?);
        match by_id.or_else(by_name) {
            Some(entry) if entry.stale => Sight::Stale(entry.node.uuid.clone()),
            Some(entry) => Sight::Node(Arc::clone(&entry.node)),
            None => Sight::Absent,
        }
    }

    /// A node that was read by itself.
    pub fn keep(&mut self, node: Arc<Node>, read: Instant) {
        if let Some(name) = &node.name {
            self.names.insert(name.clone(), node.uuid.clone());
        }
        let uuid = node.uuid.clone();
        self.nodes.insert(uuid, Entry { node, read, stale: false });
    }

    /// Something was asked of a node: it will be otherwise.
    pub fn outdate(&mut self, uuid: &str, now: Instant) {
        if let Some(entry) = self.nodes.get_mut(uuid) {
            (entry.stale, entry.read) = (true, now);
        }
    }

    /// A node is gone.
    pub fn forget(&mut self, uuid: &str) {
        if let Some(entry) = self.nodes.remove(uuid)
            && let Some(name) = &entry.node.name
        {
            self.names.remove(name);
        }
        self.ports.retain(|_, owner| owner != uuid);
    }

    /// All nodes, read at once. What was learnt since that began is newer.
    pub fn replace(&mut self, nodes: Vec<Node>, began: Instant) -> Difference {
        let mut difference = Difference::default();
        let present: HashSet<String> = nodes.iter().map(|node| node.uuid.clone()).collect();
        let gone = |(uuid, entry): (&String, &Entry)| {
            (!present.contains(uuid) && entry.read < began).then(|| uuid.clone())
        };
        let gone: Vec<String> = self.nodes.iter().filter_map(gone).collect();
        for uuid in gone {
            self.forget(&uuid);
            difference.changed.push(uuid);
        }
        self.see(nodes, began, &mut difference);
        difference
    }

    /// So many of the nodes that Ironic has written last, the last first; and whether those are all that it has written since nodes were last
    /// read: it is so if the last of them is as it was. Ironic does not say when it was. Which are gone is not seen.
    pub fn renew(&mut self, nodes: Vec<Node>, count: usize, began: Instant) -> (Difference, bool) {
        let is_as_it_was = |node: &Node| {
            self.nodes.get(&node.uuid).is_some_and(|entry| !entry.stale && *entry.node == *node)
        };
        let is_all = nodes.len() < count || nodes.last().is_some_and(is_as_it_was);
        let mut difference = Difference::default();
        self.see(nodes, began, &mut difference);
        (difference, is_all)
    }

    fn see(&mut self, nodes: Vec<Node>, began: Instant, difference: &mut Difference) {
        for node in nodes {
            let before = self.nodes.get(&node.uuid);
            if before.is_some_and(|entry| entry.read >= began) {
                continue;
            }
            if before.is_none() {
                difference.new.push(node.uuid.clone());
            }
            // What was asked may be over without a trace, as when a machine is switched off that is off.
            if before.is_none_or(|entry| entry.stale || *entry.node != node) {
                difference.changed.push(node.uuid.clone());
            }
            self.keep(Arc::new(node), began);
        }
    }

    /// All ports, read at once.
    pub fn replace_ports(&mut self, ports: Vec<Port>) {
        let owner = |port: Port| (port.address.to_ascii_lowercase(), port.node_uuid);
        self.ports = ports.into_iter().map(owner).collect();
    }

    /// A port that was found or made.
    pub fn keep_port(&mut self, address: &str, node: &str) {
        self.ports.insert(address.to_ascii_lowercase(), node.to_owned());
    }

    /// Which node has a MAC address.
    pub fn owner(&self, address: &str) -> Option<&str> {
        self.ports.get(&address.to_ascii_lowercase()).map(String::as_str)
    }

    /// Those of these nodes that are there and have no address yet.
    pub fn without_ports<'a>(
        &self,
        nodes: impl Iterator<Item = &'a String>,
    ) -> HashSet<&'a String> {
        let owners: HashSet<&str> = self.ports.values().map(String::as_str).collect();
        let lacks =
            |uuid: &&String| self.nodes.contains_key(*uuid) && !owners.contains(uuid.as_str());
        nodes.filter(lacks).collect()
    }

    /// Every MAC address, and which node has it.
    pub fn ports(&self) -> impl Iterator<Item = (&str, &str)> {
        self.ports.iter().map(|(address, node)| (address.as_str(), node.as_str()))
    }

    /// Every node.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.nodes.values().map(|entry| &entry.node)
    }

    /// How many nodes move, or were asked to.
    pub fn moving(&self) -> usize {
        self.nodes.values().filter(|entry| entry.stale || entry.node.is_moving()).count()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn node(uuid: &str, state: &str) -> Node {
        let name = format!("default~{uuid}");
        serde_json::from_value(json!({"uuid": uuid, "name": name, "provision_state": state}))
            .unwrap()
    }

    fn at(start: Instant, seconds: u64) -> Instant {
        start + Duration::from_secs(seconds)
    }

    #[test]
    fn what_was_written_last_is_a_difference_and_the_rest_stays() {
        let (mut known, start) = (Known::default(), Instant::now());
        let all = ["a", "b", "c", "d"].map(|uuid| node(uuid, "available"));
        known.replace(all.into(), at(start, 1));
        known.outdate("a", at(start, 2));
        let last = [("a", "deploying"), ("b", "deploying"), ("c", "available")];
        let last = last.map(|(uuid, state)| node(uuid, state));
        // There may be a third that was written.
        let (difference, is_all) = known.renew(last[..2].to_vec(), 2, at(start, 3));
        assert_eq!((difference.changed, is_all), (vec!["a".to_owned(), "b".to_owned()], false));
        let (difference, is_all) = known.renew(last.to_vec(), 3, at(start, 4));
        assert_eq!((difference, is_all), (Difference::default(), true));
        assert!(matches!(known.find(Some("d"), ""), Sight::Node(_)));
        assert_eq!(known.moving(), 2);
    }

    #[test]
    fn what_was_asked_of_the_last_one_shown_may_have_been_asked_of_others() {
        let (mut known, start) = (Known::default(), Instant::now());
        known.replace(vec![node("a", "available"), node("b", "available")], at(start, 1));
        known.outdate("a", at(start, 2));
        let a = || vec![node("a", "available")];
        let (difference, is_all) = known.renew(a(), 1, at(start, 3));
        assert_eq!((difference.changed, is_all), (vec!["a".to_owned()], false));
        // Learnt while it was asked for.
        known.outdate("a", at(start, 5));
        let (difference, is_all) = known.renew(a(), 1, at(start, 4));
        assert_eq!((difference, is_all), (Difference::default(), false));
        // There are no more; and one of them is new.
        let (difference, is_all) = known.renew(vec![node("c", "enroll")], 2, at(start, 6));
        assert_eq!((difference.new, is_all), (vec!["c".to_owned()], true));
    }

    #[test]
    fn a_difference_names_what_is_new_gone_or_changed_and_nothing_else() {
        let (mut known, start) = (Known::default(), Instant::now());
        let all = |b: &str| vec![node("a", "available"), node("b", b)];
        let first = known.replace(all("active"), at(start, 1));
        assert_eq!(first.changed.len(), 2);
        assert_eq!(first.new, ["a", "b"]);
        assert_eq!(known.replace(all("active"), at(start, 2)), Difference::default());
        let changed = known.replace(all("deleting"), at(start, 3));
        assert_eq!(changed, Difference { changed: vec!["b".into()], new: vec![] });
        assert_eq!(known.moving(), 1);
        let gone = known.replace(vec![node("a", "available")], at(start, 4));
        assert_eq!(gone.changed, ["b"]);
        assert_eq!(known.find(Some("b"), "default~b"), Sight::Absent);
        assert_eq!(known.moving(), 0);
    }

    #[test]
    fn what_was_learnt_while_all_were_read_is_newer() {
        let (mut known, start) = (Known::default(), Instant::now());
        known.replace(vec![node("a", "available")], at(start, 1));
        // Read from second 2 on; at second 3 something is asked of it, and b is made.
        known.outdate("a", at(start, 3));
        known.keep(Arc::new(node("b", "enroll")), at(start, 3));
        known.replace(vec![node("a", "available")], at(start, 2));
        assert_eq!(known.find(Some("a"), ""), Sight::Stale("a".into()));
        assert!(matches!(known.find(None, "default~b"), Sight::Node(_)));
        assert_eq!(known.moving(), 1);
        let later = known.replace(vec![node("a", "deploying"), node("b", "enroll")], at(start, 4));
        assert_eq!(later.changed, ["a"]);
        assert!(matches!(known.find(Some("a"), ""), Sight::Node(_)));
    }

    #[test]
    fn who_asked_for_something_is_told_when_it_is_over_also_if_nothing_has_changed() {
        let (mut known, start) = (Known::default(), Instant::now());
        known.replace(vec![node("a", "available")], at(start, 1));
        known.outdate("a", at(start, 2));
        let asked = known.replace(vec![node("a", "available")], at(start, 3));
        assert_eq!(asked, Difference { changed: vec!["a".into()], new: vec![] });
        assert_eq!(
            known.replace(vec![node("a", "available")], at(start, 4)),
            Difference::default()
        );
    }

    #[test]
    fn a_node_is_found_by_id_before_name_and_its_ports_go_with_it() {
        let (mut known, start) = (Known::default(), Instant::now());
        known.replace(vec![node("a", "available"), node("b", "available")], at(start, 1));
        let Sight::Node(found) = known.find(Some("b"), "default~a") else { panic!("not found") };
        assert_eq!(found.uuid, "b");
        let Sight::Node(found) = known.find(Some("lost"), "default~a") else { panic!("not found") };
        assert_eq!(found.uuid, "a");
        let all = ["a".to_owned(), "b".to_owned(), "gone".to_owned()];
        known.keep_port("52:54:00:AA:00:01", "a");
        assert_eq!(known.without_ports(all.iter()), HashSet::from([&all[1]]));
        assert_eq!(known.owner("52:54:00:aa:00:01"), Some("a"));
        known.forget("a");
        assert_eq!(known.owner("52:54:00:aa:00:01"), None);
    }
}
