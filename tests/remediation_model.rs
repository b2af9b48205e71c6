//! The remediation controller's decisions: over the whole cross product of what can be observed, and in a world with Cluster API, hosts and a
//! workload cluster that fail at any step. Whatever happens, every run ends, in bounded time; a host is never switched off more often than
//! `retryLimit` says, and never one whose machine is healthy or gone.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

#[path = "remediation_model/product.rs"]
mod product;
#[path = "remediation_model/table.rs"]
mod table;
#[path = "remediation_model/world.rs"]
mod world;

use ironward::{
    api::hosthistory::RemediationOutcome as Outcome,
    controllers::remediation::{
        decide,
        observed::{Hold, NoHost, Observed, Power},
        plan::Then,
    },
    domain::remediation::Phase,
};
use proptest::{collection::vec, prelude::*, sample::select};
use std::collections::BTreeSet;
use world::{Fault, World};

/// What is done in any of the rows that are shown, of which each is checked.
fn actions(each: impl FnOnce(&mut dyn FnMut(&Observed))) -> (usize, BTreeSet<String>) {
    let (mut rows, mut actions) = (0, BTreeSet::new());
    each(&mut |seen| {
        let plan = decide(seen);
        assert_eq!(plan, decide(seen), "the same is decided twice");
        table::check(seen, &plan);
        if let Then::Do(action) = &plan.then {
            let name = format!("{action:?}");
            actions.insert(name.split('(').next().unwrap_or_default().to_owned());
        }
        rows += 1;
    });
    (rows, actions)
}

/// A table in which something never happens says nothing of it.
const ACTIONS: [&str; 13] = [
    "AnswerRequest",
    "AskOwner",
    "BackUp",
    "Delete",
    "DeleteNode",
    "GiveUpHost",
    "Guard",
    "Release",
    "Restore",
    "SwitchOff",
    "SwitchOn",
    "Taint",
    "Untaint",
];

#[test]
fn the_invariants_hold_for_all_that_can_be_observed() {
    let (rows, actions) = actions(|look| table::each(look));
    assert!(rows > 500_000, "the table has only {rows} rows");
    assert!(actions.iter().eq(&ACTIONS), "{actions:?}");
}

#[test]
fn the_invariants_hold_for_whatever_comes_together() {
    let (_, actions) = actions(|look| product::each(1_000_000, look));
    assert!(actions.iter().eq(&ACTIONS), "{actions:?}");
}

#[test]
fn a_node_that_returns_is_recovered_by_one_power_cycle() {
    let mut world = World::new(3);
    world.comes_back_after = Some(1);
    world.run();
    assert_eq!((world.offs, world.ons), (1, 1), "{:#?}", world.log);
    assert!(world.is_deleted(), "{:#?}", world.log);
    assert_eq!(world.outcomes(), [Outcome::Recovered]);
    assert!(!world.node.as_ref().unwrap().is_tainted);
}

#[test]
fn a_node_that_never_returns_costs_exactly_retry_limit_power_cycles() {
    for limit in 1..=4 {
        let mut world = World::new(limit);
        world.run();
        let cycles = usize::try_from(limit).unwrap();
        assert_eq!(world.ons, cycles, "{:#?}", world.log);
        // The last one is for good.
        assert_eq!(world.offs, cycles + 1, "{:#?}", world.log);
        assert_eq!(world.phase(), Some(Phase::DeletingMachine));
        assert!(world.machine.as_ref().unwrap().is_owner_asked);
        assert!(!world.host.is_online && world.host.unhealthy.is_some());
        let outcomes = world.outcomes();
        assert_eq!(outcomes.len(), cycles);
        assert_eq!(outcomes.last(), Some(&Outcome::Replaced));
        assert!(outcomes[..cycles - 1].iter().all(|it| *it == Outcome::TimedOut));
    }
}

#[test]
fn where_the_taint_is_not_known_the_node_is_deleted_and_has_its_labels_again() {
    let mut world = World::new(1);
    world.knows_out_of_service = false;
    world.comes_back_after = Some(1);
    world.run();
    assert!(world.log.iter().any(|it| it == "DeleteNode"), "{:#?}", world.log);
    let node = world.node.as_ref().unwrap();
    assert_eq!(node.kept.labels.get("role").map(String::as_str), Some("worker"));
    assert!(world.backup.is_none() && world.is_deleted());
}

#[test]
fn being_killed_between_any_two_effects_changes_nothing() {
    for comes_back_after in [None, Some(1), Some(2)] {
        for effects in 0.. {
            let mut world = World::new(2);
            world.comes_back_after = comes_back_after;
            world.until_killed = Some(effects);
            world.run();
            let cycles = comes_back_after.unwrap_or(2);
            assert_eq!(world.ons, cycles, "killed after {effects}: {:#?}", world.log);
            assert_eq!(world.outcomes().len(), cycles);
            assert_eq!(world.counts(), World::counts_of(cycles, comes_back_after.is_some()));
            if world.until_killed.is_some() {
                assert!(effects >= 10, "only {effects} effects");
                break;
            }
        }
    }
}

