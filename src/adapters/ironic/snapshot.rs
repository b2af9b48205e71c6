//! Reads all nodes again and again, and those that were written last more often while something moves; and wakes the hosts whose nodes
//! have changed.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures::{StreamExt, stream, stream::BoxStream};
use tokio::sync::{Notify, mpsc, watch};

use super::{
    client::Client,
    known::{Difference, Known, Sight},
    metrics::Metrics,
};
use crate::{
    adapters::clock,
    controllers::host::machine::Identity,
    ironic::{
        error::Error,
        node::{Node, Port},
        pacing::{self, Tick},
    },
};

/// What is known of Ironic's nodes, kept up to date by [`Snapshot::keep_read`].
#[derive(Debug)]
pub struct Snapshot {
    client: Arc<Client>,
    metrics: Metrics,
    state: Mutex<State>,
    nudge: Notify,
    /// How often it was read, well or badly.
    reads: watch::Sender<u64>,
}

/// What Ironic has.
#[derive(Debug, Default)]
pub struct All {
    /// Its nodes.
    pub nodes: Vec<Arc<Node>>,
    /// MAC addresses, and the node that has each.
    pub ports: Vec<(String, String)>,
}

#[derive(Debug, Default)]
struct State {
    known: Known,
    was_read: bool,
    /// Somebody waits for all to be read.
    is_wanted: bool,
    /// The nodes that were new a moment ago and have no ports, by when they were first seen: Ironic makes those that it discovers before their ports.
    portless: HashMap<String, Instant>,
    /// When the last read that went well began.
    read: Option<Instant>,
    failures: u32,
    trouble: Option<String>,
    /// Who is to be woken because of which node.
    hosts: HashMap<String, Identity>,
    listeners: Vec<mpsc::UnboundedSender<Identity>>,
}

impl Snapshot {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(client: Arc<Client>, metrics: Metrics) -> Self {
        Self {
            client,
            metrics,
            state: Mutex::default(),
            nudge: Notify::new(),
            reads: watch::Sender::new(0),
        }
    }

    /// Reads for as long as it runs. One read of all ends before the next begins, whatever it takes; nobody whose node moves waits for it where
    /// few of many do.
    pub async fn keep_read(self: Arc<Self>) {
        // What is known when this ends is soon of the past.
        let _end = End(&self);
        loop {
            let tick = self.beside_glances(self.read()).await;
            self.beside_glances(self.rest(tick)).await;
        }
    }

    /// Does something, and meanwhile looks at what was written last.
    async fn beside_glances<T>(&self, work: impl Future<Output = T>) -> T {
        let glances = async {
            let mut took = Duration::ZERO;
            loop {
                let pause = pacing::pause(Tick { took, failures: 0, moving: 1 });
                tokio::time::sleep(pause).await;
                let began = Instant::now();
                self.glance().await;
                took = began.elapsed();
            }
        };
        tokio::select! {
            done = work => done,
            () = glances => unreachable!("it has no end"),
        }
    }

    /// Reads all nodes once; says how that went.
    pub async fn read(&self) -> Tick {
        self.state().is_wanted = false;
        let began = Instant::now();
        let read = self.read_all(began).await;
        let took = began.elapsed();
        let mut state = self.state();
        match read {
            Ok(()) => {
                if let Some(trouble) = state.trouble.take() {
                    tracing::info!(trouble, "Ironic is back");
                }
                (state.was_read, state.failures) = (true, 0);
                state.read = Some(began);
                self.metrics.read(took, clock::now().as_second(), state.known.all().count());
            }
            Err(error) => {
                let trouble = error.to_string();
                if state.trouble.as_ref() != Some(&trouble) {
                    tracing::warn!(trouble, "Ironic cannot be read; hosts stay as they are");
                }
                state.failures = state.failures.saturating_add(1);
                state.trouble = Some(trouble);
            }
        }
        self.reads.send_modify(|reads| *reads = reads.wrapping_add(1));
        Tick { took, failures: state.failures, moving: state.known.moving() }
    }

    async fn read_all(&self, began: Instant) -> Result<(), Error> {
        let nodes = self.client.nodes().await?;
        let (difference, any_portless) = {
            let mut state = self.state();
            let difference = state.known.replace(nodes, began);
            state.await_ports(&difference, began);
            (difference, !state.portless.is_empty())
        };
        if any_portless {
            let ports = self.client.ports().await?;
            self.state().keep_ports(ports, began);
        }
        self.state().wake(&difference);
        Ok(())
    }

