//! What is to be done about a Metal3Machine: a total function of what is known of it.
//!
//! A pass goes through gates: paused, being deleted, all there that others bring, guarded; then the machine [takes](super::take) a
//! host, or [keeps](super::keep) the one that it has. One that is being deleted [gives it back](super::give_back).

use std::time::Duration;

use serde_json::json;

use super::{
    conditions::{Question, Why},
    draft::Draft,
    give_back::give_back,
    host_change,
    keep::keep,
    observed::{Host, Observed},
    plan::{FINALIZER, Plan, Step},
    take::{miss, take},
};
use crate::{api::cluster_api, controllers::conditions::Answer};

/// How often a machine with which nothing is to be done is looked at, unless something wakes it before.
pub(super) const IDLE: Duration = Duration::from_mins(10);

/// Decides what is to be done next about a Metal3Machine.
#[must_use]
pub fn decide(seen: &Observed) -> Plan {
    let metadata = &seen.machine.metadata;
    let is_guarded = metadata.finalizers.iter().flatten().any(|it| it == FINALIZER);
    let mut draft = Draft::new(seen);
    if seen.is_being_deleted() && !is_guarded {
        return draft.act(Step::Await);
    }
    if cluster_api::is_paused(metadata, seen.cluster.as_ref()) {
        return pause(draft);
    }
    draft.answer(Question::Paused, &Answer::no(Why::NotPaused, ""));
    if seen.is_being_deleted() {
        return give_back(draft);
    }
    // What runs, runs, whatever becomes of those who asked for it.
    let runs = matches!(&seen.host, Host::Has(host) if host_change::is_told(host));
    if let Some((reason, message)) = waits_for_others(seen).filter(|_| !runs) {
        return draft.wait_for_others(reason, message);
    }
    let failure_domain = seen.owner.as_ref().and_then(|it| it.spec.failure_domain.as_deref());
    let is_placed =
        failure_domain.is_none_or(|it| seen.machine.spec.failure_domain.as_deref() == Some(it));
    if !is_guarded || !is_placed {
        return draft.act(Step::Guard(guard(seen, failure_domain)));
    }
    match &seen.host {
        Host::Has(host) => keep(draft, host),
        Host::None(Some(Ok(choice))) => take(draft, choice),
        Host::None(Some(Err(error))) => {
            draft.no_host(Why::AssociateBareMetalHostFailed, error.to_string());
            draft.wait(Step::After(IDLE))
        }
        Host::None(None) => draft.wait(Step::After(IDLE)),
        Host::Gone(name) | Host::Lost(name) => miss(draft, name),
    }
}

/// What has to be there before a host is looked for. Whoever brings it wakes the machine.
fn waits_for_others(seen: &Observed) -> Option<(Why, &'static str)> {
    match (&seen.owner, &seen.cluster, &seen.infrastructure) {
        (None, _, _) => Some((
            Why::WaitingForMetal3MachineOwnerRef,
            "no Machine has it as its infrastructureRef yet",
        )),
        (_, None, _) => {
            Some((Why::WaitingForClusterInfrastructureReady, "there is no such Cluster"))
        }
        (_, Some(cluster), _) if !cluster.is_infrastructure_provisioned() => Some((
            Why::WaitingForClusterInfrastructureReady,
            "the Cluster's infrastructure is not provisioned yet",
        )),
        (_, _, None) => Some((
            Why::WaitingForMetal3Cluster,
            "the Cluster's infrastructureRef names no Metal3Cluster",
        )),
        (Some(owner), _, _) if owner.spec.bootstrap.data_secret_name.is_none() => Some((
            Why::WaitingForBootstrapData,
            "the Machine's spec.bootstrap.dataSecretName is not there yet",
        )),
        (Some(_), Some(_), Some(_)) => None,
    }
}

fn guard(seen: &Observed, failure_domain: Option<&str>) -> serde_json::Value {
    let mut finalizers = seen.machine.metadata.finalizers.clone().unwrap_or_default();
    if !finalizers.iter().any(|it| it == FINALIZER) {
        finalizers.push(FINALIZER.to_owned());
    }
    let mut patch = json!({"metadata": {"finalizers": finalizers}});
    if let Some(failure_domain) = failure_domain {
        patch["spec"] = json!({"failureDomain": failure_domain});
    }
    patch
}

fn pause(mut draft: Draft<'_>) -> Plan {
    // Where only this machine is paused, its host goes on.
    let is_cluster_paused =
        draft.seen.cluster.as_ref().is_some_and(cluster_api::Cluster::is_paused);
    if let (Host::Has(host), true) = (&draft.seen.host, is_cluster_paused)
        && let Some(patch) = host_change::pause(host)
    {
        return draft.act(Step::PauseHost(patch));
    }
    draft.answer(Question::Paused, &Answer::yes(Why::Paused));
    draft.wait(Step::Await)
}
