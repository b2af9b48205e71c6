//! What a policy and its binding match, each operation on each resource spelt out.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::policy::{Kind, PolicySet, ResourceRule, Rule};

const ANY: &str = "*";
const OPERATIONS: [&str; 4] = ["CREATE", "UPDATE", "DELETE", "CONNECT"];

/// What is never sent to us, whatever a wildcard says: what we need ourselves to answer, and what
/// must work to get rid of us.
const NEVER: [(&str, &str); 6] = [
    ("admissionregistration.k8s.io", ANY),
    ("authentication.k8s.io", ANY),
    ("authorization.k8s.io", ANY),
    ("coordination.k8s.io", "leases"),
    ("events.k8s.io", "events"),
    ("", "events"),
];

/// A resource that the cluster has, or a subresource (`pods/log`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own, documented there")]
pub struct Resource {
    pub group: String,
    pub version: String,
    pub name: String,
}

/// One operation on one version of a resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Covered {
    pub group: String,
    pub version: String,
    pub resource: String,
    pub scope: String,
    pub operation: &'static str,
}

impl Covered {
    /// The resource that a subresource is of.
    pub(super) fn parent(&self) -> &str {
        self.resource.split_once('/').map_or(self.resource.as_str(), |(parent, _)| parent)
    }
}

/// A rule of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WebhookRule {
    api_groups: BTreeSet<String>,
    api_versions: BTreeSet<String>,
    operations: BTreeSet<&'static str>,
    resources: BTreeSet<String>,
    scope: String,
}

/// Whether the cluster's resources must be known, because a policy has a wildcard.
#[must_use]
pub fn needs_discovery(policies: &PolicySet) -> bool {
    policies.rules().any(|rule| {
        rule.constraints.resource_rules.iter().any(|rule| {
            let is_wild = |texts: &[String]| texts.iter().any(|text| text.contains(ANY));
            is_wild(&rule.api_groups) || is_wild(&rule.api_versions) || is_wild(&rule.resources)
        })
    })
}

/// The resources whose objects validating policies judge, each in one version.
#[must_use]
pub fn audited(policies: &PolicySet, resources: &[Resource]) -> Vec<Resource> {
    let validating = policies.rules().filter(|rule| rule.kind != Kind::MutatingAdmissionPolicy);
    let mut found: BTreeMap<(String, String), String> = BTreeMap::new();
    for rule in validating {
        for it in covered(&rule, resources) {
            if it.operation == "CREATE" && it.parent() == it.resource {
                let version = found.entry((it.group, it.resource)).or_default();
                *version = it.version.max(std::mem::take(version));
            }
        }
    }
    let resource = |((group, name), version)| Resource { group, version, name };
    found.into_iter().map(resource).collect()
}

/// All that a binding of a policy is for.
pub(super) fn covered(rule: &Rule<'_>, resources: &[Resource]) -> Vec<Covered> {
    let mut covered = BTreeSet::new();
    for one in &rule.constraints.resource_rules {
        covered.extend(spelt_out(one, resources));
    }
    let excluded = &rule.constraints.exclude_resource_rules;
    let narrowing = rule.resources.map(|it| it.resource_rules.as_slice()).unwrap_or_default();
    let also_excluded =
        rule.resources.map(|it| it.exclude_resource_rules.as_slice()).unwrap_or_default();
    let is_excluded = |covered: &Covered| {
        // Some names of a resource do not exclude the resource.
        let mut rules = excluded.iter().chain(also_excluded);
        rules.any(|rule| rule.resource_names.is_empty() && matches(rule, covered))
    };
    let is_bound = |covered: &Covered| {
        narrowing.is_empty() || narrowing.iter().any(|rule| matches(rule, covered))
    };
    covered.into_iter().filter(|it| !is_excluded(it) && is_bound(it) && !is_never(it)).collect()
}

fn is_never(covered: &Covered) -> bool {
    NEVER.iter().any(|(group, resource)| {
        covered.group == *group && (*resource == ANY || *resource == covered.parent())
    })
}

fn spelt_out(rule: &ResourceRule, resources: &[Resource]) -> Vec<Covered> {
    let mut found: Vec<(&str, &str, &str)> = Vec::new();
    for group in &rule.api_groups {
        for version in &rule.api_versions {
            for resource in &rule.resources {
                if group == ANY || version == ANY || resource.contains(ANY) {
                    let of_cluster = resources
                        .iter()
                        .filter(|it| is(group, &it.group) && is(version, &it.version))
                        .filter(|it| is_resource(resource, &it.name));
                    found.extend(of_cluster.map(|it| (&*it.group, &*it.version, &*it.name)));
                } else {
                    found.push((group, version, resource));
                }
            }
        }
    }
    let operations = OPERATIONS.into_iter().filter(|operation| any(&rule.operations, operation));
    let scope = rule.scope.as_deref().unwrap_or(ANY);
    operations
        .flat_map(|operation| {
            found.iter().map(move |(group, version, resource)| Covered {
                group: (*group).to_owned(),
                version: (*version).to_owned(),
                resource: (*resource).to_owned(),
                scope: scope.to_owned(),
                operation,
            })
        })
        .collect()
}

/// Whether a rule is for it. Versions do not matter: a binding and an exclusion hold for all that
/// a request can be converted to.
fn matches(rule: &ResourceRule, covered: &Covered) -> bool {
    any(&rule.operations, covered.operation)
        && any(&rule.api_groups, &covered.group)
        && rule.resources.iter().any(|wanted| is_resource(wanted, &covered.resource))
        && [Some(ANY), None, Some(&covered.scope)].contains(&rule.scope.as_deref())
}

fn any(wanted: &[String], given: &str) -> bool {
    wanted.iter().any(|wanted| is(wanted, given))
}

fn is(wanted: &str, given: &str) -> bool {
    wanted == ANY || wanted == given
}

/// `*` is every resource but no subresource; `pods/*` is `pods` and all below it.
fn is_resource(wanted: &str, given: &str) -> bool {
    let split = |text| match str::split_once(text, '/') {
        Some((resource, sub)) => (resource, sub),
        None => (text, ""),
    };
    let ((wanted, wanted_sub), (given, given_sub)) = (split(wanted), split(given));
    is(wanted, given) && is(wanted_sub, given_sub)
}

/// As few rules as say the same: what has the same operations stands together.
pub(super) fn webhook_rules<'a>(
    covered: impl IntoIterator<Item = &'a Covered>,
) -> Vec<WebhookRule> {
    type Place<'a> = (&'a str, &'a str, &'a str);
    let mut operations: BTreeMap<(Place<'a>, &str), BTreeSet<&'static str>> = BTreeMap::new();
    for it in covered {
        let place = (it.group.as_str(), it.resource.as_str(), it.version.as_str());
        operations.entry((place, it.scope.as_str())).or_default().insert(it.operation);
    }
    let mut rules: Vec<WebhookRule> = Vec::new();
    for (((group, resource, version), scope), operations) in operations {
        let same = rules.iter_mut().find(|rule| {
            rule.operations == operations
                && rule.scope == scope
                && rule.resources.contains(resource)
                && rule.api_groups.contains(group)
        });
        match same {
            Some(rule) => {
                rule.api_versions.insert(version.to_owned());
            }
            None => rules.push(WebhookRule {
                api_groups: [group.to_owned()].into(),
                api_versions: [version.to_owned()].into(),
                operations,
                resources: [resource.to_owned()].into(),
                scope: scope.to_owned(),
            }),
        }
    }
    rules
}
