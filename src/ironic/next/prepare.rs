//! Prepare: volumes are built, disks are clean, and the node is available.

use serde_json::{Value, json};

use super::{Step, elsewhere};
use crate::{
    controllers::host::machine::Machine,
    ironic::{
        node::Node,
        patch::{Field, Patch},
        provision_state::ProvisionState,
        raid,
        step::Verb,
    },
};

/// The field of `extra` that tells which volumes were last built, and since when the node had been at
/// rest before that. Who asks cannot know whether they were built since; the node does.
const MARK: &str = "ironward_raid";

pub(super) fn next(node: &Node, machine: &Machine, changed: bool, retry: bool) -> Step {
    let steps = raid::clean_steps(machine.raid.as_ref());
    let target = raid::target(machine.raid.as_ref(), machine.root_device_hints.as_ref());
    let wanted = json!({"steps": steps, "target": target});
    let is_marked = marked(node, "volumes") == &wanted;
    let has_moved = marked(node, "rested") != &json!(node.provision_updated_at);
    let is_built = steps.is_empty() || !changed || (is_marked && has_moved);
    match node.provision_state {
        ProvisionState::Available if is_built => Step::Done,
        ProvisionState::Available => Step::Provision(Verb::Manage),
        ProvisionState::CleanFail if !retry => Step::failed("preparing the disks failed"),
        ProvisionState::CleanFail if is_marked && was_building(node) => forget(node),
        ProvisionState::CleanFail | ProvisionState::InspectFail | ProvisionState::AdoptFail => {
            Step::Provision(Verb::Manage)
        }
        ProvisionState::Manageable if is_built => Step::Provision(Verb::Provide),
        ProvisionState::Manageable if node.target_raid_config != target => Step::Raid(target),
        ProvisionState::Manageable if is_marked => Step::Provision(Verb::Clean { steps }),
        ProvisionState::Manageable => {
            let mut patch = Patch::default();
            let mark = json!({"volumes": wanted, "rested": node.provision_updated_at});
            patch.write(Field::In("extra", MARK), mark);
            Step::Patch(patch)
        }
        _ => elsewhere(node),
    }
}

fn marked<'a>(node: &'a Node, field: &str) -> &'a Value {
    node.extra.get(MARK).and_then(|mark| mark.get(field)).unwrap_or(&Value::Null)
}

/// Cleaning by hand leads back to manageable; automated cleaning would have led on.
fn was_building(node: &Node) -> bool {
    node.target_provision_state.as_deref() == Some("manageable")
}

/// What failed to be built is not built.
fn forget(node: &Node) -> Step {
    let mut patch = Patch::default();
    patch.remove(&json!({"extra": node.extra}), Field::In("extra", MARK));
    Step::Patch(patch)
}
