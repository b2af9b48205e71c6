//! Whether a Machine is healthy. A host is switched off only when its Machine certainly is not.

use jiff::{SignedDuration, Timestamp};

use super::observed::{Machine, Node, Observed, Workload};
use crate::domain::remediation::Phase;

/// How long others may take to say what they have seen: MachineHealthCheck makes the remediation before it writes its verdict, and hears
/// of a Node that has come back a moment after it has.
pub const SETTLING: SignedDuration = SignedDuration::from_mins(1);

/// What is known of a Machine's health.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// It is well.
    Healthy,
    /// It is not, by the word of MachineHealthCheck, of its Node or of a person.
    Unhealthy,
    /// Nobody says, and the Node cannot be asked.
    Unknown,
}

/// Whether it is healthy now.
///
/// MachineHealthCheck's word counts where there is one, and otherwise the Node's. A person's word that it is not counts until the host was
/// switched off and on; after that, its kubelet must have spoken since.
#[must_use]
pub fn health(seen: &Observed, machine: &Machine) -> Health {
    let is_requested = seen.remediation.request.is_some();
    let is_tried = seen.remediation.phase() == Some(Phase::Waiting);
    let verdict = machine.verdict.as_ref().map(|verdict| verdict.is_healthy);
    if is_requested && !is_tried {
        return Health::Unhealthy;
    }
    match verdict {
        Some(false) => Health::Unhealthy,
        Some(true) if !is_requested => Health::Healthy,
        Some(true) | None => by_node(seen, machine, is_tried),
    }
}

fn by_node(seen: &Observed, machine: &Machine, is_tried: bool) -> Health {
    if machine.node.is_none() {
        return Health::Unhealthy;
    }
    match &seen.workload {
        Workload::Unreachable { .. } => Health::Unknown,
        Workload::Reachable { node: Some(node), .. } if node.is_ready => {
            if !is_tried || has_spoken_since(node, seen.remediation.since()) {
                Health::Healthy
            } else {
                Health::Unhealthy
            }
        }
        Workload::Reachable { .. } => Health::Unhealthy,
    }
}

/// Until when to wait for a verdict on a Node that became ready just now, though it was not before.
#[must_use]
pub fn settles(seen: &Observed) -> Option<Timestamp> {
    let Workload::Reachable { node: Some(node), .. } = &seen.workload else { return None };
    let until = node.since.filter(|_| node.is_ready)?.checked_add(SETTLING).ok()?;
    (seen.now < until && seen.remediation.request.is_none()).then_some(until)
}

/// Whether the Node is ready and its kubelet has spoken in this phase, whatever MachineHealthCheck says: it may only not have heard of it
/// yet, because it could not reach the cluster either.
#[must_use]
pub fn seems_well(seen: &Observed) -> bool {
    let Workload::Reachable { node: Some(node), .. } = &seen.workload else { return false };
    let has_spoken = has_spoken_since(node, seen.remediation.since());
    node.is_ready && has_spoken && seen.remediation.request.is_none()
}

/// Whether the kubelet has spoken since then. Kubernetes keeps whole seconds.
fn has_spoken_since(node: &Node, then: Timestamp) -> bool {
    node.heartbeat.is_some_and(|heard| heard.as_second() >= then.as_second())
}
