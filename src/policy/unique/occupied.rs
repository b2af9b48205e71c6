//! `Occupied`: who has which keys, of all objects that are known.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

use super::{
    super::{request::Versioned, set::PolicySet},
    Keys, UniquePolicy,
};
use crate::uniqueness::{Age, Holder};

/// An object that has a key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Occupant {
    /// Who it is, and since when.
    pub age: Age,
    /// Its kind.
    pub kind: String,
    /// Whether it has the key as its own, and not only reported.
    pub is_claimed: bool,
}

/// Who has which keys, by policy and key. Almost every key has one occupant, and a set for it would have room for
/// eleven: with a thousand hosts that is megabytes.
#[derive(Debug, Clone, Default)]
pub struct Occupied {
    /// Sorted, each once.
    by_key: BTreeMap<(String, String), Vec<Occupant>>,
    by_holder: BTreeMap<Holder, Vec<(String, String)>>,
}

impl Occupied {
    /// Puts an object in the place of what was known of it. What could not be evaluated is returned,
    /// policy by policy, and counts as no key.
    pub fn set(
        &mut self,
        policies: &PolicySet,
        resource: Versioned<'_>,
        object: &Value,
    ) -> Vec<(String, String)> {
        let holder = holder(resource, object);
        self.remove(&holder);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let created = text(&object["metadata"]["creationTimestamp"]).parse::<Timestamp>().ok();
        let (age, kind) = (Age::new(created, holder.clone()), text(&object["kind"]));
        let mut errors = Vec::new();
        for policy in policies.unique() {
            match policy.keys(resource, object) {
                Ok(Keys { claimed, reported }) => {
                    let reported = reported.difference(&claimed).map(|key| (key, false));
                    for (key, is_claimed) in claimed.iter().map(|key| (key, true)).chain(reported) {
                        let key = (policy.name().to_owned(), key.clone());
                        let occupant =
                            Occupant { age: age.clone(), kind: kind.clone(), is_claimed };
                        insert(self.by_key.entry(key.clone()).or_default(), occupant);
                        insert(self.by_holder.entry(holder.clone()).or_default(), key);
                    }
                }
                Err(text) => errors.push((policy.name().to_owned(), text)),
            }
        }
        errors
    }

    /// Forgets an object.
    pub fn remove(&mut self, holder: &Holder) {
        for key in self.by_holder.remove(holder).unwrap_or_default() {
            if let Some(occupants) = self.by_key.get_mut(&key) {
                occupants.retain(|it| it.age.holder != *holder);
                if occupants.is_empty() {
                    self.by_key.remove(&key);
                }
            }
        }
    }

    /// Forgets the objects of a resource that are not among these.
    pub fn keep_only(&mut self, resource: Versioned<'_>, these: &BTreeSet<Holder>) {
        let is_gone = |it: &&Holder| {
            (it.group.as_str(), it.resource.as_str()) == (resource.group, resource.name)
                && !these.contains(*it)
        };
        let gone: Vec<_> = self.by_holder.keys().filter(is_gone).cloned().collect();
        for holder in &gone {
            self.remove(holder);
        }
    }

    /// Who else has a key, claimed or reported, oldest first.
    pub fn others<'a>(
        &'a self,
        policy: &UniquePolicy,
        key: &str,
        me: &'a Holder,
    ) -> impl Iterator<Item = &'a Occupant> {
        let occupants = self.by_key.get(&(policy.name().to_owned(), key.to_owned()));
        occupants.into_iter().flatten().filter(move |it| it.age.holder != *me)
    }

    /// The oldest object with which one conflicts by any of its keys, if it is the younger.
    #[must_use]
    pub fn older_than(&self, holder: &Holder) -> Option<&Occupant> {
        let keys = self.by_holder.get(holder).into_iter().flatten();
        keys.filter_map(|key| self.by_key.get(key)).find_map(|occupants| {
            let younger = occupants.iter().find(|it| it.age.holder == *holder)?;
            let conflicts = |older: &&Occupant| older.is_claimed || younger.is_claimed;
            occupants.iter().take_while(|it| it.age.holder != *holder).find(conflicts)
        })
    }

    /// Every key with all who have it, oldest first: policy, key, occupants.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str, &[Occupant])> {
        let all = self.by_key.iter();
        all.map(|((policy, key), all)| (policy.as_str(), key.as_str(), all.as_slice()))
    }

    /// The keys that several have and one of them at least as its own: policy, key, and the younger
    /// one with the oldest that it conflicts with.
    pub fn duplicates(&self) -> impl Iterator<Item = (&str, &str, &Occupant, &Occupant)> {
        self.all().flat_map(|(policy, key, occupants)| {
            occupants.iter().enumerate().filter_map(move |(index, younger)| {
                // What two merely report is nobody's claim.
                let conflicts = |older: &&Occupant| older.is_claimed || younger.is_claimed;
                let older = occupants.iter().take(index).find(conflicts)?;
                Some((policy, key, younger, older))
            })
        })
    }
}

/// Puts an item where it belongs, and takes no more room than that.
fn insert<T: Ord>(sorted: &mut Vec<T>, item: T) {
    if let Err(at) = sorted.binary_search(&item) {
        sorted.reserve_exact(1);
        sorted.insert(at, item);
    }
}

/// Which object it is.
#[must_use]
pub fn holder(resource: Versioned<'_>, object: &Value) -> Holder {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
    Holder {
        group: resource.group.to_owned(),
        resource: resource.name.to_owned(),
        namespace: text("namespace"),
        name: text("name"),
    }
}
