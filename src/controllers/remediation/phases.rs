//! An attempt: off, fenced, on, and back or not.

use jiff::SignedDuration;

use super::{
    conditions::Why,
    decide::{held, later, power, start},
    draft::{Draft, Failure, Parties},
    events::Reason,
    health::{Health, SETTLING, health, settles},
    observed::Workload,
    plan::{Action, Then},
};
use crate::{
    api::hosthistory::RemediationOutcome as Outcome,
    domain::remediation::{Phase, Strategy},
};

/// How long an attempt waits for a cluster that cannot be reached before it goes on without it. It may be the host that is off that
/// the cluster is missing.
pub const UNREACHABLE: SignedDuration = SignedDuration::from_mins(2);

/// The host is switched off, and its Node fenced.
pub(super) fn running(
    draft: &mut Draft<'_>,
    strategy: &Strategy,
    who: Parties<'_>,
) -> Result<Then, Then> {
    draft.record(who.host, None, None);
    if who.host.is_held && !who.host.is_on {
        fence(draft, strategy, who)?;
        draft.enter(Phase::Waiting);
        let message = waiting_words(strategy, who);
        draft.show(true, Why::WaitingForNode, message.clone());
        draft.tell(Reason::HostPoweredOff, message);
        return Ok(Then::Again);
    }
    // It is on, or not yet ours to switch.
    let state = health(draft.seen, who.machine);
    if state == Health::Healthy {
        draft.enter(Phase::Waiting);
        draft.show(
            true,
            Why::WaitingForNode,
            "The Machine is healthy: its host is not switched off",
        );
        return Ok(Then::Again);
    }
    let deadline = draft.deadline(strategy.timeout());
    let is_over = draft.seen.now >= deadline;
    if let Some(failure) = obstacle(who, state) {
        if is_over {
            return Err(draft.fail(failure));
        }
        draft.show(false, failure.reason, failure.message);
        return Err(draft.until(deadline));
    }
    if is_given_up(draft, strategy, who) {
        return Ok(next(draft, strategy, who, not_switched_off(who)));
    }
    if who.host.is_held {
        if !is_over {
            return Ok(draft.until(deadline));
        }
        return Ok(next(draft, strategy, who, not_switched_off(who)));
    }
    power(draft, who)?;
    if is_over {
        let message = format!(
            "BareMetalHost {} could not be asked to go off in time, or somebody takes the annotation away that asks for it",
            who.host.name
        );
        return Err(draft.fail(Failure::new(Why::NotBegun, message)));
    }
    if let Some(until) = settles(draft.seen).filter(|until| *until < deadline) {
        return Ok(draft.until(until));
    }
    Ok(Action::SwitchOff.into())
}

fn not_switched_off(who: Parties<'_>) -> String {
    let error = who.host.error.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
    format!("BareMetalHost {} was not switched off in time{error}", who.host.name)
}

fn waiting_words(strategy: &Strategy, who: Parties<'_>) -> String {
    format!(
        "BareMetalHost {} was off and is switched on; its Node has {} s to become healthy",
        who.host.name,
        strategy.timeout().as_secs()
    )
}

/// Keeps the workload of a host that is off from waiting for it: its pods are deleted and their volumes detached, or its Node is deleted.
/// That is for the workload's sake; a host that is off runs nothing twice. So it is given up when it takes too long.
fn fence(draft: &mut Draft<'_>, strategy: &Strategy, who: Parties<'_>) -> Result<(), Then> {
    let Some(name) = &who.machine.node else { return Ok(()) };
    let deadline = draft.deadline(strategy.timeout());
    let node = match &draft.seen.workload {
        Workload::Unreachable { why } => {
            let until = draft.deadline(strategy.timeout().min(UNREACHABLE));
            let message = format!("The cluster of Node {name} cannot be reached: {why}");
            if draft.seen.now < until {
                draft.show(true, Why::Fencing, message);
                return Err(draft.until(until));
            }
            let note = format!("{message}. Its workload moves when that cluster notices by itself");
            draft.tell(Reason::NodeNotFenced, note);
            return Ok(());
        }
        Workload::Reachable { node: None, .. } => return Ok(()),
        Workload::Reachable { node: Some(node), knows_out_of_service: false } => {
            if draft.seen.remediation.backup.is_none() {
                return Err(Action::BackUp(node.kept.clone()).into());
            }
            draft.show(true, Why::Fencing, format!("Node {name} is deleted"));
            return Err(Action::DeleteNode(node.uid.clone()).into());
        }
        Workload::Reachable { node: Some(node), knows_out_of_service: true } => node,
    };
    if !node.is_tainted {
        return Err(Action::Taint.into());
    }
    if node.pods_left == 0 && node.volumes_left == 0 {
        let news = format!("The host of Node {name} is off, and its workload can run elsewhere");
        draft.tell(Reason::NodeFenced, news);
        return Ok(());
    }
    let left = format!(
        "Node {name} has {} pods that are being deleted and {} volumes attached",
        node.pods_left, node.volumes_left
    );
    if draft.seen.now < deadline {
        draft.show(true, Why::Fencing, left);
        return Err(draft.until(deadline));
    }
    draft.tell(Reason::NodeNotFenced, format!("{left}, and it was waited long enough for them"));
    Ok(())
}

