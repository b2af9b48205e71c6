//! Adopt: Ironic takes what runs on the machine for its own, without touching it.

use super::{Step, elsewhere};
use crate::{
    controllers::host::machine::Machine,
    ironic::{instance, node::Node, provision_state::ProvisionState, step::Verb},
};

pub(super) fn next(node: &Node, machine: &Machine, retry: bool) -> Step {
    match node.provision_state {
        ProvisionState::Active => Step::Done,
        ProvisionState::Manageable | ProvisionState::AdoptFail => {
            if node.provision_state == ProvisionState::AdoptFail && !retry {
                return Step::failed("taking over what runs on the host failed");
            }
            let patch = instance::adopted(node, machine);
            if patch.is_empty() { Step::Provision(Verb::Adopt) } else { Step::Patch(patch) }
        }
        // What was begun before Ironic forgot; it ends where it can be adopted from.
        ProvisionState::InspectFail | ProvisionState::Available => Step::Provision(Verb::Manage),
        _ => elsewhere(node),
    }
}