    /// Looks at the nodes that were written last, where something moves and that is much less than all; and sees to it that all are read
    /// if it does not do. Says whether it did.
    pub async fn glance(&self) -> bool {
        let count = {
            let state = self.state();
            let count = pacing::glance(state.known.moving(), state.known.all().count());
            count.filter(|_| state.failures == 0)
        };
        let Some(count) = count else { return false };
        let began = Instant::now();
        let nodes = self.client.written_last(count).await;
        let mut state = self.state();
        let does = match nodes {
            Ok(nodes) => {
                let (difference, is_all) = state.known.renew(nodes, count, began);
                state.await_ports(&difference, began);
                state.wake(&difference);
                is_all && difference.new.is_empty()
            }
            // What is wrong is told when all are read.
            Err(_) => false,
        };
        state.is_wanted |= !does;
        drop(state);
        // More may move now than it can show.
        self.nudge.notify_one();
        does
    }

    /// Waits until all are to be read again. Something may be asked of a node meanwhile.
    async fn rest(&self, tick: Tick) {
        let began = tokio::time::Instant::now();
        loop {
            let moving = self.state().moving_unseen();
            let end = began + pacing::pause(Tick { moving, ..tick });
            tokio::select! {
                () = tokio::time::sleep_until(end) => return,
                () = self.nudge.notified() => {}
            }
        }
    }

    /// Why nothing should be asked of Ironic now.
    pub(super) fn trouble(&self) -> Option<String> {
        self.state().trouble.clone()
    }

    /// Whether all nodes were read since this began to read.
    pub(super) fn was_read(&self) -> bool {
        self.state().was_read
    }

    /// The node of a host, which is woken from now on when it changes.
    pub(super) fn find(&self, host: &Identity, id: Option<&str>, name: &str) -> Sight {
        let mut state = self.state();
        let sight = state.known.find(id, name);
        let uuid = match &sight {
            Sight::Node(node) => Some(node.uuid.clone()),
            Sight::Stale(uuid) => Some(uuid.clone()),
            Sight::Absent => None,
        };
        if let Some(uuid) = uuid {
            state.follow(uuid, host);
        }
        sight
    }

    /// A node of a host that was read by itself.
    pub(super) fn keep(&self, host: &Identity, node: &Arc<Node>, read: Instant) {
        let mut state = self.state();
        state.known.keep(Arc::clone(node), read);
        state.follow(node.uuid.clone(), host);
    }

    /// Something was asked of a node.
    pub(super) fn outdate(&self, uuid: &str) {
        self.state().known.outdate(uuid, Instant::now());
        self.nudge.notify_one();
    }

    pub(super) fn forget(&self, uuid: &str) {
        let mut state = self.state();
        state.known.forget(uuid);
        state.hosts.remove(uuid);
    }

    pub(super) fn owner(&self, address: &str) -> Option<String> {
        self.state().known.owner(address).map(str::to_owned)
    }

    pub(super) fn keep_port(&self, port: &Port) {
        self.state().known.keep_port(&port.address, &port.node_uuid);
    }

    /// All nodes and their addresses, as they were when they were last read, or why they are not known. For discovery.
    pub fn all(&self) -> Result<All, String> {
        let state = self.state();
        if let Some(trouble) = &state.trouble {
            return Err(trouble.clone());
        }
        if !state.was_read {
            return Err("Ironic was not read yet".to_owned());
        }
        let owned = |(address, node): (&str, &str)| (address.to_owned(), node.to_owned());
        Ok(All {
            nodes: state.known.all().cloned().collect(),
            ports: state.known.ports().map(owned).collect(),
        })
    }

    /// Sees to it that what is known is no older than this, as far as Ironic can be read. It is read by [`Snapshot::keep_read`] alone.
    pub async fn refresh(&self, age: Duration) {
        let mut reads = self.reads.subscribe();
        let is_new = self.state().read.is_some_and(|read| read.elapsed() <= age);
        if is_new && self.was_read() {
            return;
        }
        self.state().is_wanted = true;
        self.nudge.notify_one();
        // Nobody reads any more.
        let _ = reads.changed().await;
    }

    /// How many reads have failed in a row.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.state().failures
    }

    /// The hosts whose nodes change from now on.
    pub fn changes(&self) -> BoxStream<'static, Identity> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut state = self.state();
        state.listeners.retain(|listener| !listener.is_closed());
        state.listeners.push(sender);
        stream::unfold(receiver, |mut receiver| async {
            let host = receiver.recv().await?;
            Some((host, receiver))
        })
        .boxed()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Nothing counts as read when nobody reads.
