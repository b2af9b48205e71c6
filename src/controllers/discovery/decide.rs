//! Which nodes become hosts, of which discovery and under which name: a total function of what is known.
//!
//! A node that has a host, or may not have one, is told without its report. All others are judged by every discovery, the oldest first, and the first that
//! takes it makes the host. So it does not matter which of them looks first, nor whether somebody was killed in between: the same node always comes to
//! the same host.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    host,
    hosts::Key,
    machine::{addresses, boot_mac, facts},
    observed::{Discovery, Node, Observed, Report, Reported},
    plan::{NewHost, Note, NoteReason, Outcome, Plan, Tally},
};
use crate::{
    api::baremetalhostdiscovery::SkipReason,
    domain::{
        host_discovery::{ResourceName, ResourceNameTemplate},
        mac::Mac,
        text::Excerpt,
    },
};

/// Decides what is to be done.
#[must_use]
pub fn decide(seen: &Observed<'_>) -> Plan {
    let mut pass = Pass::new(seen);
    let mut nodes: Vec<&Node> = seen.nodes.iter().collect();
    nodes.sort_by(|one, other| one.uuid.cmp(&other.uuid));
    for node in nodes {
        pass.judge(node);
    }
    pass.plan
}

/// One go through all nodes.
struct Pass<'a> {
    seen: &'a Observed<'a>,
    /// The places of the discoveries that take machines, the oldest first.
    order: Vec<usize>,
    /// Which node has which address.
    ports: BTreeMap<Mac, &'a str>,
    nodes: BTreeSet<&'a str>,
    /// The addresses of hosts that are to be created, and the nodes they are made of.
    new_macs: BTreeMap<Mac, &'a str>,
    new_names: BTreeSet<Key>,
    plan: Plan,
}

/// A machine that a host could be made of.
struct Machine<'a> {
    node: &'a Node,
    reported: &'a Reported,
    boot_mac: Mac,
    macs: BTreeSet<Mac>,
    status: String,
}

impl<'a> Pass<'a> {
    fn new(seen: &'a Observed<'a>) -> Self {
        let age = |place: &usize| {
            let metadata = seen.discoveries.get(*place).map(|it| &it.object.metadata);
            let created = metadata.and_then(|it| it.creation_timestamp.as_ref()).map(|it| it.0);
            (created, metadata.map(|it| (it.namespace.clone(), it.name.clone())))
        };
        let places = 0..seen.discoveries.len();
        let is_active =
            |place: &usize| seen.discoveries.get(*place).is_some_and(Discovery::is_active);
        let mut order: Vec<usize> = places.filter(is_active).collect();
        order.sort_by_key(age);
        let owners = seen
            .nodes
            .iter()
            .flat_map(|node| node.ports.iter().map(|mac| (*mac, node.uuid.as_str())));
        let plan =
            Plan { tallies: vec![Tally::default(); seen.discoveries.len()], ..Plan::default() };
        Self {
            order,
            ports: owners.collect(),
            nodes: seen.nodes.iter().map(|node| node.uuid.as_str()).collect(),
            new_macs: BTreeMap::new(),
            new_names: BTreeSet::new(),
            plan,
            seen,
        }
    }

    fn judge(&mut self, node: &'a Node) {
        if let Some(key) = self.host_of(node) {
            return self.has_host(node, &key);
        }
        if let Some(outcome) = self.left_alone(node) {
            return self.count(&outcome);
        }
        let is_known = |place: &usize| {
            let discovery = self.seen.discoveries.get(*place);
            let judged = discovery.and_then(|it| node.judged.get(&it.version()));
            judged.is_some_and(Outcome::is_lasting)
        };
        if self.order.iter().all(is_known) {
            return self.count_judged(node);
        }
        match &node.report {
            Report::Unread => self.plan.unread.push(node.uuid.clone()),
            Report::Missing => self.count(&skipped(SkipReason::NoReport)),
            Report::Read(reported) => self.take(node, reported),
        }
    }

    /// The host that stands for a node.
    fn host_of(&self, node: &Node) -> Option<Key> {
        let hosts = self.seen.hosts;
        if let Some(key) = hosts.of_node(&node.uuid) {
            return Some(key.clone());
        }
        let named = node.named_for.clone().map(|(namespace, name)| Key { namespace, name });
        if let Some(key) = named.filter(|key| hosts.get(key).is_some()) {
            return Some(key);
        }
        let same: Vec<_> = hosts.with_any_of(&known_macs(node)).into_iter().collect();
        let [key] = same.as_slice() else { return None };
        // One whose own node is there is another machine.
        let other = hosts.get(key).and_then(|host| host.node.as_deref());
        let is_free = other.is_none_or(|other| !self.nodes.contains(other));
        is_free.then(|| (*key).clone())
    }

