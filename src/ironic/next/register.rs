//! Register: the node is as the machine is described, and its BMC obeys.

use super::{Ask, Step, elsewhere};
use crate::ironic::{
    driver,
    node::Node,
    provision_state::{Motion, ProvisionState},
    step::Verb,
};

pub(super) fn next(node: &Node, ask: &Ask, credentials_changed: bool, retry: bool) -> Step {
    let writes = credentials_changed && !ask.credentials_written;
    let patch = driver::changes(node, ask.machine, ask.ramdisk, ask.version, writes);
    if !patch.is_empty() {
        return Step::Patch(patch);
    }
    match node.provision_state {
        ProvisionState::Enroll if node.complaint().is_some() && !retry && !credentials_changed => {
            Step::failed("the BMC could not be reached")
        }
        ProvisionState::Enroll => Step::Provision(Verb::Manage),
        ProvisionState::Verifying => Step::Wait,
        // All others come after its BMC was tried.
        state => match state.motion() {
            Motion::Resting | Motion::Failed | Motion::Moving => Step::Done,
            Motion::Held => elsewhere(node),
        },
    }
}