struct End<'a>(&'a Snapshot);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.state().was_read = false;
    }
}

impl State {
    /// How many nodes move that only a read of all shows, or one if somebody waits for that.
    fn moving_unseen(&self) -> usize {
        let moving = self.known.moving();
        let is_glanced_at = pacing::glance(moving, self.known.all().count()).is_some();
        let unseen = if is_glanced_at { 0 } else { moving };
        unseen.max(self.is_wanted.into())
    }

    /// Wakes the hosts whose nodes have changed.
    fn wake(&self, difference: &Difference) {
        for host in difference.changed.iter().filter_map(|uuid| self.hosts.get(uuid)) {
            for listener in &self.listeners {
                // Nobody listens any more.
                let _ = listener.send(host.clone());
            }
        }
    }

    /// Nodes that are new have ports that are to be read.
    fn await_ports(&mut self, difference: &Difference, now: Instant) {
        self.portless.extend(difference.new.iter().map(|uuid| (uuid.clone(), now)));
    }

    /// All ports, and whose have yet to come. Some nodes never have any.
    fn keep_ports(&mut self, ports: Vec<Port>, now: Instant) {
        self.known.replace_ports(ports);
        let kept: HashSet<String> =
            self.known.without_ports(self.portless.keys()).into_iter().cloned().collect();
        self.portless.retain(|uuid, since| {
            kept.contains(uuid) && now.saturating_duration_since(*since) < PORTS_FOLLOW
        });
    }

    fn follow(&mut self, uuid: String, host: &Identity) {
        if self.hosts.get(&uuid) != Some(host) {
            self.hosts.insert(uuid, host.clone());
        }
    }
}

/// How long after a node its ports may come, if there are any. A busy Ironic takes its time.
const PORTS_FOLLOW: Duration = Duration::from_mins(1);

/// When to look again at something that moves, if nobody is woken before.
pub(super) const POLL: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        thread,
    };

    use prometheus_client::registry::Registry;
    use serde_json::{Value, json};

    use super::*;
    use crate::adapters::ironic::testing::{answer, serve};

    fn page(of: impl Iterator<Item = usize>, state: &str) -> String {
        let node = |number: usize| json!({"uuid": number.to_string(), "provision_state": state});
        json!({"nodes": of.map(node).collect::<Vec<Value>>()}).to_string()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn nobody_whose_node_moves_waits_for_a_read_of_all() {
        let reads = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&reads);
        let client = serve(move |request, connection| {
            if request.contains("sort_key=updated_at") {
                answer(connection, "200 OK", &page(0..50, "deploying"));
            } else if request.starts_with("GET /v1/ports") {
                answer(connection, "200 OK", r#"{"ports": []}"#);
            } else if counted.fetch_add(1, Ordering::SeqCst) == 0 {
                answer(connection, "200 OK", &page(0..100, "available"));
            } else {
                // As one of a hundred thousand nodes.
                thread::park();
            }
        });
        let metrics = Metrics::new(&mut Registry::default());
        let snapshot = Snapshot::new(Arc::new(client), metrics);
        snapshot.read().await;
        let host = Identity { uid: "a".into(), namespace: "lab".into(), name: "a".into() };
        let mut changes = snapshot.changes();
        assert!(matches!(snapshot.find(&host, Some("7"), ""), Sight::Node(_)));
        snapshot.outdate("7");
        tokio::select! {
            woken = changes.next() => assert_eq!(woken, Some(host)),
            tick = snapshot.beside_glances(snapshot.read()) => panic!("all were read: {tick:?}"),
        }
        assert_eq!(reads.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn what_is_glanced_at_hurries_no_read_of_all_unless_somebody_waits_for_it() {
        let mut state = State::default();
        let node = |number: usize, is_moving: bool| -> Node {
            let state = if is_moving { "deploying" } else { "available" };
            let node = json!({"uuid": number.to_string(), "provision_state": state});
            serde_json::from_value(node).unwrap()
        };
        let mut unseen = |moving: usize, is_wanted: bool| {
            let nodes = (0..100).map(|number| node(number, number < moving)).collect();
            state.known.replace(nodes, Instant::now());
            state.is_wanted = is_wanted;
            state.moving_unseen()
        };
        assert_eq!(unseen(0, false), 0);
        assert_eq!(unseen(1, false), 0);
        assert_eq!(unseen(26, false), 26);
        assert_eq!(unseen(0, true), 1);
        assert_eq!(unseen(1, true), 1);
    }
}
