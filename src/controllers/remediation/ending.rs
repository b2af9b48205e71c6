//! After the attempts: the owner of the Machine is asked, what was taken is given back, and the remediation is let go.

use jiff::{SignedDuration, Timestamp};

use super::{
    conditions::Why,
    decide::later,
    draft::{Draft, Parties},
    events::Reason,
    health::{Health, health},
    observed::{Observed, Workload},
    phases::restore,
    plan::{Action, Then},
};
use crate::{api::hosthistory::RemediationOutcome as Outcome, domain::remediation::Phase};

/// How long a remediation that is deleted waits for news of its Machine's health. MachineHealthCheck deletes it first and writes its
/// verdict then.
const BRIEFLY: SignedDuration = SignedDuration::from_secs(10);

/// The machine is given up: its owner is to know. Whatever that does is its own affair.
pub(super) fn hand_over(draft: &Draft<'_>) -> Then {
    let seen = draft.seen;
    if let Ok(host) = &seen.host
        && host.is_held
    {
        // It stays off: it is not to be online.
        return Action::SwitchOn.into();
    }
    match &seen.machine {
        Some(machine)
            if !machine.is_being_deleted
                && !machine.is_owner_asked
                && machine.verdict.as_ref().is_none_or(|verdict| !verdict.is_healthy) =>
        {
            Action::AskOwner.into()
        }
        Some(_) => Then::Await,
        // Who owned nothing is not collected with it.
        None => Action::Delete.into(),
    }
}

/// Nothing more is done, but nothing of ours is left behind either.
pub(super) fn leave(draft: &Draft<'_>) -> Then {
    match returned(draft) {
        Err(then) => then,
        Ok(()) => Then::Await,
    }
}

/// What we took is given back as far as that can be done now.
fn returned(draft: &Draft<'_>) -> Result<(), Then> {
    let seen = draft.seen;
    let Ok(host) = &seen.host else { return Ok(()) };
    if host.is_held {
        return Err(Action::SwitchOn.into());
    }
    match &seen.machine {
        Some(machine) if host.is_ours && !machine.is_being_deleted => {
            restore(draft, Parties { machine, host })
        }
        Some(_) | None => Ok(()),
    }
}

/// Somebody deletes the remediation: because the machine is healthy, or gone, or because it is called off.
pub(super) fn clean_up(draft: &mut Draft<'_>) -> Result<Then, Then> {
    let seen = draft.seen;
    let remediation = &seen.remediation;
    if !remediation.is_guarded {
        return Ok(Then::Await);
    }
    if remediation.phase() == Some(Phase::DeletingMachine) {
        // The Node goes with the Machine.
        return match &seen.host {
            Ok(host) if host.is_held => Err(Action::SwitchOn.into()),
            Ok(_) | Err(_) => Ok(Action::Release.into()),
        };
    }
    returned(draft)?;
    let deleted = remediation.deleted.unwrap_or(remediation.created);
    if let Some(what) = left_to_restore(draft) {
        let deadline = later(deleted, remediation.timeout());
        if seen.now < deadline {
            draft.show(false, Why::Restoring, what);
            return Ok(draft.until(deadline));
        }
        draft.tell(Reason::NodeNotRestored, what);
    }
    record_end(draft, later(deleted, BRIEFLY))?;
    Ok(Action::Release.into())
}

/// What of the Node could not be given back yet, in words.
fn left_to_restore(draft: &Draft<'_>) -> Option<String> {
    let seen = draft.seen;
    let is_begun = matches!(seen.remediation.phase(), Some(Phase::Running | Phase::Waiting));
    let machine = seen.machine.as_ref().filter(|it| is_begun && !it.is_being_deleted)?;
    let host = seen.host.as_ref().ok().filter(|host| host.is_ours)?;
    let name = machine.node.as_ref()?;
    match &seen.workload {
        Workload::Unreachable { why } => Some(format!(
            "The cluster of Node {name} cannot be reached ({why}): it may still have the taint node.kubernetes.io/out-of-service, which is then to be removed by hand"
        )),
        Workload::Reachable { node: Some(node), .. } if node.is_tainted => Some(format!(
            "BareMetalHost {} does not go on: Node {name} still has the taint node.kubernetes.io/out-of-service, which is to be removed by hand when it does",
            host.name
        )),
        Workload::Reachable { .. } if seen.remediation.backup.is_some() => {
            Some(format!("Node {name} does not come back to be given its labels and annotations"))
        }
        Workload::Reachable { .. } => None,
    }
}

/// Whoever deletes it may know a moment before us that the Machine is healthy.
fn record_end(draft: &mut Draft<'_>, until: Timestamp) -> Result<(), Then> {
    let seen = draft.seen;
    let is_begun = matches!(seen.remediation.phase(), Some(Phase::Running | Phase::Waiting));
    let Some(host) = seen.host.as_ref().ok().filter(|_| is_begun) else { return Ok(()) };
    let machine = seen.machine.as_ref().filter(|machine| !machine.is_being_deleted);
    let is_well = |machine| health(seen, machine) == Health::Healthy || is_node_ready(seen);
    match machine {
        Some(machine) if is_well(machine) => {
            draft.record(host, Some(Outcome::Recovered), None);
            draft.tell(Reason::RemediationSucceeded, "The Machine is healthy");
        }
        Some(_) if seen.now < until => return Err(draft.until(until)),
        Some(_) | None => {
            let message = "It was called off";
            draft.record(host, Some(Outcome::Cancelled), Some(message.to_owned()));
            draft.tell(Reason::RemediationCancelled, message);
        }
    }
    Ok(())
}

fn is_node_ready(seen: &Observed) -> bool {
    matches!(&seen.workload, Workload::Reachable { node: Some(node), .. } if node.is_ready)
        && seen.remediation.phase() == Some(Phase::Waiting)
}
