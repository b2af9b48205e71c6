//! What is to be done about a Metal3Metadata: a total function of what is known of it.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};

use super::{
    conditions::{self, Problem},
    indexes::{Assigned, assign},
    observed::{Observed, is_kind},
    plan::{FINALIZER, Own, Plan, RESERVED, Then},
    secrets::{Work, work},
    view::View,
};
use crate::api::{cluster_api, metal3metadata::Metal3MetadataStatus, references::NamespacedName};

/// How often one is looked at with which nothing is to be done, unless something wakes it before.
const IDLE: Duration = Duration::from_mins(10);
/// How soon one is looked at that cannot go on until somebody corrects something that we are not told of.
const CORRECTION: Duration = Duration::from_secs(30);

/// Decides what is to be done next about a Metal3Metadata.
#[must_use]
pub fn decide(seen: &Observed) -> Plan {
    let metadata = &seen.metadata.metadata;
    let is_guarded = metadata.finalizers.iter().flatten().any(|it| it == FINALIZER);
    let is_paused = cluster_api::is_paused(metadata, None);
    if is_paused || (seen.is_being_deleted() && !is_guarded) {
        return plan(Then::Await);
    }
    let view = View::of(seen);
    let assigned = assign(&view);
    if let Some(own) = own(seen, &assigned, is_guarded) {
        return Plan { metadata: Some(own), ..plan(Then::Again) };
    }
    // Recorded before anything is made for it.
    let stored = seen.metadata.status.clone().unwrap_or_default();
    let indexes = texts(&assigned.indexes);
    if stored.indexes.clone().unwrap_or_default() != indexes {
        let last_updated = Some(Time(seen.now));
        let status = Metal3MetadataStatus { indexes: Some(indexes), last_updated, ..stored };
        return Plan { status: Some(Box::new(status)), ..plan(Then::Again) };
    }
    let Work { rows, mut problems, secrets } = work(&view, &assigned);
    if !rows.is_empty() {
        return Plan { rows, ..plan(Then::Again) };
    }
    if seen.is_being_deleted() {
        let Some(first) = view.secrets().next() else {
            let left = metadata.finalizers.iter().flatten().filter(|it| *it != FINALIZER);
            let own = Own { finalizers: Some(left.cloned().collect()), ..Own::default() };
            return Plan { metadata: Some(own), ..plan(Then::Await) };
        };
        let (count, first) = (view.secrets().count(), first.name.to_string());
        problems.push(Problem::InUse { count, first });
    }
    let namespace = metadata.namespace.clone();
    let named = |(machine, name): (String, crate::domain::metadata::SecretName)| {
        (machine, NamespacedName { name: name.to_string(), namespace: namespace.clone() })
    };
    let secrets: BTreeMap<_, _> = secrets.into_iter().map(named).collect();
    let mut status = stored.clone();
    let has_changed = seen.has_written || stored.secrets.clone().unwrap_or_default() != secrets;
    status.secrets = Some(secrets);
    status.indexes.get_or_insert_default();
    status.observed_generation = metadata.generation;
    conditions::set(&mut status, &mut problems, metadata.generation, seen.now);
    if has_changed {
        status.last_updated = Some(Time(seen.now));
    }
    let status = (status != stored).then(|| Box::new(status));
    let pause = if problems.iter().any(Problem::ends_unheard) { CORRECTION } else { IDLE };
    Plan { status, ..plan(Then::After(pause)) }
}

fn plan(then: Then) -> Plan {
    Plan { rows: Vec::new(), metadata: None, status: None, then }
}

/// What has to be so before a Secret is made: it stays until its Secrets are gone, its Metal3Clusters own it, and what people wrote into
/// the status is kept where it is not lost with it.
fn own(seen: &Observed, assigned: &Assigned<'_>, is_guarded: bool) -> Option<Own> {
    let metadata = &seen.metadata.metadata;
    let finalizers = (!is_guarded).then(|| {
        let others = metadata.finalizers.iter().flatten().cloned();
        others.chain([FINALIZER.to_owned()]).collect()
    });
    let mut owners = metadata.owner_references.clone().unwrap_or_default();
    let count = owners.len();
    for cluster in &seen.clusters {
        let is_it = |it: &&mut _| is_kind(it, &cluster.kind) && it.name == cluster.name;
        if let Some(owner) = owners.iter_mut().find(is_it) {
            // It was made anew.
            owner.uid.clone_from(&cluster.uid);
        } else {
            let is_controlled = owners.iter().any(|it| it.controller == Some(true));
            let controller = (!is_controlled).then_some(true);
            owners.push(OwnerReference { controller, ..cluster.clone() });
        }
    }
    let is_changed =
        owners.len() != count || metadata.owner_references.as_ref().is_some_and(|it| *it != owners);
    let reserved = (!assigned.reserved.is_empty())
        .then(|| serde_json::to_string(&texts(&assigned.reserved)).unwrap_or_default());
    let kept = metadata.annotations.as_ref().and_then(|it| it.get(RESERVED)).cloned();
    let own = Own {
        finalizers,
        owners: is_changed.then_some(owners),
        reserved: (reserved != kept).then_some(reserved),
    };
    (own != Own::default()).then_some(own)
}

fn texts(indexes: &BTreeMap<u32, String>) -> BTreeMap<String, String> {
    indexes.iter().map(|(index, name)| (index.to_string(), name.clone())).collect()
}
