//! What a machine writes to its host, as merge patches: all that belongs together in one, so that it is there together or not at all.

use serde_json::{Map, Value, json};

use super::{data::Secrets, observed::Observed, plan::PAUSED_BY_CLUSTER};
use crate::{
    api::{
        BareMetalHost, Metal3Machine,
        cluster_api::{BLOCK_MOVE, CLUSTER_NAME},
        image::Image,
        metal3machine::MachineImage,
    },
    controllers::{
        host::annotations::{PAUSED, STATUS},
        host_choice::Chosen,
    },
    domain::{automated_cleaning::AutomatedCleaningMode, node_reuse},
};

/// The claim, of the host in the version in which it was chosen and no other: whoever wrote to it meanwhile may have taken it. It leaves
/// nothing of the reservation, and `clusterctl move` waits for the host from then on.
pub(super) fn claim(seen: &Observed, chosen: &Chosen, secrets: Option<&Secrets>) -> Value {
    let mut patch = json!({
        "metadata": {
            "uid": chosen.uid,
            "resourceVersion": chosen.version,
            "labels": {CLUSTER_NAME: cluster_name(seen), node_reuse::LABEL: null},
            "annotations": {BLOCK_MOVE: "", node_reuse::SINCE_ANNOTATION: null},
        },
        "spec": {"consumerRef": machine_reference(&seen.machine)},
    });
    if let Some(secrets) = secrets {
        merge(&mut patch, provision(&seen.machine, secrets));
    }
    patch
}

/// Image and data.
pub(super) fn provision(machine: &Metal3Machine, secrets: &Secrets) -> Value {
    let spec = &machine.spec;
    let mut host = json!({
        "online": true,
        "image": spec.image.as_ref().map(image),
        "customDeploy": spec.custom_deploy.as_ref().map(|it| json!({"method": it.method})),
        "userData": secrets.user_data,
        "metaData": secrets.meta_data,
        "networkData": secrets.network_data,
    });
    if let Some(mode) = spec.automated_cleaning_mode {
        host["automatedCleaningMode"] = json!(mode);
    }
    json!({"spec": host})
}

/// Whether the host was told what to run.
pub(super) fn is_told(host: &BareMetalHost) -> bool {
    host.spec.image.is_some() || host.spec.custom_deploy.is_some()
}

/// What differs from what the machine says now. Nothing of a host that somebody paused, but the cleaning mode.
pub(super) fn follow(seen: &Observed, host: &BareMetalHost) -> Option<Value> {
    let mut patch = Map::new();
    if let Some(mode) = seen.machine.spec.automated_cleaning_mode
        && mode_of(host) != mode
    {
        patch.insert("spec".into(), json!({"automatedCleaningMode": mode}));
    }
    let labels = host.metadata.labels.as_ref();
    let wanted = cluster_name(seen);
    if labels.and_then(|all| all.get(CLUSTER_NAME)) != wanted.as_ref() {
        patch.insert("metadata".into(), json!({"labels": {CLUSTER_NAME: wanted}}));
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// The end of what runs on the host, under the mode that holds now. With a pool, it is kept for that.
pub(super) fn deprovision(
    seen: &Observed,
    host: &BareMetalHost,
    pool: Option<&str>,
) -> Option<Value> {
    let wanted = seen.template_mode.or(seen.machine.spec.automated_cleaning_mode);
    let mode = wanted.unwrap_or_else(|| mode_of(host));
    let spec = &host.spec;
    let is_on = spec.disable_power_off == Some(true)
        || seen.settings.is_fast_track && mode != AutomatedCleaningMode::Disabled;
    let is_done = !is_told(host)
        && spec.user_data.is_none()
        && spec.meta_data.is_none()
        && spec.network_data.is_none()
        && spec.online == is_on
        && unpause(host).is_none();
    if is_done {
        return None;
    }
    let mut patch = json!({"spec": {
        "image": null, "customDeploy": null, "userData": null, "metaData": null, "networkData": null,
        "online": is_on, "automatedCleaningMode": mode,
    }});
    if let Some(pool) = pool {
        merge(
            &mut patch,
            json!({"metadata": {
                "labels": {node_reuse::LABEL: pool},
                "annotations": {node_reuse::SINCE_ANNOTATION: seen.now.to_string()},
            }}),
        );
    }
    merge(&mut patch, unpause(host).unwrap_or(json!({})));
    Some(patch)
}

/// The host is nobody's, or its Cluster's if it is kept for a pool: then others see that it is taken.
pub(super) fn give_back(seen: &Observed, is_kept: bool) -> Value {
    let namespace = seen.machine.metadata.namespace.clone();
    let cluster = cluster_name(seen).map(|name| {
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "name": name, "namespace": namespace, "uid": null,
        })
    });
    let mut patch = json!({
        "metadata": {
            "labels": {CLUSTER_NAME: null},
            "annotations": {BLOCK_MOVE: null},
        },
        "spec": {"consumerRef": cluster.filter(|_| is_kept)},
    });
    if !is_kept {
        merge(
            &mut patch,
            json!({"metadata": {
                "labels": {node_reuse::LABEL: null},
                "annotations": {node_reuse::SINCE_ANNOTATION: null},
            }}),
        );
    }
    patch
}

