//! `Observed`: all that is decided by, read at one instant.

use std::collections::{BTreeMap, BTreeSet};

use super::{hosts::Hosts, plan::Outcome};
use crate::{
    api::{BareMetalHostDiscovery, baremetalhost::BootMode, hardware::HardwareDetails},
    domain::mac::Mac,
};

/// What is known now.
#[derive(Debug, Clone)]
pub struct Observed<'a> {
    /// The nodes that Ironic has.
    pub nodes: &'a [Node],
    /// The hosts that there are, in all namespaces.
    pub hosts: &'a Hosts,
    /// The addresses of machines that are not to be made hosts again.
    pub forgotten: &'a BTreeSet<Mac>,
    /// All discoveries.
    pub discoveries: &'a [Discovery],
}

/// A discovery.
#[derive(Debug, Clone)]
pub struct Discovery {
    /// As the API server has it.
    pub object: BareMetalHostDiscovery,
    /// Whether it is its turn: others only keep theirs.
    pub is_due: bool,
    /// Why its expressions cannot be evaluated.
    pub problem: Option<String>,
}

/// A version of a discovery: what was judged by another may be judged otherwise by this.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.generation`.
    pub generation: i64,
}

impl Discovery {
    /// Its name, as hosts are annotated with it.
    #[must_use]
    pub fn name(&self) -> String {
        let metadata = &self.object.metadata;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        format!("{}/{}", text(&metadata.namespace), text(&metadata.name))
    }

    /// Its version.
    #[must_use]
    pub fn version(&self) -> Version {
        let metadata = &self.object.metadata;
        Version {
            uid: metadata.uid.clone().unwrap_or_default(),
            generation: metadata.generation.unwrap_or_default(),
        }
    }

    /// Whether it takes machines at all.
    #[must_use]
    pub fn is_active(&self) -> bool {
        let is_leaving = self.object.metadata.deletion_timestamp.is_some();
        self.object.spec.suspend != Some(true) && !is_leaving && self.problem.is_none()
    }
}

/// A node of Ironic.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its id.
    pub uuid: String,
    /// The namespace and name of the host that it is named for.
    pub named_for: Option<(String, String)>,
    /// Whether nothing is done with it, and nothing runs on it.
    pub is_free: bool,
    /// The addresses of its ports.
    pub ports: BTreeSet<Mac>,
    /// The addresses that were in its report, when that was last read.
    pub reported: BTreeSet<Mac>,
    /// What came of it before, and comes of it again as long as nothing else changes.
    pub judged: BTreeMap<Version, Outcome>,
    /// What its ramdisk has reported.
    pub report: Report,
}

/// Whether it is known what is in a machine.
#[derive(Debug, Clone)]
pub enum Report {
    /// It was not asked for.
    Unread,
    /// There is none.
    Missing,
    /// This is it.
    Read(Box<Reported>),
}

/// What a ramdisk has reported.
#[derive(Debug, Clone)]
pub struct Reported {
    /// Its parts.
    pub details: HardwareDetails,
    /// The card that it booted from, as it says.
    pub boot_mac: Option<String>,
    /// How its firmware started it.
    pub boot_mode: Option<BootMode>,
    /// Whether Ironic made the node because of it.
    pub is_auto_discovered: bool,
    /// What the expressions of each discovery say of it, in their order.
    pub verdicts: Vec<Verdict>,
}

/// What the expressions of a discovery say of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it is selected, or why that cannot be told.
    pub is_selected: Result<bool, String>,
    /// Its labels, or why one cannot be told.
    pub labels: Vec<(String, Result<String, String>)>,
}
