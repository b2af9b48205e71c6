//! One poll: look at what Ironic has, read the reports of what is new, create hosts, say what came of it. Makes no choices: those are
//! [`decide`]'s.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use anyhow::Result;
use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use kube::{
    Api, ResourceExt,
    api::{Patch, PostParams},
};
use serde_json::json;

use super::{
    Discoverer, FIELD_MANAGER,
    expressions::{Expressions, Facts},
    memory::Memory,
    metrics::Fate,
};
use crate::{
    adapters::{clock, ironic::All, patch::written_by},
    api::{
        BareMetalHost, BareMetalHostDiscovery,
        baremetalhostdiscovery::{BareMetalHostDiscoveryStatus, SkipReason},
    },
    controllers::discovery::{
        decide,
        hosts::Host,
        machine,
        observed::{Discovery, Node, Observed, Report, Reported},
        plan::{NewHost, Note, NoteReason, Outcome, Plan, Tally},
        status::{self, Idle, Polled},
    },
    domain::mac::Mac,
    ironic::{
        inventory::Inventory,
        node::{self, host_of},
        provision_state::ProvisionState,
    },
};

/// How many reports are held at one time. A stranger may have written them.
const PORTION: usize = 50;
/// How many requests there are at one time to Ironic, which has others to serve, and to the API server.
const READS: usize = 4;
const WRITES: usize = 8;

/// What is kept from one poll to the next.
#[derive(Default)]
pub(super) struct Kept {
    pub memory: Memory,
    pub expressions: Vec<Expressions>,
}

/// What came of it, for each discovery.
#[derive(Debug, Clone, Default)]
struct Made {
    created: usize,
    refused: Vec<Outcome>,
    notes: Vec<Note>,
}

impl Discoverer {
    /// Polls for those that are due. The others are there to keep what is theirs.
    pub(super) async fn poll(
        &self,
        kept: &mut Kept,
        objects: Vec<(BareMetalHostDiscovery, bool)>,
    ) -> Result<()> {
        let discoveries = read(kept, objects);
        let now = clock::now();
        let (active, idle): (Vec<_>, Vec<_>) =
            discoveries.iter().filter(|it| it.is_due).partition(|it| it.is_active());
        for discovery in idle {
            let why = match &discovery.problem {
                Some(problem) if discovery.object.spec.suspend != Some(true) => {
                    Idle::Invalid(problem.clone())
                }
                Some(_) | None => Idle::Suspended,
            };
            self.write(&discovery.object, status::idle(&discovery.object, &why, now)).await;
        }
        if active.is_empty() {
            return Ok(());
        }
        let all = match self.snapshot.all() {
            Ok(all) => all,
            Err(trouble) => {
                for discovery in active {
                    let why = Idle::Unreachable(trouble.clone());
                    self.write(&discovery.object, status::idle(&discovery.object, &why, now)).await;
                }
                return Ok(());
            }
        };
        let (tallies, made) = self.make_hosts(kept, &all, &discoveries).await?;
        for (place, discovery) in discoveries.iter().enumerate() {
            if !discovery.is_due || !discovery.is_active() {
                continue;
            }
            let made = made.get(place).cloned().unwrap_or_default();
            let mut tally: Tally = tallies.get(place).cloned().unwrap_or_default();
            tally.notes.extend(made.notes);
            made.refused.iter().for_each(|outcome| tally.count(outcome));
            let name = discovery.name();
            let present = self.hosts.look(|hosts| hosts.made_by(&name));
            let polled = Polled { seen: all.nodes.len(), created: made.created, present, tally };
            let status = status::polled(&discovery.object, &polled, clock::now());
            self.write(&discovery.object, status).await;
        }
        Ok(())
    }

