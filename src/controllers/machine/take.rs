//! A machine that has no host takes the one that was chosen, or says what it waits for.

use std::time::Duration;

use serde_json::json;

use super::{
    conditions::Why,
    data::{self, Data},
    decide::IDLE,
    draft::Draft,
    events::Reason,
    host_change,
    observed::Host,
    plan::{HOST, Plan, Step},
};
use crate::controllers::host_choice::{Choice, HostId};

/// How soon a host is claimed again that could not be written.
const REFUSED: Duration = Duration::from_mins(1);

pub(super) fn take(mut draft: Draft<'_>, choice: &Choice) -> Plan {
    if let Some(why) = &draft.seen.refusal {
        // Whoever has to change something is not heard of here.
        draft.no_host(Why::AssociateBareMetalHostFailed, why.clone());
        return draft.wait(Step::After(REFUSED));
    }
    match choice {
        // It is read before the next pass.
        Choice::Has(host) => record(draft, host),
        Choice::Take(chosen) => {
            let data = data::of(&draft.seen.machine, draft.seen.owner.as_ref());
            let secrets = match &data {
                Data::Known(secrets) => Some(secrets),
                Data::Awaited(_) => None,
            };
            let patch = host_change::claim(draft.seen, chosen, secrets);
            for host in &chosen.given_up {
                let note = format!(
                    "host {host} is reserved for this machine's pool and did not become available in time: another is taken"
                );
                draft.tell(Reason::ReuseGivenUp, note);
            }
            let (reason, how) = if chosen.is_reused {
                (Reason::HostReused, "took host again, which was reserved for its pool:")
            } else {
                (Reason::HostClaimed, "took host")
            };
            draft.tell(reason, format!("{how} {}", chosen.host.name));
            draft.act(Step::Claim(chosen.clone(), patch))
        }
        Choice::Await { hosts, until } => {
            let why = format!(
                "waits until {until} for a host that is reserved for its pool to become available: {}",
                hosts.join(", ")
            );
            draft.no_host(Why::AssociateBareMetalHostFailed, why);
            let left = Duration::try_from(until.duration_since(draft.seen.now)).unwrap_or_default();
            draft.wait(Step::Queue(left.clamp(Duration::from_secs(1), IDLE)))
        }
        Choice::Nothing(shortage) => {
            draft.no_host(Why::AssociateBareMetalHostFailed, format!("no host fits: {shortage}"));
            draft.wait(Step::Queue(IDLE))
        }
    }
}

pub(super) fn record(draft: Draft<'_>, host: &HostId) -> Plan {
    let HostId { namespace, name } = host;
    let annotations = json!({HOST: format!("{namespace}/{name}")});
    draft.act(Step::Record(json!({"metadata": {"annotations": annotations}})))
}

/// The host that it had is gone, or another's. One on which nothing ran yet can be replaced; else the Machine has to be.
pub(super) fn miss(mut draft: Draft<'_>, name: &str) -> Plan {
    let was_provisioned = draft.seen.machine.spec.provider_id.is_some();
    if !was_provisioned {
        return draft.act(Step::Record(json!({"metadata": {"annotations": {HOST: null}}})));
    }
    let why = match draft.seen.host {
        Host::Gone(_) => format!("host {name} is not there any more"),
        Host::None(_) | Host::Has(_) | Host::Lost(_) => {
            format!("host {name} has another consumerRef")
        }
    };
    draft.no_host(Why::MissingBmh, format!("{why}: delete the Machine to have it replaced"));
    draft.wait(Step::After(IDLE))
}
