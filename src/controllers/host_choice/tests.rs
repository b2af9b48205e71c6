//! A choice is what it would be if every host were looked at.

use super::{
    candidate::{FAILURE_DOMAIN, Reservation},
    selector::Selector,
    *,
};
use crate::{
    api::{BareMetalHost, metal3machine::HostSelector},
    domain::{host_status::OperationalStatus, node_reuse::Pool},
};
use jiff::Timestamp;
use k8s_openapi::{api::core::v1::ObjectReference, apimachinery::pkg::apis::meta::v1::Time};
use proptest::{option, prelude::*, sample::select};
use rstest::rstest;

const NOW: i64 = 1_800_000_000;

fn time(seconds: i64) -> Timestamp {
    Timestamp::from_second(NOW + seconds).unwrap()
}

fn machine(name: &str) -> MachineId {
    MachineId { namespace: "lab".into(), name: name.into() }
}

fn wish(name: &str) -> Wish {
    Wish {
        machine: machine(name),
        selector: Selector::default(),
        failure_domain: None,
        pool: None,
        cluster: "c".into(),
        since: time(0),
    }
}

fn of_pool(name: &str, pool: &str) -> Wish {
    Wish { pool: Some(Pool::MachineDeployment(pool.into())), ..wish(name) }
}

fn host(name: &str) -> Candidate {
    Candidate {
        id: HostId { namespace: "lab".into(), name: name.into() },
        uid: format!("u-{name}"),
        version: "1".into(),
        labels: [].into(),
        standing: Standing::Free,
        consumer: None,
        reservation: None,
        last_used: None,
        unhealthy: None,
    }
}

fn kept(name: &str, pool: &str, since: i64) -> Candidate {
    let reservation =
        Reservation { pool: pool.into(), since: Some(time(since)), cluster: Some("c".into()) };
    Candidate { reservation: Some(reservation), ..host(name) }
}

fn hosts(all: impl IntoIterator<Item = Candidate>) -> Hosts {
    let mut hosts = Hosts::default();
    for host in all {
        hosts.note(host);
    }
    hosts
}

fn choose(hosts: &Hosts, wish: &Wish) -> Choice {
    hosts.choose(wish, time(0), Patience::default())
}

fn taken(choice: &Choice) -> Option<(&str, bool)> {
    match choice {
        Choice::Take(chosen) => Some((&chosen.host.name, chosen.is_reused)),
        Choice::Has(_) | Choice::Await { .. } | Choice::Nothing(_) => None,
    }
}

#[test]
fn the_host_that_has_been_idle_for_longest_is_taken_and_one_that_never_was_in_use_before_it() {
    let used = |name, seconds| Candidate { last_used: Some(time(seconds)), ..host(name) };
    let mut all = hosts([used("a", -10), used("b", -20), host("c")]);
    assert_eq!(taken(&choose(&all, &wish("m"))), Some(("c", false)));
    all.promise(&host("c").id, &machine("other"));
    assert_eq!(taken(&choose(&all, &wish("m"))), Some(("b", false)));
}

#[test]
fn labelled_hosts_come_before_all_others() {
    let all = hosts([host("a"), kept("b", "md-pool1", -5)]);
    assert_eq!(taken(&choose(&all, &of_pool("m", "pool1"))), Some(("b", true)));
    // To others it looks taken.
    assert_eq!(taken(&choose(&all, &of_pool("m", "pool2"))), Some(("a", false)));
    assert_eq!(taken(&choose(&all, &wish("m"))), Some(("a", false)));
}

#[test]
fn a_host_of_a_pool_of_the_same_name_in_another_cluster_is_not_shared() {
    let all = hosts([kept("b", "md-pool1", -5)]);
    let stranger = Wish { cluster: "d".into(), ..of_pool("m", "pool1") };
    assert!(matches!(choose(&all, &stranger), Choice::Nothing(_)));
}

#[test]
fn each_who_waits_has_a_host_to_wait_for_and_the_rest_take_others() {
    let busy = |name| Candidate { standing: Standing::InUse, ..kept(name, "md-pool1", -5) };
    let mut all = hosts([host("a"), busy("b")]);
    let first = of_pool("m1", "pool1");
    assert!(matches!(choose(&all, &first), Choice::Await { .. }));
    all.wait(first);
    let second = Wish { since: time(1), ..of_pool("m2", "pool1") };
    assert_eq!(taken(&choose(&all, &second)), Some(("a", false)));
}

#[test]
fn who_is_just_taking_a_host_of_the_pool_does_not_wait_for_another() {
    let busy = |name| Candidate { standing: Standing::InUse, ..kept(name, "md-pool1", -5) };
    let mut all = hosts([host("a"), busy("b"), busy("c")]);
    all.wait(of_pool("m1", "pool1"));
    let second = Wish { since: time(1), ..of_pool("m2", "pool1") };
    all.wait(second.clone());
    assert_eq!(all.note(kept("b", "md-pool1", -5)), Some(machine("m1")));
    // The claim is under way.
    all.promise(&host("b").id, &machine("m1"));
    assert!(matches!(choose(&all, &second), Choice::Await { hosts, .. } if hosts == ["c"]));
}

