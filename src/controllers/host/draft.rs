//! `Draft`: a plan while it is made. It begins as what is stored; what differs in the end is what is written.

use std::{collections::BTreeSet, mem::discriminant, time::Duration};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{
    annotations::Annotations,
    conditions,
    events::{Event, Reason},
    failure,
    observed::Observed,
    plan::{Plan, Then},
    provisioner::{Error, Health, Learnt, Operation, Outcome},
    secrets::BmcSecret,
    slots::Work,
};
use crate::{
    api::{
        baremetalhost::{
            BareMetalHostStatus, CredentialsStatus, OperationHistory, OperationMetric,
        },
        hardware::HardwareDetails,
        references::SecretReference,
    },
    controllers::events::Reason as _,
    domain::{
        host_status::{ErrorType, OperationalStatus},
        mac::Mac,
        provisioning_state::ProvisioningState as State,
    },
};

/// How soon a host that waits for a slot looks again. It is woken when it is its turn.
const DELAYED: Duration = Duration::from_secs(30);

pub(super) struct Draft<'a> {
    pub seen: &'a Observed,
    pub status: BareMetalHostStatus,
    /// The state that the draft leads to, in the type that has a table.
    pub state: State,
    pub annotations: Annotations,
    pub hardware_data: Option<Box<HardwareDetails>>,
    pub architecture: Option<String>,
    pub forget: BTreeSet<Mac>,
    pub events: Vec<Event>,
    health: Option<Health>,
}

impl<'a> Draft<'a> {
    pub fn new(seen: &'a Observed, state: State) -> Self {
        Self {
            status: seen.host.status.clone().unwrap_or_default(),
            state,
            annotations: seen.host.metadata.annotations.clone().unwrap_or_default(),
            hardware_data: None,
            architecture: None,
            forget: BTreeSet::new(),
            events: Vec::new(),
            health: None,
            seen,
        }
    }

    pub fn finish(mut self, then: Then) -> Plan {
        let stored = self.seen.host.status.clone().unwrap_or_default();
        let is_touched = self.status != stored;
        // A host that is left alone is left alone altogether, and one that is not guarded yet is looked at again at once.
        let is_left = matches!(then, Then::Await | Then::After(_) | Then::Guard);
        if is_touched || !is_left || self.health.is_some() {
            let generation = self.seen.host.metadata.generation;
            let now = self.now();
            conditions::set(&mut self.status, self.health, generation, now);
        }
        let differs = self.status != stored;
        if differs {
            self.status.last_updated = Some(Time(self.now()));
        }
        let before = self.seen.host.metadata.annotations.iter().flatten();
        let removed = before.filter(|(key, _)| !self.annotations.contains_key(*key));
        Plan {
            hardware_data: self.hardware_data,
            status: differs.then(|| Box::new(self.status)),
            architecture: self.architecture,
            forget: self.forget,
            remove_annotations: removed.map(|(key, _)| key.clone()).collect(),
            events: self.events,
            then,
        }
    }

