//! A Metal3Metadata, the machines that ask for it, their Secrets, and two replicas.
//!
//! Nothing is counted, so that the model is finite although its histories are not: instead of versions there is the rule that a write puts
//! out of the running whoever means to write onto what was there before. A replica looks at the status and the Secrets at one
//! instant, for it reads the one before and after the others. Of machines it may have heard late.

use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex},
};

use stateright::{Model, Property};

use super::{
    mistake::Mistake,
    seen::{Deed, Known, decided},
};

/// At most so many machines.
pub const MOST: usize = 3;
/// More indexes than can be given.
const INDEXES: usize = 6;
const REPLICAS: usize = 2;

pub const UNIQUE: &str = "no two machines have one index";
pub const SETTLED: &str = "whoever was given a Secret has it";
pub const ENDS_WELL: &str = "left alone, all ends well";

/// What is explored, and what is wrong with it.
#[derive(Debug, Clone, Copy)]
pub struct World {
    pub machines: usize,
    /// How often the status may be deleted.
    pub wipes: u8,
    /// How many machines may be deleted.
    pub deletions: u8,
    /// Of how many machines a replica may have heard late at one time.
    pub staleness: u32,
    pub mistake: Option<Mistake>,
}

/// Who has which index.
pub type Indexes = [Option<usize>; INDEXES];
/// The Secrets of each machine by index.
pub type Secrets = [[Made; INDEXES]; MOST];

/// All that outlives replicas.
type Stored = (usize, [Machine; MOST], Secrets, Indexes);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Made {
    #[default]
    Not,
    Fresh,
    Settled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Machine {
    There(Option<u8>),
    Gone,
}

/// What a replica is about to do. What is no longer onto what was seen is marked so.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Replica {
    Idle,
    Records { indexes: Indexes, is_current: bool },
    Acts(Vec<Vec<(Deed, bool)>>),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    machines: [Machine; MOST],
    secrets: Secrets,
    indexes: Indexes,
    replicas: [Replica; REPLICAS],
    wipes: u8,
    deletions: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A replica looks and decides; of these machines it has heard late.
    Look {
        replica: usize,
        late: u8,
    },
    /// A replica writes the indexes.
    Record {
        replica: usize,
    },
    /// A replica does what is next in a row.
    Act {
        replica: usize,
        row: usize,
    },
    Crash {
        replica: usize,
    },
    /// Somebody deletes the status.
    Wipe,
    DeleteMachine {
        machine: usize,
    },
}

impl State {
    /// Whoever means to write onto what was there before is out.
    fn change(&mut self, machine: usize, index: u8, from: Made, now: Made) -> bool {
        let made = &mut self.secrets[machine][usize::from(index)];
        if *made != from {
            return false;
        }
        *made = now;
        for (deed, is_current) in pending(self) {
            if let Deed::Settle(m, i) | Deed::Unsettle(m, i) | Deed::Delete(m, i) = deed {
                *is_current &= (*m, *i) != (machine, index);
            }
        }
        true
    }

    fn write_machine(&mut self, machine: usize, now: Machine) {
        self.machines[machine] = now;
        for (deed, is_current) in pending(self) {
            if let Deed::Give(m, _) = deed {
                *is_current &= *m != machine;
            }
        }
    }

    fn write_status(&mut self, now: Indexes) {
        self.indexes = now;
        for replica in &mut self.replicas {
            if let Replica::Records { is_current, .. } = replica {
                *is_current = false;
            }
        }
    }
}

