//! What a machine does that is being deleted: it has its host deprovisioned under the mode that holds now, waits until that is done, and
//! gives it back, or keeps it for its pool. Nothing of the cluster is needed for that.

use serde_json::json;

use super::{
    conditions::{Question, Why},
    decide::IDLE,
    draft::Draft,
    events::Reason,
    host_change,
    observed::{Host, Observed},
    plan::{FINALIZER, Plan, Step},
};
use crate::{
    api::{BareMetalHost, baremetalhost::BareMetalHostStatus},
    controllers::{conditions::Answer, host::observed, host_choice::candidate::is_unhealthy},
    domain::{node_reuse, provisioning_state::ProvisioningState as State},
};

pub(super) fn give_back(mut draft: Draft<'_>) -> Plan {
    let seen = draft.seen;
    let Host::Has(host) = &seen.host else {
        return release(draft);
    };
    let name = host.metadata.name.clone().unwrap_or_default();
    let pool = reservation(seen, host);
    if let Some(patch) = host_change::deprovision(seen, host, pool.as_deref()) {
        match &pool {
            Some(pool) => draft.tell(
                Reason::HostReserved,
                format!("host {name} is deprovisioned and kept for {pool}"),
            ),
            None => draft.tell(Reason::HostReleased, format!("host {name} is deprovisioned")),
        }
        return draft.act(Step::Deprovision(patch));
    }
    let status = host.status.clone().unwrap_or_default();
    if is_deprovisioned(&status) {
        let is_kept = is_labelled(host) && may_keep(seen, host);
        return draft.act(Step::GiveBack(host_change::give_back(seen, is_kept)));
    }
    let trouble = match status.error_message.as_str() {
        "" => String::new(),
        message => format!(": {message}"),
    };
    let why = format!("host {name} is {}{trouble}", status.provisioning.state);
    draft.answer(Question::AssociateBareMetalHost, &Answer::no(Why::Deleting, why.clone()));
    draft.answer(Question::Ready, &Answer::no(Why::Deleting, why));
    draft.wait(Step::After(IDLE))
}

fn release(draft: Draft<'_>) -> Plan {
    let finalizers = draft.seen.machine.metadata.finalizers.iter().flatten();
    let others: Vec<_> = finalizers.filter(|it| *it != FINALIZER).collect();
    let patch = json!({"metadata": {"finalizers": others}});
    draft.act(Step::Release(patch))
}

/// The label with which the host is kept, if it is to be and something ran on it. What is written stays as it is: it was decided when the
/// host began to be deprovisioned.
fn reservation(seen: &Observed, host: &BareMetalHost) -> Option<String> {
    let reuse = seen.reuse.as_ref().filter(|it| it.is_wanted)?;
    let is_new = host_change::is_told(host) && !is_labelled(host);
    (is_new && may_keep(seen, host)).then(|| reuse.pool.label_value())
}

/// Whether there is somebody who may take it again, and it can be taken.
fn may_keep(seen: &Observed, host: &BareMetalHost) -> bool {
    let is_cluster_there =
        seen.cluster.as_ref().is_some_and(|it| it.metadata.deletion_timestamp.is_none());
    let goes_on = seen.reuse.as_ref().is_some_and(|it| it.goes_on);
    is_cluster_there && goes_on && !is_unhealthy(host)
}

fn is_labelled(host: &BareMetalHost) -> bool {
    host.metadata.labels.iter().flatten().any(|(key, _)| key == node_reuse::LABEL)
}

/// Whether nothing of the machine is left on the host. What does not come to that by itself is deleted, and then gone.
fn is_deprovisioned(status: &BareMetalHostStatus) -> bool {
    match observed::state(status) {
        Some(
            State::None
            | State::Unmanaged
            | State::Importing
            | State::Registering
            | State::MatchProfile
            | State::Inspecting
            | State::Preparing
            | State::Ready
            | State::Available,
        ) => true,
        Some(State::ExternallyProvisioned) => !status.powered_on,
        Some(
            State::Provisioning
            | State::Provisioned
            | State::Deprovisioning
            | State::PoweringOffBeforeDelete
            | State::Deleting,
        )
        | None => false,
    }
}
