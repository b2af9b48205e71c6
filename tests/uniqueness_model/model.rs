//! One key, the objects that may have it, the requests that replicas work on, and the sweep.
//!
//! Nothing is counted, so that the model is finite although its histories are not:
//! - Instead of versions there is the rule that a write puts out of the running whoever means to write
//!   onto what was there before. To read again is to come again as a new request.
//! - Instead of clocks a claim is old or not. It becomes old only when no request that has written it
//!   is in flight: that the API server ends a request within the grace is what we assume.
//! - Requests that gain nothing (deletes, updates without the key) take no time: nobody asks us.
//! - An update whose object was changed is out too: what else it does, a create that is dropped does.

use std::sync::LazyLock;

use ironward::uniqueness::{
    Claim, GRACE, Holder, Observed, Plan, Sight, Sweep, Swept, decide, sweep,
};
use jiff::{SignedDuration, Timestamp};
use stateright::{Model, Property};

use super::mistake::Mistake;

/// At most so many objects and requests at a time.
const MOST: usize = 3;

const NOW: Timestamp = Timestamp::constant(1_000_000_000, 0);

static HOLDERS: LazyLock<[Holder; MOST]> = LazyLock::new(|| {
    ["a", "b", "c"].map(|name| Holder {
        group: "metal3.io".to_owned(),
        resource: "baremetalhosts".to_owned(),
        namespace: "metal3".to_owned(),
        name: name.to_owned(),
    })
});

/// What is explored, and what is wrong with it.
#[derive(Debug, Clone, Copy)]
pub struct World {
    pub objects: usize,
    /// How many requests can be worked on at a time, each by a replica of its own.
    pub requests: usize,
    pub mistake: Option<Mistake>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Object {
    Absent,
    Without,
    With,
}

/// The claim in etcd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stored {
    /// None if it cannot be read.
    pub holder: Option<usize>,
    pub is_old: bool,
}

/// A request that gains the key for an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gain {
    object: usize,
    is_update: bool,
}

