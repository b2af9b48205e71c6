//! The annotations and labels that Ironward reads or writes, in the words of the constants.

use ironward::{
    api::cluster_api,
    controllers::{
        host::annotations as host, host_choice::candidate, machine, metadata::plan as metadata,
        remediation::read,
    },
    domain::{
        host_discovery::{annotations as discovery, autoscale},
        node_reuse, remediation,
    },
    policy, uniqueness,
};

/// An annotation or a label.
pub struct Mark {
    pub name: &'static str,
    pub on: &'static str,
    pub sort: &'static str,
    pub what: &'static str,
}

const fn annotation(name: &'static str, on: &'static str, what: &'static str) -> Mark {
    Mark { name, on, sort: "annotation", what }
}

const fn label(name: &'static str, on: &'static str, what: &'static str) -> Mark {
    Mark { name, on, sort: "label", what }
}

pub const MARKS: &[Mark] = &[
    annotation(
        host::PAUSED,
        "BareMetalHost",
        "nothing is done to the host while it is there, whatever its value",
    ),
    annotation(
        host::DETACHED,
        "BareMetalHost",
        "the host is taken out of the provisioner while it is there",
    ),
    annotation(
        host::STATUS,
        "BareMetalHost",
        "a status to begin with, for a host that was moved here; read once and removed",
    ),
    annotation(
        host::INSPECT,
        "BareMetalHost",
        "empty: the host is inspected again; `disabled`: it is not inspected",
    ),
    annotation(
        host::HARDWARE_DETAILS,
        "BareMetalHost",
        "what the host is made of, as JSON; read once and removed",
    ),
    annotation(
        host::REBOOT,
        "BareMetalHost",
        "one reboot; with a key behind a slash the host stays off while it is there",
    ),
    annotation(
        remediation::UNHEALTHY_ANNOTATION,
        "BareMetalHost",
        "the host is out of use: no machine takes it. `ironward cordon` writes it, `ironward uncordon` removes it",
    ),
    annotation(
        remediation::UNHEALTHY_ANNOTATIONS[1],
        "BareMetalHost",
        "the same, as the proposal spells it; read, not written",
    ),
    annotation(
        discovery::APPROVAL,
        "BareMetalHost",
        "with any value but `approved`, nothing is written to the host",
    ),
    annotation(
        discovery::FORGET,
        "BareMetalHost",
        "with `true`, the server of a host that is deleted is not made a host again",
    ),
    annotation(
        discovery::DISCOVERED_BY,
        "BareMetalHost",
        "the BareMetalHostDiscovery that made the host",
    ),
    annotation(
        node_reuse::SINCE_ANNOTATION,
        "BareMetalHost",
        "since when the host is kept for a pool",
    ),
    annotation(
        "ironward.dev/automated-cleaning-mode",
        "BareMetalHost",
        "the mode that somebody chose for this host, which comes back when its machine is gone",
    ),
    annotation(
        "ironward.dev/allow-delete",
        "BareMetalHost",
        "the host may be deleted though it is in use",
    ),
    annotation(
        "ironward.dev/allow-consumer-change",
        "BareMetalHost",
        "a person may change `spec.consumerRef` and the label that keeps it for a pool",
    ),
    label(node_reuse::LABEL, "BareMetalHost", "the pool that the host is kept for"),
    label(
        candidate::FAILURE_DOMAIN,
        "BareMetalHost",
        "where the host is: machines of that failure domain take it",
    ),
    annotation(
        machine::plan::HOST,
        "Metal3Machine",
        "the host that the machine has, as `namespace/name`",
    ),
    annotation(
        metadata::LINK,
        "Metal3Machine",
        "the Metal3Metadata to render, beside Metal3's own operators",
    ),
    annotation(
        metadata::RESERVED,
        "Metal3Metadata",
        "the indexes that people wrote into the status for machines without a Secret",
    ),
    label(
        machine::node::LABEL,
        "Node",
        "the uid of the host that the Node runs on; `cloud-init` may set it",
    ),
    annotation(
        autoscale::AUTOSCALE,
        "MachineDeployment, MachineSet",
        "its replicas follow the number of hosts that it can have",
    ),
    annotation(
        cluster_api::AUTOSCALER_MAX,
        "MachineDeployment, MachineSet",
        "the cluster autoscaler writes its replicas, so Ironward does not",
    ),
    annotation(cluster_api::PAUSED, "objects of a Cluster", "nothing is done while it is there"),
    annotation(cluster_api::MANAGED_BY, "Metal3Cluster", "somebody else keeps it"),
    annotation(
        cluster_api::CLONED_FROM_NAME,
        "Metal3Machine",
        "the template that it was made from",
    ),
    annotation(cluster_api::CLONED_FROM_GROUP_KIND, "Metal3Machine", "the kind of that template"),
    annotation(
        cluster_api::BLOCK_MOVE,
        "objects of a Cluster",
        "`clusterctl move` waits while it is there",
    ),
    label(cluster_api::CLUSTER_NAME, "objects of a Cluster", "the Cluster that it belongs to"),
    label(
        cluster_api::DEPLOYMENT_NAME,
        "Machine, Metal3Machine",
        "the MachineDeployment that it belongs to",
    ),
    label(cluster_api::SET_NAME, "Machine, Metal3Machine", "the MachineSet that it belongs to"),
    annotation(read::REMEDIATE_MACHINE, "Machine", "a person asks for its remediation"),
    annotation(
        read::REASON,
        "Metal3Remediation",
        "why a person wants it; `ironward remediate` writes it",
    ),
    annotation(
        remediation::NODE_LABELS_BACKUP,
        "Metal3Remediation",
        "the labels of a Node that was deleted to fence it",
    ),
    annotation(
        remediation::NODE_ANNOTATIONS_BACKUP,
        "Metal3Remediation",
        "the annotations of a Node that was deleted to fence it",
    ),
    label(
        uniqueness::POLICY,
        "Lease",
        "the UniquePolicy whose key is claimed; as an annotation, unshortened",
    ),
    annotation(uniqueness::KEY, "Lease", "the key that is claimed"),
    annotation(uniqueness::HOLDER, "Lease", "the object that has the key"),
    annotation(
        policy::RATCHETING,
        "ValidatingAdmissionPolicy",
        "with `true`, a violation that is stored already only warns",
    ),
];
