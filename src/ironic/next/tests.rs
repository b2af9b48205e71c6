//! The table of what comes next in every state, and what must hold whatever comes.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};
use strum::IntoEnumIterator;

use super::{
    world::{World, asked, word},
    *,
};
use crate::{
    controllers::host::provisioner::RebootMode,
    domain::automated_cleaning::AutomatedCleaningMode,
    ironic::{
        node::tests::node,
        power::PowerState,
        testing::{UID, machine, provision},
        version::NEWEST,
    },
};

fn operations() -> BTreeMap<&'static str, Operation> {
    let (retry, force) = (false, false);
    let soft = RebootMode::Soft;
    BTreeMap::from([
        ("register", Operation::Register { credentials_changed: false, retry }),
        ("import", Operation::Import),
        ("inspect", Operation::Inspect { refresh: false, retry, restart: false }),
        ("prepare", Operation::Prepare { changed: true, retry }),
        ("adopt", Operation::Adopt { retry }),
        ("provision", Operation::Provision(Box::new(provision()))),
        ("deprovision", Operation::Deprovision { retry }),
        ("observe", Operation::Observe),
        ("power on", Operation::PowerOn { force }),
        ("power off", Operation::PowerOff { mode: soft, force }),
        ("reboot", Operation::Reboot { mode: soft }),
        ("delete", Operation::Delete),
        ("detach", Operation::Detach { force }),
    ])
}

fn again(operation: Operation) -> Operation {
    match operation {
        Operation::Register { credentials_changed, .. } => {
            Operation::Register { credentials_changed, retry: true }
        }
        Operation::Inspect { refresh, restart, .. } => {
            Operation::Inspect { refresh, retry: true, restart }
        }
        Operation::Prepare { changed, .. } => Operation::Prepare { changed, retry: true },
        Operation::Adopt { .. } => Operation::Adopt { retry: true },
        Operation::Deprovision { .. } => Operation::Deprovision { retry: true },
        other => other,
    }
}

fn forced(operation: Operation) -> Operation {
    match operation {
        Operation::PowerOn { .. } => Operation::PowerOn { force: true },
        Operation::PowerOff { mode, .. } => Operation::PowerOff { mode, force: true },
        Operation::Detach { .. } => Operation::Detach { force: true },
        Operation::Inspect { refresh, retry, .. } => {
            Operation::Inspect { refresh, retry, restart: true }
        }
        Operation::Provision(provision) => {
            Operation::Provision(Box::new(crate::controllers::host::provisioner::Provision {
                restart: true,
                ..*provision
            }))
        }
        other => other,
    }
}

/// A node that needs no change for its registration and deployment.
fn settled(state: ProvisionState, machine: &Machine) -> Node {
    let mut settled = node(state);
    settled.power_state = Some(PowerState::Off);
    let mut world = World { node: Some(settled), goes_wrong: false, log: Vec::new() };
    for _ in 0..9 {
        let node = world.node.clone().unwrap();
        let patch =
            crate::ironic::driver::changes(&node, machine, &Ramdisk::default(), NEWEST, false);
        if patch.is_empty() {
            break;
        }
        world.patch(&patch);
    }
    world.node.unwrap()
}

#[rstest]
#[case::register(
    "register",
    "enroll:manage verifying:wait manageable:done available:done active:done \
    clean failed:done deploying:done clean hold:stuck unknown:stuck inspect wait:done error:done"
)]
#[case::inspect(
    "inspect",
    "manageable:inspect available:manage inspecting:wait inspect wait:wait \
    inspect failed:failed active:stuck cleaning:wait enroll:stuck unknown:stuck"
)]
#[case::prepare(
    "prepare",
    "manageable:provide available:done cleaning:wait clean wait:wait \
    clean failed:failed inspect failed:manage adopt failed:manage active:stuck clean hold:stuck"
)]
#[case::adopt(
    "adopt",
    "manageable:patch adopting:wait active:done adopt failed:failed available:manage \
    enroll:stuck deploying:wait"
)]
#[case::provision(
    "provision",
    "manageable:provide available:patch deploying:wait wait call-back:wait \
    deploy failed:patch active:failed clean failed:failed inspect failed:manage deploy hold:stuck"
)]
#[case::deprovision(
    "deprovision",
    "active:deleted deploy failed:deleted wait call-back:deleted \
    deploying:wait deleting:wait cleaning:wait clean wait:wait clean failed:failed error:failed \
    manageable:provide available:done enroll:done verifying:done inspect wait:abort inspecting:wait \
    rescue:deleted service failed:deleted service hold:stuck"
)]
#[case::delete(
    "delete",
    "enroll:delete manageable:delete adopt failed:delete available:set maintenance \
    active:set maintenance error:set maintenance clean failed:set maintenance cleaning:wait \
    clean wait:wait verifying:wait deploy hold:set maintenance"
)]
#[case::power_on("power on", "manageable:power on active:power on deploying:wait clean wait:wait")]
#[case::power_off("power off", "active:done manageable:done")]
#[case::reboot("reboot", "active:soft rebooting deploying:wait")]
fn what_comes_next(#[case] operation: &str, #[case] table: &str) {
    let machine = machine();
    let operation = &operations()[operation];
    let mut rows = 0;
    let mut rest = table.trim();
    while let Some((state, after)) = rest.split_once(':') {
        // A step ends where the name of the next state begins.
        let states: Vec<String> = ProvisionState::iter().map(|state| state.to_string()).collect();
        let next_state = states.iter().filter_map(|state| after.find(&format!(" {state}:"))).min();
        let (expected, remaining) = after.split_at(next_state.unwrap_or(after.len()));
        let state: ProvisionState = state.trim().parse().unwrap();
        let step = asked(&machine, operation, false, &settled(state, &machine));
        assert_eq!(word(&step), expected.trim(), "in {state}");
        rest = remaining.trim();
        rows += 1;
    }
    assert!(rows >= 2, "the table was not read: {table}");
}

