//! A make-believe Ironic that knows one node, for tests: each request leads where Ironic's own table of
//! transitions says.

use super::{Ask, Machine, Node, Operation, Patch, ProvisionState, Ramdisk, Step, Verb, next};
use crate::ironic::{power::PowerState, version::NEWEST};

pub(super) fn asked(machine: &Machine, operation: &Operation, tried: bool, node: &Node) -> Step {
    let ramdisk = Ramdisk::default();
    let (ramdisk, credentials_written, version) = (&ramdisk, false, NEWEST);
    next(node, &Ask { machine, operation, tried, credentials_written, ramdisk, version })
}

/// A step in a word.
pub(super) fn word(step: &Step) -> String {
    match step {
        Step::Done => "done".into(),
        Step::Wait => "wait".into(),
        Step::Stuck { .. } => "stuck".into(),
        Step::Failed { .. } => "failed".into(),
        Step::Patch(_) => "patch".into(),
        Step::Raid(_) => "raid".into(),
        Step::Provision(verb) => verb.target().into(),
        Step::Power(target) => target.to_string(),
        Step::SetMaintenance => "set maintenance".into(),
        Step::ClearMaintenance => "clear maintenance".into(),
        Step::Delete => "delete".into(),
    }
}

/// As much of Ironic as a node's way depends on: what each request leads to, by Ironic's own table
/// of transitions (ironic/common/state_machine.py).
pub(super) struct World {
    pub node: Option<Node>,
    pub goes_wrong: bool,
    pub log: Vec<String>,
}

impl World {
    /// Asks until there is an end, and says which.
    pub fn run(&mut self, machine: &Machine, operation: &Operation) -> String {
        let mut tried = false;
        for _ in 0..50 {
            let Some(node) = &self.node else { return "done".into() };
            let step = asked(machine, operation, tried, node);
            match &step {
                Step::Wait => self.tick(),
                Step::Done | Step::Failed { .. } | Step::Stuck { .. } => return word(&step),
                request => {
                    // A patch is only the way there.
                    tried |= matches!(request, Step::Provision(verb) if *verb != Verb::Abort);
                    tried |= matches!(request, Step::Power(_));
                    self.obey(request, machine);
                }
            }
        }
        format!("no end: {:?}", self.log)
    }

    fn obey(&mut self, step: &Step, machine: &Machine) {
        self.log.push(word(step));
        let node = self.node.as_mut().unwrap();
        match step {
            Step::Provision(verb) => {
                let clean = machine.automated_cleaning.automated_clean();
                let is_right = node.automated_clean == Some(clean);
                assert!(!verb.may_clean() || is_right, "{verb:?} with another automated_clean");
                assert!(!node.maintenance || *verb == Verb::Abort);
                self.provision(verb);
            }
            Step::Power(target) => node.target_power_state = Some(target.to_string()),
            Step::SetMaintenance => node.maintenance = true,
            Step::ClearMaintenance => (node.maintenance, node.fault) = (false, None),
            Step::Delete => {
                let free = matches!(
                    node.provision_state,
                    ProvisionState::Enroll | ProvisionState::Manageable | ProvisionState::AdoptFail
                );
                assert!(node.maintenance || (free && node.instance_uuid.is_none()));
                self.node = None;
            }
            Step::Raid(target) => node.target_raid_config.clone_from(target),
            Step::Patch(patch) => {
                assert!(node.provision_state.takes_changes(), "{}", node.provision_state);
                self.patch(patch);
            }
            Step::Done | Step::Wait | Step::Stuck { .. } | Step::Failed { .. } => unreachable!(),
        }
    }

    pub fn patch(&mut self, patch: &Patch) {
        let mut fields = serde_json::to_value(&self.node).unwrap();
        let patch: json_patch::Patch =
            serde_json::from_value(serde_json::to_value(patch).unwrap()).unwrap();
        json_patch::patch(&mut fields, &patch).unwrap();
        self.node = Some(serde_json::from_value(fields).unwrap());
    }

