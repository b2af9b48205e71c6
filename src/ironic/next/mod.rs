//! What comes next on a node's way to what is asked for: one question, one answer, for every state
//! that a node can be in.
//!
//! Nothing is asked of a node that moves, except to break off what it waits for, where that is what
//! was asked for. And nothing that may clean disks is asked before the node's `automated_clean` says
//! what the host says: [`guarded`] is the one place for that.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "an operation comes by few of the states; in all others there is one answer, `elsewhere`"
)]

mod adopt;
mod delete;
mod deprovision;
mod inspect;
mod power;
mod prepare;
mod provision;
mod register;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod world;

use super::{
    driver::Ramdisk,
    node::Node,
    patch::{Field, Patch},
    provision_state::{Motion, ProvisionState},
    step::{Step, Verb},
    version::{DEPLOY_ABORT, Version},
};
use crate::controllers::host::{machine::Machine, provisioner::Operation};

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The machine, as it is described now.
    pub machine: &'a Machine,
    /// What is to be done to it.
    pub operation: &'a Operation,
    /// Whether this is being tried already: a failure is then of this try, and is told before
    /// another begins, whatever the operation says of earlier ones.
    pub tried: bool,
    /// Whether the credentials were just written: Ironic does not show them, so that the node cannot
    /// tell.
    pub credentials_written: bool,
    /// The ramdisk of this installation.
    pub ramdisk: &'a Ramdisk,
    /// What is spoken with Ironic.
    pub version: Version,
}

/// What comes next for a node that there is.
#[must_use]
pub fn next(node: &Node, ask: &Ask) -> Step {
    let again = |retry: bool| retry && !ask.tried;
    let step = match ask.operation {
        Operation::Register { credentials_changed, retry } => {
            register::next(node, ask, again(*credentials_changed), again(*retry))
        }
        Operation::Import | Operation::Observe => Step::Done,
        Operation::Inspect { refresh, retry, restart } => {
            let (retry, restart) = (again(*retry), again(*restart));
            inspect::next(node, ask.machine, inspect::Wish { refresh: *refresh, retry, restart })
        }
        Operation::Prepare { changed, retry } => {
            prepare::next(node, ask.machine, *changed, again(*retry))
        }
        Operation::Adopt { retry } => adopt::next(node, ask.machine, again(*retry)),
        Operation::Provision(provision) => {
            provision::next(node, ask.machine, provision, again(provision.restart))
        }
        Operation::Deprovision { retry } => deprovision::next(node, again(*retry)),
        Operation::PowerOn { .. } | Operation::PowerOff { .. } | Operation::Reboot { .. } => {
            power::next(node, ask)
        }
        Operation::Delete => delete::next(node, false),
        Operation::Detach { force } => delete::next(node, *force),
    };
    guarded(step, node, ask)
}

/// Lets no request pass that something else must come before.
fn guarded(step: Step, node: &Node, ask: &Ask) -> Step {
    let Step::Provision(verb) = &step else { return step };
    if node.reservation.is_some() {
        return Step::Wait;
    }
    if node.maintenance && *verb != Verb::Abort {
        return match node.fault.as_deref() {
            // Ironic takes this back itself when the BMC is back.
            Some(fault) if fault.contains("power") => Step::Stuck {
                reason: format!("Ironic has set the node aside because of a {fault}"),
            },
            // By Ironic after a failure that is being tried again, or by a person's hand.
            Some(_) | None => Step::ClearMaintenance,
        };
    }
    let clean = ask.machine.automated_cleaning.automated_clean();
    if !verb.may_clean() || node.automated_clean == Some(clean) {
        return step;
    }
    if !node.provision_state.takes_changes() {
        // To go on would be to clean, or not to, against what is said now. Broken off, it can be told.
        let waits = node.provision_state == ProvisionState::DeployWait;
        let abortable = waits && ask.version >= DEPLOY_ABORT;
        return if abortable { Step::Provision(Verb::Abort) } else { Step::Wait };
    }
    let mut patch = Patch::default();
    patch.write(Field::Own("automated_clean"), clean);
    Step::Patch(patch)
}

/// What to do in a state that an operation does not come by.
fn elsewhere(node: &Node) -> Step {
    let state = node.provision_state;
    match state.motion() {
        Motion::Moving => Step::Wait,
        Motion::Held if state == ProvisionState::Unknown => {
            Step::Stuck { reason: "the node is in a state that is not known here".to_owned() }
        }
        Motion::Held => Step::Stuck {
            reason: format!("the node is on {state} in Ironic until somebody lets it go on"),
        },
        Motion::Resting | Motion::Failed => Step::Stuck {
            reason: format!("the node is in {state} in Ironic, where it was not brought from here"),
        },
    }
}
