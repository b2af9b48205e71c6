//! `Plan`: what is to be written about a Metal3Metadata, its Secrets and its machines. Plain data, so that it can be compared, logged and
//! carried out without another thought.
//!
//! At most one of the writes on the Metal3Metadata itself is in a plan that also has writes on others, and comes after them: whoever is
//! killed in between leaves something from which the next pass goes on.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::observed::Link;
use crate::{
    api::metal3metadata::Metal3MetadataStatus, controllers::host::hidden::Hidden,
    domain::metadata::SecretName,
};

/// The group of Metal3's infrastructure.
pub const GROUP: &str = "infrastructure.cluster.x-k8s.io";
/// What keeps a Secret for as long as a machine has it, and a Metal3Metadata for as long as it has Secrets. Kubernetes' own kinds want a slash
/// in it.
pub const FINALIZER: &str = "infrastructure.cluster.x-k8s.io/metal3metadata";
/// The annotation of a Metal3Machine that stands for `spec.metaData.configRef`.
pub const LINK: &str = "ironward.dev/metadata";
/// The annotation of a Metal3Metadata that keeps what people wrote into its status for machines that have no Secret: those entries could
/// be found nowhere else.
pub const RESERVED: &str = "ironward.dev/reserved-indexes";

/// What is to be done about a Metal3Metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Writes on Secrets and machines. Each row is carried out in its order until one fails; a row knows nothing of another.
    pub rows: Vec<Vec<Write>>,
    /// Change the Metal3Metadata's own metadata.
    pub metadata: Option<Own>,
    /// Change its status to this.
    pub status: Option<Box<Metal3MetadataStatus>>,
    /// What comes after all of it.
    pub then: Then,
}

/// What of its own metadata is to be what.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Own {
    /// All of its finalizers.
    pub finalizers: Option<Vec<String>>,
    /// All of its owners.
    pub owners: Option<Vec<OwnerReference>>,
    /// The annotation [`RESERVED`]; the inner none takes it away.
    pub reserved: Option<Option<String>>,
}

/// An object, and the version of it that a write is meant for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Its name.
    pub name: String,
    /// What tells it from another of that name.
    pub uid: String,
    /// The version.
    pub version: String,
}

/// A write on a Secret or a machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// Make a Secret.
    Create {
        /// Its name.
        name: SecretName,
        /// Its owners.
        owners: Vec<OwnerReference>,
        /// Its labels.
        labels: BTreeMap<String, String>,
        /// The metadata.
        content: Hidden<String>,
    },
    /// Change a Secret.
    Change {
        /// Which.
        secret: Version,
        /// All of its owners.
        owners: Option<Vec<OwnerReference>>,
        /// All of its finalizers.
        finalizers: Option<Vec<String>>,
        /// The metadata.
        content: Option<Hidden<String>>,
    },
    /// Delete a Secret, as it was seen or as the change before it in the row left it.
    Delete {
        /// Which.
        secret: Version,
    },
    /// Give a machine its Secret.
    Give {
        /// Which machine.
        machine: Version,
        /// How it has asked.
        link: Link,
        /// The Secret.
        secret: SecretName,
    },
}

/// What is to be done after the writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Look again at once.
    Again,
    /// Look again after a while, or when something changes.
    After(Duration),
    /// Nothing until something changes.
    Await,
}
