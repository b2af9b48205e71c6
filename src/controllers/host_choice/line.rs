//! `Line`: the machines that wait for a host, oldest first.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{
    candidate::{Candidate, HostId},
    wish::{MachineId, Wish},
};

/// The machines that wait for a host, oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    places: BTreeMap<MachineId, Timestamp>,
    waiting: BTreeMap<(Timestamp, MachineId), Wish>,
    /// Those who were called, and to which host. They come, and are not called to another until they have.
    called: BTreeMap<MachineId, HostId>,
}

impl Line {
    /// A machine waits, from its place. The host to which it was called in vain.
    pub fn join(&mut self, wish: Wish) -> Option<HostId> {
        let refused = self.leave(&wish.machine);
        self.places.insert(wish.machine.clone(), wish.since);
        self.waiting.insert((wish.since, wish.machine.clone()), wish);
        refused
    }

    /// It waits no more. The host to which it was called.
    pub fn leave(&mut self, machine: &MachineId) -> Option<HostId> {
        let since = self.places.remove(machine)?;
        self.waiting.remove(&(since, machine.clone()));
        self.called.remove(machine)
    }

    /// Calls who has waited longest for a host like this one.
    pub fn call(&mut self, host: &Candidate) -> Option<MachineId> {
        let suits = |wish: &&Wish| {
            wish.machine.namespace == host.id.namespace
                && !self.called.contains_key(&wish.machine)
                && wish.fits(host)
                && (host.reservation.is_none() || wish.shares(host))
        };
        let machine = self.waiting.values().find(suits)?.machine.clone();
        self.called.insert(machine.clone(), host.id.clone());
        Some(machine)
    }

    /// Those that share hosts with a machine and have waited longer than it.
    pub fn ahead(&self, wish: &Wish) -> impl Iterator<Item = &MachineId> {
        let place = (wish.since, wish.machine.clone());
        let ahead = self.waiting.range(..place).map(|(_, other)| other);
        let shares = |other: &&Wish| {
            other.machine.namespace == wish.machine.namespace && other.pool == wish.pool
        };
        ahead.filter(shares).map(|other| &other.machine)
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }
}
