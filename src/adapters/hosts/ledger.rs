//! `Ledger`: the slots of the provisioning limit, in step with what is stored, and whom to wake when one is free.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use kube::{api::ObjectMeta, runtime::reflector::ObjectRef};
use strum::IntoEnumIterator;
use tokio::sync::mpsc::UnboundedSender;

use super::followed::{Followed, resource};
use crate::controllers::host::{
    machine::Identity,
    slots::{Place, Slots, Work},
};

/// A host by name.
#[derive(Debug, Clone)]
pub(super) struct Name {
    namespace: String,
    name: String,
}

impl Name {
    pub fn reference(&self) -> ObjectRef<Followed> {
        ObjectRef::new_with(&self.name, resource()).within(&self.namespace)
    }
}

impl From<&Identity> for Name {
    fn from(identity: &Identity) -> Self {
        Self { namespace: identity.namespace.clone(), name: identity.name.clone() }
    }
}

pub(super) struct Ledger {
    book: Mutex<Book>,
    wake: UnboundedSender<Name>,
}

struct Book {
    slots: Slots,
    limit: usize,
    /// Of the hosts that have to do with slots: who they are, and which version of them is in the book.
    known: BTreeMap<String, (Name, u64)>,
}

impl Ledger {
    pub fn new(limit: usize, wake: UnboundedSender<Name>) -> Self {
        let book = Book { slots: Slots::new(limit), limit, known: BTreeMap::new() };
        Self { book: Mutex::new(book), wake }
    }

    /// A new list is coming.
    pub fn forget_all(&self) {
        let mut book = self.open();
        book.slots = Slots::new(book.limit);
        book.known.clear();
    }

    /// What is stored of a host, unless something newer was noted.
    pub fn note(&self, metadata: &ObjectMeta, place: Option<Place>) {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let uid = text(&metadata.uid);
        let version = text(&metadata.resource_version).parse().unwrap_or_default();
        let mut book = self.open();
        if book.known.get(&uid).is_some_and(|(_, known)| *known > version) {
            return;
        }
        let before = book.slots.taken();
        book.slots.set(&uid, place);
        let name = Name { namespace: text(&metadata.namespace), name: text(&metadata.name) };
        book.known.insert(uid, (name, version));
        if book.slots.taken() < before {
            self.wake_next(&book);
        }
    }

    /// What a host may begin now.
    pub fn room(&self, uid: &str, now: Timestamp) -> Vec<Work> {
        let book = self.open();
        Work::iter().filter(|work| book.slots.has_room(uid, *work, now)).collect()
    }

    /// Takes a slot before it is stored that it is taken. False if others were faster.
    pub fn take(&self, uid: &str, work: Work, now: Timestamp) -> bool {
        self.open().slots.take(uid, work, now)
    }

    fn wake_next(&self, book: &Book) {
        for uid in book.slots.winners() {
            if let Some((name, _)) = book.known.get(&uid) {
                // Nobody listens when the controller is being stopped.
                let _ = self.wake.send(name.clone());
            }
        }
    }

    fn open(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc;

    fn host(name: &str, version: u64) -> ObjectMeta {
        ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some("lab".to_owned()),
            uid: Some(name.to_owned()),
            resource_version: Some(version.to_string()),
            ..ObjectMeta::default()
        }
    }

    #[test]
    fn what_was_heard_late_takes_no_slot_away_and_whoever_is_next_is_woken() {
        let (wake, mut woken) = mpsc::unbounded_channel();
        let ledger = Ledger::new(1, wake);
        let start = Timestamp::UNIX_EPOCH;
        let waits = Some(Place::Waits(Work::Inspecting, start));
        let holds = Some(Place::Holds(Work::Inspecting));
        ledger.note(&host("a", 1), waits);
        ledger.note(&host("b", 2), waits);
        assert!(ledger.take("a", Work::Inspecting, start));
        ledger.note(&host("a", 3), holds);
        // The watch tells of an older version only now.
        ledger.note(&host("a", 1), waits);
        assert!(!ledger.take("b", Work::Inspecting, start));
        assert!(woken.try_recv().is_err());
        ledger.note(&host("a", 4), None);
        assert_eq!(woken.try_recv().unwrap().name, "b");
        assert!(ledger.take("b", Work::Inspecting, start));
    }
}
