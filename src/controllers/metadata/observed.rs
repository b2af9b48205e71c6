//! `Observed`: all that a decision about a Metal3Metadata may depend on. The Secrets were listed while the Metal3Metadata was of this
//! version, neither before nor after.

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::plan::{FINALIZER, GROUP};
use crate::{api::Metal3Metadata, domain::metadata::SecretName, template::metadata::Node};

/// What is known of a Metal3Metadata now.
#[derive(Debug, Clone)]
pub struct Observed {
    /// As the API server has it.
    pub metadata: Metal3Metadata,
    /// The time.
    pub now: Timestamp,
    /// The Metal3Machines of its namespace that have to do with it: those that ask for it, and whoever else is named in its status or
    /// owns one of the Secrets. One that is missing here is gone.
    pub machines: Vec<Machine>,
    /// The Secrets of its namespace with the type and a name of metadata.
    pub secrets: Vec<Secret>,
    /// Names that a Secret could not get: something else has them.
    pub taken: BTreeSet<String>,
    /// The Metal3Clusters whose machines ask for it.
    pub clusters: Vec<OwnerReference>,
    /// Whether a Secret was written since the status was.
    pub has_written: bool,
}

/// How a machine asks for metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// By `spec.metaData.configRef`; the answer is `dataSecret` beside it.
    ConfigRef,
    /// By an annotation, where the kind is Metal3's own; the answer is Metal3's field, `spec.metaData.name`.
    Annotation,
}

/// A Metal3Machine.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// What tells it from an earlier one of that name.
    pub uid: String,
    /// Its version.
    pub version: String,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// Whether somebody has asked for its deletion.
    pub is_being_deleted: bool,
    /// Whether it, or its Cluster, is to be left alone.
    pub is_paused: bool,
    /// How it asks for this Metal3Metadata, if it does.
    pub link: Option<Link>,
    /// The Secret that it was given.
    pub refers_to: Option<String>,
    /// What templates may show of it, but for the index.
    pub node: Node,
}

/// A Secret with metadata.
#[derive(Debug, Clone)]
pub struct Secret {
    /// Its name.
    pub name: SecretName,
    /// What tells it from an earlier one of that name.
    pub uid: String,
    /// Its version.
    pub version: String,
    /// All of its owners.
    pub owners: Vec<OwnerReference>,
    /// All that keep it from being deleted.
    pub finalizers: Vec<String>,
    /// Whether somebody has asked for its deletion.
    pub is_being_deleted: bool,
    /// What tells its content from another.
    pub digest: Option<Digest>,
}

/// The SHA-256 of what a Secret holds.
pub type Digest = [u8; 32];

impl Observed {
    /// Whether somebody has asked for its deletion.
    #[must_use]
    pub fn is_being_deleted(&self) -> bool {
        self.metadata.metadata.deletion_timestamp.is_some()
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.metadata.metadata.name.as_deref().unwrap_or_default()
    }
}

impl Machine {
    /// Whether something may be done for it.
    pub(super) fn is_served(&self) -> bool {
        self.link.is_some() && !self.is_being_deleted && !self.is_paused
    }
}

impl Secret {
    /// Whether it was given to a machine, or is about to be: it has our finalizer.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.finalizers.iter().any(|it| it == FINALIZER)
    }

    /// Whether it belongs to this machine, and not only to one of that name.
    #[must_use]
    pub fn belongs_to(&self, machine: &Machine) -> bool {
        self.owners.iter().any(|owner| is_machine(owner) && owner.uid == machine.uid)
    }
}

/// Whether an owner is a Metal3Machine.
#[must_use]
pub fn is_machine(owner: &OwnerReference) -> bool {
    is_kind(owner, "Metal3Machine")
}

/// Whether an owner is of a kind of Metal3's infrastructure, in whatever version.
pub(super) fn is_kind(owner: &OwnerReference, kind: &str) -> bool {
    let group = owner.api_version.split('/').next();
    owner.kind == kind && group == Some(GROUP)
}