    /// In the seconds that are stored.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_second(self.seen.now.as_second()).unwrap_or(self.seen.now)
    }

    pub fn tell(&mut self, reason: Reason, note: impl Into<String>) {
        let note = note.into();
        debug_assert!(reason.says(&note), "{reason}: not listed: {note}");
        self.events.push(Event { reason, note });
    }

    /// Goes to another state: what was done is over, and what begins has its time.
    pub fn enter(&mut self, to: State) {
        let now = Some(Time(self.now()));
        let from = self.state;
        if let Some(metric) = self.metric(from)
            && metric.start.is_some()
        {
            metric.end.clone_from(&now);
        }
        self.state = to;
        self.status.provisioning.state = to.to_string();
        if let Some(metric) = self.metric(to) {
            *metric = OperationMetric { start: now, end: None };
        }
        self.status.error_count = 0;
        self.clear_error();
        self.status.operational_status = match (to, Work::of(to)) {
            (State::Unmanaged, _) => OperationalStatus::Discovered,
            (_, Some(work)) if !self.seen.room.contains(&work) => OperationalStatus::Delayed,
            _ => OperationalStatus::Ok,
        };
    }

    fn metric(&mut self, of: State) -> Option<&mut OperationMetric> {
        let select: fn(&mut OperationHistory) -> &mut Option<OperationMetric> = match of {
            State::Registering => |history| &mut history.register,
            State::Inspecting => |history| &mut history.inspect,
            State::Provisioning => |history| &mut history.provision,
            State::Deprovisioning => |history| &mut history.deprovision,
            State::None
            | State::Unmanaged
            | State::Importing
            | State::MatchProfile
            | State::Preparing
            | State::Ready
            | State::Available
            | State::Provisioned
            | State::ExternallyProvisioned
            | State::PoweringOffBeforeDelete
            | State::Deleting => return None,
        };
        let history = self.status.operation_history.get_or_insert_default();
        Some(select(history).get_or_insert_default())
    }

    /// The machine has failed: shown, and counted.
    pub fn fail(&mut self, error: ErrorType, message: &str) -> Then {
        self.status.error_count += 1;
        self.show(error, message);
        self.tell(failure::reason(error), message);
        Then::After(failure::backoff(self.uid(), self.status.error_count))
    }

    /// Shown, not counted: it is not the machine that stands in the way.
    pub fn show(&mut self, error: ErrorType, message: &str) {
        self.status.operational_status = OperationalStatus::Error;
        self.status.error_type = Some(error);
        message.clone_into(&mut self.status.error_message);
    }

    /// Whether exactly this is shown already.
    pub fn shows(&self, error: ErrorType, message: &str) -> bool {
        self.status.error_type == Some(error) && self.status.error_message == message
    }

    fn clear_error(&mut self) {
        self.status.error_type = None;
        self.status.error_message.clear();
        if self.status.operational_status == OperationalStatus::Error {
            self.status.operational_status = OperationalStatus::Ok;
        }
    }

    /// What failed works again.
    pub fn recover(&mut self, errors: &[ErrorType]) {
        if self.status.error_type.is_some_and(|it| errors.contains(&it)) {
            self.clear_error();
            self.status.error_count = 0;
        }
    }

    /// All that is done in a state in which a host can stay was done: whatever was wrong is not any more.
    pub fn be_well(&mut self) {
        self.clear_error();
        self.status.error_count = 0;
        self.status.operational_status = OperationalStatus::Ok;
    }

    /// Whether the last try of what is done in this state failed.
    pub fn has_failed(&self, error: ErrorType) -> bool {
        self.status.error_type == Some(error)
    }

    /// Whether an operation was called in this pass, and has at least begun.
    pub fn has_begun(&self, operation: &Operation) -> bool {
        matches!(self.answer(operation), Some(Ok(Outcome::Moving { .. } | Outcome::Done(_))))
    }

    /// What an operation came to in this pass; what it was told in detail does not matter.
    fn answer(&self, operation: &Operation) -> Option<&'a Result<Outcome, Error>> {
        let is_same = |it: &&(Operation, _)| discriminant(&it.0) == discriminant(operation);
        self.seen.done.iter().rev().find(is_same).map(|(_, answer)| answer)
    }

    /// Has an operation done: what was learnt when it is, and otherwise what there is to do until then.
    pub fn perform(&mut self, operation: Operation, error: ErrorType) -> Result<Learnt, Then> {
        match self.answer(&operation) {
            None => Err(self.call(operation, error)),
            Some(Ok(Outcome::Done(learnt))) => {
                self.learn(learnt);
                Ok(learnt.clone())
            }
            Some(Ok(Outcome::Moving { poll })) => {
                // It is tried again: what was said of the last time no longer holds. How often it failed does.
                if self.has_failed(error) {
                    self.clear_error();
                }
                Err(Then::After(*poll))
            }
            Some(Ok(Outcome::Failed { message })) => Err(self.fail(error, message)),
            Some(Err(trouble)) => Err(Then::After(trouble.retry_after())),
        }
    }

    fn call(&mut self, operation: Operation, error: ErrorType) -> Then {
        if self.has_failed(error)
            && let Some(left) = self.held_back()
        {
            return Then::After(left);
        }
        let needs_slot = matches!(
            operation,
            Operation::Inspect { .. } | Operation::Provision(_) | Operation::Deprovision { .. }
        );
        let has_slot = self.status.operational_status == OperationalStatus::Ok;
        if let Some(work) = Work::of(self.state).filter(|_| needs_slot && !has_slot) {
            self.clear_error();
            if !self.seen.room.contains(&work) {
                self.status.operational_status = OperationalStatus::Delayed;
                return Then::After(DELAYED);
            }
            self.status.operational_status = OperationalStatus::Ok;
        }
        Then::Call(operation)
    }

    /// How long what failed is not tried again, unless something was changed that may make it work.
    pub fn held_back(&self) -> Option<Duration> {
        let generation = conditions::observed_generation(&self.status);
        let is_changed =
            generation.is_some_and(|it| Some(it) != self.seen.host.metadata.generation);
        let credentials = self.credentials();
        let is_tried = credentials.is_none() || self.status.tried_credentials == credentials;
        if is_changed || !is_tried {
            return None;
        }
        failure::held_back(self.uid(), &self.status, self.seen.now)
    }

    fn learn(&mut self, learnt: &Learnt) {
        if let Some(id) = &learnt.provisioning_id {
            self.status.provisioning.id.clone_from(id);
        }
        if let Some(is_on) = learnt.powered_on {
            self.status.powered_on = is_on;
        }
        if let Some(hardware) = &learnt.hardware {
            self.status.hardware = Some((**hardware).clone());
            self.hardware_data = Some(hardware.clone());
        }
        self.health = learnt.health.or(self.health);
    }

    /// The Secret that was found, as the status tells of it.
    pub fn credentials(&self) -> Option<CredentialsStatus> {
        let version = match &self.seen.secret {
            BmcSecret::Good { version, .. } => version.clone(),
            BmcSecret::Unnamed | BmcSecret::Missing | BmcSecret::Malformed { .. } => return None,
        };
        let name = self.seen.host.spec.bmc.as_ref().map(|bmc| bmc.credentials_name.clone());
        let namespace = self.seen.host.metadata.namespace.clone();
        let credentials = Some(SecretReference { name, namespace });
        Some(CredentialsStatus { credentials, credentials_version: Some(version) })
    }

    pub fn uid(&self) -> &'a str {
        self.seen.host.metadata.uid.as_deref().unwrap_or_default()
    }
}