/// Leaves the host alone, and writes its status down, which is not moved with it. Then it may be moved.
pub(super) fn pause(host: &BareMetalHost) -> Option<Value> {
    let annotations = host.metadata.annotations.as_ref();
    let has = |key: &str| annotations.is_some_and(|all| all.contains_key(key));
    if has(PAUSED) && !has(BLOCK_MOVE) {
        return None;
    }
    let mut patch = json!({"metadata": {"annotations": {BLOCK_MOVE: null}}});
    if !has(PAUSED) {
        let mut status = host.status.as_ref().and_then(|it| serde_json::to_value(it).ok());
        // It is in the HardwareData, and too large.
        if let Some(Value::Object(status)) = &mut status {
            status.remove("hardware");
        }
        let status = status.map(|it| it.to_string());
        let annotations = json!({PAUSED: PAUSED_BY_CLUSTER, STATUS: status});
        merge(&mut patch, json!({"metadata": {"annotations": annotations}}));
    }
    Some(patch)
}

/// The host goes on, and is not to be moved without being paused first. One that somebody else paused stays so.
pub(super) fn resume(host: &BareMetalHost) -> Option<Value> {
    let annotations = host.metadata.annotations.as_ref();
    let is_held = annotations.is_some_and(|all| all.contains_key(BLOCK_MOVE));
    let unpaused = unpause(host);
    if unpaused.is_none() && is_held {
        return None;
    }
    let mut patch = json!({"metadata": {"annotations": {BLOCK_MOVE: ""}}});
    merge(&mut patch, unpaused.unwrap_or(json!({})));
    Some(patch)
}

/// Has a host go on that was paused with its cluster. Where it was not moved, its status is better than what was written down of it.
fn unpause(host: &BareMetalHost) -> Option<Value> {
    let annotations = host.metadata.annotations.as_ref()?;
    annotations.get(PAUSED).filter(|it| *it == PAUSED_BY_CLUSTER)?;
    let was_moved = host.status.as_ref().is_none_or(|it| it.last_updated.is_none());
    let mut gone = json!({PAUSED: null});
    if !was_moved {
        gone[STATUS] = Value::Null;
    }
    Some(json!({"metadata": {"annotations": gone}}))
}

/// The mode of a host; what the definition fills in is the default.
fn mode_of(host: &BareMetalHost) -> AutomatedCleaningMode {
    host.spec.automated_cleaning_mode.unwrap_or_default()
}

pub(super) fn cluster_name(seen: &Observed) -> Option<String> {
    let labelled = seen.machine.metadata.labels.as_ref().and_then(|all| all.get(CLUSTER_NAME));
    labelled.cloned().or_else(|| seen.cluster.as_ref()?.metadata.name.clone())
}

fn machine_reference(machine: &Metal3Machine) -> Value {
    // Without uid: it is another where the machine is moved to.
    json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine",
        "name": machine.metadata.name, "namespace": machine.metadata.namespace, "uid": null,
    })
}

fn image(image: &MachineImage) -> Image {
    Image {
        url: image.url.clone(),
        checksum: image.checksum.clone(),
        checksum_type: image.checksum_type.map(Into::into),
        format: image.disk_format,
        oci_auth_secret_name: None,
    }
}

/// Puts one patch into another. Unlike merging, what is null stays.
fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more,
    }
}
