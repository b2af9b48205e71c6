//! `Plan`: what is to be written about a host, and what is to be done next. Plain data, so that it can be compared, logged and carried
//! out without another thought.
//!
//! What is written is written in this order, so that whoever is killed in between leaves something from which the next pass goes on:
//! the HardwareData before the status that relies on it; the status before annotations that it answers are taken away; all of it before
//! the operation that it announces; events after what they tell of; the finalizer last.

use std::{collections::BTreeSet, time::Duration};

use super::{events::Event, provisioner::Operation};
use crate::{
    api::{baremetalhost::BareMetalHostStatus, hardware::HardwareDetails},
    domain::mac::Mac,
};

/// What keeps a host from being forgotten before the provisioner has forgotten it.
pub const FINALIZER: &str = "baremetalhost.metal3.io";

/// What is to be done about a host.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Write this to the HardwareData of its name.
    pub hardware_data: Option<Box<HardwareDetails>>,
    /// Change its status to this.
    pub status: Option<Box<BareMetalHostStatus>>,
    /// Write this to `spec.architecture`, which people left open.
    pub architecture: Option<String>,
    /// Write down that the machine with these addresses is not to be discovered again.
    pub forget: BTreeSet<Mac>,
    /// Take these annotations away.
    pub remove_annotations: Vec<String>,
    /// Tell people this.
    pub events: Vec<Event>,
    /// What comes after all of it.
    pub then: Then,
}

/// What is to be done after the writes.
#[derive(Debug, Clone, PartialEq)]
pub enum Then {
    /// Put the finalizer on, and look again at once.
    Guard,
    /// Look again at once.
    Again,
    /// Do this, and look again at once.
    Call(Operation),
    /// Look again after a while, or when something changes.
    After(Duration),
    /// Take the finalizer off: all is done, for ever.
    Release,
    /// Nothing until something changes.
    Await,
}
