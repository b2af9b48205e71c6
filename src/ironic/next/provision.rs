//! Provision: an image is written, and runs.

use super::{Step, elsewhere};
use crate::{
    controllers::host::{machine::Machine, provisioner::Provision},
    ironic::{instance, node::Node, provision_state::ProvisionState, step::Verb},
};

pub(super) fn next(node: &Node, machine: &Machine, provision: &Provision, restart: bool) -> Step {
    let is_ours = node.instance_uuid.as_deref() == Some(&machine.identity.uid);
    let writes_nothing = node.interfaces.deploy_interface.as_deref() == Some("fake");
    match node.provision_state {
        // A discovered node has what Ironic is set to: it would call itself deployed, and be empty.
        ProvisionState::Available | ProvisionState::DeployFail
            if machine.bmc.is_none() && writes_nothing =>
        {
            Step::Failed {
                what: "the image cannot be written",
                reason: Some(
                    "its node has the deploy interface `fake`, which writes nothing: add spec.bmc to the host, or have Ironic write by the agent that \
                     still runs (default_deploy_interface = direct and fast_track = True)"
                        .to_owned(),
                ),
            }
        }
        ProvisionState::Active if is_ours => Step::Done,
        ProvisionState::Active => Step::Failed {
            what: "the image cannot be written",
            reason: Some("something else is deployed to the node already".to_owned()),
        },
        ProvisionState::DeployFail if is_ours && !restart && is_told(node, provision) => {
            Step::failed("writing the image failed")
        }
        ProvisionState::Available | ProvisionState::DeployFail => {
            let patch = instance::deployed(node, machine, provision);
            if !patch.is_empty() {
                return Step::Patch(patch);
            }
            Step::Provision(Verb::Active {
                config_drive: instance::config_drive(provision),
                deploy_steps: instance::deploy_steps(provision.custom_deploy.as_ref()),
            })
        }
        ProvisionState::Manageable => Step::Provision(Verb::Provide),
        ProvisionState::InspectFail => Step::Provision(Verb::Manage),
        ProvisionState::CleanFail => Step::failed("cleaning before the image is written failed"),
        ProvisionState::DeployWait if restart => Step::Provision(Verb::Deleted),
        _ => elsewhere(node),
    }
}

/// Whether what failed is what is asked for.
fn is_told(node: &Node, provision: &Provision) -> bool {
    instance::has_image(&node.instance_info, provision.image.as_ref())
}