    /// Reads what has to be read, portion by portion, and creates what is decided, until there is nothing left that was not tried.
    async fn make_hosts(
        &self,
        kept: &mut Kept,
        all: &All,
        discoveries: &[Discovery],
    ) -> Result<(Vec<Tally>, Vec<Made>)> {
        let forgotten = self.forgotten.all().await?;
        let uuids: BTreeSet<&str> = all.nodes.iter().map(|node| node.uuid.as_str()).collect();
        kept.memory.keep_only(&uuids, &discoveries.iter().map(Discovery::version).collect());
        let ports = ports(all);
        let mut made = vec![Made::default(); discoveries.len()];
        let (mut tried, mut reports) = (BTreeSet::new(), BTreeMap::new());
        loop {
            let nodes: Vec<Node> =
                all.nodes.iter().map(|node| observed(node, &ports, kept, &mut reports)).collect();
            let plan = self.hosts.look(|hosts| {
                decide(&Observed { nodes: &nodes, hosts, forgotten: &forgotten, discoveries })
            });
            kept.memory.note(&plan);
            self.create(&plan, &mut made).await;
            let is_new = |uuid: &&String| !tried.contains(*uuid);
            let wanted: BTreeSet<String> =
                plan.unread.iter().filter(is_new).take(PORTION).cloned().collect();
            if wanted.is_empty() && plan.hosts.is_empty() {
                return Ok((plan.tallies, made));
            }
            tried.extend(wanted.iter().cloned());
            reports = self.reports(kept, all, &wanted).await;
        }
    }

    /// What these nodes have reported.
    async fn reports(
        &self,
        kept: &mut Kept,
        all: &All,
        wanted: &BTreeSet<String>,
    ) -> BTreeMap<String, Reported> {
        let is_wanted = |node: &&Arc<node::Node>| wanted.contains(&node.uuid);
        // Boxed one by one: the compiler cannot follow futures that borrow in a stream.
        let asked: Vec<BoxFuture<'_, _>> = all
            .nodes
            .iter()
            .filter(is_wanted)
            .cloned()
            .map(|node| {
                let ask = async move {
                    self.metrics.asked();
                    let found = self.ironic.inventory(&node.uuid).await;
                    (node, found)
                };
                ask.boxed()
            })
            .collect();
        let read = stream::iter(asked).buffer_unordered(READS);
        let mut read = std::pin::pin!(read);
        let mut reports = BTreeMap::new();
        while let Some((node, found)) = read.next().await {
            match found {
                Ok(Some(inventory)) => {
                    let reported = reported(&node, &inventory, &kept.expressions);
                    kept.memory.read(&node.uuid, machine::addresses(&reported));
                    reports.insert(node.uuid.clone(), reported);
                }
                Ok(None) => kept.memory.miss(&node),
                Err(error) => {
                    tracing::info!(node = node.uuid, %error, "its report is read the next time");
                }
            }
        }
        reports
    }

    async fn create(&self, plan: &Plan, made: &mut [Made]) {
        let asked: Vec<BoxFuture<'_, _>> = plan
            .hosts
            .iter()
            .map(|new| async move { (new, self.create_one(new).await) }.boxed())
            .collect();
        let created = stream::iter(asked).buffer_unordered(WRITES);
        let mut created = std::pin::pin!(created);
        while let Some((new, outcome)) = created.next().await {
            let Some(made) = made.get_mut(new.discovery) else { continue };
            match outcome {
                Ok(()) => {
                    made.created += 1;
                    made.notes.extend(new.notes.iter().cloned());
                }
                Err(outcome) => made.refused.extend(outcome),
            }
        }
    }

    /// The error is what people should know, if it is not just that somebody was faster.
    async fn create_one(&self, new: &NewHost) -> Result<(), Option<Outcome>> {
        let api: Api<BareMetalHost> = Api::namespaced(self.client.clone(), &new.key.namespace);
        let parameters =
            PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let by =
            new.host.annotations().get(crate::domain::host_discovery::annotations::DISCOVERED_BY);
        match api.create(&parameters, &new.host).await {
            Ok(host) => {
                tracing::info!(host = %new.key, node = new.node, "a machine became a host");
                self.metrics.tried(Fate::Created);
                let node = Some(new.node.clone());
                let known = Host { macs: new.macs.clone(), node, discovered_by: by.cloned() };
                self.hosts.add(&host.metadata, known);
                Ok(())
            }
            // Its name is taken by a host that was not told of yet: it is by the next time.
            Err(kube::Error::Api(status)) if status.code == 409 => Err(None),
            Err(error) => {
                let said = if let kube::Error::Api(status) = &error {
                    status.message.clone()
                } else {
                    error.to_string()
                };
                tracing::warn!(host = %new.key, node = new.node, error = said, "a host could not be created");
                self.metrics.tried(Fate::Denied);
                let note = Note {
                    node: new.node.clone(),
                    host: Some(new.key.name.clone()),
                    reason: NoteReason::Denied,
                    message: format!("the API server has refused the host: {said}"),
                };
                Err(Some(Outcome { reason: SkipReason::Refused, note: Some(note) }))
            }
        }
    }

