//! What is to be done about a remediation: a total function of what is known of it and of all who take part.
//!
//! ```text
//!                    the host is switched off,       and on again; the Node
//!                    its workload let go             has until the timeout
//!   (created) ──────────▶ Running ──────────────────────▶ Waiting ────────▶ healthy: deleted
//!       │                  │   ▲                             │  │
//!       │                  │   └───── next attempt ──────────┘  │ retryLimit attempts did not help
//!       ▼                  ▼                                    ▼
//!     Failed: it cannot be tried, or need not be         Deleting machine: its owner replaces it
//! ```
//!
//! Each phase but the last two has a deadline, counted from `lastRemediated`, which is when the phase began. `retryCount` is written before the
//! host is switched off for that attempt, so it is never switched off more often than that.

use jiff::Timestamp;

use super::{
    conditions::Why,
    draft::{Draft, Failure, Parties},
    ending,
    events::Reason,
    health::{Health, SETTLING, health, settles},
    observed::{Hold, NoHost, Observed, Power},
    phases,
    plan::{Action, Plan, Then},
};
use crate::domain::remediation::{Phase, Strategy};

/// Decides what is to be done next about a remediation.
#[must_use]
pub fn decide(seen: &Observed) -> Plan {
    let mut draft = Draft::new(seen);
    let then = gates(&mut draft).unwrap_or_else(|then| then);
    draft.finish(then)
}

/// Either end is what to do then; the error is the short way out.
fn gates(draft: &mut Draft<'_>) -> Result<Then, Then> {
    let remediation = &draft.seen.remediation;
    if remediation.is_paused {
        return Err(Then::Await);
    }
    if remediation.deleted.is_some() {
        return ending::clean_up(draft);
    }
    match remediation.phase() {
        Some(Phase::DeletingMachine) => Ok(ending::hand_over(draft)),
        Some(Phase::Failed) => Ok(ending::leave(draft)),
        None => {
            let (strategy, parties) = parties(draft)?;
            begin(draft, &strategy, parties)
        }
        Some(Phase::Running) => {
            let (strategy, parties) = parties(draft)?;
            phases::running(draft, &strategy, parties)
        }
        Some(Phase::Waiting) => {
            let (strategy, parties) = parties(draft)?;
            phases::waiting(draft, &strategy, parties)
        }
    }
}

/// All who must be there for anything to be done.
fn parties<'a>(draft: &mut Draft<'a>) -> Result<(Strategy, Parties<'a>), Then> {
    let seen = draft.seen;
    let name = &seen.remediation.name;
    let failure = match (&seen.remediation.strategy, &seen.machine, &seen.host) {
        (Err(problems), _, _) => Failure::new(Why::InvalidStrategy, problems.clone()),
        (_, None, _) => Failure::cancelled(
            Why::NoMachine,
            format!(
                "There is no Machine {name}, or not the one that this was made for: a Metal3Remediation has the name of a Machine in its namespace"
            ),
        ),
        (_, Some(machine), _) if machine.is_being_deleted => Failure::cancelled(
            Why::MachineDeleted,
            format!("Machine {name} is being deleted: its host is left as it is"),
        ),
        (_, _, Err(why)) => Failure::new(Why::NoHost, no_host(*why, name)),
        (_, _, Ok(host)) if !host.is_ours || host.is_being_deleted => Failure::cancelled(
            Why::HostReleased,
            format!(
                "BareMetalHost {} is not used by Machine {name} any more, or is being deleted",
                host.name
            ),
        ),
        (Ok(strategy), Some(machine), Ok(host)) => {
            return Ok((*strategy, Parties { machine, host }));
        }
    };
    Err(draft.fail(failure))
}

fn no_host(why: NoHost, name: &str) -> String {
    let why = match why {
        NoHost::AnotherProvider => "its infrastructureRef names no Metal3Machine",
        NoHost::NoMetal3Machine => "there is no Metal3Machine of its",
        NoHost::Unchosen => {
            "its Metal3Machine has not taken one; see its condition AssociateBareMetalHost"
        }
        NoHost::Missing => "the one that its Metal3Machine took does not exist",
    };
    format!("Machine {name} has no BareMetalHost: {why}")
}

/// It has not begun.
fn begin(draft: &mut Draft<'_>, strategy: &Strategy, who: Parties<'_>) -> Result<Then, Then> {
    power(draft, who)?;
    certainly_unhealthy(draft, who, strategy)?;
    room(draft, who)?;
    if !draft.seen.remediation.is_guarded {
        return Err(Action::Guard.into());
    }
    Ok(start(draft, who, strategy, 1))
}

