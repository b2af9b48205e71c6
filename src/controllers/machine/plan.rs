//! `Plan`: what is to be done next about a Metal3Machine.
//!
//! One step at a time, each a single write, so that whoever is killed in between leaves something from which the next pass goes on. The
//! machine is guarded before it claims a host, and let go after the host was given back: no host is ever held by nobody.

use std::time::Duration;

use serde_json::Value;

use super::events::Event;
use crate::{api::metal3machine::Metal3MachineStatus, controllers::host_choice::Chosen};

/// What keeps a Metal3Machine from being forgotten before its host is given back.
pub const FINALIZER: &str = "metal3machine.infrastructure.cluster.x-k8s.io";
/// The annotation that names its host, as `<namespace>/<name>`.
pub const HOST: &str = "metal3.io/BareMetalHost";
/// The value of the annotation with which hosts are paused while their cluster is, as Metal3 writes and reads it.
pub const PAUSED_BY_CLUSTER: &str = "metal3.io/capm3";

/// What is to be done about a Metal3Machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The next step.
    pub step: Step,
    /// Change its status to this. Only with a step that waits.
    pub status: Option<Box<Metal3MachineStatus>>,
    /// Tell people this, when the step is done.
    pub events: Vec<Event>,
}

/// A merge patch.
pub type Patch = Value;

/// A step. After each that does something, it is looked at again at once.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Put the finalizer on the machine.
    Guard(Patch),
    /// Take this host, in the version in which it was chosen: the patch is bound to that.
    Claim(Chosen, Patch),
    /// Write to the machine which host it has.
    Record(Patch),
    /// Tell the host which image and data to run.
    Provision(Patch),
    /// Bring the host in line with what the machine says now, such as the cleaning mode.
    Follow(Patch),
    /// Write the providerID to the machine.
    Identify(Patch),
    /// Write the providerID to the Node of this name.
    NameNode {
        /// The Node.
        node: String,
        /// Its providerID.
        provider_id: String,
    },
    /// The cluster is paused: leave the host alone too, and make it ready to be moved.
    PauseHost(Patch),
    /// The cluster goes on.
    ResumeHost(Patch),
    /// Have the host deprovisioned: one write with the cleaning mode, and the reservation if the pool reuses nodes.
    Deprovision(Patch),
    /// The host is as it was before: give it back, or keep it for the pool.
    GiveBack(Patch),
    /// Take the finalizer off the machine: all is done, for ever.
    Release(Patch),
    /// Wait in line for a host, at most for so long.
    Queue(Duration),
    /// Wait for something to change, at most for so long.
    After(Duration),
    /// Wait for something to change.
    Await,
}
