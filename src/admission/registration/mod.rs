//! Which webhooks the API server is to know of, from what the policies match.
//!
//! One webhook per resource and failurePolicy: a request is sent once for those policies that fail and once
//! for those that do not, if both care about it. A webhook names every operation, version and resource it
//! is for, never `*`, and carries the policies' own selectors and conditions where they fit all of them, so
//! that requests nobody cares about are not sent. Where they do not fit, more is sent than needed and the
//! policies decide: what is registered may be too much, never too little.

mod covered;
mod narrowed;

use std::collections::BTreeMap;

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

pub use self::covered::{Resource, audited, needs_discovery};
use self::{covered::Covered, narrowed::Narrowed};
use super::webhook::{Phase, Webhook};
use crate::policy::{Concerned, Kind, LabelSelector, MatchCondition, PolicySet, Rule};

/// The groups whose objects wait for us when we are down. For all other groups, a policy with
/// `failurePolicy: Fail` fails when it cannot be evaluated, but not when nobody is there to evaluate it: a
/// cluster must stay operable without us. A rule that must hold even then can be exported to the API server.
pub const SERVED_GROUPS: [&str; 3] =
    ["metal3.io", "infrastructure.cluster.x-k8s.io", "ironward.dev"];

/// How the API server reaches us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A Service of the cluster.
    Service {
        /// Its namespace, which is also ours.
        namespace: String,
        /// Its name.
        name: String,
        /// Its port.
        port: u16,
    },
    /// A URL without a path, for a server outside of the cluster.
    Url(String),
}

impl Address {
    /// The names and addresses that a certificate for it must have.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        match self {
            Self::Service { namespace, name, .. } => vec![format!("{name}.{namespace}.svc")],
            Self::Url(text) => {
                let host = url::Url::parse(text).ok().and_then(|url| Some(url.host()?.to_owned()));
                let name = host.map(|host| match host {
                    url::Host::Domain(name) => name,
                    url::Host::Ipv4(address) => address.to_string(),
                    url::Host::Ipv6(address) => address.to_string(),
                });
                name.into_iter().collect()
            }
        }
    }
}

/// What the registrations say beyond what the policies match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// How we are reached.
    pub address: Address,
    /// The certificates by which the API server knows us, in PEM; none if another program fills them in.
    pub ca_bundle: Option<Vec<u8>>,
    /// Who we are to the API server: what we write ourselves is not sent to us.
    pub own_name: Option<String>,
    /// How long the API server waits for an answer.
    pub timeout_seconds: u8,
}

/// The webhooks of both phases, as the API server takes them.
#[derive(Debug, Clone, PartialEq)]
pub struct Registrations {
    /// Of the MutatingWebhookConfiguration.
    pub mutating: Vec<Value>,
    /// Of the ValidatingWebhookConfiguration.
    pub validating: Vec<Value>,
}

/// What to register for these policies. `resources` are those of the cluster, to read wildcards by.
#[must_use]
pub fn registrations(
    policies: &PolicySet,
    resources: &[Resource],
    registration: &Registration,
) -> Registrations {
    let of = |phase| {
        webhooks(policies, resources, phase)
            .into_iter()
            .filter_map(|(key, members)| entry(phase, &key, &members, registration))
            .collect()
    };
    Registrations { mutating: of(Phase::Mutate), validating: of(Phase::Validate) }
}

/// What has a webhook of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    group: String,
    resource: String,
    fails: bool,
}

/// One binding of a policy, and what it has to do with one resource.
struct Member<'a> {
    rule: Rule<'a>,
    covered: Vec<Covered>,
}