/// A host whose power nobody can switch, or that somebody wants off, is left alone.
pub(super) fn power(draft: &mut Draft<'_>, who: Parties<'_>) -> Result<(), Then> {
    let name = &who.host.name;
    let failure = match who.host.power {
        Power::NoBmc => Failure::new(
            Why::NoPowerControl,
            format!(
                "BareMetalHost {name} has no BMC, so that nobody can switch it off: add spec.bmc"
            ),
        ),
        Power::NeverOff => Failure::new(
            Why::NoPowerControl,
            format!("BareMetalHost {name} must never be off: it has disablePowerOff: true"),
        ),
        Power::Controlled if !who.host.is_online => Failure::new(
            Why::HostSwitchedOff,
            format!("Somebody wants BareMetalHost {name} to be off: it has online: false"),
        ),
        Power::Controlled => return Ok(()),
    };
    Err(draft.fail(failure))
}

/// Waits for whoever is to say so, for a bounded time.
fn certainly_unhealthy(
    draft: &mut Draft<'_>,
    who: Parties<'_>,
    strategy: &Strategy,
) -> Result<(), Then> {
    let created = draft.seen.remediation.created;
    let (patience, reason, message) = match health(draft.seen, who.machine) {
        Health::Unhealthy => match settles(draft.seen) {
            // Not for longer than a Node may take that is really lost.
            Some(until) if until < later(created, strategy.timeout()) => {
                draft.show(false, Why::NodeReady, "The Node became ready a moment ago: MachineHealthCheck is to say whether it is healthy");
                return Err(draft.until(until));
            }
            Some(_) | None => return Ok(()),
        },
        Health::Healthy => (
            SETTLING,
            Why::MachineHealthy,
            "The Machine is healthy, so that its host is not switched off; to have it done nevertheless, run `ironward remediate MACHINE --reason …`",
        ),
        Health::Unknown => (
            strategy.timeout(),
            Why::HealthUnknown,
            "No MachineHealthCheck says whether the Machine is healthy, and its cluster cannot be reached, so that its host is not switched off; to have it done nevertheless, run `ironward remediate MACHINE --reason …`",
        ),
    };
    let until = later(created, patience);
    if draft.seen.now >= until {
        return Err(draft.fail(Failure::cancelled(reason, message)));
    }
    draft.show(false, reason, message);
    Err(draft.until(until))
}

/// Waits, visibly, until fewer are being remediated. They all end.
fn room(draft: &mut Draft<'_>, who: Parties<'_>) -> Result<(), Then> {
    let storm = &draft.seen.storm;
    let message = if let Some(other) = &storm.on_this_host {
        format!("Metal3Remediation {other} is at work on BareMetalHost {}", who.host.name)
    } else if storm.active >= storm.limit {
        format!(
            "{} of at most {} hosts of Cluster {} are being remediated: this one waits for its turn",
            storm.active, storm.limit, who.machine.cluster
        )
    } else {
        return Ok(());
    };
    if draft.show(false, Why::Delayed, message.clone()) {
        draft.tell(Reason::RemediationDelayed, message);
    }
    Err(Then::Await)
}

/// Begins an attempt. It is counted before anything is done.
pub(super) fn start(
    draft: &mut Draft<'_>,
    who: Parties<'_>,
    strategy: &Strategy,
    attempt: u32,
) -> Then {
    draft.enter(Phase::Running);
    draft.status.retry_count = i32::try_from(attempt).ok();
    let message = format!(
        "Attempt {attempt} of {}: BareMetalHost {} is switched off",
        strategy.retry_limit(),
        who.host.name
    );
    draft.show(true, Why::SwitchingOff, message.clone());
    draft.tell(Reason::RemediationStarted, message);
    Then::Again
}

/// In words.
pub(super) fn held(hold: &Hold, host: &str) -> Failure {
    let message = match hold {
        Hold::Reboot(key) => {
            format!(
                "Somebody else decides about the power of BareMetalHost {host}, by the annotation {key}"
            )
        }
        Hold::Paused => format!("BareMetalHost {host} is paused, so that nobody switches it"),
        Hold::Detached => format!("BareMetalHost {host} is detached, so that nobody switches it"),
        Hold::NotProvisioned(state) => format!(
            "BareMetalHost {host} is {}, and is not switched off before it runs its image",
            if state.is_empty() { "not registered" } else { state }
        ),
    };
    Failure::new(Why::HostHeld, message)
}

pub(super) fn later(then: Timestamp, by: jiff::SignedDuration) -> Timestamp {
    then.checked_add(by).unwrap_or(Timestamp::MAX)
}
