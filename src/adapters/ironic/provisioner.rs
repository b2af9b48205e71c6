//! Ironic as a provisioner: what [`next`] says, done.

use std::{
    collections::HashMap,
    mem::{Discriminant, discriminant},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use futures::{FutureExt, future::BoxFuture, stream::BoxStream};

use super::{
    answers::{health, moving, secrets, shown},
    client::Client,
    known::Sight,
    on_behalf,
    snapshot::{POLL, Snapshot},
};
use crate::{
    controllers::host::{
        machine::{Identity, Machine},
        provisioner::{Error, Learnt, Operation, Outcome, Provisioner},
    },
    ironic::{
        driver::{self, Ramdisk},
        error::{self, Kind},
        next::{Ask, next},
        node::{Node, node_name},
        power::{PowerState, PowerTarget},
        redact::redact,
        step::{Step, Verb},
    },
};

/// More than any way has steps that need no waiting.
const ROUNDS: usize = 12;
const MAINTENANCE: &str = "the host is deleted or detached in Kubernetes";

/// The provisioner.
#[derive(Debug)]
pub struct Ironic {
    pub(super) client: Arc<Client>,
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) ramdisk: Ramdisk,
    /// What was begun on which node, and not seen to end. Lost in a crash, which costs one more try.
    tried: Mutex<HashMap<String, Try>>,
}

/// What is tried. Begun anew because somebody wants that, it is another try than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Try {
    operation: Discriminant<Operation>,
    restart: bool,
}

impl Try {
    fn of(operation: &Operation) -> Self {
        let restart = match operation {
            Operation::Inspect { restart, .. } => *restart,
            Operation::Provision(provision) => provision.restart,
            Operation::Register { .. }
            | Operation::Import
            | Operation::Prepare { .. }
            | Operation::Adopt { .. }
            | Operation::Deprovision { .. }
            | Operation::Observe
            | Operation::PowerOn { .. }
            | Operation::PowerOff { .. }
            | Operation::Reboot { .. }
            | Operation::Delete
            | Operation::Detach { .. } => false,
        };
        Self { operation: discriminant(operation), restart }
    }
}

impl Ironic {
    /// A provisioner on what is known and can be asked.
    #[must_use]
    pub fn new(client: Arc<Client>, snapshot: Arc<Snapshot>, ramdisk: Ramdisk) -> Self {
        Self { client, snapshot, ramdisk, tried: Mutex::default() }
    }

    async fn go(&self, machine: &Machine, operation: &Operation) -> Result<Outcome, Error> {
        if let Some(trouble) = self.snapshot.trouble() {
            return Err(Error::Unreachable(trouble));
        }
        if !self.snapshot.was_read() {
            return Err(Error::Busy);
        }
        let version = self.client.version().await?;
        let (tried, credentials_written, ramdisk) = (false, false, &self.ramdisk);
        let ask = Ask { machine, operation, tried, credentials_written, ramdisk, version };
        let host = &machine.identity;
        let name = node_name(&host.namespace, &host.name);
        let (node, fresh) =
            match self.snapshot.find(host, machine.provisioning_id.as_deref(), &name) {
                Sight::Node(node) => (Some(node), false),
                Sight::Stale(uuid) => (self.read(host, &uuid).await?, true),
                Sight::Absent => (self.look_up(machine, &name).await?, true),
            };
        let registers = matches!(operation, Operation::Register { .. });
        match node {
            Some(node) if registers => self.register(node, fresh, ask).await,
            Some(node) => self.advance(node, fresh, ask).await,
            None if registers => self.enrol(ask).await,
            None => match operation {
                Operation::Delete | Operation::Detach { .. } => {
                    Ok(Outcome::Done(Learnt::default()))
                }
                Operation::Import => self.import(ask).await,
                Operation::Register { .. }
                | Operation::Inspect { .. }
                | Operation::Prepare { .. }
                | Operation::Adopt { .. }
                | Operation::Provision(_)
                | Operation::Deprovision { .. }
                | Operation::Observe
                | Operation::PowerOn { .. }
                | Operation::PowerOff { .. }
                | Operation::Reboot { .. } => Err(Error::NotRegistered),
            },
        }
    }