impl World {
    fn makes(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    /// The machines as a replica knows them. Whoever is named by a Secret or in the status is asked for, others may be too new.
    fn known(&self, state: &State, late: u8) -> Vec<(Known, bool)> {
        let mut known = Vec::new();
        for machine in 0..self.machines {
            let is_late = late & (1 << machine) != 0;
            let is_named = state.indexes.contains(&Some(machine))
                || state.secrets[machine].iter().any(|it| *it != Made::Not);
            match (state.machines[machine], is_late) {
                (Machine::There(given), false) => known.push((Known { machine, given }, true)),
                (Machine::There(Some(_)), true) => {
                    known.push((Known { machine, given: None }, false));
                }
                (Machine::There(None), true) if is_named => {
                    known.push((Known { machine, given: None }, true));
                }
                (Machine::Gone, true) => known.push((Known { machine, given: None }, false)),
                (Machine::There(None), true) | (Machine::Gone, false) => {}
            }
        }
        known
    }

    fn look(&self, state: &State, late: u8) -> Replica {
        let known = self.known(state, late);
        let machines: Vec<_> = known.iter().map(|it| it.0).collect();
        let (recorded, rows) = decided(&state.indexes, &state.secrets, &machines);
        if let Some(indexes) = recorded {
            return Replica::Records { indexes, is_current: true };
        }
        let is_current = |deed: &Deed| match deed {
            Deed::Give(machine, _) => known.iter().any(|it| it.0.machine == *machine && it.1),
            Deed::Create(..) | Deed::Settle(..) | Deed::Unsettle(..) | Deed::Delete(..) => true,
        };
        let row = |row: &Vec<Deed>| {
            let mut row: Vec<_> = row.iter().map(|it| (*it, is_current(it))).collect();
            if let (true, [(Deed::Create(machine, index), _)]) =
                (self.makes(Mistake::GivenAtOnce), row.as_slice())
            {
                let give = Deed::Give(*machine, *index);
                row.extend([(Deed::Settle(*machine, *index), true), (give, is_current(&give))]);
            }
            row
        };
        let mut rows: Vec<Vec<_>> = rows.iter().map(row).collect();
        if self.makes(Mistake::SettledBesideAnother) {
            // What the decision leaves for later is done now.
            for (machine, made) in state.secrets.iter().enumerate() {
                for (index, made) in made.iter().enumerate() {
                    let is_its = state.indexes[index] == Some(machine) && *made == Made::Fresh;
                    let index = u8::try_from(index).unwrap();
                    let deeds = [Deed::Settle(machine, index), Deed::Give(machine, index)];
                    let is_new = !rows.iter().flatten().any(|it| it.0 == deeds[0]);
                    if is_its && is_new && known.iter().any(|it| it.0.machine == machine) {
                        rows.push(deeds.map(|it| (it, is_current(&it))).to_vec());
                    }
                }
            }
        }
        if rows.is_empty() { Replica::Idle } else { Replica::Acts(rows) }
    }

    fn act(&self, to: &mut State, replica: usize, row: usize) {
        let Replica::Acts(mut rows) = std::mem::replace(&mut to.replicas[replica], Replica::Idle)
        else {
            return;
        };
        let mut left = rows.remove(row);
        let (deed, is_current) = left.remove(0);
        if !rows.is_empty() {
            to.replicas[replica] = Replica::Acts(rows);
        }
        if !self.perform(to, deed, is_current) {
            return;
        }
        if let (Some((next, is_current)), Deed::Unsettle(..) | Deed::Create(..)) =
            (left.first_mut(), deed)
        {
            // Onto what it has made itself.
            *is_current |= !matches!(next, Deed::Give(..));
        }
        if !left.is_empty() {
            match &mut to.replicas[replica] {
                Replica::Acts(rows) => rows.push(left),
                it @ (Replica::Idle | Replica::Records { .. }) => *it = Replica::Acts(vec![left]),
            }
        }
    }

    /// Whether it was done.
    fn perform(&self, to: &mut State, deed: Deed, is_current: bool) -> bool {
        match deed {
            Deed::Create(machine, index) => to.change(machine, index, Made::Not, Made::Fresh),
            Deed::Settle(machine, index) => {
                (is_current || self.makes(Mistake::SettledWithoutCompare))
                    && to.change(machine, index, Made::Fresh, Made::Settled)
            }
            Deed::Unsettle(machine, index) => {
                is_current && to.change(machine, index, Made::Settled, Made::Fresh)
            }
            Deed::Delete(machine, index) => {
                let regardless = self.makes(Mistake::DeletedWithoutCompare);
                (is_current && to.change(machine, index, Made::Fresh, Made::Not))
                    || (regardless && to.change(machine, index, Made::Settled, Made::Not))
            }
            Deed::Give(machine, index) => {
                let may = is_current && to.machines[machine] == Machine::There(None);
                if may {
                    to.write_machine(machine, Machine::There(Some(index)));
                }
                may
            }
        }
    }

    /// One replica goes on alone, and knows everything.
    fn left_alone(&self, state: &State) -> State {
        let mut to = state.clone();
        to.replicas = [Replica::Idle, Replica::Idle];
        for _ in 0..100 {
            match self.look(&to, 0) {
                Replica::Records { indexes, .. } => to.write_status(indexes),
                Replica::Acts(rows) => {
                    let count = rows.len();
                    to.replicas[0] = Replica::Acts(rows);
                    for _ in 0..count * 3 {
                        self.act_if_any(&mut to);
                    }
                }
                Replica::Idle => break,
            }
            to.replicas[0] = Replica::Idle;
        }
        to
    }

    fn act_if_any(&self, to: &mut State) {
        if matches!(&to.replicas[0], Replica::Acts(rows) if !rows.is_empty()) {
            self.act(to, 0, 0);
        }
    }

    /// Who is doing what makes no difference to it.
    fn ends_well(&self, state: &State) -> bool {
        static BEFORE: LazyLock<Mutex<HashMap<Stored, bool>>> = LazyLock::new(Mutex::default);
        let stored = (self.machines, state.machines, state.secrets, state.indexes);
        let is_known = self.mistake.is_none();
        if let Some(does) = BEFORE.lock().unwrap().get(&stored).filter(|_| is_known) {
            return *does;
        }
        let does = self.comes_to_a_good_end(state);
        if is_known {
            BEFORE.lock().unwrap().insert(stored, does);
        }
        does
    }

    fn comes_to_a_good_end(&self, state: &State) -> bool {
        let end = self.left_alone(state);
        let mut given = Vec::new();
        for machine in 0..self.machines {
            let is_there = match end.machines[machine] {
                Machine::There(Some(index)) => {
                    given.push(index);
                    let is_recorded = end.indexes[usize::from(index)] == Some(machine);
                    is_recorded && end.secrets[machine][usize::from(index)] == Made::Settled
                }
                Machine::There(None) => false,
                Machine::Gone => true,
            };
            let count = end.secrets[machine].iter().filter(|it| **it != Made::Not).count();
            let is_there_as = usize::from(end.machines[machine] != Machine::Gone);
            if !is_there || count != is_there_as {
                return false;
            }
        }
        given.sort_unstable();
        let has_no_gap = given.iter().enumerate().all(|(at, index)| at == usize::from(*index));
        let recorded = end.indexes.iter().flatten().count();
        recorded == given.len() && (has_no_gap || end.machines.contains(&Machine::Gone))
    }
}

fn pending(to: &mut State) -> impl Iterator<Item = &mut (Deed, bool)> {
    to.replicas.iter_mut().flat_map(|replica| match replica {
        Replica::Acts(rows) => rows.iter_mut().flatten().collect::<Vec<_>>(),
        Replica::Idle | Replica::Records { .. } => Vec::new(),
    })
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            machines: [Machine::There(None); MOST],
            secrets: Secrets::default(),
            indexes: Indexes::default(),
            replicas: [Replica::Idle, Replica::Idle],
            wipes: self.wipes,
            deletions: self.deletions,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (replica, doing) in state.replicas.iter().enumerate() {
            match doing {
                Replica::Idle => {
                    let late =
                        (0..1_u8 << self.machines).filter(|it| it.count_ones() <= self.staleness);
                    actions.extend(late.map(|late| Action::Look { replica, late }));
                }
                Replica::Records { .. } => {
                    actions.extend([Action::Record { replica }, Action::Crash { replica }]);
                }
                Replica::Acts(rows) => {
                    actions.extend((0..rows.len()).map(|row| Action::Act { replica, row }));
                    actions.push(Action::Crash { replica });
                }
            }
        }
        if state.wipes > 0 && state.indexes != Indexes::default() {
            actions.push(Action::Wipe);
        }
        if state.deletions > 0 {
            let there = (0..self.machines).filter(|it| state.machines[*it] != Machine::Gone);
            actions.extend(there.map(|machine| Action::DeleteMachine { machine }));
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut to = state.clone();
        match action {
            Action::Look { replica, late } => {
                to.replicas[replica] = self.look(state, late);
            }
            Action::Record { replica } => {
                let Replica::Records { indexes, is_current } = to.replicas[replica] else {
                    return None;
                };
                to.replicas[replica] = Replica::Idle;
                if is_current {
                    to.write_status(indexes);
                }
            }
            Action::Act { replica, row } => self.act(&mut to, replica, row),
            Action::Crash { replica } => to.replicas[replica] = Replica::Idle,
            Action::Wipe => {
                to.wipes -= 1;
                to.write_status(Indexes::default());
            }
            Action::DeleteMachine { machine } => {
                to.deletions -= 1;
                to.write_machine(machine, Machine::Gone);
            }
        }
        // Which of the two does which makes no difference, nor in which order rows are held.
        for replica in &mut to.replicas {
            if let Replica::Acts(rows) = replica {
                rows.sort();
            }
        }
        to.replicas.sort();
        (to != *state).then_some(to)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(UNIQUE, |_, state: &State| {
                let given = state.machines.iter().filter_map(|it| match it {
                    Machine::There(given) => *given,
                    Machine::Gone => None,
                });
                let given: Vec<_> = given.collect();
                let mut distinct = given.clone();
                distinct.sort_unstable();
                distinct.dedup();
                distinct.len() == given.len()
            }),
            Property::always(SETTLED, |_, state: &State| {
                state.machines.iter().zip(&state.secrets).all(|(machine, made)| match machine {
                    Machine::There(Some(index)) => made[usize::from(*index)] == Made::Settled,
                    Machine::There(None) | Machine::Gone => true,
                })
            }),
            Property::always(ENDS_WELL, |world: &Self, state: &State| world.ends_well(state)),
        ]
    }
}
