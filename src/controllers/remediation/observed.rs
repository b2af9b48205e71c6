//! `Observed`: all that a decision about a remediation may depend on, read at one instant, as facts.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::{
    api::metal3remediation::Metal3RemediationStatus,
    domain::remediation::{Phase, Strategy},
};

/// What is known of a remediation and of all who take part in it now.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// The time.
    pub now: Timestamp,
    /// The Metal3Remediation.
    pub remediation: Remediation,
    /// The Machine that it is for. None if there is none of its name, or only one that was made since.
    pub machine: Option<Machine>,
    /// Its host, or why there is none. It is looked for by the Metal3Machine, and where that is gone by the annotation
    /// with which this remediation keeps a host off.
    pub host: Result<Host, NoHost>,
    /// The cluster that the Node is in.
    pub workload: Workload,
    /// How much is going on.
    pub storm: Storm,
}

/// The Metal3Remediation.
#[derive(Debug, Clone, PartialEq)]
pub struct Remediation {
    /// Its name, which is that of the Machine.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// When it was created.
    pub created: Timestamp,
    /// When somebody asked for its deletion.
    pub deleted: Option<Timestamp>,
    /// Whether it has our finalizer.
    pub is_guarded: bool,
    /// Whether it, or its Cluster, is paused.
    pub is_paused: bool,
    /// What to do, or all that is wrong with that.
    pub strategy: Result<Strategy, String>,
    /// How far it is, as stored.
    pub status: Metal3RemediationStatus,
    /// The labels and annotations of a Node that was deleted, until they are restored.
    pub backup: Option<Backup>,
    /// Why a person wants it, whatever the machine's health.
    pub request: Option<String>,
}

impl Remediation {
    /// The phase that is stored.
    #[must_use]
    pub fn phase(&self) -> Option<Phase> {
        self.status.phase
    }

    /// Which attempt is under way, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.status.retry_count.and_then(|count| u32::try_from(count).ok()).unwrap_or_default()
    }

    /// When the phase began.
    #[must_use]
    pub fn since(&self) -> Timestamp {
        self.status.last_remediated.as_ref().map_or(self.created, |time| time.0)
    }

    /// How long things may take.
    #[must_use]
    pub fn timeout(&self) -> SignedDuration {
        self.strategy.as_ref().map_or(Strategy::default().timeout(), Strategy::timeout)
    }
}

/// What a Node had before it was deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Backup {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
}

/// The Machine of Cluster API.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// The Cluster that it belongs to.
    pub cluster: String,
    /// Whether somebody has asked for its deletion.
    pub is_being_deleted: bool,
    /// The Node that it once was, if it ever was one.
    pub node: Option<String>,
    /// What MachineHealthCheck said of it last, if one looks at it.
    pub verdict: Option<Verdict>,
    /// Whether its owner was asked to replace it.
    pub is_owner_asked: bool,
    /// Whether a person asked for its remediation in the way of Cluster API.
    pub is_remediation_asked: bool,
}

/// What MachineHealthCheck said of a Machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it is healthy.
    pub is_healthy: bool,
    /// Why, in one word.
    pub reason: String,
    /// Why.
    pub message: String,
}

/// Why there is no host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumIter)]
pub enum NoHost {
    /// The Machine is not one of ours.
    AnotherProvider,
    /// There is no such Metal3Machine.
    NoMetal3Machine,
    /// It has not chosen one.
    Unchosen,
    /// The one that it chose does not exist.
    Missing,
}

/// The BareMetalHost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "they are facts, each of which may hold beside all others"
)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// The MAC address that it boots from.
    pub boot_mac_address: Option<String>,
    /// Whether it says itself that it is used by the Metal3Machine of the Machine.
    pub is_ours: bool,
    /// Whether somebody has asked for its deletion.
    pub is_being_deleted: bool,
    /// Whether its power can be switched.
    pub power: Power,
    /// Whether it is to be on, by its spec.
    pub is_online: bool,
    /// Whether it was on when last seen.
    pub is_on: bool,
    /// Whether it has the annotation by which this remediation keeps it off.
    pub is_held: bool,
    /// Why it is not the time to switch it off, or why nobody would.
    pub hold: Option<Hold>,
    /// Why it is out of use, if it is.
    pub unhealthy: Option<String>,
    /// What failed last, if something does.
    pub error: Option<String>,
}

/// Whether a host's power can be switched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, strum::EnumIter)]
pub enum Power {
    /// It can.
    #[default]
    Controlled,
    /// It has no BMC.
    NoBmc,
    /// Somebody has said that it must never be off.
    NeverOff,
}

/// Why it is not the time to switch a host off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// Somebody else has a reboot annotation on it: this one.
    Reboot(String),
    /// Nothing is done to it, by an annotation.
    Paused,
    /// It is out of the provisioner, by an annotation.
    Detached,
    /// It does not run an image: this is its state.
    NotProvisioned(String),
}

/// What is known of the Node, and of the cluster that it is in.
#[derive(Debug, Clone, PartialEq)]
pub enum Workload {
    /// It cannot be asked.
    Unreachable {
        /// Why.
        why: String,
    },
    /// It can.
    Reachable {
        /// Whether it knows the out-of-service taint: it has version 1.28 or later.
        knows_out_of_service: bool,
        /// The Node, if the Machine is one and it is there.
        node: Option<Node>,
    },
}

/// The Node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// Its UID.
    pub uid: String,
    /// Whether it is ready, by its own word.
    pub is_ready: bool,
    /// Since when that is so.
    pub since: Option<Timestamp>,
    /// When its kubelet last said anything.
    pub heartbeat: Option<Timestamp>,
    /// Whether it has the out-of-service taint.
    pub is_tainted: bool,
    /// How many of its pods are being deleted and not gone.
    pub pods_left: usize,
    /// How many volumes are attached to it.
    pub volumes_left: usize,
    /// What is to be restored if it is deleted.
    pub kept: Backup,
}

/// How much is being remediated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Storm {
    /// How many hosts of the Cluster may be remediated at one time.
    pub limit: usize,
    /// How many are, without this one.
    pub active: usize,
    /// Another remediation that is at work on the same host.
    pub on_this_host: Option<String>,
}
