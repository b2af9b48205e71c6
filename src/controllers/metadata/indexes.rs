//! Who has which index. Whatever was recorded or made for a machine stays; who has nothing gets the lowest that is free.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    observed::{Machine, Secret, is_machine},
    plan::RESERVED,
    view::View,
};
use crate::domain::metadata::{SecretName, lowest_free_index};

/// The indexes as they are to be recorded.
pub(super) struct Assigned<'a> {
    /// Who has which.
    pub indexes: BTreeMap<u32, String>,
    /// The machines that ask for one, or have one in use, and the index of each.
    pub of: BTreeMap<&'a str, u32>,
    /// Those of machines that get no Secret: somebody wrote them into the status.
    pub reserved: BTreeMap<u32, String>,
    /// Machines that have in use what is another's: index and other.
    pub duplicates: BTreeMap<&'a str, (u32, String)>,
}

pub(super) fn assign<'a>(view: &View<'a>) -> Assigned<'a> {
    let mut assigned = Assigned {
        indexes: BTreeMap::new(),
        of: BTreeMap::new(),
        reserved: BTreeMap::new(),
        duplicates: BTreeMap::new(),
    };
    let recorded = recorded(view);
    assigned.keep_used(view, &recorded);
    assigned.keep_written(view, &recorded);
    assigned.keep_written(view, &reserved(view));
    assigned.keep_made(view);
    if !view.seen.is_being_deleted() {
        assigned.give(view);
    }
    assigned
}

impl<'a> Assigned<'a> {
    /// What a machine was given, or is about to be given. Where two have one index, whoever is recorded.
    fn keep_used(&mut self, view: &View<'a>, recorded: &BTreeMap<u32, &str>) {
        let machines = view.machines.values();
        let mut used: Vec<_> = machines.filter_map(|it| Some((in_use(view, it)?, *it))).collect();
        used.sort_by_key(|(index, machine)| {
            (recorded.get(index) != Some(&machine.name.as_str()), machine.name.as_str())
        });
        for (index, machine) in used {
            match self.indexes.get(&index) {
                Some(other) => {
                    self.duplicates.insert(&machine.name, (index, other.clone()));
                }
                None => self.set(index, machine),
            }
        }
    }

    /// What is written down for machines that are there.
    fn keep_written(&mut self, view: &View<'a>, written: &BTreeMap<u32, &str>) {
        for (index, name) in written {
            let Some(machine) = view.machines.get(name) else { continue };
            if self.is_free(*index, machine) {
                self.set(*index, machine);
                if machine.link.is_none() || is_given(view, machine) {
                    self.reserved.insert(*index, (*name).to_owned());
                }
            }
        }
    }

    /// A Secret that is not settled: whoever made it was killed, or is behind.
    fn keep_made(&mut self, view: &View<'a>) {
        for machine in view.machines.values().filter(|it| it.link.is_some()) {
            for secret in view.secrets_of(machine) {
                if self.is_free(secret.name.index(), machine) && !is_given(view, machine) {
                    self.set(secret.name.index(), machine);
                }
            }
        }
    }

    /// New ones, first to whoever came first. That of a machine that is gone is given at once, so that the next one has its name; what is made
    /// for it is settled when the Secret of the other is gone.
    fn give(&mut self, view: &View<'a>) {
        let mut used: BTreeSet<u32> = self.indexes.keys().copied().collect();
        // A Secret that stays, against all that we can do, is not waited for.
        let stays = |it: &&Secret| it.is_being_deleted && !it.is_settled() || is_shared(view, it);
        used.extend(view.secrets().filter(stays).map(|secret| secret.name.index()));
        let is_waiting = |it: &&&Machine| {
            it.is_served()
                && !self.of.contains_key(it.name.as_str())
                && !self.duplicates.contains_key(it.name.as_str())
                && !is_given(view, it)
        };
        let mut waiting: Vec<&Machine> =
            view.machines.values().filter(is_waiting).copied().collect();
        waiting.sort_by_key(|it| (it.created, it.name.as_str()));
        for machine in waiting {
            let index = lowest_free_index(&used);
            used.insert(index);
            self.set(index, machine);
        }
    }

    fn is_free(&self, index: u32, machine: &Machine) -> bool {
        let name = machine.name.as_str();
        !self.indexes.contains_key(&index)
            && !self.of.contains_key(name)
            && !self.duplicates.contains_key(name)
    }

    fn set(&mut self, index: u32, machine: &'a Machine) {
        self.indexes.insert(index, machine.name.clone());
        self.of.insert(&machine.name, index);
    }
}

/// The index that a machine has in use: by the Secret that it was given, or by one that is settled.
fn in_use(view: &View<'_>, machine: &Machine) -> Option<u32> {
    let Some(name) = &machine.refers_to else {
        let settled = view.secrets_of(machine).filter(|it| it.is_settled());
        return settled.map(|it| it.name.index()).min().filter(|_| machine.link.is_some());
    };
    let name: SecretName = name.parse().ok()?;
    let is_own = name.prefix() == machine.name;
    match view.named(&name) {
        Some(secret) if view.is_ours(secret) => {
            (is_own || secret.belongs_to(machine)).then(|| name.index())
        }
        // Another's: it is used as it is.
        Some(_) => None,
        None => (is_own && machine.link.is_some()).then(|| name.index()),
    }
}

/// Whether a machine was given a Secret that is none of ours: there is nothing to do for it.
pub(super) fn is_given(view: &View<'_>, machine: &Machine) -> bool {
    machine.refers_to.is_some() && in_use(view, machine).is_none()
}

/// Whether people made a machine an owner of what was made for another.
pub(super) fn is_shared(view: &View<'_>, secret: &Secret) -> bool {
    let owners = secret.owners.iter().filter(|it| is_machine(it) && view.is_there(it));
    owners.into_iter().any(|it| {
        let machine = view.machines.get(it.name.as_str());
        it.name != secret.name.prefix() && machine.is_some_and(|it| it.link.is_some())
    })
}

/// The Secret of a machine with its index.
pub(super) fn secret_of<'a>(view: &View<'a>, machine: &Machine, index: u32) -> Option<&'a Secret> {
    let with_index = view.secrets_of(machine).filter(|it| it.name.index() == index);
    with_index.max_by_key(|it| {
        let is_given = machine.refers_to.as_ref().is_some_and(|name| *name == it.name.to_string());
        (is_given, it.is_settled(), it.name.prefix() == machine.name)
    })
}

/// What the status says. What is no index is not kept.
fn recorded<'a>(view: &View<'a>) -> BTreeMap<u32, &'a str> {
    let status = view.seen.metadata.status.as_ref();
    let indexes = status.and_then(|it| it.indexes.as_ref()).into_iter().flatten();
    indexes.filter_map(|(index, name)| Some((read(index)?, name.as_str()))).collect()
}

/// What the annotation says.
fn reserved<'a>(view: &View<'a>) -> BTreeMap<u32, &'a str> {
    let annotations = view.seen.metadata.metadata.annotations.as_ref();
    let text = annotations.and_then(|it| it.get(RESERVED)).map(String::as_str).unwrap_or_default();
    let entries: BTreeMap<String, String> = serde_json::from_str(text).unwrap_or_default();
    let found = entries.iter().filter_map(|(index, name)| {
        let (name, _) = view.machines.get_key_value(name.as_str())?;
        Some((read(index)?, *name))
    });
    found.collect()
}

/// An index has one spelling.
fn read(text: &str) -> Option<u32> {
    text.parse().ok().filter(|index: &u32| index.to_string() == text)
}
