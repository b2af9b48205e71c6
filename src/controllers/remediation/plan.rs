//! `Plan`: what is to be written about a remediation, and the one thing to do next. Plain data, so that it can be compared, logged and carried
//! out without another thought.
//!
//! What is written is written in this order, so that whoever is killed in between leaves something from which the next pass goes on: the
//! history before the status that goes on from it; the status before the action that it announces; events after what they tell of. An action
//! is one write; after it everything is looked at again.

use std::time::Duration;

use super::{events::Event, observed::Backup};
use crate::{api::metal3remediation::Metal3RemediationStatus, controllers::history::Entry};

/// What is to be done about a remediation.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What the history of the host says of it.
    pub history: Option<Entry>,
    /// Change its status to this.
    pub status: Option<Metal3RemediationStatus>,
    /// Tell people this.
    pub events: Vec<Event>,
    /// What comes after all of it.
    pub then: Then,
}

/// What is to be done after the writes.
#[derive(Debug, Clone, PartialEq)]
pub enum Then {
    /// Look again at once.
    Again,
    /// Do this, and look again at once.
    Do(Action),
    /// Nothing until something changes, or this time is over.
    After(Duration),
    /// Nothing until something changes.
    Await,
}

/// One write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Put our finalizer on the remediation.
    Guard,
    /// Take it off: all is done, for ever.
    Release,
    /// Delete the remediation: it has done what it was for, and nobody else does.
    Delete,
    /// Have the host switched off, and kept off: put our annotation on it.
    SwitchOff,
    /// Let it be switched on: take our annotation away.
    SwitchOn,
    /// Take the host out of use: the unhealthy annotation, not online, and our annotation away, in one write.
    GiveUpHost,
    /// Put the out-of-service taint on the Node.
    Taint,
    /// Take it away.
    Untaint,
    /// Keep what the Node has, in annotations of the remediation.
    BackUp(Backup),
    /// Delete the Node that has this UID.
    DeleteNode(String),
    /// Give the Node what it had before it was deleted, where it has nothing of its own, and forget the copy.
    Restore(Backup),
    /// Ask the owner of the Machine to replace it: the conditions that Cluster API reads, in both places.
    AskOwner,
    /// Take away the annotation by which a person asked Cluster API for remediation: it was done.
    AnswerRequest,
}