#[test]
fn a_host_that_does_not_become_available_in_time_is_given_up() {
    let late = Candidate { standing: Standing::InUse, ..kept("b", "md-pool1", -1_801) };
    let all = hosts([host("a"), late]);
    let Choice::Take(chosen) = choose(&all, &of_pool("m", "pool1")) else { panic!() };
    assert_eq!((chosen.host.name.as_str(), chosen.is_reused), ("a", false));
    assert_eq!(chosen.given_up, ["b"]);
}

#[rstest]
#[case::paused(Standing::Paused, true)]
#[case::in_error(Standing::InError, true)]
#[case::being_cleaned(Standing::NotAvailable, true)]
#[case::given_up(Standing::Unhealthy, false)]
#[case::going(Standing::BeingDeleted, false)]
fn what_can_come_back_is_waited_for(#[case] standing: Standing, #[case] is_awaited: bool) {
    let all = hosts([host("a"), Candidate { standing, ..kept("b", "md-pool1", -5) }]);
    let choice = choose(&all, &of_pool("m", "pool1"));
    assert_eq!(matches!(choice, Choice::Await { .. }), is_awaited, "{choice:?}");
}

#[test]
fn a_machine_that_waits_is_woken_by_the_host_that_it_waits_for_and_no_other_is() {
    let mut all = Hosts::default();
    let only_b = Wish { failure_domain: Some("b".into()), ..wish("m1") };
    all.wait(only_b);
    all.wait(Wish { since: time(1), ..wish("m2") });
    all.wait(Wish { since: time(2), ..wish("m3") });
    assert_eq!(all.note(host("x")), Some(machine("m2")));
    let mut there = host("y");
    there.labels.insert(FAILURE_DOMAIN.into(), "b".into());
    assert_eq!(all.note(there), Some(machine("m1")));
    assert_eq!(all.note(Candidate { standing: Standing::InUse, ..host("z") }), None);
    // What was free stays free: nobody is woken again.
    assert_eq!(all.note(Candidate { version: "2".into(), ..host("x") }), None);
    // Who was called and goes without leaves it to the next.
    assert_eq!(all.leave(&machine("m2")), Some(machine("m3")));
    assert_eq!(all.leave(&machine("m3")), None);
}

#[test]
fn two_hosts_wake_two_machines_and_who_takes_another_than_the_one_it_was_called_to_leaves_that_to_the_next()
 {
    let mut all = Hosts::default();
    for (name, seconds) in [("m1", 1), ("m2", 2), ("m3", 3)] {
        all.wait(Wish { since: time(seconds), ..wish(name) });
    }
    assert_eq!(all.note(host("x")), Some(machine("m1")));
    assert_eq!(all.note(host("y")), Some(machine("m2")));
    all.promise(&host("y").id, &machine("m1"));
    assert_eq!(all.leave(&machine("m1")), Some(machine("m3")));
    // The second finds the first host, and the third waits on.
    all.promise(&host("x").id, &machine("m2"));
    assert_eq!(all.leave(&machine("m2")), None);
    assert_eq!(all.wait(Wish { since: time(3), ..wish("m3") }), None);
    assert_eq!(all.note(host("z")), Some(machine("m3")));
}

#[test]
fn a_claim_that_came_to_nothing_gives_the_host_back() {
    let mut all = hosts([host("a")]);
    all.promise(&host("a").id, &machine("m1"));
    assert!(matches!(choose(&all, &wish("m2")), Choice::Nothing(_)));
    // What is heard meanwhile was there before the claim.
    all.note(Candidate { version: "2".into(), ..host("a") });
    assert!(matches!(choose(&all, &wish("m2")), Choice::Nothing(_)));
    all.break_promise(&host("a").id);
    let Choice::Take(chosen) = choose(&all, &wish("m2")) else { panic!() };
    assert_eq!(chosen.version, "2");
}

