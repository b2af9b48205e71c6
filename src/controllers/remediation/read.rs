//! Stored objects as the facts that a decision is made from.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{self as core},
    apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time},
};
use kube::core::{Selector, SelectorExt};

use super::{
    draft::HEALTH_CHECK_SUCCEEDED,
    observed::{Backup, Hold, Host, Machine, Node, Power, Remediation, Verdict},
};
use crate::{
    api::{
        BareMetalHost, Metal3Remediation,
        cluster_api::{self, Cluster, MachineHealthCheck, is_paused},
        conditions::V1Beta1Condition,
    },
    controllers::host::{
        annotations::{DETACHED, PAUSED, REBOOT},
        observed::{has_bmc, state},
    },
    domain::{
        provisioning_state::ProvisioningState,
        remediation::{
            FINALIZER, NODE_ANNOTATIONS_BACKUP, NODE_LABELS_BACKUP, OUT_OF_SERVICE_TAINT, Strategy,
            UNHEALTHY_ANNOTATIONS, power_off_annotation,
        },
    },
};

/// On a Metal3Remediation: why a person wants it. With it a machine is rebooted that nobody else finds unhealthy.
pub const REASON: &str = "ironward.dev/reason";
/// On a Machine: a person asks Cluster API for its remediation.
pub const REMEDIATE_MACHINE: &str = "cluster.x-k8s.io/remediate-machine";
/// What a Machine's condition says when its owner is to replace it.
pub const OWNER_REMEDIATED: &str = "OwnerRemediated";

/// The Metal3Remediation. It is paused with its Cluster.
#[must_use]
pub fn remediation(object: &Metal3Remediation, cluster: Option<&Cluster>) -> Remediation {
    let metadata = &object.metadata;
    let time = |time: &Option<Time>| time.as_ref().map(|time| time.0);
    let strategy = object.spec.strategy.clone().unwrap_or_default();
    let strategy = Strategy::new(
        strategy.r#type.unwrap_or_default(),
        strategy.retry_limit,
        strategy.timeout_seconds,
    );
    Remediation {
        name: metadata.name.clone().unwrap_or_default(),
        uid: metadata.uid.clone().unwrap_or_default(),
        created: time(&metadata.creation_timestamp).unwrap_or(Timestamp::UNIX_EPOCH),
        deleted: time(&metadata.deletion_timestamp),
        is_guarded: metadata.finalizers.iter().flatten().any(|it| it == FINALIZER),
        is_paused: is_paused(metadata, cluster),
        strategy: strategy.map_err(|problems| {
            let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
            format!("spec.strategy: {}", problems.join("; "))
        }),
        status: object.status.clone().unwrap_or_default(),
        backup: backup(metadata),
        request: annotation(metadata, REASON).cloned(),
    }
}

fn annotation<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a String> {
    metadata.annotations.as_ref()?.get(key)
}

/// What cannot be read any more is not restored.
fn backup(metadata: &ObjectMeta) -> Option<Backup> {
    let read = |key| annotation(metadata, key).map(|text| serde_json::from_str(text));
    let (labels, annotations) = (read(NODE_LABELS_BACKUP), read(NODE_ANNOTATIONS_BACKUP));
    (labels.is_some() || annotations.is_some()).then(|| Backup {
        labels: labels.and_then(Result::ok).unwrap_or_default(),
        annotations: annotations.and_then(Result::ok).unwrap_or_default(),
    })
}

/// The Metal3Machine that a Machine runs on, if it runs on one.
#[must_use]
pub fn metal3_machine(machine: &cluster_api::Machine) -> Option<&str> {
    let reference = &machine.spec.infrastructure_ref;
    (reference.kind == "Metal3Machine").then_some(reference.name.as_str())
}

/// The conditions of a Machine, as Cluster API has them now and as it had them before.
#[must_use]
pub fn conditions(machine: &cluster_api::Machine) -> (&[Condition], &[V1Beta1Condition]) {
    let status = machine.status.as_ref();
    let now = status.and_then(|it| it.conditions.as_deref());
    let before =
        status.and_then(|it| it.deprecated.as_ref()?.v1beta1.as_ref()?.conditions.as_deref());
    (now.unwrap_or_default(), before.unwrap_or_default())
}