#[rstest]
#[case::inspect("inspect", "inspect failed", "inspect")]
#[case::prepare("prepare", "clean failed", "manage")]
#[case::adopt("adopt", "adopt failed", "patch")]
#[case::deprovision("deprovision", "clean failed", "manage")]
#[case::tear_down("deprovision", "error", "deleted")]
fn a_failure_is_told_and_tried_again_when_told_to(
    #[case] operation: &str,
    #[case] state: &str,
    #[case] retried: &str,
) {
    let machine = machine();
    let node = settled(state.parse().unwrap(), &machine);
    let operation = operations()[operation].clone();
    assert_eq!(word(&asked(&machine, &operation, false, &node)), "failed");
    let operation = again(operation);
    assert_eq!(word(&asked(&machine, &operation, false, &node)), retried);
    // The try has failed in its turn: that is told, before yet another.
    assert_eq!(word(&asked(&machine, &operation, true, &node)), "failed");
}

#[rstest]
#[case::inspect("inspect", "inspect wait", "abort")]
#[case::provision("provision", "wait call-back", "deleted")]
#[case::detach_cleaning("detach", "clean wait", "abort")]
#[case::detach_deploying("detach", "wait call-back", "set maintenance")]
#[case::power_off("power off", "inspect wait", "abort")]
#[case::power_on("power on", "clean wait", "abort")]
fn force_breaks_off_what_waits(#[case] operation: &str, #[case] state: &str, #[case] step: &str) {
    let machine = machine();
    let mut node = settled(state.parse().unwrap(), &machine);
    if operation == "power off" {
        node.power_state = Some(PowerState::On);
    }
    let operation = operations()[operation].clone();
    assert_eq!(word(&asked(&machine, &operation, false, &node)), "wait");
    assert_eq!(word(&asked(&machine, &forced(operation), false, &node)), step);
}

#[test]
fn a_bmc_that_turned_us_away_is_told_until_somebody_wants_another_try() {
    let machine = machine();
    let mut node = settled(ProvisionState::Enroll, &machine);
    node.last_error = Some("Failed to get power state: 401".into());
    let ask = |credentials_changed, retry, tried| {
        word(&asked(&machine, &Operation::Register { credentials_changed, retry }, tried, &node))
    };
    assert_eq!(ask(false, false, false), "failed");
    assert_eq!(ask(false, true, false), "manage");
    // New credentials are written before they are tried, and once.
    assert_eq!(ask(true, false, false), "patch");
    let (ramdisk, operation) =
        (&Ramdisk::default(), &Operation::Register { credentials_changed: true, retry: false });
    let written = Ask {
        machine: &machine,
        operation,
        tried: false,
        credentials_written: true,
        ramdisk,
        version: NEWEST,
    };
    assert_eq!(word(&next(&node, &written)), "manage");
    assert_eq!(ask(true, true, true), "failed");
}

#[test]
fn a_deployment_is_broken_off_before_its_disks_are_cleaned_otherwise_than_it_was_told() {
    let mut machine = machine();
    let mut world = World {
        node: Some(settled(ProvisionState::DeployWait, &machine)),
        goes_wrong: false,
        log: Vec::new(),
    };
    machine.automated_cleaning = AutomatedCleaningMode::Disabled;
    assert_eq!(world.run(&machine, &Operation::Deprovision { retry: false }), "done");
    assert_eq!(world.log, ["abort", "patch", "deleted"]);
}

