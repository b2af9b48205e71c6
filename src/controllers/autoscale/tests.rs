//! Replicas follow hosts, and nothing that is in use is taken away.

use std::time::Duration;

use jiff::Timestamp;
use rstest::rstest;

use super::{
    decide,
    observed::{Kind, Machine, Observed, Pool, PoolId},
    plan::{Plan, Scaling},
};
use crate::{
    api::metal3machine::HostSelector,
    controllers::host_choice::{
        Candidate, HostId, MachineId, Standing, candidate::Reservation, selector::Selector,
    },
};

const LONG: Duration = Duration::from_mins(1);

fn id(name: &str) -> PoolId {
    PoolId { kind: Kind::MachineDeployment, name: name.into() }
}

fn pool(name: &str, annotation: &str, replicas: u32) -> Pool {
    Pool {
        id: id(name),
        created: None,
        cluster: "c".into(),
        annotation: annotation.into(),
        replicas,
        is_left_alone: false,
        has_autoscaler: false,
        selector: Ok(Selector::default()),
        short_for: LONG,
    }
}

fn host(name: &str) -> Candidate {
    Candidate {
        id: HostId { namespace: "lab".into(), name: name.into() },
        uid: name.into(),
        version: "1".into(),
        labels: [("size".to_owned(), "large".to_owned())].into(),
        standing: Standing::Free,
        consumer: None,
        reservation: None,
        last_used: None,
        unhealthy: None,
    }
}

fn used(name: &str, machine: &str) -> Candidate {
    let consumer = MachineId { namespace: "lab".into(), name: machine.into() };
    Candidate { standing: Standing::InUse, consumer: Some(consumer), ..host(name) }
}

fn machine(deployment: &str) -> Machine {
    Machine { deployment: Some(deployment.into()), ..Machine::default() }
}

fn leaving(deployment: &str) -> Machine {
    Machine { has_host: true, is_leaving: true, ..machine(deployment) }
}

fn planned(pools: Vec<Pool>, hosts: &[Candidate], machines: &[(&str, Machine)]) -> Plan {
    let machines = machines.iter().map(|(name, it)| ((*name).to_owned(), it.clone())).collect();
    decide(&Observed { pools, hosts: hosts.iter().collect(), machines })
}

/// What the replicas of the first pool become.
fn replicas(pools: Vec<Pool>, hosts: &[Candidate], machines: &[(&str, Machine)]) -> u32 {
    let (first, before) = (pools[0].id.clone(), pools[0].replicas);
    let plan = planned(pools, hosts, machines);
    assert_eq!(plan.problems, []);
    plan.scalings.iter().find(|it| it.pool == first).map_or(before, |it| it.to)
}

#[rstest]
#[case::all("true", 3)]
#[case::at_most(r#"{"max": 2}"#, 2)]
#[case::at_least(r#"{"min": 5}"#, 5)]
#[case::off("false", 7)]
fn replicas_follow_hosts(#[case] annotation: &str, #[case] expected: u32) {
    let hosts = [used("a", "m1"), host("b"), host("c")];
    let machines = [("m1", machine("p"))];
    assert_eq!(replicas(vec![pool("p", annotation, 7)], &hosts, &machines), expected);
}

#[rstest]
#[case(Standing::InUse)]
#[case(Standing::NotAvailable)]
#[case(Standing::InError)]
#[case(Standing::Paused)]
#[case(Standing::Unhealthy)]
#[case(Standing::PendingApproval)]
#[case(Standing::BeingDeleted)]
fn a_host_that_cannot_be_had_is_not_counted(#[case] standing: Standing) {
    let hosts = [Candidate { standing, ..host("a") }];
    assert_eq!(replicas(vec![pool("p", "", 0)], &hosts, &[]), 0);
}

#[test]
fn a_host_with_other_labels_or_of_another_pool_is_not_counted() {
    let labels = [("size".to_owned(), "small".to_owned())];
    let selector = HostSelector { match_labels: Some(labels.into()), match_expressions: None };
    let choosy =
        Pool { selector: Ok(Selector::read(Some(&selector)).unwrap()), ..pool("p", "", 1) };
    let hosts = [host("a"), used("b", "m1"), used("c", "m2")];
    let machines = [("m1", machine("p")), ("m2", machine("another"))];
    // What is used stays counted, whatever its labels are by now.
    assert_eq!(replicas(vec![choosy], &hosts, &machines), 1);
}