    /// Writes a status, if it is another. Who cannot write it says so, and goes on: hosts are more important.
    async fn write(
        &self,
        discovery: &BareMetalHostDiscovery,
        status: BareMetalHostDiscoveryStatus,
    ) {
        if discovery.status.as_ref() == Some(&status) {
            return;
        }
        let api: Api<BareMetalHostDiscovery> =
            Api::namespaced(self.client.clone(), &discovery.namespace().unwrap_or_default());
        let patch = json!({"metadata": {"uid": discovery.metadata.uid}, "status": status});
        let parameters = written_by(FIELD_MANAGER);
        match api.patch_status(&discovery.name_any(), &parameters, &Patch::Merge(&patch)).await {
            Ok(written) => self.wrote(written),
            // It was deleted, or another has its name.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
            Err(error) => {
                tracing::warn!(%error, discovery = discovery.name_any(), "its status could not be written");
            }
        }
    }
}

/// The discoveries, with their expressions compiled once for each version.
fn read(kept: &mut Kept, objects: Vec<(BareMetalHostDiscovery, bool)>) -> Vec<Discovery> {
    let mut discoveries: Vec<_> = objects
        .into_iter()
        .map(|(object, is_due)| Discovery { object, is_due, problem: None })
        .collect();
    let mut expressions = Vec::new();
    for discovery in &mut discoveries {
        let version = discovery.version();
        let known = kept.expressions.iter().position(|it| it.of == version);
        let compiled = match known {
            Some(place) => kept.expressions.swap_remove(place),
            None => Expressions::compile(&discovery.object, version),
        };
        discovery.problem.clone_from(&compiled.problem);
        expressions.push(compiled);
    }
    // In the order of the discoveries, as the verdicts are to be.
    kept.expressions = expressions;
    discoveries
}

/// The addresses of every node.
fn ports(all: &All) -> BTreeMap<&str, BTreeSet<Mac>> {
    let mut ports: BTreeMap<&str, BTreeSet<Mac>> = BTreeMap::new();
    for (address, node) in &all.ports {
        if let Ok(mac) = address.parse() {
            ports.entry(node).or_default().insert(mac);
        }
    }
    ports
}

fn observed(
    node: &Arc<node::Node>,
    ports: &BTreeMap<&str, BTreeSet<Mac>>,
    kept: &Kept,
    reports: &mut BTreeMap<String, Reported>,
) -> Node {
    let uuid = &node.uuid;
    let owned = |(namespace, name): (&str, &str)| (namespace.to_owned(), name.to_owned());
    let report = match reports.remove(uuid) {
        Some(reported) => Report::Read(Box::new(reported)),
        None if kept.memory.is_missing(node) => Report::Missing,
        None => Report::Unread,
    };
    Node {
        named_for: node.name.as_deref().and_then(host_of).map(owned),
        is_free: is_free(node),
        ports: ports.get(uuid.as_str()).cloned().unwrap_or_default(),
        reported: kept.memory.reported(uuid),
        judged: kept.memory.judged(uuid),
        report,
        uuid: uuid.clone(),
    }
}

/// Whether nothing is done with it, and nothing runs on it.
fn is_free(node: &node::Node) -> bool {
    let rests = matches!(
        node.provision_state,
        ProvisionState::Enroll
            | ProvisionState::Manageable
            | ProvisionState::Available
            | ProvisionState::InspectFail
    );
    rests && node.instance_uuid.is_none()
}

fn reported(node: &node::Node, inventory: &Inventory, expressions: &[Expressions]) -> Reported {
    let facts = Facts::of(node, inventory);
    Reported {
        details: inventory.details(),
        boot_mac: inventory.boot_mac(),
        boot_mode: inventory.boot_mode(),
        is_auto_discovered: inventory.is_auto_discovered(),
        verdicts: expressions.iter().map(|it| it.judge(&facts)).collect(),
    }
}