#[test]
fn a_second_inspection_is_told_from_the_first() {
    let mut machine = machine();
    machine.since = Some("2026-11-16T10:00:00Z".parse().unwrap());
    let operation = Operation::Inspect { refresh: true, retry: false, restart: false };
    let mut first = settled(ProvisionState::Manageable, &machine);
    first.inspection_finished_at = Some("2026-11-01T10:00:00+00:00".into());
    let mut world = World { node: Some(first), goes_wrong: false, log: Vec::new() };
    assert_eq!(world.run(&machine, &operation), "done");
    assert_eq!(world.log, ["patch", "inspect"]);
    // It is not inspected a third time for the same wish, but is for another.
    assert_eq!(world.run(&machine, &operation), "done");
    assert_eq!(world.log.len(), 2);
    machine.since = Some("2026-11-16T11:00:00Z".parse().unwrap());
    assert_eq!(world.run(&machine, &operation), "done");
    assert_eq!(world.log.len(), 4);
}

#[test]
fn volumes_are_built_once_and_again_when_they_change() {
    let mut machine = machine();
    machine.raid =
        Some(serde_json::from_value(json!({"hardwareRAIDVolumes": [{"level": "1"}]})).unwrap());
    let operation = Operation::Prepare { changed: true, retry: false };
    let node = settled(ProvisionState::Manageable, &machine);
    let mut world = World { node: Some(node), goes_wrong: false, log: Vec::new() };
    assert_eq!(world.run(&machine, &operation), "done");
    assert_eq!(world.log, ["raid", "patch", "clean", "provide"]);
    assert_eq!(world.run(&machine, &operation), "done");
    assert_eq!(world.log.len(), 4);

    machine.raid = Some(serde_json::from_value(json!({"hardwareRAIDVolumes": []})).unwrap());
    assert_eq!(world.run(&machine, &operation), "done");
    assert_eq!(world.log[4..], ["manage", "raid", "patch", "clean", "provide"]);

    // What failed to be built is built anew.
    machine.raid =
        Some(serde_json::from_value(json!({"hardwareRAIDVolumes": [{"level": "0"}]})).unwrap());
    world.goes_wrong = true;
    assert_eq!(world.run(&machine, &operation), "failed");
    world.goes_wrong = false;
    world.log.clear();
    assert_eq!(world.run(&machine, &again(operation)), "done");
    assert_eq!(world.log, ["patch", "clear maintenance", "manage", "patch", "clean", "provide"]);
}

fn any_state() -> impl Strategy<Value = ProvisionState> {
    proptest::sample::select(ProvisionState::iter().collect::<Vec<_>>())
}

fn any_operation() -> impl Strategy<Value = Operation> {
    let all: Vec<Operation> = operations().into_values().collect();
    (proptest::sample::select(all), any::<bool>(), any::<bool>()).prop_map(
        |(operation, retry, force)| {
            let operation = if retry { again(operation) } else { operation };
            if force { forced(operation) } else { operation }
        },
    )
}

fn any_machine() -> impl Strategy<Value = Machine> {
    let raid = prop_oneof![
        Just(Value::Null),
        Just(json!({"hardwareRAIDVolumes": [{"level": "1"}]})),
        Just(json!({"softwareRAIDVolumes": [{"level": "1"}]})),
    ];
    (any::<bool>(), raid).prop_map(|(clean, raid)| {
        let mut machine = machine();
        machine.automated_cleaning =
            if clean { AutomatedCleaningMode::Metadata } else { AutomatedCleaningMode::Disabled };
        machine.raid = serde_json::from_value(raid).unwrap();
        machine
    })
}