#[test]
fn a_machine_keeps_its_host_even_if_that_cannot_be_seen() {
    let machines = [("m1", Machine { has_host: true, ..machine("p") })];
    assert_eq!(replicas(vec![pool("p", "", 1)], &[], &machines), 1);
    // Until it goes, or never had one.
    assert_eq!(replicas(vec![pool("p", "", 1)], &[], &[("m1", leaving("p"))]), 0);
    assert_eq!(replicas(vec![pool("p", "", 1)], &[], &[("m1", machine("p"))]), 0);
}

#[test]
fn a_rollout_changes_nothing() {
    let machines = [("m1", leaving("p"))];
    assert_eq!(replicas(vec![pool("p", "", 1)], &[used("a", "m1")], &machines), 1);
    let reservation = |pool: &str, cluster: &str| Candidate {
        standing: Standing::NotAvailable,
        reservation: Some(Reservation {
            pool: pool.into(),
            since: None,
            cluster: Some(cluster.into()),
        }),
        ..host("a")
    };
    assert_eq!(replicas(vec![pool("p", "", 1)], &[reservation("md-p", "c")], &[]), 1);
    assert_eq!(replicas(vec![pool("p", "", 1)], &[reservation("md-p", "d")], &[]), 0);
    assert_eq!(replicas(vec![pool("p", "", 1)], &[reservation("md-q", "c")], &[]), 0);
}

#[test]
fn a_host_that_was_given_up_does_not_come_back() {
    let broken = Candidate { standing: Standing::Unhealthy, ..used("a", "m1") };
    let replaced = [broken, host("new")];
    // Its machine goes, and the new host has one in its place.
    assert_eq!(replicas(vec![pool("p", "", 1)], &replaced, &[("m1", leaving("p"))]), 1);
}

#[test]
fn a_host_that_two_could_have_is_the_older_ones_until_that_is_full() {
    let old = Pool { created: Some(Timestamp::UNIX_EPOCH), ..pool("z", r#"{"max": 1}"#, 0) };
    let young = Pool { created: Some(Timestamp::from_second(9).unwrap()), ..pool("a", "", 0) };
    let plan = planned(vec![young, old], &[host("a"), host("b"), host("c")], &[]);
    let scaling = |name: &str, to, hosts| Scaling { pool: id(name), from: 0, to, hosts };
    assert_eq!(plan.scalings, [scaling("z", 1, 1), scaling("a", 2, 2)]);
}

#[test]
fn it_is_waited_whether_a_shortage_lasts() {
    let short = Pool { short_for: Duration::from_secs(3), ..pool("p", "", 2) };
    let plan = planned(vec![short], &[host("a")], &[]);
    assert_eq!((plan.scalings, plan.short), (vec![], vec![id("p")]));
    let plan = planned(vec![pool("p", "", 2)], &[host("a")], &[]);
    assert_eq!((plan.scalings.len(), plan.short), (1, vec![id("p")]));
}

#[test]
fn what_cannot_be_scaled_is_told_and_left() {
    let mistaken = pool("a", "many", 1);
    let contested = Pool { has_autoscaler: true, ..pool("b", "", 1) };
    let unknown = Pool { selector: Err("there is no template".into()), ..pool("c", "", 1) };
    let paused = Pool { is_left_alone: true, ..pool("d", "many", 1) };
    let plan = planned(vec![mistaken, contested, unknown, paused], &[host("x"), host("y")], &[]);
    assert_eq!(plan.scalings, []);
    let told: Vec<_> = plan.problems.iter().map(|(pool, why)| (pool.name.as_str(), why)).collect();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[0].1.contains("`many`") && told[1].1.contains("remove one"), "{told:?}");
}

#[test]
fn a_machine_set_of_its_own_is_a_pool_too() {
    let alone =
        Pool { id: PoolId { kind: Kind::MachineSet, name: "s".into() }, ..pool("s", "", 0) };
    let machines = [("m1", Machine { set: Some("s".into()), ..Machine::default() })];
    assert_eq!(replicas(vec![alone], &[used("a", "m1"), host("b")], &machines), 2);
}
