//! What is to be done about a host: a total function of what is known of it.
//!
//! A pass goes through gates in Metal3's order: paused, restored, guarded by a finalizer, being deleted, detached, registered; and then does
//! what its state is for ([`states`](super::states)). Every gate either lets it through or says what there is to do instead.

use std::time::Duration;

use super::{
    annotations::{self, HARDWARE_DETAILS, Inspect, PAUSED, STATUS},
    draft::Draft,
    events::Reason,
    observed::{self, Observed},
    plan::{FINALIZER, Plan, Then},
    registration, states,
};
use crate::{
    api::{
        BareMetalHost,
        baremetalhost::{BareMetalHostStatus, InspectionMode},
        hardware::HardwareDetails,
    },
    domain::{
        host_status::{ErrorType, OperationalStatus},
        provisioning_state::ProvisioningState as State,
    },
};

/// How often a host with which nothing is to be done is looked at, unless something wakes it before.
pub(super) const IDLE: Duration = Duration::from_mins(10);
/// How soon one is looked at that cannot go on until somebody corrects something that we are not told of.
pub(super) const CORRECTION: Duration = Duration::from_secs(30);

/// Decides what is to be done next about a host.
#[must_use]
pub fn decide(seen: &Observed) -> Plan {
    // A word of another version: whoever wrote it knows what it means.
    let state = seen.host.status.as_ref().map_or(Some(State::None), observed::state);
    let mut draft = Draft::new(seen, state.unwrap_or_default());
    let then = match state {
        None => Then::After(IDLE),
        Some(_) => gates(&mut draft).unwrap_or_else(|then| then),
    };
    draft.finish(then)
}

/// Either end is what to do then; the error is the short way out.
fn gates(draft: &mut Draft<'_>) -> Result<Then, Then> {
    let seen = draft.seen;
    let is_guarded = seen.host.metadata.finalizers.iter().flatten().any(|it| it == FINALIZER);
    if draft.annotations.contains_key(PAUSED) || (seen.is_being_deleted() && !is_guarded) {
        return Err(Then::Await);
    }
    restore(draft)?;
    if !is_guarded {
        return Err(Then::Guard);
    }
    hardware_details(draft);
    architecture(draft);
    if seen.is_being_deleted() {
        begin_deletion(draft)?;
    }
    detach(draft)?;
    if seen.duplicate_of.is_some() && draft.status.provisioning.id.is_empty() && is_new(draft.state)
    {
        // The condition `Unique` says why.
        return Err(Then::After(CORRECTION));
    }
    registration::ensure(draft)?;
    states::go_on(draft)
}

/// Whether nothing was given to the provisioner yet.
fn is_new(state: State) -> bool {
    matches!(state, State::None | State::Unmanaged | State::Importing | State::Registering)
}

/// A host that came from another cluster brings its status in an annotation. Without it, it would be taken for a new one, inspected and
/// cleaned; so one that cannot be read stops all.
fn restore(draft: &mut Draft<'_>) -> Result<(), Then> {
    let Some(text) = draft.annotations.get(STATUS).cloned() else { return Ok(()) };
    if draft.status.last_updated.is_some() {
        draft.annotations.remove(STATUS);
        return Err(Then::Again);
    }
    match serde_json::from_str::<BareMetalHostStatus>(&text) {
        Ok(status) if observed::state(&status).is_some() => {
            let conditions = draft.status.conditions.take();
            draft.status = status;
            // A place among the busy is asked for here, wherever it had one.
            if observed::holds_slot(&draft.status) {
                draft.status.operational_status = OperationalStatus::Delayed;
            }
            draft.status.conditions = draft.status.conditions.take().or(conditions);
            draft.annotations.remove(STATUS);
            draft.tell(Reason::StatusRestored, "The status was taken from the annotation");
            Err(Then::Again)
        }
        Ok(_) | Err(_) => {
            draft.tell(
                Reason::InvalidAnnotationValue,
                format!("{STATUS} is not the status of a host: correct or remove it; nothing is done until then"),
            );
            Err(Then::After(IDLE))
        }
    }
}