/// The host is switched on, and its Node has until the timeout to become healthy.
pub(super) fn waiting(
    draft: &mut Draft<'_>,
    strategy: &Strategy,
    who: Parties<'_>,
) -> Result<Then, Then> {
    draft.record(who.host, None, None);
    if who.host.is_held {
        return Err(Action::SwitchOn.into());
    }
    if who.machine.is_remediation_asked {
        return Err(Action::AnswerRequest.into());
    }
    restore(draft, who)?;
    let state = health(draft.seen, who.machine);
    if state == Health::Healthy {
        draft.record(who.host, Some(Outcome::Recovered), None);
        if draft.show(false, Why::Recovered, "The Machine is healthy") {
            draft.tell(Reason::RemediationSucceeded, "The Machine is healthy");
        }
        return Ok(Action::Delete.into());
    }
    let why = format!(
        "Machine {} did not become healthy within {} s",
        draft.seen.remediation.name,
        strategy.timeout().as_secs()
    );
    if is_given_up(draft, strategy, who) && obstacle(who, state).is_none() {
        return Ok(next(draft, strategy, who, why));
    }
    power(draft, who)?;
    let deadline = draft.deadline(strategy.timeout());
    if draft.seen.now < deadline {
        return Ok(draft.until(deadline));
    }
    let grace = later(deadline, SETTLING);
    if let Some(until) = settles(draft.seen).map(|until| until.min(grace))
        && draft.seen.now < until
    {
        return Ok(draft.until(until));
    }
    let Some(failure) = obstacle(who, state) else {
        return Ok(next(draft, strategy, who, why));
    };
    // Whoever stands in the way has as long again.
    let last = later(deadline, strategy.timeout());
    if draft.seen.now >= last {
        return Err(draft.fail(failure));
    }
    draft.show(false, failure.reason, failure.message);
    Ok(draft.until(last))
}

/// What stands in the way of switching a host off that is to be switched off.
fn obstacle(who: Parties<'_>, state: Health) -> Option<Failure> {
    match (&who.host.hold, state) {
        (Some(hold), _) => Some(held(hold, &who.host.name)),
        (None, Health::Unknown) => Some(Failure::new(
            Why::HealthUnknown,
            "No MachineHealthCheck says whether the Machine is healthy, and its cluster cannot be reached, so that its host is not switched off",
        )),
        (None, Health::Unhealthy | Health::Healthy) => None,
    }
}

/// Gives the Node back what fencing took, as soon as its host is on.
pub(super) fn restore(draft: &Draft<'_>, who: Parties<'_>) -> Result<(), Then> {
    let Workload::Reachable { node: Some(node), .. } = &draft.seen.workload else { return Ok(()) };
    if who.host.is_on && node.is_tainted {
        return Err(Action::Untaint.into());
    }
    match &draft.seen.remediation.backup {
        Some(backup) if who.host.is_on => Err(Action::Restore(backup.clone()).into()),
        Some(_) | None => Ok(()),
    }
}

/// Whether it is us who took the host out of use, and were interrupted.
fn is_given_up(draft: &Draft<'_>, strategy: &Strategy, who: Parties<'_>) -> bool {
    draft.seen.remediation.attempt() >= strategy.retry_limit()
        && who.host.unhealthy.is_some()
        && !who.host.is_online
}

/// An attempt did not help: another one, or the machine is given up.
fn next(draft: &mut Draft<'_>, strategy: &Strategy, who: Parties<'_>, why: String) -> Then {
    let attempt = draft.seen.remediation.attempt();
    if attempt < strategy.retry_limit() {
        draft.record(who.host, Some(Outcome::TimedOut), Some(why.clone()));
        draft.tell(Reason::RemediationTimedOut, why);
        return start(draft, who, strategy, attempt + 1);
    }
    if who.host.unhealthy.is_none() || who.host.is_online || who.host.is_held {
        return Action::GiveUpHost.into();
    }
    let message = format!(
        "{why}, after {attempt} of {} attempts. Its owner is asked to replace it, and BareMetalHost {} is out of use until somebody runs `ironward uncordon`",
        strategy.retry_limit(),
        who.host.name
    );
    draft.record(who.host, Some(Outcome::Replaced), Some(why));
    draft.enter(Phase::DeletingMachine);
    draft.show(false, Why::MachineGivenUp, message.clone());
    draft.tell(Reason::MachineGivenUp, message);
    Then::Again
}