    /// Goes on from where a node is, as far as it goes without waiting.
    pub(super) async fn advance(
        &self,
        mut node: Arc<Node>,
        mut fresh: bool,
        mut ask: Ask<'_>,
    ) -> Result<Outcome, Error> {
        let Ask { machine, operation, .. } = ask;
        let (host, begun) = (&machine.identity, Try::of(operation));
        for _ in 0..ROUNDS {
            ask.tried = self.tried().get(&node.uuid) == Some(&begun);
            let step = next(&node, &ask);
            if !fresh && (step.is_request() || matches!(step, Step::Failed { .. })) {
                // What is asked, and what people are told, is decided by what is so now.
                node = self.read(host, &node.uuid).await?.ok_or(Error::NotRegistered)?;
                fresh = true;
                continue;
            }
            let uuid = node.uuid.as_str();
            match step {
                Step::Done => {
                    self.ended(uuid, begun);
                    return self.learnt(&node, operation).await;
                }
                Step::Wait => return Ok(Outcome::Moving { poll: POLL }),
                Step::Stuck { reason } => return Err(Error::Unexpected(reason)),
                Step::Failed { what, reason } => {
                    let reason = match reason {
                        Some(reason) => reason,
                        None => self.reason(&node).await,
                    };
                    self.ended(uuid, begun);
                    let message = redact(&format!("{what}: {reason}"), &secrets(machine));
                    return Ok(Outcome::Failed { message });
                }
                Step::Provision(verb) => {
                    tracing::info!(host = %shown(host), node = uuid, verb = verb.target(), state = %node.provision_state, "asking Ironic");
                    let asked = self.client.provision(uuid, &verb).await;
                    self.snapshot.outdate(uuid);
                    if verb != Verb::Abort && asked.is_ok() {
                        self.tried().insert(uuid.to_owned(), begun);
                    }
                    return moving(asked);
                }
                Step::Power(target) => {
                    tracing::info!(host = %shown(host), node = uuid, %target, "asking Ironic");
                    let asked = self.switch(uuid, target).await;
                    self.snapshot.outdate(uuid);
                    if asked.is_ok() {
                        self.tried().insert(uuid.to_owned(), begun);
                    }
                    return moving(asked);
                }
                Step::Delete => {
                    if let Err(error) = self.client.delete_node(uuid).await {
                        self.snapshot.outdate(uuid);
                        return moving(Err(error));
                    }
                    tracing::info!(host = %shown(host), node = uuid, "deleted the node");
                    self.tried().remove(uuid);
                    self.snapshot.forget(uuid);
                    return Ok(Outcome::Done(Learnt::default()));
                }
                Step::Patch(patch) => {
                    tracing::info!(host = %shown(host), node = uuid, ?patch, "changing the node");
                    let reset = driver::resets_interfaces(&patch);
                    let (read, changed) =
                        (Instant::now(), self.client.change(uuid, &patch, reset).await);
                    match changed {
                        Ok(changed) => node = Arc::new(changed),
                        Err(error) => {
                            self.snapshot.outdate(uuid);
                            return moving(Err(error));
                        }
                    }
                    self.snapshot.keep(host, &node, read);
                    ask.credentials_written = true;
                }
                Step::Raid(target) => {
                    let asked = self.client.set_raid(uuid, &target).await;
                    node = self.read_after(asked, host, uuid).await?;
                }
                Step::SetMaintenance => {
                    let asked = self.client.set_maintenance(uuid, MAINTENANCE).await;
                    node = self.read_after(asked, host, uuid).await?;
                }
                Step::ClearMaintenance => {
                    let asked = self.client.clear_maintenance(uuid).await;
                    node = self.read_after(asked, host, uuid).await?;
                }
            }
        }
        Err(Error::Unexpected(format!("the node stays {} whatever is asked", node.provision_state)))
    }

