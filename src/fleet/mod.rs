//! A fleet at a glance: its hosts by state, and those that need somebody, worst first, each with the reason and the next step.

mod trouble;

use std::collections::BTreeMap;

use kube::ResourceExt;
use serde::Serialize;
use strum::IntoEnumIterator;

pub use self::trouble::{Kind, Trouble};
use crate::{api::BareMetalHost, domain::provisioning_state::ProvisioningState};

/// What there is to know of all hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Overview {
    /// How many hosts there are.
    pub hosts: usize,
    /// How many of them are in which state, in the order of a host's life. A host that nobody has looked at is `new`.
    pub states: Vec<Count>,
    /// Those that need somebody, worst first.
    pub troubles: Vec<HostTrouble>,
}

/// How many hosts are in a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Count {
    /// `status.provisioning.state`.
    pub state: String,
    /// How many.
    pub hosts: usize,
}

/// What is wrong with one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostTrouble {
    /// The host's namespace.
    pub namespace: String,
    /// The host.
    pub name: String,
    /// Its `status.provisioning.state`.
    pub state: String,
    /// What is wrong, and what to do.
    #[serde(flatten)]
    pub trouble: Trouble,
}

/// Looks at all hosts.
pub fn overview<'a>(hosts: impl IntoIterator<Item = &'a BareMetalHost>) -> Overview {
    let mut all = Overview::default();
    let mut states = Vec::new();
    for host in hosts {
        all.hosts += 1;
        let state = state(host);
        states.push(state.clone());
        if let Some(trouble) = Trouble::of(host) {
            let namespace = host.namespace().unwrap_or_default();
            all.troubles.push(HostTrouble { namespace, name: host.name_any(), state, trouble });
        }
    }
    all.troubles.sort_by(|one, other| {
        let rank = |it: &HostTrouble| (it.trouble.kind, std::cmp::Reverse(it.trouble.errors));
        let name = |it: &HostTrouble| (it.namespace.clone(), it.name.clone());
        rank(one).cmp(&rank(other)).then_with(|| name(one).cmp(&name(other)))
    });
    all.states = counts(states);
    all
}

/// How many hosts are in which state, in the order of a host's life.
#[must_use]
pub fn counts(of_hosts: impl IntoIterator<Item = String>) -> Vec<Count> {
    let mut states = BTreeMap::<String, usize>::new();
    for state in of_hosts {
        *states.entry(state).or_default() += 1;
    }
    let lives = ProvisioningState::iter().map(|it| word(&it.to_string()));
    let known: Vec<_> = lives.filter_map(|state| states.remove_entry(&state)).collect();
    // What another controller may have written comes last.
    let counts = known.into_iter().chain(states);
    counts.map(|(state, hosts)| Count { state, hosts }).collect()
}

/// The word for what is being done with a host.
#[must_use]
pub fn state(host: &BareMetalHost) -> String {
    word(host.status.as_ref().map_or("", |it| it.provisioning.state.as_str()))
}

fn word(state: &str) -> String {
    if state.is_empty() { "new" } else { state }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn host(name: &str, state: &str, change: &serde_json::Value) -> BareMetalHost {
        let mut object = json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": name, "namespace": "lab"},
            "spec": {"online": true, "bmc": {"address": "redfish://10.0.0.1/1", "credentialsName": "bmc"}},
            "status": {
                "operationalStatus": "OK", "errorMessage": "", "poweredOn": true, "errorCount": 0,
                "hardwareProfile": "", "provisioning": {"state": state, "ID": ""},
            },
        });
        json_patch::merge(&mut object, change);
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn states_are_counted_in_the_order_of_a_hosts_life() {
        let hosts = vec![
            host("a", "provisioned", &json!({})),
            host("b", "registering", &json!({})),
            host("c", "provisioned", &json!({})),
            host("d", "odd", &json!({})),
            host("e", "", &json!({"status": null})),
        ];
        let seen = overview(&hosts);
        let counts: Vec<_> = seen.states.iter().map(|it| (it.state.as_str(), it.hosts)).collect();
        assert_eq!(counts, [("new", 1), ("registering", 1), ("provisioned", 2), ("odd", 1)]);
        assert_eq!((seen.hosts, seen.troubles.len()), (5, 0));
    }

    #[test]
    fn the_worst_is_first_and_each_has_a_next_step() {
        let failing = |count| {
            json!({"status": {"operationalStatus": "error", "errorType": "registration error",
                "errorMessage": "the BMC says no", "errorCount": count}})
        };
        let hosts = vec![
            host(
                "held",
                "available",
                &json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": ""}}}),
            ),
            host("once", "registering", &failing(1)),
            host(
                "found",
                "unmanaged",
                &json!({"metadata": {"annotations": {"ironward.dev/approval": "pending"}}}),
            ),
            host("often", "registering", &failing(7)),
            host(
                "out",
                "available",
                &json!({"metadata": {"annotations": {"capm3.metal3.io/unhealthy": "the fan is loud"}}}),
            ),
            host("well", "available", &json!({})),
            host(
                "twin",
                "registering",
                &json!({"status": {"conditions": [
                {"type": "Unique", "status": "False", "reason": "Duplicate", "message": "lab/a has this MAC", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}),
            ),
        ];
        let seen = overview(&hosts);
        let names: Vec<_> = seen.troubles.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["often", "once", "twin", "out", "found", "held"]);
        assert!(seen.troubles.iter().all(|it| !it.trouble.next_step.is_empty()));
        assert!(seen.troubles[0].trouble.next_step.contains("bmc"), "{:?}", seen.troubles[0]);
    }
}
