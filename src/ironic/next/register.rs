//! Register: the node is as the machine is described, and its BMC obeys.

use super::{Ask, Step, elsewhere};
use crate::ironic::{
    driver,
    node::Node,
    power::{PowerState, PowerTarget},
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
        ProvisionState::Enroll if is_taken_for_off(node, ask) => match node.target_power_state {
            Some(_) => Step::Wait,
            None => Step::Power(PowerTarget::On),
        },
        ProvisionState::Enroll => Step::Provision(Verb::Manage),
        ProvisionState::Verifying => Step::Wait,
        // All others come after its BMC was tried.
        state => match state.motion() {
            Motion::Resting | Motion::Failed | Motion::Moving => Step::Done,
            Motion::Held => elsewhere(node),
        },
    }
}

/// Whether a machine without a BMC would be written to by the agent that reported it (fast track), if only Ironic knew that it is on: of a driver that switches
/// nothing it knows what it was told. Without that it would boot, as it believes, another agent, and not listen to this one any more.
fn is_taken_for_off(node: &Node, ask: &Ask) -> bool {
    let is = |interface: &Option<String>, name: &str| interface.as_deref() == Some(name);
    let interfaces = &node.interfaces;
    ask.machine.bmc.is_none()
        && is(&interfaces.power_interface, "fake")
        && !is(&interfaces.deploy_interface, "fake")
        && node.power_state != Some(PowerState::On)
}
