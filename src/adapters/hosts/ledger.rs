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
