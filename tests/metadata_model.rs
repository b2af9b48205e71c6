//! The allocation of indexes under every interleaving of two replicas that both believe to lead, crashes, machines that come and go, a
//! status that is deleted at any moment, and what was heard of machines late; by model checking. The model decides with the code
//! that Ironward runs: `controllers::metadata::decide`.
//!
//! Shown of it: no two machines are ever given one index, and from wherever a replica is left alone everything ends well: every machine has
//! its Secret, no index is left out, and no Secret is left over. And one of the model: it finds what is wrong with wrong ways to do it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "metadata_model/mistake.rs"]
mod mistake;
#[path = "metadata_model/model.rs"]
mod model;
#[path = "metadata_model/seen.rs"]
mod seen;

use mistake::Mistake;
use model::{ENDS_WELL, UNIQUE, World};
use rstest::rstest;
use stateright::{Checker, HasDiscoveries, Model};

#[rstest]
#[case::machines_that_stay(World { machines: 3, wipes: 1, deletions: 0, staleness: 0, mistake: None })]
#[case::machines_that_leave(World { machines: 2, wipes: 1, deletions: 1, staleness: 0, mistake: None })]
#[case::machines_that_were_heard_of_late(World { machines: 2, wipes: 1, deletions: 0, staleness: 1, mistake: None })]
#[case::machines_whose_leaving_was_heard_of_late(World { machines: 2, wipes: 0, deletions: 1, staleness: 1, mistake: None })]
fn no_two_machines_have_one_index_and_all_ends_well(#[case] world: World) {
    let checker = world.checker().threads(2).spawn_bfs().join();
    println!(
        "{world:?}: {} states, {} steps, {} deep",
        checker.unique_state_count(),
        checker.state_count(),
        checker.max_depth()
    );
    assert!(checker.is_done());
    checker.assert_properties();
}

#[rstest]
#[case(Mistake::SettledWithoutCompare)]
#[case(Mistake::DeletedWithoutCompare)]
#[case(Mistake::GivenAtOnce)]
#[case(Mistake::SettledBesideAnother)]
fn a_wrong_way_is_found_out(#[case] mistake: Mistake) {
    let world = World { machines: 2, wipes: 2, deletions: 0, staleness: 1, mistake: Some(mistake) };
    let any = HasDiscoveries::AnyOf([UNIQUE, ENDS_WELL].into());
    let checker = world.checker().threads(2).finish_when(any).spawn_bfs().join();
    let found = [UNIQUE, ENDS_WELL].into_iter().find_map(|it| Some((it, checker.discovery(it)?)));
    let (property, path) = found.unwrap_or_else(|| panic!("{mistake:?} was not found"));
    let count = checker.unique_state_count();
    println!("{mistake:?}: not {property:?} after {count} states: {:?}", path.into_actions());
}
