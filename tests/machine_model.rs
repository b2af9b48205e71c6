//! The decisions about machines against a world with two pools: what proposal 1 says of node reuse and proposal 2 of cleaning, sentence by
//! sentence; and whatever happens in whatever order, no host has two consumers, none that is reserved is taken by a stranger, and every
//! reservation ends.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

#[path = "machine_model/model.rs"]
mod model;
#[path = "machine_model/proposals.rs"]
mod proposals;
#[path = "machine_model/world.rs"]
mod world;

use model::{KEPT, Play, Scene};
use proptest::{prelude::*, sample::select, strategy::ValueTree, test_runner::TestRunner};
use rstest::rstest;
use stateright::{Checker, HasDiscoveries, Model};
use world::{Mistake, World};

/// As deep as the steps of two replicas interleave; both mistakes are found at half of it.
const DEEP: usize = 12;
/// More rounds than anything takes.
const MANY: usize = 150;

fn upgrade(world: &mut World, pool: &str) {
    world.deployments.get_mut(pool).unwrap().version += 1;
}

/// What may happen.
#[derive(Debug, Clone)]
enum Happening {
    Scale(&'static str, usize),
    Upgrade(&'static str),
    SwitchReuse(&'static str),
    DeletePool(&'static str),
    DeleteMachine(usize),
    Stick(usize),
    Recover(usize),
    GiveUp(usize),
    Restart(usize),
    Hear(usize, usize),
    Think(usize, usize),
    Act(usize, usize),
    Work(usize),
    LookAt(usize),
    Orchestrate(&'static str),
    Wait(u8),
}

fn happening() -> impl Strategy<Value = Happening> {
    let pool = || select(vec!["pool1", "pool2"]);
    let number = || 0..8_usize;
    prop_oneof![
        1 => (pool(), 0..4_usize).prop_map(|(pool, count)| Happening::Scale(pool, count)),
        1 => pool().prop_map(Happening::Upgrade),
        1 => pool().prop_map(Happening::SwitchReuse),
        1 => pool().prop_map(Happening::DeletePool),
        1 => number().prop_map(Happening::DeleteMachine),
        1 => number().prop_map(Happening::Stick),
        1 => number().prop_map(Happening::Recover),
        1 => number().prop_map(Happening::GiveUp),
        1 => (0..2_usize).prop_map(Happening::Restart),
        8 => (0..2_usize, number()).prop_map(|(replica, host)| Happening::Hear(replica, host)),
        20 => (0..2_usize, number()).prop_map(|(replica, it)| Happening::Think(replica, it)),
        20 => (0..2_usize, number()).prop_map(|(replica, it)| Happening::Act(replica, it)),
        10 => number().prop_map(Happening::Work),
        5 => number().prop_map(Happening::LookAt),
        8 => pool().prop_map(Happening::Orchestrate),
        2 => (1..40_u8).prop_map(Happening::Wait),
    ]
}

fn happen(world: &mut World, happening: &Happening) {
    let host = |world: &World, number: usize| {
        world.hosts.keys().nth(number % world.hosts.len()).unwrap().clone()
    };
    let machine = |world: &World, number: usize| {
        let count = world.machines.len();
        (count > 0).then(|| world.machines.keys().nth(number % count).unwrap().clone())
    };
    match happening {
        Happening::Scale(pool, replicas) => {
            world.deployments.get_mut(*pool).unwrap().replicas = *replicas;
        }
        Happening::Upgrade(pool) => upgrade(world, pool),
        Happening::SwitchReuse(pool) => {
            let deployment = world.deployments.get_mut(*pool).unwrap();
            deployment.node_reuse = !deployment.node_reuse;
        }
        Happening::DeletePool(pool) => world.deployments.get_mut(*pool).unwrap().is_gone = true,
        Happening::DeleteMachine(number) => {
            if let Some(machine) = machine(world, *number) {
                world.delete(&machine);
            }
        }
        Happening::Stick(number) => {
            let host = host(world, *number);
            world.stuck.insert(host);
        }
        Happening::Recover(number) => {
            let host = host(world, *number);
            world.stuck.remove(&host);
        }
        Happening::GiveUp(number) => {
            let host = host(world, *number);
            world.edit(&host, |it| {
                let annotations = it.metadata.annotations.get_or_insert_default();
                annotations.insert("capi.metal3.io/unhealthy".into(), String::new());
            });
        }
        Happening::Restart(replica) => world.restart(*replica),
        Happening::Hear(replica, number) => {
            let host = host(world, *number);
            world.hear_of(*replica, &host);
        }
        Happening::Think(replica, number) => {
            if let Some(machine) = machine(world, *number) {
                world.think(*replica, &machine);
            }
        }
        Happening::Act(replica, number) => {
            if let Some(machine) = machine(world, *number) {
                world.act(*replica, &machine);
            }
        }
        Happening::Work(number) => {
            let host = host(world, *number);
            world.work(&host);
        }
        Happening::LookAt(number) => {
            let host = host(world, *number);
            world.look_at(&host);
        }
        Happening::Orchestrate(pool) => world.orchestrate(pool),
        Happening::Wait(minutes) => {
            let pause = std::time::Duration::from_mins((*minutes).into());
            world.now = world.now.checked_add(pause).unwrap();
        }
    }
}

fn busy_world(hosts: usize, mistake: Option<Mistake>) -> World {
    let mut world = World::new(hosts, 2);
    world.mistake = mistake;
    world.deploy("pool1", 2, true);
    world.deploy("pool2", 2, true);
    world.rounds(3);
    world
}

/// What happens, and then nothing any more but everybody's work.
fn live(world: &mut World, happenings: &[Happening]) -> Result<(), String> {
    for happening in happenings {
        happen(world, happening);
        if let Some(broken) = world.broken.take() {
            return Err(format!("{broken}, by {happening:?}: {:#?}", world.log));
        }
    }
    world.stuck.clear();
    for _ in 0..MANY {
        world.round();
        if let Some(broken) = world.broken.take() {
            return Err(format!("{broken} in the end: {:#?}", world.log));
        }
    }
    let left = world.reserved();
    if !left.is_empty() {
        return Err(format!("reservations that do not end: {left:?} {:#?}", world.log));
    }
    let unhealthy = world.hosts.values().filter(|it| {
        it.metadata.annotations.iter().flatten().any(|(key, _)| key.contains("unhealthy"))
    });
    let wanted: usize =
        world.deployments.values().filter(|it| !it.is_gone).map(|it| it.replicas).sum();
    if world.hosts.len() - unhealthy.count() >= wanted {
        for pool in ["pool1", "pool2"] {
            if !world.is_settled(pool) {
                return Err(format!("{pool} does not get its hosts: {:#?}", world.log));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_hosts_have_one_consumer_strangers_take_none_that_is_kept_and_every_reservation_ends(
        // From so few that all are wanted by somebody to more than are ever needed.
        hosts in 3..9_usize,
        happenings in proptest::collection::vec(happening(), 0..120)
    ) {
        let mut world = busy_world(hosts, None);
        prop_assert_eq!(live(&mut world, &happenings), Ok(()));
    }
}

/// A check that cannot fail shows nothing.
#[test]
fn a_world_in_which_nobody_looks_after_reservations_is_found_out() {
    let mut runner = TestRunner::deterministic();
    let found = (0..40).any(|_| {
        let happenings = proptest::collection::vec(happening(), 0..120);
        let happenings = happenings.new_tree(&mut runner).unwrap().current();
        let mut world = busy_world(8, Some(Mistake::ReservationsAreForgotten));
        live(&mut world, &happenings).is_err_and(|it| it.starts_with("reservations"))
    });
    assert!(found);
}

#[rstest]
#[case(Scene::WantedByTwo)]
#[case(Scene::KeptForOne)]
#[case(Scene::GivenBack)]
fn in_every_order_a_host_has_one_consumer_and_strangers_take_none_that_is_kept(
    #[case] scene: Scene,
) {
    let play = Play { scene, mistake: None };
    let checker = play.checker().threads(2).target_max_depth(DEEP).spawn_bfs().join();
    println!(
        "{scene:?}: {} states, {} steps, {} deep",
        checker.unique_state_count(),
        checker.state_count(),
        checker.max_depth()
    );
    checker.assert_properties();
}

#[rstest]
#[case(Scene::WantedByTwo, Mistake::ClaimOfAnyVersion)]
#[case(Scene::KeptForOne, Mistake::PoolsAreMixedUp)]
fn a_wrong_way_to_take_hosts_is_found_out(#[case] scene: Scene, #[case] mistake: Mistake) {
    let play = Play { scene, mistake: Some(mistake) };
    let kept = HasDiscoveries::AnyOf([KEPT].into());
    let checker =
        play.checker().threads(2).target_max_depth(DEEP).finish_when(kept).spawn_bfs().join();
    assert!(checker.discovery(KEPT).is_some(), "{mistake:?} does no harm");
}
