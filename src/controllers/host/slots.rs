//! The provisioning limit: how many hosts keep the provisioner busy at one time, and whose turn is next.
//!
//! A host holds a slot when its stored status says that it is busy and well (`operationalStatus: OK`), and waits for
//! one when it says `delayed`. So a controller that was killed finds the same slots taken when it comes
//! back. A free slot goes to the kind of work that has the fewest of them, deprovisioning first and inspection last, and within it to whoever
//! has waited longest: 500 new hosts do not keep one from being deprovisioned.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use strum::{EnumIter, IntoEnumIterator};

use crate::domain::{host_status::OperationalStatus, provisioning_state::ProvisioningState};

/// Work that keeps the provisioner busy. In the order of who goes first among equals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter)]
pub enum Work {
    /// Somebody waits for the machine to be free, or gone.
    Deprovisioning,
    /// Somebody waits for the machine.
    Provisioning,
    /// Nobody waits for it yet.
    Inspecting,
}

impl Work {
    /// What a host in this state does, if it counts.
    #[must_use]
    pub fn of(state: ProvisioningState) -> Option<Self> {
        match state {
            ProvisioningState::Deprovisioning => Some(Self::Deprovisioning),
            ProvisioningState::Provisioning => Some(Self::Provisioning),
            ProvisioningState::Inspecting => Some(Self::Inspecting),
            ProvisioningState::None
            | ProvisioningState::Unmanaged
            | ProvisioningState::Importing
            | ProvisioningState::Registering
            | ProvisioningState::MatchProfile
            | ProvisioningState::Preparing
            | ProvisioningState::Ready
            | ProvisioningState::Available
            | ProvisioningState::Provisioned
            | ProvisioningState::ExternallyProvisioned
            | ProvisioningState::PoweringOffBeforeDelete
            | ProvisioningState::Deleting => None,
        }
    }
}

/// What a host has to do with the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It has a slot.
    Holds(Work),
    /// It waits for one, since then.
    Waits(Work, Timestamp),
}

impl Place {
    /// By what is stored of the host. One that nobody works on, because it is paused or failed, neither has nor wants a slot.
    #[must_use]
    pub fn of(
        state: ProvisioningState,
        status: OperationalStatus,
        since: Timestamp,
        is_paused: bool,
    ) -> Option<Self> {
        let work = Work::of(state)?;
        match status {
            // What was begun is under way, whether or not we may look at it.
            OperationalStatus::Ok => Some(Self::Holds(work)),
            OperationalStatus::Delayed if !is_paused => Some(Self::Waits(work, since)),
            OperationalStatus::None
            | OperationalStatus::Discovered
            | OperationalStatus::Error
            | OperationalStatus::Delayed
            | OperationalStatus::Detached
            | OperationalStatus::Servicing => None,
        }
    }
}

/// Who has a slot, and who waits. Hosts are told apart by their uid.
#[derive(Debug, Clone)]
pub struct Slots {
    limit: usize,
    held: BTreeMap<String, Work>,
    waiting: BTreeMap<Work, BTreeSet<(Timestamp, String)>>,
    waits: BTreeMap<String, (Work, Timestamp)>,
}

