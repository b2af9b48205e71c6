//! What is kept of every host while nothing is done with it. A pass reads the host anew: what is to be done is decided by what is there now,
//! and not by what was heard of it. So a fleet takes little memory.

use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::Timestamp;
use kube::{Resource, api::ApiResource, core::Object};
use serde::{Deserialize, Serialize};

use crate::{
    api::{
        BareMetalHost,
        baremetalhost::{BareMetalHostStatus, OperationHistory},
    },
    controllers::host::{annotations::PAUSED, observed, slots::Place},
    domain::host_status::OperationalStatus,
};

/// A host, as far as it is followed.
pub(super) type Followed = Object<Spec, Status>;

/// Read when it is needed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Spec {}

/// What tells whether it holds a slot.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Status {
    #[serde(rename = "operationalStatus")]
    operational: String,
    provisioning: Provisioning,
    operation_history: Option<OperationHistory>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Provisioning {
    state: String,
}

pub(super) fn resource() -> ApiResource {
    ApiResource::erase::<BareMetalHost>(&())
}

/// Its state and its operational status, in Metal3's words.
pub(super) fn standing(host: &Followed) -> (String, String) {
    let status = host.status.as_ref();
    let state = status.map(|it| it.provisioning.state.clone()).unwrap_or_default();
    (state, status.map(|it| it.operational.clone()).unwrap_or_default())
}

/// What a host that is followed has to do with the provisioning limit.
pub(super) fn place(host: &Followed) -> Option<Place> {
    let heard = host.status.clone()?;
    let mut status = BareMetalHostStatus {
        operational_status: heard.operational.parse().unwrap_or(OperationalStatus::None),
        operation_history: heard.operation_history,
        ..BareMetalHostStatus::default()
    };
    status.provisioning.state = heard.provisioning.state;
    let annotations = host.metadata.annotations.as_ref();
    place_of(&status, annotations.is_some_and(|all| all.contains_key(PAUSED)))
}

/// The same of one that was read.
pub(super) fn place_of(status: &BareMetalHostStatus, is_paused: bool) -> Option<Place> {
    let since = observed::since(status).unwrap_or(Timestamp::UNIX_EPOCH);
    Place::of(observed::state(status)?, status.operational_status, since, is_paused)
}

/// What of a host must change for it to be looked at: not its status, which is ours.
#[allow(clippy::unnecessary_wraps, reason = "the signature is kube's")]
pub(super) fn whatever_wakes(host: &Followed) -> Option<u64> {
    let metadata = host.meta();
    let mut hasher = DefaultHasher::new();
    metadata.generation.hash(&mut hasher);
    metadata.annotations.hash(&mut hasher);
    metadata.finalizers.hash(&mut hasher);
    metadata.deletion_timestamp.is_some().hash(&mut hasher);
    Some(hasher.finish())
}
