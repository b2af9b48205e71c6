//! A machine that has its host tells it what to run, and when that runs, gives itself and its Node their name.

use std::time::Duration;

use serde_json::json;

use super::{
    addresses,
    conditions::{Question, Why},
    data::{self, Data, Secrets},
    decide::IDLE,
    draft::Draft,
    events::Reason,
    host_change,
    node::{self, Found},
    plan::{HOST, Plan, Step},
    take::record,
};
use crate::{
    api::{BareMetalHost, metal3cluster::Initialization},
    controllers::{
        conditions::Answer,
        host::observed,
        host_choice::{HostId, candidate::FAILURE_DOMAIN},
    },
    domain::provisioning_state::ProvisioningState as State,
};

/// How soon a Node is looked for again, unless the workload cluster tells of it before.
const NODE: Duration = Duration::from_secs(30);
/// How a host was taken that was reserved.
const VIA_REUSE: Why = Why::AssociateBareMetalHostViaNodeReuseSuccess;

pub(super) fn keep(mut draft: Draft<'_>, host: &BareMetalHost) -> Plan {
    let seen = draft.seen;
    let id = HostId {
        namespace: host.metadata.namespace.clone().unwrap_or_default(),
        name: host.metadata.name.clone().unwrap_or_default(),
    };
    let annotations = seen.machine.metadata.annotations.as_ref();
    let recorded = annotations.and_then(|all| all.get(HOST));
    if recorded != Some(&format!("{}/{}", id.namespace, id.name)) {
        return record(draft, &id);
    }
    if let Some(patch) = host_change::resume(host) {
        return draft.act(Step::ResumeHost(patch));
    }
    let secrets = match data::of(&seen.machine, seen.owner.as_ref()) {
        Data::Known(secrets) => secrets,
        Data::Awaited(why) if !host_change::is_told(host) => {
            associate(&mut draft, host);
            let answer = Answer::no(Why::WaitingForMetal3Data, why);
            draft.answer(Question::Metal3DataReady, &answer);
            draft.not_ready(answer.message);
            return draft.wait(Step::After(IDLE));
        }
        // What runs, runs.
        Data::Awaited(_) => Secrets::default(),
    };
    if !host_change::is_told(host) {
        let patch = host_change::provision(&seen.machine, &secrets);
        return draft.act(Step::Provision(patch));
    }
    if let Some(patch) = host_change::follow(seen, host) {
        return draft.act(Step::Follow(patch));
    }
    associate(&mut draft, host);
    draft.status.user_data = secrets.user_data.or(draft.status.user_data.take());
    draft.status.meta_data = secrets.meta_data.or(draft.status.meta_data.take());
    draft.status.network_data = secrets.network_data.or(draft.status.network_data.take());
    if draft.status.meta_data.is_some() || draft.status.network_data.is_some() {
        draft.answer(Question::Metal3DataReady, &Answer::yes(Why::SecretsSetExternally));
    } else {
        draft.unask(Question::Metal3DataReady);
    }
    run(draft, host, &id)
}

/// What is to be seen of a host that was taken.
fn associate(draft: &mut Draft<'_>, host: &BareMetalHost) {
    let stored = draft.seen.machine.status.iter().flat_map(|it| it.conditions.iter().flatten());
    let how = stored.into_iter().find(|it| it.type_ == "AssociateBareMetalHost");
    // How it was taken is said by whoever took it; a machine that was moved here has forgotten.
    let via_reuse: &str = VIA_REUSE.into();
    let reason = match how {
        Some(it) if it.reason == via_reuse => VIA_REUSE,
        Some(_) | None if draft.seen.is_reused => VIA_REUSE,
        Some(_) | None => Why::AssociateBareMetalHostSuccess,
    };
    draft.answer(Question::AssociateBareMetalHost, &Answer::yes(reason));
    let labels = host.metadata.labels.as_ref();
    draft.status.failure_domain = labels.and_then(|all| all.get(FAILURE_DOMAIN)).cloned();
}

/// The host has been told what to run: see that it does.
fn run(mut draft: Draft<'_>, host: &BareMetalHost, id: &HostId) -> Plan {
    let seen = draft.seen;
    let status = host.status.clone().unwrap_or_default();
    let state = observed::state(&status);
    if state != Some(State::Provisioned) {
        let trouble = if status.error_message.is_empty() {
            String::new()
        } else {
            format!(": {}", status.error_message)
        };
        let state = status.provisioning.state;
        draft.not_ready(format!("host {} is {state}{trouble}", id.name));
        return draft.wait(Step::After(IDLE));
    }
    let machine = seen.machine.metadata.name.as_deref().unwrap_or_default();
    let own = node::provider_id(&id.namespace, &id.name, machine);
    let provider_id = match (&seen.node, seen.has_cloud_provider()) {
        // Whoever gave it to the Node knows better.
        (Found::Misnamed(node), true) => node.provider_id.clone(),
        (Found::Named(_), true) | (_, false) => Some(own.clone()),
        (_, true) => seen.machine.spec.provider_id.clone(),
    };
    let Some(provider_id) = provider_id else {
        draft.not_ready("the cloud provider has not given the Node its providerID yet");
        return draft.wait(Step::After(NODE));
    };
    if seen.machine.spec.provider_id.as_ref() != Some(&provider_id) {
        return draft.act(Step::Identify(json!({"spec": {"providerID": provider_id}})));
    }
    draft.status.addresses = addresses::of(host);
    draft.status.initialization = Some(Initialization { provisioned: Some(true) });
    draft.answer(Question::Ready, &Answer::yes(Why::Ready));
    match &seen.node {
        Found::Unnamed(node) if !seen.has_cloud_provider() => {
            // First it is told that the machine is there: Cluster API looks for the Node after that.
            if draft.seen.machine.status.as_ref().and_then(|it| it.initialization.as_ref())
                != draft.status.initialization.as_ref()
            {
                return draft.wait(Step::After(Duration::ZERO));
            }
            draft.act(Step::NameNode { node: node.clone(), provider_id })
        }
        Found::Misnamed(node) if !seen.has_cloud_provider() => {
            let its = node.provider_id.clone().unwrap_or_default();
            let why = format!("Node {} has the providerID {its}, not {provider_id}", node.name);
            trouble(draft, why)
        }
        Found::Several(nodes) => {
            let why = format!("Nodes {} all claim to run on host {}", nodes.join(", "), id.name);
            trouble(draft, why)
        }
        Found::Nothing | Found::Unreachable(_) => draft.wait(Step::After(NODE)),
        Found::Unasked | Found::Named(_) | Found::Unnamed(_) | Found::Misnamed(_) => {
            draft.wait(Step::After(IDLE))
        }
    }
}

/// The Node cannot be told from others. Told once: the condition stays.
fn trouble(mut draft: Draft<'_>, why: String) -> Plan {
    let answer = Answer { is_true: true, reason: Why::Ready, message: why.clone() };
    draft.answer(Question::Ready, &answer);
    let stored = draft.seen.machine.status.iter().flat_map(|it| it.conditions.iter().flatten());
    let is_told = stored.into_iter().any(|it| it.message == why);
    if !is_told {
        draft.tell(Reason::NodeNotIdentified, why);
    }
    draft.wait(Step::After(IDLE))
}