fn verdict(machine: &cluster_api::Machine) -> Option<Verdict> {
    let of = |status: &str, reason: &str, message: &str| Verdict {
        is_healthy: status == "True",
        reason: reason.to_owned(),
        message: message.to_owned(),
    };
    let (now, before) = conditions(machine);
    let now = now.iter().find(|it| it.type_ == HEALTH_CHECK_SUCCEEDED);
    let before = || {
        let found = before.iter().find(|it| it.r#type == HEALTH_CHECK_SUCCEEDED)?;
        let (reason, message) = (found.reason.as_deref(), found.message.as_deref());
        Some(of(&found.status, reason.unwrap_or_default(), message.unwrap_or_default()))
    };
    now.map(|it| of(&it.status, &it.reason, &it.message)).or_else(before)
}

/// The Machine.
#[must_use]
pub fn machine(machine: &cluster_api::Machine) -> Machine {
    let (now, _) = conditions(machine);
    let is_owner_asked = now.iter().any(|it| it.type_ == OWNER_REMEDIATED && it.status == "False");
    Machine {
        cluster: machine.spec.cluster_name.clone(),
        is_being_deleted: machine.metadata.deletion_timestamp.is_some(),
        node: machine.node().map(str::to_owned),
        verdict: verdict(machine),
        is_owner_asked,
        is_remediation_asked: annotation(&machine.metadata, REMEDIATE_MACHINE).is_some(),
    }
}

/// Whether a Machine is the one that a remediation was made for: another of its name is not.
#[must_use]
pub fn is_owner(remediation: &ObjectMeta, machine: &ObjectMeta) -> bool {
    let owners = remediation.owner_references.iter().flatten();
    let mut owners = owners.filter(|owner| owner.kind == "Machine").peekable();
    owners.peek().is_none() || owners.any(|owner| Some(&owner.uid) == machine.uid.as_ref())
}

/// The host, for the remediation with this UID of the machine of this Metal3Machine.
#[must_use]
pub fn host(host: &BareMetalHost, uid: &str, metal3_machine: Option<&str>) -> Host {
    let metadata = &host.metadata;
    let ours = power_off_annotation(uid);
    let status = host.status.as_ref();
    let consumer = host.spec.consumer_ref.as_ref();
    let is_consumer = |name: &str| {
        consumer.is_some_and(|it| {
            it.name.as_deref() == Some(name)
                && it.kind.as_deref() == Some("Metal3Machine")
                && it.namespace.as_ref().is_none_or(|it| Some(it) == metadata.namespace.as_ref())
        })
    };
    let error = status.filter(|status| !status.error_message.is_empty());
    Host {
        name: metadata.name.clone().unwrap_or_default(),
        uid: metadata.uid.clone().unwrap_or_default(),
        boot_mac_address: host.spec.boot_mac_address.clone(),
        is_ours: metal3_machine.is_some_and(is_consumer),
        is_being_deleted: metadata.deletion_timestamp.is_some(),
        power: if !has_bmc(host) {
            Power::NoBmc
        } else if host.spec.disable_power_off == Some(true) {
            Power::NeverOff
        } else {
            Power::Controlled
        },
        is_online: host.spec.online,
        is_on: status.is_some_and(|status| status.powered_on),
        is_held: annotation(metadata, &ours).is_some(),
        hold: hold(host, &ours),
        unhealthy: unhealthy(metadata).cloned(),
        error: error.map(|status| status.error_message.clone()),
    }
}

/// Why a host is out of use, if it is.
#[must_use]
pub fn unhealthy(metadata: &ObjectMeta) -> Option<&String> {
    UNHEALTHY_ANNOTATIONS.iter().find_map(|key| annotation(metadata, key))
}

fn hold(host: &BareMetalHost, ours: &str) -> Option<Hold> {
    let empty = BTreeMap::new();
    let annotations = host.metadata.annotations.as_ref().unwrap_or(&empty);
    let is_reboot = |key: &str| {
        key.strip_prefix(REBOOT).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if let Some(key) = annotations.keys().find(|key| is_reboot(key) && *key != ours) {
        return Some(Hold::Reboot(key.clone()));
    }
    if annotations.contains_key(PAUSED) {
        return Some(Hold::Paused);
    }
    if annotations.contains_key(DETACHED) {
        return Some(Hold::Detached);
    }
    let status = host.status.as_ref();
    let runs = [ProvisioningState::Provisioned, ProvisioningState::ExternallyProvisioned];
    if status.and_then(state).is_some_and(|state| runs.contains(&state)) {
        return None;
    }
    let state = status.map(|status| status.provisioning.state.clone());
    Some(Hold::NotProvisioned(state.unwrap_or_default()))
}

/// The Node, and what is left of its workload.
#[must_use]
pub fn node(object: &core::Node, pods_left: usize, volumes_left: usize) -> Node {
    let metadata = &object.metadata;
    let conditions = object.status.as_ref().and_then(|status| status.conditions.as_ref());
    let ready = conditions.into_iter().flatten().find(|it| it.type_ == "Ready");
    Node {
        uid: metadata.uid.clone().unwrap_or_default(),
        is_ready: ready.is_some_and(|it| it.status == "True"),
        since: ready.and_then(|it| it.last_transition_time.as_ref()).map(|time| time.0),
        heartbeat: ready.and_then(|it| it.last_heartbeat_time.as_ref()).map(|time| time.0),
        is_tainted: taints(object).any(|taint| taint.key == OUT_OF_SERVICE_TAINT),
        pods_left,
        volumes_left,
        kept: Backup {
            labels: metadata.labels.clone().unwrap_or_default(),
            annotations: metadata.annotations.clone().unwrap_or_default(),
        },
    }
}

/// The taints of a Node.
pub fn taints(node: &core::Node) -> impl Iterator<Item = &core::Taint> {
    node.spec.iter().flat_map(|spec| spec.taints.iter().flatten())
}

/// Whether a MachineHealthCheck looks at the machines of this Cluster with these labels.
#[must_use]
pub fn is_checked(
    check: &MachineHealthCheck,
    cluster: &str,
    labels: &BTreeMap<String, String>,
) -> bool {
    let selector = Selector::try_from(check.spec.selector.clone());
    check.spec.cluster_name == cluster && selector.is_ok_and(|selector| selector.matches(labels))
}

/// Whether it leaves remediation to Metal3Remediations.
#[must_use]
pub fn has_our_template(check: &MachineHealthCheck) -> bool {
    check.spec.remediation.template_ref.kind == "Metal3RemediationTemplate"
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
