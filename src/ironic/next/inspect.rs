//! Inspect: what is in the machine is found out.

use serde_json::{Value, json};

use super::{Step, elsewhere};
use crate::{
    controllers::host::machine::Machine,
    ironic::{
        node::Node,
        patch::{Field, Patch},
        provision_state::ProvisionState,
        step::Verb,
    },
};

/// The field of `extra` that tells since when a host wants to be inspected again, and which inspection
/// there was before. The second could otherwise be told from the first only by comparing clocks.
const MARK: &str = "ironward_inspection";

#[derive(Debug, Clone, Copy)]
pub(super) struct Wish {
    pub refresh: bool,
    pub retry: bool,
    pub restart: bool,
}

pub(super) fn next(node: &Node, machine: &Machine, wish: Wish) -> Step {
    let is_known = !wish.refresh && node.is_inspected();
    match node.provision_state {
        ProvisionState::Available | ProvisionState::Manageable if is_known => Step::Done,
        ProvisionState::Available => Step::Provision(Verb::Manage),
        ProvisionState::Manageable | ProvisionState::InspectFail if wish.refresh => {
            refresh(node, machine, wish)
        }
        ProvisionState::Manageable | ProvisionState::InspectFail => begin(node, wish),
        ProvisionState::InspectWait if wish.restart => Step::Provision(Verb::Abort),
        _ => elsewhere(node),
    }
}

fn refresh(node: &Node, machine: &Machine, wish: Wish) -> Step {
    let finished = node.inspection_finished_at.as_deref();
    let mark = node.extra.get(MARK).unwrap_or(&Value::Null);
    let since = machine.since.map(|since| since.to_string()).unwrap_or_default();
    let wanted_by = format!("{} {since}", machine.identity.uid);
    if mark.get("for").and_then(Value::as_str) != Some(&wanted_by) {
        let mut patch = Patch::default();
        patch.write(Field::In("extra", MARK), json!({"for": wanted_by, "before": finished}));
        return Step::Patch(patch);
    }
    let is_another = finished != mark.get("before").and_then(Value::as_str);
    let rests = node.provision_state == ProvisionState::Manageable;
    if rests && finished.is_some() && is_another { Step::Done } else { begin(node, wish) }
}

fn begin(node: &Node, wish: Wish) -> Step {
    let failed = node.provision_state == ProvisionState::InspectFail;
    if failed && !wish.retry && !wish.restart {
        return Step::failed("inspection failed");
    }
    Step::Provision(Verb::Inspect)
}
