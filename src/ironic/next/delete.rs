//! Delete and detach: Ironic forgets the machine, and nothing on it changes.

use super::{Step, elsewhere};
use crate::ironic::{
    node::Node,
    provision_state::{Motion, ProvisionState},
    step::Verb,
};

pub(super) fn next(node: &Node, force: bool) -> Step {
    let state = node.provision_state;
    match state.motion() {
        // Something may still be written: the machine would be left in the middle of it.
        Motion::Moving if !force => elsewhere(node),
        Motion::Moving => match state {
            ProvisionState::InspectWait | ProvisionState::CleanWait => Step::Provision(Verb::Abort),
            ProvisionState::DeployWait
            | ProvisionState::RescueWait
            | ProvisionState::ServiceWait => forgotten(node),
            _ => elsewhere(node),
        },
        Motion::Resting | Motion::Failed | Motion::Held => forgotten(node),
    }
}

fn forgotten(node: &Node) -> Step {
    if node.reservation.is_some() {
        return Step::Wait;
    }
    let goes_at_once = matches!(
        node.provision_state,
        ProvisionState::Enroll | ProvisionState::Manageable | ProvisionState::AdoptFail
    );
    // Available nodes may be kept from going by Ironic's configuration.
    let is_free = goes_at_once && node.instance_uuid.is_none();
    if node.maintenance || is_free { Step::Delete } else { Step::SetMaintenance }
}