#[test]
fn what_cannot_be_done_fails_at_once_and_says_why() {
    type Break = fn(&mut World);
    let cases: [(&str, Break); 6] = [
        ("NoPowerControl", |world| world.host.power = Power::NoBmc),
        ("NoPowerControl", |world| world.host.power = Power::NeverOff),
        ("HostSwitchedOff", |world| (world.host.is_online, world.host.is_on) = (false, false)),
        ("NoMachine", |world| world.machine = None),
        ("NoHost", |world| world.no_host = Some(NoHost::Unchosen)),
        ("HostReleased", |world| world.host.is_ours = false),
    ];
    for (reason, break_it) in cases {
        let mut world = World::new(1);
        break_it(&mut world);
        let start = world.now;
        world.run();
        assert_eq!(world.phase(), Some(Phase::Failed), "{reason}");
        assert_eq!(world.reason(), reason);
        assert_eq!((world.offs, world.now), (0, start), "{reason}");
    }
}

#[test]
fn while_somebody_else_holds_the_host_it_is_not_switched_off() {
    let mut world = World::new(2);
    world.host.hold = Some(Hold::Reboot("reboot.metal3.io/maintenance".into()));
    world.run();
    assert_eq!(world.phase(), Some(Phase::Failed));
    assert!(!world.log.iter().any(|it| it == "SwitchOff"), "{:#?}", world.log);
    assert!(world.message().contains("reboot.metal3.io/maintenance"), "{}", world.message());
}

#[test]
fn a_machine_that_never_was_a_node_is_remediated_too() {
    let mut world = World::new(1);
    world.machine.as_mut().unwrap().node = None;
    world.node = None;
    world.run();
    assert_eq!((world.ons, world.phase()), (1, Some(Phase::DeletingMachine)));
}

#[test]
fn a_person_has_a_healthy_machine_rebooted_once() {
    let mut world = World::new(3);
    world.is_well = true;
    world.node.as_mut().unwrap().is_ready = true;
    world.machine.as_mut().unwrap().verdict = None;
    world.request = Some("the disk makes noises".into());
    world.comes_back_after = Some(1);
    world.run();
    assert_eq!((world.offs, world.ons), (1, 1), "{:#?}", world.log);
    assert!(world.is_deleted());
    assert_eq!(world.outcomes(), [Outcome::Recovered]);
}

#[test]
fn a_healthy_machine_is_left_alone_without_a_persons_word() {
    let mut world = World::new(3);
    world.is_well = true;
    world.machine.as_mut().unwrap().verdict = None;
    world.node.as_mut().unwrap().is_ready = true;
    world.run();
    assert_eq!((world.offs, world.phase()), (0, Some(Phase::Failed)));
    assert_eq!(world.reason(), "MachineHealthy");
}

#[test]
fn a_machine_of_which_nobody_knows_whether_it_is_well_is_left_alone() {
    let mut world = World::new(3);
    world.machine.as_mut().unwrap().verdict = None;
    world.faults = vec![(0, Fault::Unreachable)];
    world.run();
    assert_eq!((world.offs, world.phase()), (0, Some(Phase::Failed)), "{:#?}", world.log);
    assert_eq!(world.reason(), "HealthUnknown");
}

#[test]
fn beyond_the_storm_limit_one_waits_and_says_so() {
    let mut world = World::new(1);
    world.storm.active = world.storm.limit;
    world.run();
    assert_eq!((world.offs, world.phase()), (0, None));
    assert_eq!(world.reason(), "Delayed");
    assert!(world.message().contains("2 of at most 2 hosts"), "{}", world.message());
    world.storm.active -= 1;
    world.run();
    assert_eq!(world.ons, 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    /// Faults come and go at any step, the controller is killed at any effect: it comes to an end, and what must never happen does not.
    #[test]
    fn every_run_ends(
        limit in 1..4_i32,
        comes_back_after in proptest::option::of(1..4_usize),
        knows_out_of_service: bool,
        has_verdict: bool,
        was_a_node: bool,
        is_requested: bool,
        until_killed in proptest::option::of(0..60_usize),
        faults in vec((0..60_usize, select(Fault::ALL.to_vec())), 0..6),
    ) {
        let mut world = World::new(limit);
        world.comes_back_after = comes_back_after;
        world.knows_out_of_service = knows_out_of_service;
        if !has_verdict {
            world.machine.as_mut().unwrap().verdict = None;
        }
        if !was_a_node {
            world.machine.as_mut().unwrap().node = None;
            world.node = None;
        }
        world.request = is_requested.then(|| "asked for".to_owned());
        world.until_killed = until_killed;
        world.faults = faults;
        world.run();
        world.check_end();
    }
}