    fn has_host(&mut self, node: &Node, key: &Key) {
        let by = self.seen.hosts.get(key).and_then(|host| host.discovered_by.as_deref());
        for place in self.order.clone() {
            let Some(discovery) = self.seen.discoveries.get(place) else { continue };
            let spec = &discovery.object.spec;
            let takes_all = spec.node_selector.is_none() && spec.only_auto_discovered != Some(true);
            let is_anothers = by.is_some_and(|by| takes_all && by != discovery.name());
            let before = node.judged.get(&discovery.version()).map(|it| it.reason);
            let has_lost = before == Some(SkipReason::TakenByAnother);
            let reason = if is_anothers || has_lost {
                SkipReason::TakenByAnother
            } else {
                SkipReason::HasHost
            };
            self.tell(place, &skipped(reason));
        }
    }

    /// Why no discovery may take a node, whatever is in it.
    fn left_alone(&self, node: &Node) -> Option<Outcome> {
        let macs = known_macs(node);
        if let Some((mac, other)) = self.owner(node, &macs) {
            return Some(refused(
                node,
                None,
                NoteReason::AddressOfNode,
                format!(
                    "it reports {mac}, the address of node {other}: a card was moved, or somebody lies; delete the wrong node in Ironic"
                ),
            ));
        }
        let hosts = self.seen.hosts.with_any_of(&macs);
        if !hosts.is_empty() {
            let names: Vec<String> = hosts.iter().map(ToString::to_string).collect();
            return Some(refused(
                node,
                None,
                NoteReason::AddressOfHost,
                format!(
                    "it reports an address of host {}, which has a node of its own: a card was moved, or somebody lies; correct the host, or delete \
                 the node in Ironic",
                    names.join(", ")
                ),
            ));
        }
        if node.named_for.is_some() {
            return Some(skipped(SkipReason::NamedForHost));
        }
        if !node.is_free {
            return Some(skipped(SkipReason::InUse));
        }
        let is_forgotten = macs.iter().any(|mac| self.seen.forgotten.contains(mac));
        is_forgotten.then(|| skipped(SkipReason::Forgotten))
    }

    fn count_judged(&mut self, node: &Node) {
        for place in self.order.clone() {
            let version = self.seen.discoveries.get(place).map(Discovery::version);
            if let Some(outcome) = version.and_then(|version| node.judged.get(&version)) {
                self.tell(place, outcome);
            }
        }
    }

    /// A node whose report was read: every discovery says what it makes of it.
    fn take(&mut self, node: &'a Node, reported: &'a Reported) {
        let mut taker: Option<String> = None;
        let machine = machine(node, reported);
        for place in self.order.clone() {
            let Some(discovery) = self.seen.discoveries.get(place) else { continue };
            if let Some(outcome) = unwanted(node, reported, discovery, place) {
                self.remember(node, place, outcome);
                continue;
            }
            let machine = match &machine {
                Ok(machine) => machine,
                Err(outcome) => {
                    self.remember(node, place, outcome.clone());
                    continue;
                }
            };
            if let Some(by) = &taker {
                let message = format!(
                    "discovery {by} is older and takes it, too: give each a nodeSelector of its own"
                );
                let told = note(node, None, NoteReason::TakenByAnother, message);
                let outcome = Outcome { reason: SkipReason::TakenByAnother, note: Some(told) };
                self.remember(node, place, outcome);
                continue;
            }
            match self.name(machine, discovery) {
                Err(outcome) => self.remember(node, place, outcome),
                Ok((key, notes)) => {
                    taker = Some(discovery.name());
                    self.make(machine, place, discovery, key, notes);
                }
            }
        }
    }

    /// Another node, there or about to have a host, that has one of these addresses.
    fn owner(&self, node: &Node, macs: &BTreeSet<Mac>) -> Option<(Mac, &'a str)> {
        macs.iter().find_map(|mac| {
            let owner = self.ports.get(mac).or_else(|| self.new_macs.get(mac))?;
            (*owner != node.uuid).then_some((*mac, *owner))
        })
    }

    /// A name that no other host has.
    fn name(
        &self,
        machine: &Machine<'_>,
        discovery: &Discovery,
    ) -> Result<(Key, Vec<Note>), Outcome> {
        let node = machine.node;
        let template = ResourceNameTemplate::from(&discovery.object.spec.resource_name_template);
        let unnamed = |error: &dyn std::fmt::Display| {
            refused(
                node,
                None,
                NoteReason::NoName,
                format!("{error}: change resourceNameTemplate; boot-mac always makes a name"),
            )
        };
        let facts = facts(machine.reported, &node.uuid);
        let name = template.render(&facts).map_err(|error| unnamed(&error))?;
        let key = |name: &ResourceName| Key {
            namespace: discovery.object.metadata.namespace.clone().unwrap_or_default(),
            name: name.as_str().to_owned(),
        };
        let is_taken =
            |key: &Key| self.seen.hosts.get(key).is_some() || self.new_names.contains(key);
        let wanted = key(&name);
        if !is_taken(&wanted) {
            return Ok((wanted, Vec::new()));
        }
        let apart = name.apart(machine.boot_mac).map_err(|error| unnamed(&error))?;
        let longer = key(&apart);
        if is_taken(&longer) {
            return Err(refused(
                node,
                Some(&longer),
                NoteReason::NameTaken,
                format!(
                    "hosts {} and {} are other machines: rename one of them",
                    wanted.name, longer.name
                ),
            ));
        }
        let message = format!(
            "another machine has the name {}: are hostnames or serial numbers the same on several?",
            wanted.name
        );
        let clash = note(node, Some(&longer), NoteReason::NameClash, message);
        Ok((longer, vec![clash]))
    }

