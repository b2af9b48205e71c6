//! The world as a model: two replicas that both believe they reconcile, machines of two pools that want the same host, and every order in
//! which they can look, write, hear of each other's writes and be killed.

use super::world::{Mistake, World, consumer, label};
use ironward::controllers::machine::plan::Step;
use stateright::{Model, Property};
use std::{
    fmt::Write,
    hash::{Hash, Hasher},
};

pub const KEPT: &str = "no host has two consumers, and none that is kept is taken by a stranger";
pub const TAKEN: &str = "the host that all want is taken";

/// Where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scene {
    /// One host, which nobody has, and a machine of each pool.
    WantedByTwo,
    /// One host, which is kept for the first pool, and a machine of each pool.
    KeptForOne,
    /// The machine that has the host is being deleted, and its pool reuses nodes.
    GivenBack,
}

#[derive(Debug, Clone)]
pub struct Play {
    pub scene: Scene,
    pub mistake: Option<Mistake>,
}

/// What somebody may do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Think(usize, String),
    Act(usize, String),
    Hear(usize),
    Restart(usize),
    Work,
    LookAt,
}

#[derive(Debug, Clone)]
pub struct State(pub World);

const HOST: &str = "h0";
const VERSION: &str = "resourceVersion";

impl State {
    /// What the future depends on. Versions only matter as far as they are the one that is stored.
    fn key(&self) -> String {
        let world = &self.0;
        let host = &world.hosts[HOST];
        let status = host.status.as_ref().unwrap();
        let mut key = format!(
            "{:?} {:?} {:?} {} {} {:?}",
            consumer(host),
            label(host),
            host.spec.consumer_ref.as_ref().and_then(|it| it.kind.clone()),
            host.spec.image.is_some(),
            status.provisioning.state,
            world.broken,
        );
        for (name, machine) in &world.machines {
            let metadata = &machine.metadata;
            let marks = (&metadata.finalizers, &metadata.annotations);
            let spec = &machine.spec.provider_id;
            let is_leaving = metadata.deletion_timestamp.is_some();
            write!(key, "\n{name} {marks:?} {spec:?} {is_leaving}").unwrap();
        }
        let is_current =
            |version: Option<&String>| version == host.metadata.resource_version.as_ref();
        // Which of them is which does not matter.
        let mut replicas: Vec<String> = Vec::new();
        for replica in &world.replicas {
            let known = replica.hosts.get(&super::world::id(HOST));
            let known = known.map(|it| {
                (it.standing, &it.consumer, &it.reservation, is_current(Some(&it.version)))
            });
            let mut its = format!("\n{known:?} {}", replica.hosts.waiting());
            for (name, (plan, version)) in &replica.thoughts {
                let step = if let Step::Claim(chosen, patch) = &plan.step {
                    let mut patch = patch.clone();
                    let bound = patch["metadata"].as_object_mut().unwrap().remove(VERSION);
                    let is_current = is_current(Some(&chosen.version));
                    format!("claim {is_current} {} {patch}", bound.is_some())
                } else {
                    format!("{:?} {}", plan.step, is_current(version.as_ref()))
                };
                write!(its, "\n{name} {step}").unwrap();
            }
            replicas.push(its);
        }
        replicas.sort();
        key + &replicas.concat()
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl Model for Play {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let mut world = World::new(1, 2);
        world.deploy("pool1", 1, true);
        world.deploy("pool2", 0, true);
        match self.scene {
            Scene::WantedByTwo => {
                world.deployments.get_mut("pool2").unwrap().replicas = 1;
                world.orchestrate("pool1");
                world.orchestrate("pool2");
            }
            Scene::KeptForOne => {
                world.rounds(10);
                world.deployments.get_mut("pool1").unwrap().version += 1;
                while world.hosts[HOST].spec.consumer_ref.as_ref().unwrap().kind.as_deref()
                    != Some("Cluster")
                {
                    world.rounds(1);
                }
                world.orchestrate("pool1");
                world.deployments.get_mut("pool2").unwrap().replicas = 1;
                world.orchestrate("pool2");
                world.hear();
            }
            Scene::GivenBack => {
                world.rounds(10);
                let machine = world.machines.keys().next().unwrap().clone();
                world.delete(&machine);
                world.deployments.get_mut("pool2").unwrap().replicas = 1;
                world.orchestrate("pool2");
            }
        }
        world.mistake = self.mistake;
        world.log.clear();
        vec![State(world)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let world = &state.0;
        for (number, replica) in world.replicas.iter().enumerate() {
            for machine in world.machines.keys() {
                let has_thought = replica.thoughts.contains_key(machine);
                let action = if has_thought { Action::Act } else { Action::Think };
                actions.push(action(number, machine.clone()));
            }
            actions.extend([Action::Hear(number), Action::Restart(number)]);
        }
        // Where a host is to be taken, what runs on it then does not matter.
        if self.scene == Scene::GivenBack {
            actions.push(Action::Work);
        }
        actions.push(Action::LookAt);
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut world = state.0.clone();
        match action {
            Action::Think(replica, machine) => world.think(replica, &machine),
            Action::Act(replica, machine) => {
                world.act(replica, &machine);
            }
            Action::Hear(replica) => world.hear_of_all(replica),
            Action::Restart(replica) => world.restart(replica),
            Action::Work => world.work(HOST),
            Action::LookAt => world.look_at(HOST),
        }
        world.log.clear();
        Some(State(world))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(KEPT, |_, state: &State| state.0.broken.is_none()),
            Property::sometimes(TAKEN, |_, state: &State| consumer(&state.0.hosts[HOST]).is_some()),
        ]
    }
}
