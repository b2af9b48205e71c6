//! `Candidate`: a host, as far as a choice depends on it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use strum::{Display, EnumIter};

use super::wish::MachineId;
use crate::{
    api::{
        BareMetalHost,
        baremetalhost::{BareMetalHostStatus, OperationMetric},
        cluster_api,
    },
    controllers::host::{annotations::PAUSED, observed},
    domain::{
        host_discovery::annotations::awaits_approval, host_status::OperationalStatus, node_reuse,
        provisioning_state::ProvisioningState as State, remediation::UNHEALTHY_ANNOTATIONS,
    },
};

/// The label of a host that names its failure domain.
pub const FAILURE_DOMAIN: &str = "infrastructure.cluster.x-k8s.io/failure-domain";

/// A host by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// A host, as far as a choice depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub id: HostId,
    /// Which of all that had this name.
    pub uid: String,
    /// Which version of it this is.
    pub version: String,
    /// Its labels, by which it is selected.
    pub labels: BTreeMap<String, String>,
    /// How it stands, reservations apart.
    pub standing: Standing,
    /// The Metal3Machine that uses it.
    pub consumer: Option<MachineId>,
    /// For whom it is kept, if it is.
    pub reservation: Option<Reservation>,
    /// When it was last given back.
    pub last_used: Option<Timestamp>,
    /// Why nobody is to take it, if somebody has said so.
    pub unhealthy: Option<String>,
}

/// How a host stands: whether it can be taken, and why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumIter)]
pub enum Standing {
    /// It can be taken.
    #[strum(to_string = "available")]
    Free,
    /// Somebody uses it.
    #[strum(to_string = "in use")]
    InUse,
    /// It is kept for a pool.
    #[strum(to_string = "reserved for reuse")]
    Reserved,
    /// It is not ready for an image.
    #[strum(to_string = "not available")]
    NotAvailable,
    /// Something failed on it.
    #[strum(to_string = "in error")]
    InError,
    /// Nobody is to touch it.
    #[strum(to_string = "paused")]
    Paused,
    /// It was given up.
    #[strum(to_string = "unhealthy")]
    Unhealthy,
    /// Somebody has yet to say that it may be used.
    #[strum(to_string = "pending approval")]
    PendingApproval,
    /// It is going.
    #[strum(to_string = "being deleted")]
    BeingDeleted,
}

/// For whom a host is kept: the pool that its label names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// The value of the label.
    pub pool: String,
    /// Since when, if that is written.
    pub since: Option<Timestamp>,
    /// The Cluster that holds it, which is written when it was given back.
    pub cluster: Option<String>,
}

impl Candidate {
    /// What a choice depends on of a host.
    #[must_use]
    pub fn of(host: &BareMetalHost) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let metadata = &host.metadata;
        let labels = metadata.labels.clone().unwrap_or_default();
        let consumer = host.spec.consumer_ref.as_ref();
        let held_by = |kind: &str| consumer.filter(|it| it.kind.as_deref() == Some(kind));
        let cluster = held_by("Cluster").and_then(|it| it.name.clone());
        let consumer = held_by("Metal3Machine").and_then(|it| {
            let namespace = it.namespace.clone().or_else(|| metadata.namespace.clone());
            Some(MachineId { namespace: namespace?, name: it.name.clone()? })
        });
        let reservation = labels.get(node_reuse::LABEL).map(|pool| Reservation {
            pool: pool.clone(),
            since: reserved_since(host),
            cluster,
        });
        Self {
            id: HostId { namespace: text(&metadata.namespace), name: text(&metadata.name) },
            uid: text(&metadata.uid),
            version: text(&metadata.resource_version),
            standing: standing(host),
            last_used: host.status.as_ref().and_then(last_used),
            unhealthy: unhealthy(host).cloned(),
            labels,
            consumer,
            reservation,
        }
    }

    /// How it stands, for those for whom it is not kept.
    #[must_use]
    pub fn standing(&self) -> Standing {
        match (self.standing, &self.reservation) {
            (Standing::BeingDeleted | Standing::Unhealthy, _) | (_, None) => self.standing,
            (_, Some(_)) => Standing::Reserved,
        }
    }

    /// The failure domain that it is in.
    #[must_use]
    pub fn failure_domain(&self) -> Option<&str> {
        self.labels.get(FAILURE_DOMAIN).map(String::as_str)
    }
}

/// Since when a host is reserved, if that is written.
#[must_use]
pub fn reserved_since(host: &BareMetalHost) -> Option<Timestamp> {
    let annotations = host.metadata.annotations.as_ref()?;
    annotations.get(node_reuse::SINCE_ANNOTATION)?.parse().ok()
}

/// Whether somebody gave a host up.
#[must_use]
pub fn is_unhealthy(host: &BareMetalHost) -> bool {
    unhealthy(host).is_some()
}

fn unhealthy(host: &BareMetalHost) -> Option<&String> {
    let annotations = host.metadata.annotations.as_ref()?;
    UNHEALTHY_ANNOTATIONS.iter().find_map(|key| annotations.get(*key))
}

fn standing(host: &BareMetalHost) -> Standing {
    let annotations = host.metadata.annotations.as_ref();
    let has = |key: &str| annotations.is_some_and(|all| all.contains_key(key));
    let spec = &host.spec;
    let is_kept = spec.consumer_ref.as_ref().is_some_and(|it| {
        // A Cluster that holds a host with the label keeps it for the pool; without, for nobody knows what.
        let is_reserved =
            host.metadata.labels.iter().flatten().any(|(key, _)| key == node_reuse::LABEL);
        !(is_reserved && it.kind.as_deref() == Some("Cluster"))
    });
    let is_given_an_image = spec.image.is_some()
        || spec.custom_deploy.is_some()
        || spec.externally_provisioned == Some(true);
    let status = host.status.as_ref();
    let is_well = status.is_some_and(|it| {
        it.operational_status != OperationalStatus::Error && it.error_message.is_empty()
    });
    let is_detached = status.is_some_and(|it| it.operational_status == OperationalStatus::Detached);
    let state = status.and_then(observed::state).unwrap_or(State::None);
    if host.metadata.deletion_timestamp.is_some() {
        Standing::BeingDeleted
    } else if is_unhealthy(host) {
        Standing::Unhealthy
    } else if is_kept || is_given_an_image {
        Standing::InUse
    } else if awaits_approval(annotations) {
        Standing::PendingApproval
    } else if has(PAUSED) || has(cluster_api::PAUSED) {
        Standing::Paused
    } else if status.is_some() && !is_well {
        Standing::InError
    } else if state.is_available() && !is_detached {
        Standing::Free
    } else {
        Standing::NotAvailable
    }
}

fn last_used(status: &BareMetalHostStatus) -> Option<Timestamp> {
    let history = status.operation_history.as_ref()?;
    let latest = |metric: &Option<OperationMetric>| {
        let metric = metric.as_ref()?;
        metric.end.as_ref().or(metric.start.as_ref()).map(|time| time.0)
    };
    latest(&history.deprovision).max(latest(&history.provision))
}