    fn make(
        &mut self,
        machine: &Machine<'a>,
        place: usize,
        discovery: &Discovery,
        key: Key,
        mut notes: Vec<Note>,
    ) {
        let Machine { node, reported, boot_mac, macs, status } = machine;
        self.new_macs.extend(macs.iter().map(|mac| (*mac, node.uuid.as_str())));
        self.new_names.insert(key.clone());
        if !discovery.is_due {
            return;
        }
        let (labels, left_out) = match reported.verdicts.get(place) {
            Some(verdict) => host::labels(verdict, &node.uuid, &key),
            None => (BTreeMap::new(), Vec::new()),
        };
        notes.extend(left_out);
        let host =
            host::object(discovery, &key, *boot_mac, reported.boot_mode, labels, status.clone());
        self.plan.hosts.push(NewHost {
            discovery: place,
            node: node.uuid.clone(),
            key,
            macs: macs.clone(),
            host: Box::new(host),
            notes,
        });
    }

    /// The same for all.
    fn count(&mut self, outcome: &Outcome) {
        for place in self.order.clone() {
            self.tell(place, outcome);
        }
    }

    fn tell(&mut self, place: usize, outcome: &Outcome) {
        if let Some(tally) = self.plan.tallies.get_mut(place) {
            tally.count(outcome);
        }
    }

    /// The same, for the next time: what lasts need not be found out again, and who has lost to another says so as long as the node is there.
    fn remember(&mut self, node: &Node, place: usize, outcome: Outcome) {
        self.tell(place, &outcome);
        if let Some(discovery) = self.seen.discoveries.get(place) {
            self.plan.judged.push((node.uuid.clone(), discovery.version(), outcome));
        }
    }
}

/// What a host could be made of, or why none can.
fn machine<'a>(node: &'a Node, reported: &'a Reported) -> Result<Machine<'a>, Outcome> {
    let Some(boot_mac) = boot_mac(reported) else {
        return Err(refused(
            node,
            None,
            NoteReason::NoAddress,
            "it reports no network card with the address of one: nothing could be told of it from \
             another machine"
                .to_owned(),
        ));
    };
    let macs = addresses(reported);
    match host::status(reported, &node.uuid) {
        Ok(status) => Ok(Machine { node, reported, boot_mac, macs, status }),
        Err(size) => Err(refused(
            node,
            None,
            NoteReason::TooLarge,
            format!(
                "it reports {size} bytes, more than can be kept: is there a name of thousands of characters, or a card for each of them?"
            ),
        )),
    }
}

/// Why a discovery does not want a node.
fn unwanted(
    node: &Node,
    reported: &Reported,
    discovery: &Discovery,
    place: usize,
) -> Option<Outcome> {
    if discovery.object.spec.only_auto_discovered == Some(true) && !reported.is_auto_discovered {
        return Some(skipped(SkipReason::NotAutoDiscovered));
    }
    match reported.verdicts.get(place).map(|verdict| &verdict.is_selected) {
        Some(Ok(true)) => None,
        Some(Err(problem)) => Some(refused(
            node,
            None,
            NoteReason::SelectorFailed,
            format!("nodeSelector cannot be evaluated for it: {}", Excerpt::from(problem.as_str())),
        )),
        Some(Ok(false)) | None => Some(skipped(SkipReason::NotSelected)),
    }
}

fn known_macs(node: &Node) -> BTreeSet<Mac> {
    let read = match &node.report {
        Report::Read(reported) => addresses(reported),
        Report::Unread | Report::Missing => BTreeSet::new(),
    };
    node.ports.iter().chain(&node.reported).copied().chain(read).collect()
}

fn skipped(reason: SkipReason) -> Outcome {
    Outcome { reason, note: None }
}

fn refused(node: &Node, key: Option<&Key>, reason: NoteReason, message: String) -> Outcome {
    Outcome { reason: SkipReason::Refused, note: Some(note(node, key, reason, message)) }
}

fn note(node: &Node, key: Option<&Key>, reason: NoteReason, message: String) -> Note {
    Note { node: node.uuid.clone(), host: key.map(|key| key.name.clone()), reason, message }
}
