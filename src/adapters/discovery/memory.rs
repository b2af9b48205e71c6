//! What is remembered of nodes from one poll to the next, so that a report is read once. Small, for anybody can have Ironic make nodes; and
//! lost in a crash, which costs one more read.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    controllers::discovery::{
        observed::Version,
        plan::{Outcome, Plan},
    },
    domain::mac::Mac,
    ironic::node::Node,
};

/// A report that is not there is asked for again after so long, then after twice as long, and so on.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_hours(1);
/// More cards than a server has.
const CARDS: usize = 256;

#[derive(Default)]
pub(super) struct Memory(BTreeMap<String, Remembered>);

#[derive(Default)]
struct Remembered {
    reported: BTreeSet<Mac>,
    judged: BTreeMap<Version, Outcome>,
    missing: Option<Missing>,
}

/// A report that was not there.
struct Missing {
    /// The node as it was then: another may have one.
    node: Arc<Node>,
    until: Instant,
    pause: Duration,
}

impl Memory {
    /// Keeps what is of these nodes and versions.
    pub fn keep_only(&mut self, nodes: &BTreeSet<&str>, versions: &BTreeSet<Version>) {
        self.0.retain(|uuid, _| nodes.contains(uuid.as_str()));
        for node in self.0.values_mut() {
            node.judged.retain(|version, _| versions.contains(version));
        }
    }

    /// The addresses that a node has reported.
    pub fn reported(&self, uuid: &str) -> BTreeSet<Mac> {
        self.0.get(uuid).map(|it| it.reported.clone()).unwrap_or_default()
    }

    /// What came of it.
    pub fn judged(&self, uuid: &str) -> BTreeMap<Version, Outcome> {
        self.0.get(uuid).map(|it| it.judged.clone()).unwrap_or_default()
    }

    /// Whether its report was not there, and need not be asked for again yet.
    pub fn is_missing(&self, node: &Node) -> bool {
        let missing = self.0.get(&node.uuid).and_then(|it| it.missing.as_ref());
        missing.is_some_and(|it| *it.node == *node && it.until > Instant::now())
    }

    /// Its report is not there.
    pub fn miss(&mut self, node: &Arc<Node>) {
        let remembered = self.0.entry(node.uuid.clone()).or_default();
        let before = remembered.missing.as_ref().filter(|it| it.node == *node);
        let pause = before.map_or(FIRST_PAUSE, |it| it.pause.saturating_mul(2)).min(LONGEST_PAUSE);
        let until = Instant::now() + pause;
        remembered.missing = Some(Missing { node: Arc::clone(node), until, pause });
    }

    /// Its report was read.
    pub fn read(&mut self, uuid: &str, reported: BTreeSet<Mac>) {
        let remembered = self.0.entry(uuid.to_owned()).or_default();
        remembered.reported = reported.into_iter().take(CARDS).collect();
        remembered.missing = None;
    }

    /// What was decided.
    pub fn note(&mut self, plan: &Plan) {
        for (uuid, version, outcome) in &plan.judged {
            let remembered = self.0.entry(uuid.clone()).or_default();
            remembered.judged.insert(version.clone(), outcome.clone());
        }
    }
}
