//! `Plan`: what is to be read, created and told. Plain data, so that it can be compared and carried out without another thought.

use std::collections::{BTreeMap, BTreeSet};

use strum::{Display, EnumIter, IntoStaticStr};

use super::{hosts::Key, observed::Version};
use crate::{
    api::{BareMetalHost, baremetalhostdiscovery::SkipReason},
    domain::mac::Mac,
};

/// What is to be done.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// The nodes whose reports have to be read before they can be judged.
    pub unread: Vec<String>,
    /// The hosts to create.
    pub hosts: Vec<NewHost>,
    /// What is to be remembered of nodes, so that their reports need not be read again.
    pub judged: Vec<(String, Version, Outcome)>,
    /// What is to be told of each discovery, in their order.
    pub tallies: Vec<Tally>,
}

/// A host to create.
#[derive(Debug, Clone, PartialEq)]
pub struct NewHost {
    /// The discovery that makes it, by its place.
    pub discovery: usize,
    /// The node that it is made of.
    pub node: String,
    /// Its name.
    pub key: Key,
    /// The addresses of its cards.
    pub macs: BTreeSet<Mac>,
    /// The host.
    pub host: Box<BareMetalHost>,
    /// What is otherwise than it was meant.
    pub notes: Vec<Note>,
}

/// What came of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Why it did not become a host.
    pub reason: SkipReason,
    /// What people should know of it.
    pub note: Option<Note>,
}

impl Outcome {
    /// Whether it follows from the report and the discovery alone, and so stays what it is while they do.
    #[must_use]
    pub fn is_lasting(&self) -> bool {
        match self.reason {
            SkipReason::NotSelected | SkipReason::NotAutoDiscovered => true,
            SkipReason::Refused => self.note.as_ref().is_some_and(|note| note.reason.is_lasting()),
            SkipReason::HasHost
            | SkipReason::NamedForHost
            | SkipReason::InUse
            | SkipReason::NoReport
            | SkipReason::TakenByAnother
            | SkipReason::Forgotten => false,
        }
    }
}

/// Something that people should know of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The node.
    pub node: String,
    /// The name that its host has or would have got.
    pub host: Option<String>,
    /// In one word.
    pub reason: NoteReason,
    /// In a sentence, with what to do.
    pub message: String,
}

/// Why something is told of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, EnumIter, IntoStaticStr)]
pub enum NoteReason {
    /// No card with an address that a card can have.
    NoAddress,
    /// A host has one of its addresses, and is another machine.
    AddressOfHost,
    /// Another node has one of its addresses.
    AddressOfNode,
    /// More was reported than can be kept.
    TooLarge,
    /// No name can be made.
    NoName,
    /// All names that it could have are those of other hosts.
    NameTaken,
    /// `nodeSelector` cannot be evaluated for it.
    SelectorFailed,
    /// The API server has refused the host.
    Denied,
    /// It has a longer name, because another machine has its own.
    NameClash,
    /// A label was left out.
    LabelLeftOut,
    /// An older discovery takes it.
    TakenByAnother,
}

impl NoteReason {
    /// The messages that it can have, with a `<placeholder>` for what varies.
    #[must_use]
    pub fn words(self) -> &'static [&'static str] {
        match self {
            Self::NoAddress => &[
                "it reports no network card with the address of one: nothing could be told of it from another machine",
            ],
            Self::AddressOfHost => &[
                "it reports an address of host <hosts>, which has a node of its own: a card was moved, or somebody lies; correct the host, or delete the node in Ironic",
            ],
            Self::AddressOfNode => &[
                "it reports <address>, the address of node <node>: a card was moved, or somebody lies; delete the wrong node in Ironic",
            ],
            Self::TooLarge => &[
                "it reports <number> bytes, more than can be kept: is there a name of thousands of characters, or a card for each of them?",
            ],
            Self::NoName => &["<why>: change resourceNameTemplate; boot-mac always makes a name"],
            Self::NameTaken => &["hosts <name> and <name> are other machines: rename one of them"],
            Self::SelectorFailed => &["nodeSelector cannot be evaluated for it: <why>"],
            Self::Denied => &["the API server has refused the host: <why>"],
            Self::NameClash => &[
                "another machine has the name <name>: are hostnames or serial numbers the same on several?",
            ],
            Self::LabelLeftOut => &["the host has no label <label>: <why>"],
            Self::TakenByAnother => &[
                "discovery <name> is older and takes it, too: give each a nodeSelector of its own",
            ],
        }
    }

    fn is_lasting(self) -> bool {
        match self {
            Self::NoAddress | Self::TooLarge | Self::NoName | Self::SelectorFailed => true,
            Self::AddressOfHost
            | Self::AddressOfNode
            | Self::NameTaken
            | Self::Denied
            | Self::NameClash
            | Self::LabelLeftOut
            | Self::TakenByAnother => false,
        }
    }
}

/// What there is to tell of a discovery.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many nodes did not become hosts, by reason.
    pub skipped: BTreeMap<SkipReason, i32>,
    /// What people should know of some of them.
    pub notes: Vec<Note>,
}

impl Tally {
    /// One more.
    pub fn count(&mut self, outcome: &Outcome) {
        let count = self.skipped.entry(outcome.reason).or_default();
        *count = count.saturating_add(1);
        self.notes.extend(outcome.note.clone());
    }
}
