//! Deprovision: what was written goes, disks are cleaned as the host says, and the node is available.

use super::{Step, elsewhere};
use crate::ironic::{node::Node, provision_state::ProvisionState, step::Verb};

pub(super) fn next(node: &Node, retry: bool) -> Step {
    match node.provision_state {
        // Nothing was ever written to the last two through this node.
        ProvisionState::Available | ProvisionState::Enroll | ProvisionState::Verifying => {
            Step::Done
        }
        ProvisionState::Error if !retry => Step::failed("deprovisioning failed"),
        ProvisionState::CleanFail if !retry => Step::failed("cleaning failed"),
        ProvisionState::CleanFail | ProvisionState::InspectFail | ProvisionState::AdoptFail => {
            Step::Provision(Verb::Manage)
        }
        ProvisionState::Manageable => Step::Provision(Verb::Provide),
        // A deployment that waits for its ramdisk can be given up.
        ProvisionState::Active
        | ProvisionState::DeployFail
        | ProvisionState::DeployWait
        | ProvisionState::Error
        | ProvisionState::Rescue
        | ProvisionState::RescueFail
        | ProvisionState::UnrescueFail
        | ProvisionState::ServiceFail => Step::Provision(Verb::Deleted),
        ProvisionState::InspectWait => Step::Provision(Verb::Abort),
        _ => elsewhere(node),
    }
}