impl Slots {
    /// None is taken.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, held: BTreeMap::new(), waiting: BTreeMap::new(), waits: BTreeMap::new() }
    }

    /// What is stored of a host, or that it is gone.
    pub fn set(&mut self, uid: &str, place: Option<Place>) {
        self.held.remove(uid);
        if let Some((work, since)) = self.waits.remove(uid)
            && let Some(line) = self.waiting.get_mut(&work)
        {
            line.remove(&(since, uid.to_owned()));
        }
        match place {
            None => {}
            Some(Place::Holds(work)) => {
                self.held.insert(uid.to_owned(), work);
            }
            Some(Place::Waits(work, since)) => {
                self.waits.insert(uid.to_owned(), (work, since));
                self.waiting.entry(work).or_default().insert((since, uid.to_owned()));
            }
        }
    }

    /// How many are taken.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.held.len()
    }

    /// Whether a host has a slot for this work, or it is its turn to get one.
    #[must_use]
    pub fn has_room(&self, uid: &str, work: Work, now: Timestamp) -> bool {
        if self.held.contains_key(uid) {
            return true;
        }
        let since = match self.waits.get(uid) {
            Some((waiting_for, since)) if *waiting_for == work => *since,
            _ => now,
        };
        self.next(Some((work, since, uid))).any(|winner| winner == uid)
    }

    /// Takes a slot if it is this host's turn. Between this and [`Slots::set`] the status is stored.
    pub fn take(&mut self, uid: &str, work: Work, now: Timestamp) -> bool {
        let may = self.has_room(uid, work, now);
        if may {
            self.set(uid, Some(Place::Holds(work)));
        }
        may
    }

    /// Those whose turn it is: as many as there are free slots.
    pub fn winners(&self) -> impl Iterator<Item = String> {
        self.next(None)
    }

    fn next(&self, candidate: Option<(Work, Timestamp, &str)>) -> impl Iterator<Item = String> {
        let mut lines: BTreeMap<Work, Vec<&(Timestamp, String)>> = BTreeMap::new();
        let free = self.limit.saturating_sub(self.held.len());
        let own = candidate.map(|(work, since, uid)| (work, (since, uid.to_owned())));
        for work in Work::iter() {
            let others = self.waiting.get(&work).into_iter().flatten();
            let others = others.filter(|(_, uid)| candidate.is_none_or(|(_, _, own)| uid != own));
            // No more than can win are looked at.
            let mut line: Vec<_> = others.take(free).collect();
            if let Some((own_work, own)) = &own
                && *own_work == work
            {
                let at = line.partition_point(|other| *other < own);
                line.insert(at, own);
            }
            line.reverse();
            lines.insert(work, line);
        }
        let mut running: BTreeMap<Work, usize> = BTreeMap::new();
        for work in self.held.values() {
            *running.entry(*work).or_default() += 1;
        }
        let mut winners = Vec::new();
        while winners.len() < free {
            let waiting = lines.iter().filter(|(_, line)| !line.is_empty()).map(|(work, _)| *work);
            let fewest = |work: &Work| running.get(work).copied().unwrap_or_default();
            let Some(work) = waiting.min_by_key(fewest) else { break };
            if let Some((_, uid)) = lines.get_mut(&work).and_then(Vec::pop) {
                winners.push(uid.clone());
                *running.entry(work).or_default() += 1;
            }
        }
        winners.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[allow(clippy::unnecessary_wraps, reason = "it is what is set")]
    fn waits(work: Work, since: i64) -> Option<Place> {
        Some(Place::Waits(work, at(since)))
    }

    #[test]
    fn no_more_than_the_limit_are_taken() {
        let mut slots = Slots::new(2);
        assert!(slots.take("a", Work::Inspecting, at(0)));
        assert!(slots.take("b", Work::Inspecting, at(0)));
        assert!(!slots.take("c", Work::Inspecting, at(0)));
        assert!(slots.take("a", Work::Inspecting, at(0)), "one that has a slot keeps it");
        slots.set("a", None);
        assert!(slots.take("c", Work::Inspecting, at(0)));
    }

    #[test]
    fn whoever_waited_longest_is_next() {
        let mut slots = Slots::new(1);
        slots.set("late", waits(Work::Inspecting, 2));
        slots.set("early", waits(Work::Inspecting, 1));
        assert!(!slots.take("late", Work::Inspecting, at(3)));
        assert!(!slots.take("new", Work::Inspecting, at(3)));
        assert!(slots.take("early", Work::Inspecting, at(3)));
    }

    #[test]
    fn five_hundred_new_hosts_do_not_starve_one_deprovision() {
        let mut slots = Slots::new(20);
        for index in 0..20 {
            assert!(slots.take(&format!("running-{index}"), Work::Inspecting, at(0)));
        }
        for index in 0..500 {
            slots.set(&format!("new-{index}"), waits(Work::Inspecting, 1));
        }
        slots.set("leaving", waits(Work::Deprovisioning, 2));
        assert!(!slots.has_room("leaving", Work::Deprovisioning, at(3)));
        slots.set("running-0", None);
        assert!(!slots.has_room("new-0", Work::Inspecting, at(3)));
        assert!(slots.take("leaving", Work::Deprovisioning, at(3)));
    }

    #[test]
    fn nor_do_they_keep_new_hosts_out_for_ever() {
        let mut slots = Slots::new(4);
        for index in 0..100 {
            slots.set(&format!("leaving-{index}"), waits(Work::Deprovisioning, 1));
        }
        slots.set("new", waits(Work::Inspecting, 2));
        assert!(slots.has_room("new", Work::Inspecting, at(3)));
    }

    #[rstest]
    #[case::busy(
        ProvisioningState::Inspecting,
        OperationalStatus::Ok,
        false,
        Some(Place::Holds(Work::Inspecting))
    )]
    #[case::paused_while_busy(
        ProvisioningState::Provisioning,
        OperationalStatus::Ok,
        true,
        Some(Place::Holds(Work::Provisioning))
    )]
    #[case::waiting(
        ProvisioningState::Deprovisioning,
        OperationalStatus::Delayed,
        false,
        waits(Work::Deprovisioning, 7)
    )]
    #[case::paused_while_waiting(
        ProvisioningState::Deprovisioning,
        OperationalStatus::Delayed,
        true,
        None
    )]
    #[case::failed(ProvisioningState::Inspecting, OperationalStatus::Error, false, None)]
    #[case::idle(ProvisioningState::Available, OperationalStatus::Ok, false, None)]
    fn what_is_stored_tells_who_has_a_slot(
        #[case] state: ProvisioningState,
        #[case] status: OperationalStatus,
        #[case] is_paused: bool,
        #[case] expected: Option<Place>,
    ) {
        assert_eq!(Place::of(state, status, at(7), is_paused), expected);
    }

    #[test]
    fn what_is_busy_is_what_the_states_say() {
        for state in ProvisioningState::iter() {
            assert_eq!(Work::of(state).is_some(), state.is_busy(), "{state}");
        }
    }

    proptest! {
        /// Whatever comes and goes in whatever order: the limit holds, and a free slot is given to somebody.
        #[test]
        fn the_limit_is_exact(
            limit in 0_usize..4,
            steps in proptest::collection::vec((0_u8..6, 0_u8..3, 0_u8..3, 0_i64..9), 0..60),
        ) {
            let mut slots = Slots::new(limit);
            for (host, work, step, second) in steps {
                let uid = host.to_string();
                let work = Work::iter().nth(work.into()).unwrap();
                match step {
                    0 => slots.set(&uid, None),
                    1 if !slots.held.contains_key(&uid) => slots.set(&uid, waits(work, second)),
                    _ => {
                        slots.take(&uid, work, at(second));
                    }
                }
                prop_assert!(slots.taken() <= limit);
                let free = limit - slots.taken();
                prop_assert_eq!(slots.winners().count(), free.min(slots.waits.len()));
            }
        }
    }
}