#[rstest]
#[case::available(|_: &mut BareMetalHost| {}, Standing::Free)]
#[case::ready(|it: &mut BareMetalHost| state(it, "ready"), Standing::Free)]
#[case::inspecting(|it: &mut BareMetalHost| state(it, "inspecting"), Standing::NotAvailable)]
#[case::unknown(|it: &mut BareMetalHost| state(it, "dancing"), Standing::NotAvailable)]
#[case::paused(|it: &mut BareMetalHost| annotate(it, "baremetalhost.metal3.io/paused", ""), Standing::Paused)]
#[case::unhealthy(|it: &mut BareMetalHost| annotate(it, "capm3.metal3.io/unhealthy", ""), Standing::Unhealthy)]
#[case::unhealthy_once(|it: &mut BareMetalHost| annotate(it, "capi.metal3.io/unhealthy", ""), Standing::Unhealthy)]
#[case::pending(|it: &mut BareMetalHost| annotate(it, "ironward.dev/approval", "pending"), Standing::PendingApproval)]
#[case::approved(|it: &mut BareMetalHost| annotate(it, "ironward.dev/approval", "approved"), Standing::Free)]
#[case::in_error(|it: &mut BareMetalHost| it.status.as_mut().unwrap().error_message = "no".into(), Standing::InError)]
#[case::detached(
    |it: &mut BareMetalHost| it.status.as_mut().unwrap().operational_status = OperationalStatus::Detached,
    Standing::NotAvailable
)]
#[case::going(
    |it: &mut BareMetalHost| it.metadata.deletion_timestamp = Some(Time(time(0))),
    Standing::BeingDeleted
)]
#[case::of_somebody(
    |it: &mut BareMetalHost| it.spec.consumer_ref = Some(ObjectReference::default()),
    Standing::InUse
)]
#[case::with_an_image(
    |it: &mut BareMetalHost| it.spec.image = Some(crate::api::image::Image::default()),
    Standing::InUse
)]
fn how_a_host_stands(#[case] change: fn(&mut BareMetalHost), #[case] expected: Standing) {
    let mut host = BareMetalHost::default();
    state(&mut host, "available");
    change(&mut host);
    assert_eq!(Candidate::of(&host).standing(), expected);
}

fn state(host: &mut BareMetalHost, state: &str) {
    host.status.get_or_insert_default().provisioning.state = state.into();
}

fn annotate(host: &mut BareMetalHost, key: &str, value: &str) {
    host.metadata.annotations.get_or_insert_default().insert(key.into(), value.into());
}

fn any_host() -> impl Strategy<Value = Candidate> {
    let label = |key: &'static str| {
        option::of(select(vec!["a", "b"])).prop_map(move |it| it.map(|it| (key, it)))
    };
    let standing = select(vec![Standing::Free, Standing::InUse, Standing::NotAvailable]);
    let reserved = option::weighted(0.2, select(vec!["md-pool1", "md-pool2"]));
    (
        0..12_u8,
        label(FAILURE_DOMAIN),
        label("size"),
        standing,
        reserved,
        option::of(-50..0_i64),
        1..9_u8,
    )
        .prop_map(|(number, domain, size, standing, reserved, used, version)| Candidate {
            labels: [domain, size]
                .into_iter()
                .flatten()
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
            standing,
            reservation: reserved.map(|pool| Reservation {
                pool: pool.into(),
                since: None,
                cluster: None,
            }),
            last_used: used.map(time),
            version: version.to_string(),
            ..host(&format!("h{number}"))
        })
}

fn any_wish() -> impl Strategy<Value = Wish> {
    let value = || option::of(select(vec!["a", "b"]));
    (value(), value()).prop_map(|(domain, size)| {
        let labels = size.map(|size| [("size".to_owned(), size.to_owned())].into());
        let selector = HostSelector { match_labels: labels, match_expressions: None };
        Wish {
            selector: Selector::read(Some(&selector)).unwrap(),
            failure_domain: domain.map(str::to_owned),
            ..wish("m")
        }
    })
}

proptest! {
    #[test]
    fn a_choice_is_what_it_would_be_if_every_host_were_looked_at(
        heard in proptest::collection::vec((any_host(), any::<bool>()), 0..40),
        wish in any_wish(),
    ) {
        let mut all = Hosts::default();
        let mut stored: std::collections::BTreeMap<HostId, Candidate> = [].into();
        for (host, is_gone) in heard {
            if is_gone {
                all.forget(&host.id);
                stored.remove(&host.id);
            } else {
                let is_late = stored.get(&host.id).is_some_and(|it| it.version > host.version);
                all.note(host.clone());
                if !is_late {
                    stored.insert(host.id.clone(), host);
                }
            }
        }
        let free = stored.values().filter(|it| it.standing() == Standing::Free);
        let fits = free.filter(|it| wish.fits(it));
        let first = fits.min_by_key(|it| (it.last_used, it.id.name.clone()));
        match choose(&all, &wish) {
            Choice::Take(chosen) => prop_assert_eq!(Some(&chosen.host), first.map(|it| &it.id)),
            Choice::Nothing(shortage) => {
                prop_assert_eq!(first, None);
                let told: usize = shortage.census.values().sum();
                prop_assert_eq!(told, stored.len());
                let free = shortage.census.get(&Standing::Free).copied().unwrap_or_default();
                let elsewhere = shortage.elsewhere.as_ref().map_or(0, |(_, count)| *count);
                prop_assert_eq!(free, elsewhere + shortage.unselected, "{}", shortage);
            }
            other @ (Choice::Has(_) | Choice::Await { .. }) => prop_assert!(false, "{other:?}"),
        }
    }
}
