//! `Hosts`: all hosts as far as they matter to a choice, in step with what is heard of them, and indexed by what is asked.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{
    candidate::{Candidate, HostId, Standing},
    line::Line,
    wish::{MachineId, Wish},
};

/// Who is taken first: whoever has been idle for longest, and those that never were in use before all.
pub(super) type Rank = (Option<Timestamp>, String);

/// The value of a label in a namespace.
type Label = (String, String, String);

/// All hosts as far as they matter to a choice, and the machines that wait for one.
#[derive(Debug, Clone, Default)]
pub struct Hosts {
    known: BTreeMap<HostId, Candidate>,
    pub(super) free: BTreeMap<String, BTreeSet<Rank>>,
    pub(super) free_by_label: BTreeMap<Label, BTreeSet<Rank>>,
    /// By namespace and label; the names.
    pub(super) reserved: BTreeMap<(String, String), BTreeSet<String>>,
    pub(super) held: BTreeMap<MachineId, BTreeSet<String>>,
    pub(super) census: BTreeMap<String, BTreeMap<Standing, usize>>,
    /// By namespace: those that nobody is to take, and why.
    pub(super) unhealthy: BTreeMap<String, BTreeMap<String, String>>,
    /// What they were before they were promised to a machine whose claim is not stored yet.
    promised: BTreeMap<HostId, Candidate>,
    pub(super) line: Line,
    /// Those that were told of since a list was begun that is not complete yet.
    listed: Option<BTreeSet<HostId>>,
}

impl Hosts {
    /// A new list is coming. Until it is complete, what is known stays.
    pub fn begin_list(&mut self) {
        self.listed = Some(BTreeSet::new());
    }

    /// It is complete: who was not in it is gone. Says whom to wake.
    pub fn end_list(&mut self) -> Vec<MachineId> {
        let listed = self.listed.take().unwrap_or_default();
        let gone: Vec<_> = self.known.keys().filter(|id| !listed.contains(*id)).cloned().collect();
        gone.iter().filter_map(|id| self.forget(id)).collect()
    }

    /// What is stored of a host, unless something newer was noted. Says which waiting machine to wake.
    pub fn note(&mut self, host: Candidate) -> Option<MachineId> {
        if let Some(listed) = &mut self.listed {
            listed.insert(host.id.clone());
        }
        let version = |it: &Candidate| it.version.parse::<u64>().unwrap_or_default();
        let is_late = |known: &Candidate| known.uid == host.uid && version(known) > version(&host);
        if self.known.get(&host.id).is_some_and(is_late) {
            return None;
        }
        // A promise holds until the claim is stored or given up: what is heard meanwhile was there before.
        if let Some(before) = self.promised.get_mut(&host.id)
            && host.consumer.is_none()
            && before.uid == host.uid
        {
            *before = host;
            return None;
        }
        self.promised.remove(&host.id);
        self.replace(host)
    }

    /// A host is gone. Says whom to wake: who used it.
    pub fn forget(&mut self, id: &HostId) -> Option<MachineId> {
        self.promised.remove(id);
        let gone = self.known.remove(id)?;
        self.unlist(&gone);
        gone.consumer
    }

    /// A host is claimed for a machine, which is not stored yet: nobody else chooses it.
    pub fn promise(&mut self, id: &HostId, machine: &MachineId) {
        let Some(host) = self.known.get(id).cloned() else { return };
        let taken = Candidate {
            standing: Standing::InUse,
            consumer: Some(machine.clone()),
            reservation: None,
            ..host.clone()
        };
        self.promised.entry(id.clone()).or_insert(host);
        self.replace(taken);
    }

    /// The claim came to nothing. Says which waiting machine to wake.
    pub fn break_promise(&mut self, id: &HostId) -> Option<MachineId> {
        let before = self.promised.remove(id)?;
        self.replace(before)
    }

    /// A machine waits for a host. Says whom to wake in its place, if it was called to one that it does not take.
    pub fn wait(&mut self, wish: Wish) -> Option<MachineId> {
        let refused = self.line.join(wish);
        self.call_again(refused)
    }

    /// A machine waits no more, having a host or being gone. Says whom to wake in its place, if the host to which it was called is still to
    /// be had.
    pub fn leave(&mut self, machine: &MachineId) -> Option<MachineId> {
        let refused = self.line.leave(machine);
        self.call_again(refused)
    }

