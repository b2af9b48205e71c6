//! The claim protocol under every interleaving of requests, crashes and the sweep, by model checking.
//! The model decides with the code that Ironward runs: `uniqueness::decide` and `uniqueness::sweep`.
//!
//! Two things are shown of the protocol: no two objects are ever stored with one key, and no key is
//! ever locked for good. And one of the model: it finds what is wrong with twelve wrong protocols.

#![allow(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test that cannot go on fails"
)]

#[path = "uniqueness_model/mistake.rs"]
mod mistake;
#[path = "uniqueness_model/model.rs"]
mod model;

use std::collections::{HashMap, VecDeque};

use mistake::Mistake;
use model::{Action, Object, State, World};
use rstest::rstest;
use stateright::{Checker, HasDiscoveries, Model};

const UNIQUE: &str = "no two objects have one key";
const NAMED: &str = "the claim names the object that has the key";

fn world(objects: usize, requests: usize) -> World {
    World { objects, requests, mistake: None }
}

#[rstest]
#[case::two_replicas(world(2, 2))]
#[case::three_replicas(world(2, 3))]
#[case::three_replicas_and_three_objects(world(3, 3))]
fn no_two_objects_are_stored_with_one_key(#[case] world: World) {
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

/// Each object can be stored with the key, if nobody else has it, without anybody else's help.
#[test]
fn no_key_is_locked_for_good() {
    let world = world(2, 3);
    let graph = Graph::explore(&world);
    for object in 0..world.objects {
        let can = graph.that_can_reach(
            |state| state.objects[object] == Object::With,
            |state, action| !touches_another(state, action, object),
        );
        let others = |state: &State| state.with_key().any(|other| other != object);
        let stuck = (0..graph.states.len()).find(|it| !can[*it] && !others(&graph.states[*it]));
        assert_eq!(stuck.map(|it| graph.states[it]), None, "{object} cannot have the key");
    }
    println!("{} states", graph.states.len());
}

#[rstest]
#[case(Mistake::NoRenewal)]
#[case(Mistake::NoGrace)]
#[case(Mistake::NoCompare)]
#[case(Mistake::RenewalWithoutCompare)]
#[case(Mistake::LookFirst)]
#[case(Mistake::LateClock)]
#[case(Mistake::SweepWithoutGrace)]
#[case(Mistake::SweepWithoutCompare)]
#[case(Mistake::SweepListsFirst)]
#[case(Mistake::RollbackOfRenewals)]
#[case(Mistake::RollbackWithoutCompare)]
#[case(Mistake::LostUpdates)]
fn a_wrong_protocol_is_found_out(#[case] mistake: Mistake) {
    let world = World { mistake: Some(mistake), ..world(2, 3) };
    let unique = HasDiscoveries::AnyOf([UNIQUE].into());
    let checker = world.checker().threads(2).finish_when(unique).spawn_bfs().join();
    let path = checker.discovery(UNIQUE);
    let steps = path.unwrap_or_else(|| unreachable!("{mistake:?} was not found")).into_actions();
    println!("{mistake:?} after {} states: {steps:?}", checker.unique_state_count());
}

/// Whether it stores, changes or deletes an object other than this.
fn touches_another(state: &State, action: Action, object: usize) -> bool {
    match action {
        Action::CreateWithout { object: it }
        | Action::Leave { object: it }
        | Action::Delete { object: it }
        | Action::Gain { object: it, .. }
        | Action::Keep { object: it, .. } => it != object,
        Action::Store { request } => state.requests[request].object() != Some(object),
        _ => false,
    }
}

/// All states, and by which action each is reached from which.
struct Graph {
    states: Vec<State>,
    before: Vec<Vec<(usize, Action)>>,
}

impl Graph {
    fn explore(world: &World) -> Self {
        let mut graph = Self { states: Vec::new(), before: Vec::new() };
        let mut known: HashMap<State, usize> = HashMap::new();
        let mut pending: VecDeque<State> = world.init_states().into();
        for state in &pending {
            graph.add(&mut known, *state);
        }
        while let Some(state) = pending.pop_front() {
            let from = known[&state];
            for (action, next) in world.next_steps(&state) {
                if !known.contains_key(&next) {
                    graph.add(&mut known, next);
                    pending.push_back(next);
                }
                graph.before[known[&next]].push((from, action));
            }
        }
        graph
    }

    fn add(&mut self, known: &mut HashMap<State, usize>, state: State) {
        known.insert(state, self.states.len());
        self.states.push(state);
        self.before.push(Vec::new());
    }

    /// From which states one of these can be reached by such actions.
    fn that_can_reach(
        &self,
        is_goal: impl Fn(&State) -> bool,
        may: impl Fn(&State, Action) -> bool,
    ) -> Vec<bool> {
        let mut can: Vec<bool> = self.states.iter().map(is_goal).collect();
        let mut pending: Vec<usize> = (0..can.len()).filter(|it| can[*it]).collect();
        while let Some(state) = pending.pop() {
            for (from, action) in &self.before[state] {
                if !can[*from] && may(&self.states[*from], *action) {
                    can[*from] = true;
                    pending.push(*from);
                }
            }
        }
        can
    }
}