fn webhooks<'a>(
    policies: &'a PolicySet,
    resources: &[Resource],
    phase: Phase,
) -> BTreeMap<Key, Vec<Member<'a>>> {
    let is_mutating = |rule: &Rule<'_>| rule.kind == Kind::MutatingAdmissionPolicy;
    let is_wanted = |rule: &Rule<'_>| is_mutating(rule) == (phase == Phase::Mutate);
    let mut webhooks: BTreeMap<Key, Vec<Member<'a>>> = BTreeMap::new();
    for rule in policies.rules().filter(is_wanted) {
        let mut by_key: BTreeMap<Key, Vec<Covered>> = BTreeMap::new();
        for covered in covered::covered(&rule, resources) {
            let key = Key {
                group: covered.group.clone(),
                resource: covered.parent().to_owned(),
                fails: rule.fails,
            };
            by_key.entry(key).or_default().push(covered);
        }
        for (key, covered) in by_key {
            webhooks.entry(key).or_default().push(Member { rule, covered });
        }
    }
    webhooks
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    name: String,
    client_config: ClientConfig,
    rules: Vec<covered::WebhookRule>,
    failure_policy: &'static str,
    match_policy: &'static str,
    #[serde(serialize_with = "without_empty_fields")]
    namespace_selector: LabelSelector,
    #[serde(serialize_with = "without_empty_fields")]
    object_selector: LabelSelector,
    side_effects: &'static str,
    timeout_seconds: u8,
    admission_review_versions: [&'static str; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    match_conditions: Vec<MatchCondition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reinvocation_policy: Option<&'static str>,
}

/// As the API server stores it: what says the same in other words would be written again and again.
fn without_empty_fields<S: Serializer>(
    selector: &LabelSelector,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut fields = serializer.serialize_map(None)?;
    if !selector.match_labels.is_empty() {
        fields.serialize_entry("matchLabels", &selector.match_labels)?;
    }
    if !selector.match_expressions.is_empty() {
        fields.serialize_entry("matchExpressions", &selector.match_expressions)?;
    }
    fields.end()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClientConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    ca_bundle: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<Service>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

#[derive(Serialize)]
struct Service {
    namespace: String,
    name: String,
    port: u16,
    path: String,
}

fn entry(
    phase: Phase,
    key: &Key,
    members: &[Member<'_>],
    registration: &Registration,
) -> Option<Value> {
    let rules: Vec<_> = members.iter().map(|member| member.rule).collect();
    let concerned = if key.fails { Concerned::Failing } else { Concerned::Ignoring };
    let Narrowed { namespaces, objects, conditions } =
        narrowed::narrowed(phase, &key.resource, &rules, registration);
    let is_exact = |rule: &Rule<'_>| rule.constraints.match_policy.as_deref() == Some("Exact");
    let covered = members.iter().flat_map(|member| &member.covered);
    let entry = Entry {
        name: name(key),
        client_config: client_config(registration, Webhook { phase, concerned }),
        rules: covered::webhook_rules(covered),
        failure_policy: if key.fails && is_served(&key.group) { "Fail" } else { "Ignore" },
        match_policy: if rules.iter().all(is_exact) { "Exact" } else { "Equivalent" },
        namespace_selector: namespaces,
        object_selector: objects,
        // A claim is one, and is left alone on a dry run.
        side_effects: if rules.iter().any(|rule| rule.kind == Kind::UniquePolicy) {
            "NoneOnDryRun"
        } else {
            "None"
        },
        timeout_seconds: registration.timeout_seconds,
        admission_review_versions: ["v1"],
        match_conditions: conditions,
        // One call runs them all: only if all of them may be run twice.
        reinvocation_policy: (phase == Phase::Mutate)
            .then(|| if rules.iter().all(|rule| rule.reinvoked) { "IfNeeded" } else { "Never" }),
    };
    serde_json::to_value(entry).ok()
}

fn is_served(group: &str) -> bool {
    SERVED_GROUPS.contains(&group)
}

/// Told to the user when we cannot be reached, so it says what is stopped.
fn name(key: &Key) -> String {
    let group = if key.group.is_empty() { "core" } else { &key.group };
    let resource = &key.resource;
    let infix = if key.fails { "" } else { "ignore." };
    format!("{resource}.{group}.{infix}ironward.dev")
}

fn client_config(registration: &Registration, webhook: Webhook) -> ClientConfig {
    use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
    let ca_bundle = registration.ca_bundle.as_ref().map(|pem| BASE64.encode(pem));
    let path = webhook.path();
    match &registration.address {
        Address::Service { namespace, name, port } => ClientConfig {
            ca_bundle,
            service: Some(Service {
                namespace: namespace.clone(),
                name: name.clone(),
                port: *port,
                path,
            }),
            url: None,
        },
        Address::Url(url) => {
            let url = Some(format!("{}{path}", url.trim_end_matches('/')));
            ClientConfig { ca_bundle, service: None, url }
        }
    }
}

#[cfg(test)]
mod tests;
