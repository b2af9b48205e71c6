//! Power on, power off, reboot.

use super::{Ask, Step};
use crate::{
    controllers::host::provisioner::{Operation, RebootMode},
    ironic::{
        node::Node,
        power::PowerTarget,
        provision_state::{Motion, ProvisionState},
        step::Verb,
    },
};

pub(super) fn next(node: &Node, ask: &Ask) -> Step {
    let (target, force) = match ask.operation {
        Operation::PowerOff { mode: RebootMode::Hard, force } => (PowerTarget::Off, *force),
        Operation::PowerOff { mode: RebootMode::Soft, force } => (PowerTarget::SoftOff, *force),
        Operation::Reboot { mode: RebootMode::Hard } => (PowerTarget::Reboot, false),
        Operation::Reboot { mode: RebootMode::Soft } => (PowerTarget::SoftReboot, false),
        Operation::PowerOn { force } => (PowerTarget::On, *force),
        Operation::Register { .. }
        | Operation::Import
        | Operation::Inspect { .. }
        | Operation::Prepare { .. }
        | Operation::Adopt { .. }
        | Operation::Provision(_)
        | Operation::Deprovision { .. }
        | Operation::Observe
        | Operation::Delete
        | Operation::Detach { .. } => return Step::Done,
    };
    let reboots = matches!(target, PowerTarget::Reboot | PowerTarget::SoftReboot);
    if node.target_power_state.is_some() || node.reservation.is_some() {
        // A reboot has begun then.
        return if reboots && ask.tried { Step::Done } else { Step::Wait };
    }
    // Ironic looks at the BMC now and then only, and at that of a driver that was just changed not yet. Where much depends on it, it is
    // asked, and looks before it switches.
    let must_be_sure = reboots || (force && target == PowerTarget::Off);
    if node.power_state == Some(target.end()) && (!must_be_sure || ask.tried) {
        return Step::Done;
    }
    if node.provision_state.motion() == Motion::Moving {
        return broken_off(node, force);
    }
    if ask.tried {
        return Step::failed(match target {
            PowerTarget::On => "the host could not be powered on",
            PowerTarget::Off | PowerTarget::SoftOff => "the host could not be powered off",
            PowerTarget::Reboot | PowerTarget::SoftReboot => "the host could not be rebooted",
        });
    }
    Step::Power(target)
}

/// Ironic itself switches the power of a node that it works on.
fn broken_off(node: &Node, force: bool) -> Step {
    match node.provision_state {
        ProvisionState::InspectWait | ProvisionState::CleanWait | ProvisionState::ServiceWait
            if force =>
        {
            Step::Provision(Verb::Abort)
        }
        ProvisionState::DeployWait if force => Step::Provision(Verb::Deleted),
        _ => Step::Wait,
    }
}
