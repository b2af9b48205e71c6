//! The kinds as they are on the wire, and the CustomResourceDefinitions generated from them.
//!
//! Metal3's kinds carry Metal3's fields, names and defaults. The doc comment of a field is what
//! `kubectl explain` prints, so it is written for the person who runs the servers, and explains the
//! values of an enum too.
//!
//! Three conventions hold throughout:
//! - What is unset is left out (`skip_serializing_none`): in a patch, null means delete.
//! - A rule stands on the part of the object it judges, as deep as it can: the API server lets a
//!   stored violation pass while that part is unchanged. No rule is on `status`: what a controller
//!   reports is not refused.
//! - Where Metal3 does not require `spec`, neither do we: `serde(default)` on the root reads it as
//!   empty. kube-derive refuses the attribute `serde` there, lest it contradict its own;
//!   `cfg_attr(all(), …)` passes it on.

#![allow(
    clippy::duplicated_attributes,
    reason = "every column of a kind has a name, a type and a path"
)]

pub mod baremetalhost;
pub mod baremetalhostdiscovery;
pub mod cluster_api;
pub mod conditions;
pub mod hardware;
pub mod hardwaredata;
pub mod hosthistory;
pub mod image;
pub mod installed;
pub mod metal3cluster;
pub mod metal3machine;
pub mod metal3machinetemplate;
pub mod metal3metadata;
pub mod metal3remediation;
pub mod metal3remediationtemplate;
pub mod raid;
pub mod references;
mod rules;
mod schema;
#[cfg(test)]
mod tests;

pub use baremetalhost::BareMetalHost;
pub use baremetalhostdiscovery::BareMetalHostDiscovery;
pub use hardwaredata::HardwareData;
pub use hosthistory::HostHistory;
pub use metal3cluster::Metal3Cluster;
pub use metal3machine::Metal3Machine;
pub use metal3machinetemplate::Metal3MachineTemplate;
pub use metal3metadata::Metal3Metadata;
pub use metal3remediation::Metal3Remediation;
pub use metal3remediationtemplate::Metal3RemediationTemplate;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use schema::{Move, UnknownFields, definition};

/// The definitions of all kinds, always in this order.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    definitions().collect()
}

/// The same one by one, each made when it is asked for: a definition takes megabytes, and who needs little of each need not hold
/// them all.
pub fn definitions() -> impl Iterator<Item = CustomResourceDefinition> {
    use Move::{Always, WithDependents, WithOwner};
    use UnknownFields::{Kept, Pruned};

    let each: [fn() -> CustomResourceDefinition; 10] = [
        // Its BMC Secret belongs to the host and has to come along.
        || definition::<BareMetalHost>(Kept, WithDependents),
        || definition::<HardwareData>(Kept, Always),
        || definition::<BareMetalHostDiscovery>(Pruned, Always),
        || definition::<Metal3Cluster>(Kept, WithOwner),
        || definition::<Metal3Machine>(Kept, WithOwner),
        || definition::<Metal3MachineTemplate>(Kept, WithOwner),
        || definition::<Metal3Metadata>(Pruned, Always),
        || definition::<Metal3Remediation>(Kept, WithOwner),
        || definition::<Metal3RemediationTemplate>(Kept, WithOwner),
        || definition::<HostHistory>(Pruned, Always),
    ];
    each.into_iter().map(|make| make())
}