/// How far a request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Request {
    None,
    /// Has read that there is no claim.
    Creates(Gain),
    /// Has read that the claim is its own.
    Renews(Gain),
    /// Has read that the claim is another's.
    Looks(Gain, Stored),
    /// Has seen that the holder has not the key.
    TakesOver(Gain),
    /// Has written the claim; the API server will store the object, or not.
    Admitted {
        gain: Gain,
        has_written: bool,
        /// The claim was not its own before, and was not written since.
        can_undo: bool,
    },
    /// Is refused because of another key, and takes the claim back.
    RollsBack,
    /// An update of an object that has the key and keeps it. Only where updates are lost: else it is
    /// stored onto what it saw, and changes nothing.
    Keeps(usize),
    /// Has looked, and decides later. Only where that is the mistake.
    Looked(Gain, [Object; MOST]),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sweeper {
    Idle,
    /// Has read the claim.
    Lists(Option<Stored>),
    /// Has listed the objects before. Only where that is the mistake.
    Listed([Object; MOST]),
    Creates(usize),
    HandsOver(usize),
    Deletes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct State {
    pub objects: [Object; MOST],
    pub claim: Option<Stored>,
    /// Sorted: which replica works on which makes no difference.
    pub requests: [Request; MOST],
    pub sweeper: Sweeper,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A create with the key, or an update to it, arrives and reads the claim.
    Gain {
        request: usize,
        object: usize,
        is_update: bool,
    },
    /// An update that keeps the key arrives.
    Keep {
        request: usize,
        object: usize,
    },
    /// A request does what it means to do.
    Step {
        request: usize,
    },
    /// Another key of a request is refused.
    Refuse {
        request: usize,
    },
    /// The API server stores what is admitted.
    Store {
        request: usize,
    },
    /// The replica crashes, another webhook refuses, the client goes away.
    Drop {
        request: usize,
    },
    /// An object is created without the key.
    CreateWithout {
        object: usize,
    },
    /// An update takes the key off an object.
    Leave {
        object: usize,
    },
    Delete {
        object: usize,
    },
    GracePasses,
    /// Somebody writes rubbish into the claim.
    Edit,
    SweepStep,
    SweepCrash,
}

impl Request {
    /// What it is about.
    pub fn object(self) -> Option<usize> {
        match self {
            Self::Creates(gain)
            | Self::Renews(gain)
            | Self::Looks(gain, _)
            | Self::TakesOver(gain)
            | Self::Admitted { gain, .. }
            | Self::Looked(gain, _) => Some(gain.object),
            Self::Keeps(object) => Some(object),
            Self::None | Self::RollsBack => None,
        }
    }

    fn is_update_of(self, object: usize) -> bool {
        let is_update = match self {
            Self::Creates(gain)
            | Self::Renews(gain)
            | Self::Looks(gain, _)
            | Self::TakesOver(gain)
            | Self::Admitted { gain, .. }
            | Self::Looked(gain, _) => gain.is_update,
            Self::Keeps(_) => true,
            Self::None | Self::RollsBack => false,
        };
        is_update && self.object() == Some(object)
    }
}

impl State {
    pub fn with_key(&self) -> impl Iterator<Item = usize> {
        (0..MOST).filter(|object| self.objects[*object] == Object::With)
    }
}

/// The claim in the types of the code under test. An old one is as old as it must be, a new one is
/// one nanosecond too young.
fn claim(stored: Option<Stored>) -> Option<Claim> {
    stored.map(|stored| Claim {
        holder: stored.holder.map(|holder| HOLDERS[holder].clone()),
        renewed: NOW - GRACE + SignedDuration::from_nanos(i64::from(!stored.is_old)),
        ..Claim::default()
    })
}

fn index(holder: &Holder) -> usize {
    HOLDERS.iter().position(|it| it == holder).unwrap_or(MOST)
}

impl World {
    fn makes(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    fn grace(&self, without: Mistake) -> SignedDuration {
        if self.makes(without) { SignedDuration::ZERO } else { GRACE }
    }

    /// What a request means to do, having read this claim and seen its holder, or not.
    fn decide(&self, gain: Gain, read: Option<Stored>, seen: Option<&[Object]>) -> Request {
        let claim = claim(read);
        let object = seen.zip(read.and_then(|it| it.holder)).map(|(seen, holder)| seen[holder]);
        let plan = decide(&Observed {
            me: &HOLDERS[gain.object],
            read_at: NOW,
            grace: self.grace(Mistake::NoGrace),
            dry_run: false,
            claim: claim.as_ref(),
            holder: object.map_or(Sight::NotLooked, |object| match object {
                Object::Absent => Sight::Absent,
                Object::Without => Sight::WithoutKey,
                Object::With => Sight::WithKey,
            }),
            occupant: None,
        });
        match (plan, read) {
            (Plan::Create, _) => Request::Creates(gain),
            (Plan::Renew { .. }, _) if self.makes(Mistake::NoRenewal) => {
                Request::Admitted { gain, has_written: false, can_undo: false }
            }
            (Plan::Renew { .. }, _) => Request::Renews(gain),
            (Plan::TakeOver { .. }, _) => Request::TakesOver(gain),
            (Plan::LookAtHolder { .. }, Some(read)) => Request::Looks(gain, read),
            (Plan::LookAtHolder { .. }, None)
            | (Plan::Deny { .. } | Plan::Wait { .. } | Plan::Free, _) => Request::None,
        }
    }

    fn arrive(&self, to: &State, gain: Gain) -> Request {
        if self.makes(Mistake::LookFirst) {
            return Request::Looked(gain, to.objects);
        }
        self.decide(gain, to.claim, None)
    }

    fn step(&self, to: &mut State, request: usize) {
        let doing = to.requests[request];
        // Out of the way of its own write.
        to.requests[request] = Request::None;
        let admitted = |gain, can_undo| Request::Admitted { gain, has_written: true, can_undo };
        let of = |gain: Gain| Some(Stored { holder: Some(gain.object), is_old: false });
        to.requests[request] = match doing {
            Request::Creates(gain) if to.claim.is_none() => {
                self.write_claim(to, of(gain));
                admitted(gain, true)
            }
            Request::Renews(gain) if to.claim.is_some() => {
                self.write_claim(to, of(gain));
                admitted(gain, self.makes(Mistake::RollbackOfRenewals))
            }
            Request::TakesOver(gain) if to.claim.is_some() => {
                self.write_claim(to, of(gain));
                admitted(gain, true)
            }
            Request::Looks(gain, _) if self.makes(Mistake::LateClock) => {
                Request::Looked(gain, to.objects)
            }
            Request::Looks(gain, read) => self.decide(gain, Some(read), Some(&to.objects)),
            Request::Looked(gain, seen) => self.decide(gain, to.claim, Some(&seen)),
            Request::RollsBack => {
                self.write_claim(to, None);
                Request::None
            }
            // Too late.
            _ => Request::None,
        };
    }

    /// Whoever means to write onto what was there before is out.
    fn write_claim(&self, to: &mut State, claim: Option<Stored>) {
        to.claim = claim;
        for request in &mut to.requests {
            *request = match *request {
                Request::TakesOver(_) if self.makes(Mistake::NoCompare) => *request,
                Request::Renews(_) if self.makes(Mistake::RenewalWithoutCompare) => *request,
                Request::RollsBack if self.makes(Mistake::RollbackWithoutCompare) => *request,
                Request::Looked(..) if self.makes(Mistake::LookFirst) => *request,
                Request::Renews(_)
                | Request::Looks(..)
                | Request::TakesOver(_)
                | Request::RollsBack
                | Request::Looked(..) => Request::None,
                Request::Admitted { gain, has_written, .. } => {
                    let can_undo = self.makes(Mistake::RollbackWithoutCompare);
                    Request::Admitted { gain, has_written, can_undo }
                }
                Request::None | Request::Creates(_) | Request::Keeps(_) => *request,
            };
        }
        to.sweeper = match to.sweeper {
            Sweeper::Deletes | Sweeper::HandsOver(_)
                if self.makes(Mistake::SweepWithoutCompare) =>
            {
                to.sweeper
            }
            Sweeper::Lists(Some(_)) | Sweeper::HandsOver(_) | Sweeper::Deletes => Sweeper::Idle,
            Sweeper::Idle | Sweeper::Lists(None) | Sweeper::Listed(_) | Sweeper::Creates(_) => {
                to.sweeper
            }
        };
    }

    /// Updates of what was there before are out.
    fn write_object(&self, to: &mut State, object: usize, now: Object) {
        to.objects[object] = now;
        if !self.makes(Mistake::LostUpdates) {
            for request in to.requests.iter_mut().filter(|it| it.is_update_of(object)) {
                *request = Request::None;
            }
        }
    }

    fn store(&self, to: &mut State, request: usize) {
        let doing = to.requests[request];
        to.requests[request] = Request::None;
        let Some(object) = doing.object() else { return };
        let was_there = to.objects[object] != Object::Absent;
        if was_there == doing.is_update_of(object) {
            self.write_object(to, object, Object::With);
        }
    }

    fn sweep_step(&self, to: &mut State) {
        let doing = std::mem::replace(&mut to.sweeper, Sweeper::Idle);
        let of = |holder| Some(Stored { holder: Some(holder), is_old: false });
        match doing {
            Sweeper::Idle if self.makes(Mistake::SweepListsFirst) => {
                to.sweeper = Sweeper::Listed(to.objects);
            }
            Sweeper::Idle => to.sweeper = Sweeper::Lists(to.claim),
            Sweeper::Lists(read) => to.sweeper = self.sweep(read, &to.objects),
            Sweeper::Listed(seen) => to.sweeper = self.sweep(to.claim, &seen),
            Sweeper::Creates(holder) if to.claim.is_none() => self.write_claim(to, of(holder)),
            Sweeper::HandsOver(holder) if to.claim.is_some() => self.write_claim(to, of(holder)),
            Sweeper::Deletes if to.claim.is_some() => self.write_claim(to, None),
            Sweeper::Creates(_) | Sweeper::HandsOver(_) | Sweeper::Deletes => {}
        }
    }

    /// What the sweep means to do.
    fn sweep(&self, read: Option<Stored>, seen: &[Object]) -> Sweeper {
        let has_key = |(_, object): &(&Holder, &Object)| **object == Object::With;
        let with_key = HOLDERS.iter().zip(seen).filter(has_key);
        let stored: Vec<Holder> = with_key.map(|(holder, _)| holder.clone()).collect();
        let plan = sweep(&Swept {
            read_at: NOW,
            grace: self.grace(Mistake::SweepWithoutGrace),
            claim: claim(read).as_ref(),
            stored: &stored,
        });
        match plan {
            Sweep::Create { holder } => Sweeper::Creates(index(&holder)),
            Sweep::HandOver { holder, .. } => Sweeper::HandsOver(index(&holder)),
            Sweep::Delete { .. } => Sweeper::Deletes,
            Sweep::Keep | Sweep::Wait { .. } => Sweeper::Idle,
        }
    }

    fn request_actions(&self, state: &State, request: usize, actions: &mut Vec<Action>) {
        match state.requests[request] {
            Request::None => {
                for object in 0..self.objects {
                    actions.push(Action::Gain { request, object, is_update: false });
                    match state.objects[object] {
                        Object::Without => {
                            actions.push(Action::Gain { request, object, is_update: true });
                        }
                        Object::With if self.makes(Mistake::LostUpdates) => {
                            actions.push(Action::Keep { request, object });
                        }
                        Object::With | Object::Absent => {}
                    }
                }
            }
            Request::Admitted { can_undo, .. } => {
                actions.extend([Action::Store { request }, Action::Drop { request }]);
                if can_undo {
                    actions.push(Action::Refuse { request });
                }
            }
            Request::Keeps(_) => {
                actions.extend([Action::Store { request }, Action::Drop { request }]);
            }
            _ => actions.extend([Action::Step { request }, Action::Drop { request }]),
        }
    }

    fn world_actions(&self, state: &State, actions: &mut Vec<Action>) {
        for object in 0..self.objects {
            match state.objects[object] {
                Object::Absent => actions.push(Action::CreateWithout { object }),
                Object::Without => actions.push(Action::Delete { object }),
                Object::With => {
                    actions.extend([Action::Leave { object }, Action::Delete { object }]);
                }
            }
        }
        let relies = |it: &Request| matches!(it, Request::Admitted { has_written: true, .. });
        if let Some(claim) = state.claim {
            if !claim.is_old && !state.requests.iter().any(relies) {
                actions.push(Action::GracePasses);
            }
            actions.push(Action::Edit);
        }
        actions.push(Action::SweepStep);
        if state.sweeper != Sweeper::Idle {
            actions.push(Action::SweepCrash);
        }
    }
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            objects: [Object::Absent; MOST],
            claim: None,
            requests: [Request::None; MOST],
            sweeper: Sweeper::Idle,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        // None comes first in the order, so that those that are in use are the last.
        for request in MOST - self.requests..MOST {
            let is_first = request == MOST - self.requests
                || state.requests[request] != state.requests[request - 1];
            if is_first {
                self.request_actions(state, request, actions);
            }
        }
        self.world_actions(state, actions);
    }

    fn next_state(&self, from: &State, action: Action) -> Option<State> {
        let mut to = *from;
        match action {
            Action::Gain { request, object, is_update } => {
                to.requests[request] = self.arrive(from, Gain { object, is_update });
            }
            Action::Keep { request, object } => to.requests[request] = Request::Keeps(object),
            Action::Step { request } => self.step(&mut to, request),
            Action::Refuse { request } => to.requests[request] = Request::RollsBack,
            Action::Store { request } => self.store(&mut to, request),
            Action::Drop { request } => to.requests[request] = Request::None,
            Action::CreateWithout { object } | Action::Leave { object } => {
                self.write_object(&mut to, object, Object::Without);
            }
            Action::Delete { object } => self.write_object(&mut to, object, Object::Absent),
            Action::GracePasses => {
                to.claim = to.claim.map(|claim| Stored { is_old: true, ..claim });
            }
            Action::Edit => {
                self.write_claim(&mut to, Some(Stored { holder: None, is_old: false }));
            }
            Action::SweepStep => self.sweep_step(&mut to),
            Action::SweepCrash => to.sweeper = Sweeper::Idle,
        }
        to.requests.sort_unstable();
        (to != *from).then_some(to)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(super::UNIQUE, |_, state: &State| state.with_key().count() <= 1),
            Property::always(super::NAMED, |_, state: &State| {
                let holder = state.claim.map(|claim| claim.holder);
                state.with_key().all(|it| holder == Some(None) || holder == Some(Some(it)))
            }),
        ]
    }
}
