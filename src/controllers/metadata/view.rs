//! `View`: what is observed, by name, and which Secret is whose.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::observed::{Machine, Observed, Secret, is_kind, is_machine};
use crate::domain::metadata::SecretName;

pub(super) struct View<'a> {
    pub seen: &'a Observed,
    /// All machines by name.
    pub machines: BTreeMap<&'a str, &'a Machine>,
    /// The Secrets of this Metal3Metadata by index.
    by_index: BTreeMap<u32, Vec<&'a Secret>>,
    /// Those of each machine, by its uid.
    by_holder: BTreeMap<&'a str, Vec<&'a Secret>>,
    /// Those that no machine owns which is there, by the name of the one that did.
    left: BTreeMap<&'a str, Vec<&'a Secret>>,
    /// All Secrets by name, whosever they are.
    by_name: BTreeMap<(&'a str, u32), &'a Secret>,
    alive: BTreeSet<&'a str>,
    given: BTreeSet<&'a str>,
}

impl<'a> View<'a> {
    pub fn of(seen: &'a Observed) -> Self {
        let mut view = Self {
            seen,
            machines: seen.machines.iter().map(|it| (it.name.as_str(), it)).collect(),
            by_index: BTreeMap::new(),
            by_holder: BTreeMap::new(),
            left: BTreeMap::new(),
            by_name: BTreeMap::new(),
            alive: seen.machines.iter().map(|it| it.uid.as_str()).collect(),
            given: seen.machines.iter().filter_map(|it| it.refers_to.as_deref()).collect(),
        };
        let asking = seen.machines.iter().filter(|it| it.link.is_some());
        let asking: BTreeSet<&str> = asking.map(|it| it.uid.as_str()).collect();
        for secret in &seen.secrets {
            view.by_name.insert((secret.name.prefix(), secret.name.index()), secret);
            if !is_ours(seen, secret, &asking) {
                continue;
            }
            view.by_index.entry(secret.name.index()).or_default().push(secret);
            match view.holder(secret) {
                Some(uid) => view.by_holder.entry(uid).or_default().push(secret),
                None => view.left.entry(secret.name.prefix()).or_default().push(secret),
            }
        }
        view
    }

    /// The Secrets of this Metal3Metadata.
    pub fn secrets(&self) -> impl Iterator<Item = &'a Secret> {
        self.by_index.values().flatten().copied()
    }

    /// Those with an index. There should be one.
    pub fn with_index(&self, index: u32) -> &[&'a Secret] {
        self.by_index.get(&index).map(Vec::as_slice).unwrap_or_default()
    }

    /// The Secrets of a machine: it owns them, or had one of that name before it was made anew.
    pub fn secrets_of(&self, machine: &Machine) -> impl Iterator<Item = &'a Secret> {
        let held = self.by_holder.get(machine.uid.as_str());
        let left = self.left.get(machine.name.as_str());
        held.into_iter().chain(left).flatten().copied()
    }

    /// Of the machines that are there and own it, the one that it is named after, or else the first.
    fn holder(&self, secret: &'a Secret) -> Option<&'a str> {
        let owners = secret.owners.iter().filter(|it| is_machine(it) && self.is_there(it));
        let holder = owners.min_by_key(|owner| owner.name != secret.name.prefix());
        holder.map(|owner| owner.uid.as_str())
    }

    /// Whether a machine that owns a Secret is there.
    pub fn is_there(&self, owner: &OwnerReference) -> bool {
        self.alive.contains(owner.uid.as_str())
    }

    /// Whether a machine was given it.
    pub fn is_given_to_somebody(&self, secret: &Secret) -> bool {
        self.given.contains(secret.name.to_string().as_str())
    }

    /// Whoever has this name, if it is ours or not.
    pub fn named(&self, name: &SecretName) -> Option<&'a Secret> {
        self.by_name.get(&(name.prefix(), name.index())).copied()
    }

    /// Whether it is one of this Metal3Metadata.
    pub fn is_ours(&self, secret: &Secret) -> bool {
        self.with_index(secret.name.index()).iter().any(|it| it.name == secret.name)
    }
}

/// One of ours has the Metal3Metadata as an owner. One that only has a machine as an owner which asks for it is taken on.
fn is_ours(seen: &Observed, secret: &Secret, asking: &BTreeSet<&str>) -> bool {
    let mut metadata = secret.owners.iter().filter(|it| is_kind(it, "Metal3Metadata")).peekable();
    if metadata.peek().is_some() {
        return metadata.any(|it| it.name == seen.name());
    }
    let mut machines = secret.owners.iter().filter(|it| is_machine(it));
    machines.any(|it| asking.contains(it.uid.as_str()))
}