    fn provision(&mut self, verb: &Verb) {
        use ProvisionState as S;
        let node = self.node.as_mut().unwrap();
        let target = if matches!(verb, Verb::Clean { .. }) { "manageable" } else { "available" };
        node.target_provision_state = Some(target.into());
        node.last_error = None;
        node.provision_state = match (node.provision_state, verb) {
            (S::Enroll, Verb::Manage) => S::Verifying,
            (S::Available | S::CleanFail | S::InspectFail | S::AdoptFail, Verb::Manage) => {
                S::Manageable
            }
            (S::Manageable | S::InspectFail, Verb::Inspect) => {
                node.inspection_started_at = Some(format!("start {}", self.log.len()));
                node.inspection_finished_at = None;
                S::Inspecting
            }
            (S::Manageable, Verb::Provide | Verb::Clean { .. }) => S::Cleaning,
            (S::Manageable | S::AdoptFail, Verb::Adopt) => S::Adopting,
            (S::Available | S::DeployFail, Verb::Active { .. }) => S::Deploying,
            (S::InspectWait, Verb::Abort) => S::InspectFail,
            (S::CleanWait, Verb::Abort) => S::CleanFail,
            (S::DeployWait, Verb::Abort) => S::DeployFail,
            (S::ServiceWait, Verb::Abort) => S::ServiceFail,
            (
                S::Active
                | S::DeployWait
                | S::DeployFail
                | S::Error
                | S::Rescue
                | S::RescueFail
                | S::UnrescueFail
                | S::ServiceFail,
                Verb::Deleted,
            ) => S::Deleting,
            (state, verb) => panic!("Ironic refuses {verb:?} of a node in {state}"),
        };
        node.provision_updated_at = Some(format!("after {} requests", self.log.len()));
    }

    /// What moves, moves on.
    fn tick(&mut self) {
        use ProvisionState as S;
        let node = self.node.as_mut().unwrap();
        if let Some(target) = node.target_power_state.take() {
            if self.goes_wrong {
                node.last_error = Some("the BMC is on fire".into());
            } else {
                let off = target.ends_with("off");
                node.power_state = Some(if off { PowerState::Off } else { PowerState::On });
            }
            return;
        }
        if node.reservation.take().is_some() {
            return;
        }
        let by_hand = node.target_provision_state.as_deref() == Some("manageable");
        let (well, badly) = match node.provision_state {
            S::Verifying => (S::Manageable, S::Enroll),
            S::Inspecting => (S::InspectWait, S::InspectFail),
            S::InspectWait => (S::Manageable, S::InspectFail),
            S::Cleaning => (S::CleanWait, S::CleanFail),
            S::CleanWait if by_hand => (S::Manageable, S::CleanFail),
            S::CleanWait => (S::Available, S::CleanFail),
            S::Deploying => (S::DeployWait, S::DeployFail),
            S::DeployWait => (S::Active, S::DeployFail),
            S::Deleting => (S::Cleaning, S::Error),
            S::Adopting => (S::Active, S::AdoptFail),
            S::Rescuing => (S::RescueWait, S::RescueFail),
            S::RescueWait => (S::Rescue, S::RescueFail),
            S::Unrescuing => (S::Active, S::UnrescueFail),
            S::Servicing => (S::ServiceWait, S::ServiceFail),
            S::ServiceWait => (S::Active, S::ServiceFail),
            state => panic!("{state} was waited for, and does not move"),
        };
        node.provision_state = if self.goes_wrong { badly } else { well };
        if self.goes_wrong {
            node.last_error = Some("the machine is on fire".into());
        }
        if node.provision_state == S::CleanFail {
            (node.maintenance, node.fault) = (true, Some("clean failure".into()));
        }
        if node.provision_state == S::Available {
            node.instance_uuid = None;
        }
        if node.provision_state == S::Manageable && node.inspection_started_at.is_some() {
            let started = node.inspection_started_at.clone().unwrap_or_default();
            node.inspection_finished_at.get_or_insert(format!("{started}: end"));
        }
    }
}