    /// Some BMCs cannot ask a system to shut down; then it is cut off.
    async fn switch(&self, uuid: &str, target: PowerTarget) -> Result<(), error::Error> {
        let hard = match target {
            PowerTarget::SoftOff => PowerTarget::Off,
            PowerTarget::SoftReboot => PowerTarget::Reboot,
            PowerTarget::On | PowerTarget::Off | PowerTarget::Reboot => {
                return self.client.power(uuid, target).await;
            }
        };
        match self.client.power(uuid, target).await {
            Err(error) if error.kind() == Some(Kind::Invalid) => {
                self.client.power(uuid, hard).await
            }
            asked => asked,
        }
    }

    pub(super) async fn learnt(
        &self,
        node: &Node,
        operation: &Operation,
    ) -> Result<Outcome, Error> {
        let mut learnt = Learnt {
            provisioning_id: Some(node.uuid.clone()),
            powered_on: node.power_state.and_then(|state| match state {
                PowerState::On => Some(true),
                PowerState::Off => Some(false),
                PowerState::Unclear => None,
            }),
            health: node.health.as_deref().and_then(health),
            hardware: None,
        };
        if matches!(operation, Operation::Inspect { .. } | Operation::Import) {
            let inventory = self.client.inventory(&node.uuid).await?;
            learnt.hardware = inventory.map(|found| Box::new(found.details()));
            if learnt.hardware.is_none() && matches!(operation, Operation::Import) {
                return Ok(Outcome::Moving { poll: POLL });
            }
        }
        Ok(Outcome::Done(learnt))
    }

    async fn reason(&self, node: &Node) -> String {
        if let Some(complaint) = node.complaint() {
            return complaint.to_owned();
        }
        let failure = self.client.last_failure(&node.uuid).await.ok().flatten();
        failure.unwrap_or_else(|| "Ironic gives no reason".to_owned())
    }

    /// A node as it is after a request that ends at once.
    async fn read_after(
        &self,
        asked: Result<(), error::Error>,
        host: &Identity,
        uuid: &str,
    ) -> Result<Arc<Node>, Error> {
        self.snapshot.outdate(uuid);
        asked?;
        self.read(host, uuid).await?.ok_or(Error::NotRegistered)
    }

    /// A node that was not there when all were read. It may have been made since; and one that Ironic has discovered has no name yet, so that who asks for
    /// the name alone would take it for gone, and leave it behind.
    async fn look_up(&self, machine: &Machine, name: &str) -> Result<Option<Arc<Node>>, Error> {
        let host = &machine.identity;
        if let Some(id) = &machine.provisioning_id
            && let Some(node) = self.read(host, id).await?
        {
            return Ok(Some(node));
        }
        self.read(host, name).await
    }

    async fn read(&self, host: &Identity, node: &str) -> Result<Option<Arc<Node>>, Error> {
        let read = Instant::now();
        let node = self.client.node(node).await?.map(Arc::new);
        if let Some(node) = &node {
            self.snapshot.keep(host, node, read);
        }
        Ok(node)
    }

    fn ended(&self, uuid: &str, begun: Try) {
        let mut tried = self.tried();
        if tried.get(uuid).is_some_and(|it| it.operation == begun.operation) {
            tried.remove(uuid);
        }
    }

    fn tried(&self) -> MutexGuard<'_, HashMap<String, Try>> {
        self.tried.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Provisioner for Ironic {
    fn perform<'a>(
        &'a self,
        machine: &'a Machine,
        operation: &'a Operation,
    ) -> BoxFuture<'a, Result<Outcome, Error>> {
        on_behalf::host(&machine.identity.uid, self.go(machine, operation)).boxed()
    }

    fn changes(&self) -> BoxStream<'static, Identity> {
        self.snapshot.changes()
    }
}