    fn call_again(&mut self, refused: Option<HostId>) -> Option<MachineId> {
        let host = self.known.get(&refused?)?;
        if host.standing == Standing::Free { self.line.call(host) } else { None }
    }

    /// How many machines wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.line.len()
    }

    /// Whether a machine has a host.
    #[must_use]
    pub fn has_host(&self, machine: &MachineId) -> bool {
        self.held.contains_key(machine)
    }

    /// The hosts of a namespace that are reserved by a value of the label.
    pub fn reserved_by<'a>(
        &'a self,
        namespace: &str,
        pool: &str,
    ) -> impl Iterator<Item = &'a Candidate> {
        let key = (namespace.to_owned(), pool.to_owned());
        let names = self.reserved.get(&key).into_iter().flatten();
        let namespace = key.0;
        names.filter_map(move |name| self.named(&namespace, name))
    }

    /// What is known of a host.
    #[must_use]
    pub fn get(&self, id: &HostId) -> Option<&Candidate> {
        self.known.get(id)
    }

    pub(super) fn named(&self, namespace: &str, name: &str) -> Option<&Candidate> {
        self.known.get(&HostId { namespace: namespace.to_owned(), name: name.to_owned() })
    }

    fn replace(&mut self, host: Candidate) -> Option<MachineId> {
        let before = self.known.remove(&host.id);
        if let Some(before) = &before {
            self.unlist(before);
        }
        self.list(&host);
        let was_to_be_had = before.is_some_and(|it| {
            it.standing == Standing::Free
                && it.reservation == host.reservation
                && it.labels == host.labels
        });
        let is_to_be_had = host.standing == Standing::Free;
        let woken = if is_to_be_had && !was_to_be_had { self.line.call(&host) } else { None };
        self.known.insert(host.id.clone(), host);
        woken
    }

    fn list(&mut self, host: &Candidate) {
        let HostId { namespace, name } = host.id.clone();
        *self.census.entry(namespace.clone()).or_default().entry(host.standing()).or_default() += 1;
        if let Some(why) = &host.unhealthy {
            self.unhealthy.entry(namespace.clone()).or_default().insert(name.clone(), why.clone());
        }
        if let Some(consumer) = &host.consumer {
            self.held.entry(consumer.clone()).or_default().insert(name.clone());
        }
        if let Some(reservation) = &host.reservation {
            let key = (namespace.clone(), reservation.pool.clone());
            self.reserved.entry(key).or_default().insert(name.clone());
        }
        if host.standing() == Standing::Free {
            let rank = (host.last_used, name);
            for (key, value) in &host.labels {
                let label = (namespace.clone(), key.clone(), value.clone());
                self.free_by_label.entry(label).or_default().insert(rank.clone());
            }
            self.free.entry(namespace).or_default().insert(rank);
        }
    }

    fn unlist(&mut self, host: &Candidate) {
        let HostId { namespace, name } = host.id.clone();
        if let Some(count) =
            self.census.get_mut(&namespace).and_then(|it| it.get_mut(&host.standing()))
        {
            *count = count.saturating_sub(1);
        }
        if let Some(marked) = self.unhealthy.get_mut(&namespace) {
            marked.remove(&name);
        }
        if let Some(consumer) = &host.consumer {
            remove(&mut self.held, consumer, &name);
        }
        if let Some(reservation) = &host.reservation {
            remove(&mut self.reserved, &(namespace.clone(), reservation.pool.clone()), &name);
        }
        if host.standing() == Standing::Free {
            let rank = (host.last_used, name);
            for (key, value) in &host.labels {
                let label = (namespace.clone(), key.clone(), value.clone());
                remove(&mut self.free_by_label, &label, &rank);
            }
            remove(&mut self.free, &namespace, &rank);
        }
    }
}

/// Takes a member out of a set, and the set away when it is empty: label values come and go.
fn remove<K: Ord, V: Ord>(sets: &mut BTreeMap<K, BTreeSet<V>>, key: &K, member: &V) {
    if let Some(set) = sets.get_mut(key) {
        set.remove(member);
        if set.is_empty() {
            sets.remove(key);
        }
    }
}