/// What people or HardwareData say of its parts. While it is inspected we find out for ourselves.
fn hardware_details(draft: &mut Draft<'_>) {
    if draft.state != State::Inspecting && draft.status.hardware.is_none() {
        draft.status.hardware.clone_from(&draft.seen.hardware_data);
    }
    let Some(text) = draft.annotations.remove(HARDWARE_DETAILS) else { return };
    let is_wanted = draft.status.hardware.is_none() || is_inspection_disabled(&draft.seen.host);
    match serde_json::from_str::<HardwareDetails>(&text) {
        Ok(details) if is_wanted => {
            draft.hardware_data = Some(Box::new(details.clone()));
            draft.status.hardware = Some(details);
            draft.tell(
                Reason::UpdateHardwareDetails,
                "The hardware details were taken from the annotation",
            );
        }
        Ok(_) => {
            draft.tell(
                Reason::RemoveAnnotation,
                "The hardware details of the annotation are not needed: they are known",
            );
        }
        Err(error) => {
            draft.tell(
                Reason::InvalidAnnotationValue,
                format!("{HARDWARE_DETAILS} was removed: {error}"),
            );
        }
    }
}

/// What people left open is filled in by inspection, as in Metal3.
fn architecture(draft: &mut Draft<'_>) {
    let said = draft.seen.host.spec.architecture.as_deref().filter(|it| !it.is_empty());
    if said.is_none() && !draft.seen.is_being_deleted() {
        let cpu = draft.status.hardware.as_ref().and_then(|details| details.cpu.as_ref());
        draft.architecture = cpu.and_then(|cpu| cpu.arch.clone()).filter(|it| !it.is_empty());
    }
}

/// Whether nobody is to look at its parts.
pub(super) fn is_inspection_disabled(host: &BareMetalHost) -> bool {
    let is_said = host.metadata.annotations.as_ref().map(annotations::inspect);
    host.spec.inspection_mode == Some(InspectionMode::Disabled)
        || is_said == Some(Inspect::Disabled)
}

fn begin_deletion(draft: &mut Draft<'_>) -> Result<(), Then> {
    let detach = annotations::detach(&draft.annotations);
    let to = match (draft.state, detach) {
        (State::Deleting, _) | (State::Deprovisioning | State::PoweringOffBeforeDelete, None) => {
            return Ok(());
        }
        // It waits as it is, until the annotation is gone.
        (_, Some(detach)) if detach.delays_deletion => return Ok(()),
        (_, Some(_)) => State::Deleting,
        (State::None | State::Unmanaged | State::Importing | State::Registering, None) => {
            State::Deleting
        }
        (State::Provisioning | State::Provisioned, None) => State::Deprovisioning,
        (
            State::MatchProfile
            | State::Inspecting
            | State::Preparing
            | State::Ready
            | State::Available
            | State::ExternallyProvisioned,
            None,
        ) => State::PoweringOffBeforeDelete,
    };
    draft.tell(Reason::DeletionStarted, format!("The host is deleted; the first step is {to}"));
    draft.enter(to);
    Err(Then::Again)
}

fn detach(draft: &mut Draft<'_>) -> Result<(), Then> {
    let is_detached = draft.status.operational_status == OperationalStatus::Detached;
    let wish = annotations::detach(&draft.annotations).filter(|wish| match draft.state {
        State::Provisioned | State::ExternallyProvisioned | State::Ready | State::Available => true,
        State::None | State::Unmanaged | State::Deleting => false,
        State::Importing
        | State::Registering
        | State::MatchProfile
        | State::Inspecting
        | State::Preparing
        | State::Provisioning
        | State::Deprovisioning
        | State::PoweringOffBeforeDelete => wish.force || is_detached,
    });
    match (wish, is_detached) {
        (Some(_), true) => Err(Then::After(IDLE)),
        (Some(wish), false) => {
            let operation = super::provisioner::Operation::Detach { force: wish.force };
            draft.perform(operation, ErrorType::Detach)?;
            draft.recover(&[ErrorType::Detach]);
            draft.status.provisioning.id.clear();
            draft.status.operational_status = OperationalStatus::Detached;
            draft.tell(Reason::Detached, "The host was taken out of the provisioner");
            Err(Then::After(IDLE))
        }
        (None, true) => {
            draft.status.operational_status = match draft.status.error_type {
                Some(_) => OperationalStatus::Error,
                // A slot is asked for anew.
                None if draft.state.is_busy() => OperationalStatus::Delayed,
                None => OperationalStatus::Ok,
            };
            Err(Then::Again)
        }
        (None, false) => {
            draft.recover(&[ErrorType::Detach]);
            Ok(())
        }
    }
}