prop_compose! {
    fn any_node()(
        state in any_state(), clean in any::<Option<bool>>(), maintenance: bool,
        fault in proptest::option::of("(clean|power) failure"), complains: bool, ours: bool,
        inspected: bool, on in any::<Option<bool>>(), reserved in proptest::bool::weighted(0.2),
        registered: bool, target in proptest::option::of("(manageable|available)"),
    ) -> Node {
        let mut node = if registered { settled(state, &machine()) } else { node(state) };
        node.automated_clean = clean;
        node.maintenance = maintenance;
        node.fault = fault.filter(|_| maintenance);
        node.last_error = complains.then(|| "it burns".to_owned());
        node.instance_uuid = ours.then(|| UID.to_owned());
        node.inspection_finished_at = inspected.then(|| "then".to_owned());
        node.power_state = on.map(|on| if on { PowerState::On } else { PowerState::Off });
        node.reservation = reserved.then(|| "conductor".to_owned());
        node.target_provision_state = target;
        node
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_node_that_moves_is_left_alone_unless_what_it_waits_for_is_to_be_broken_off(
        node in any_node(), operation in any_operation(), machine in any_machine(), tried: bool,
    ) {
        let step = asked(&machine, &operation, tried, &node);
        if node.provision_state.is_moving() && step.is_request() {
            let breaks_off = matches!(step, Step::Provision(Verb::Abort | Verb::Deleted)
                | Step::SetMaintenance | Step::ClearMaintenance | Step::Delete);
            prop_assert!(breaks_off, "{:?} in {}", step, node.provision_state);
            prop_assert!(node.provision_state.to_string().contains("wait"), "{:?} in {}", step, node.provision_state);
        }
    }

    #[test]
    fn nothing_that_may_clean_is_asked_before_automated_clean_is_right(
        node in any_node(), operation in any_operation(), machine in any_machine(), tried: bool,
    ) {
        let step = asked(&machine, &operation, tried, &node);
        if let Step::Provision(verb) = &step && verb.may_clean() {
            let wanted = machine.automated_cleaning.automated_clean();
            prop_assert_eq!(node.automated_clean, Some(wanted));
            prop_assert!(!node.maintenance);
        }
    }

    #[test]
    fn every_way_has_an_end(
        node in any_node(), operation in any_operation(), machine in any_machine(), goes_wrong: bool,
    ) {
        let mut world = World { node: Some(node), goes_wrong, log: Vec::new() };
        let end = world.run(&machine, &operation);
        prop_assert!(["done", "failed", "stuck"].contains(&end.as_str()), "{}", end);
    }

    #[test]
    fn where_nothing_goes_wrong_a_way_that_is_open_leads_to_what_was_asked_for(
        node in any_node(), operation in any_operation(), machine in any_machine(),
    ) {
        use ProvisionState as S;
        let began = node.provision_state;
        let mut world = World { node: Some(node), goes_wrong: false, log: Vec::new() };
        let end = world.run(&machine, &again(operation.clone()));
        let Some(node) = world.node.as_ref().filter(|_| end == "done") else { return Ok(()) };
        let state = node.provision_state;
        let is_right = match &operation {
            Operation::Prepare { .. } => state == S::Available,
            Operation::Adopt { .. } => state == S::Active,
            Operation::Provision(_) => state == S::Active && node.instance_uuid.as_deref() == Some(UID),
            Operation::Deprovision { .. } => matches!(state, S::Available | S::Enroll | S::Verifying),
            Operation::Inspect { .. } => node.is_inspected() && matches!(state, S::Available | S::Manageable),
            Operation::PowerOn { .. } => node.power_state == Some(PowerState::On),
            Operation::PowerOff { .. } => node.power_state == Some(PowerState::Off),
            Operation::Register { .. } => !matches!(state, S::Enroll | S::Verifying),
            Operation::Delete | Operation::Detach { .. } => false,
            Operation::Import | Operation::Observe | Operation::Reboot { .. } => true,
        };
        prop_assert!(is_right, "{:?} from {} ended in {} by {:?}", operation, began, state, world.log);
    }
}

#[test]
fn ironic_is_told_that_a_machine_without_a_bmc_is_on_where_its_agent_is_to_write() {
    let bare = Machine { bmc: None, ..machine() };
    let operation = Operation::Register { credentials_changed: false, retry: false };
    let log = |deploy: &str, power: Option<PowerState>| {
        let mut discovered = node(ProvisionState::Enroll);
        discovered.interfaces.deploy_interface = Some(deploy.into());
        discovered.interfaces.power_interface = Some("fake".into());
        discovered.power_state = power;
        let mut world = World { node: Some(discovered), goes_wrong: false, log: Vec::new() };
        assert_eq!(world.run(&bare, &operation), "done");
        world.log.into_iter().filter(|it| it != "patch").collect::<Vec<_>>()
    };
    assert_eq!(log("direct", None), ["power on", "manage"]);
    assert_eq!(log("direct", Some(PowerState::On)), ["manage"]);
    assert_eq!(log("fake", None), ["manage"]);
}

#[test]
fn what_would_write_nothing_is_no_deployment() {
    let operation = Operation::Provision(Box::new(provision()));
    let mut discovered = node(ProvisionState::Available);
    discovered.interfaces.deploy_interface = Some("fake".into());
    let bare = Machine { bmc: None, ..machine() };
    let step = asked(&bare, &operation, false, &discovered);
    let Step::Failed { reason: Some(reason), .. } = &step else { panic!("{step:?}") };
    assert!(reason.contains("fast_track"), "{reason}");
    discovered.interfaces.deploy_interface = Some("direct".into());
    assert_eq!(word(&asked(&bare, &operation, false, &discovered)), "patch");
}
