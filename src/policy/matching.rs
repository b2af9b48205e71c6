//! Which requests a policy or a binding is for.
//!
//! Upstream, `matchPolicy: Equivalent` looks at every version of a resource and converts the object
//! to the one that a rule names. A webhook cannot convert; the API server has done it before
//! it calls, to the version that the webhook's registration names: `resource` is that version and
//! `requestResource` the one asked for. So a rule matches `resource`, and `Exact` matches only
//! requests that were not converted. Registrations must name the versions that the rules name.
//!
//! What needs no conversion needs no such help: a rule that excludes, and a rule of a binding, hold for
//! the request as it was asked for, in any version if `Equivalent`. (Upstream: in any that is served.)

use super::{
    document::{MatchResources, ResourceRule},
    facts::{Facts, Lookup, Question},
    request::{Operation, Request, Versioned},
    selector::Selector,
};

/// `matchConstraints` or `matchResources`, compiled.
#[derive(Debug, Clone)]
pub(crate) struct Matcher {
    namespaces: Selector,
    objects: Selector,
    rules: Vec<Rule>,
    excluded: Vec<Rule>,
    exact: bool,
}

/// Whether a request is matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Matched {
    Yes,
    No,
    Ask(Question),
    /// The namespace of the request does not exist: the API server's text.
    Failed(String),
}

#[derive(Debug, Clone)]
struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<(String, String)>,
    names: Vec<String>,
    scope: String,
}

impl Matcher {
    pub(crate) fn new(resources: &MatchResources) -> Self {
        let selector = |selector: &Option<_>| Selector::new(&selector.clone().unwrap_or_default());
        Self {
            namespaces: selector(&resources.namespace_selector),
            objects: selector(&resources.object_selector),
            rules: resources.resource_rules.iter().map(Rule::new).collect(),
            excluded: resources.exclude_resource_rules.iter().map(Rule::new).collect(),
            exact: resources.match_policy.as_deref() == Some("Exact"),
        }
    }

    /// Of a policy. What is cheap is asked first; no answer depends on the order.
    pub(crate) fn matches(&self, request: &Request<'_>, facts: &dyn Facts) -> Matched {
        if request.is_about_policies()
            || (self.exact && request.resource != request.request_resource)
        {
            return Matched::No;
        }
        let is_ruled = self.rules.iter().any(|rule| rule.matches(request, request.resource, true));
        self.matches_ruled(request, facts, is_ruled)
    }

    /// Of a binding, whose policy has been matched already.
    pub(crate) fn matches_as_asked(&self, request: &Request<'_>, facts: &dyn Facts) -> Matched {
        self.matches_ruled(request, facts, self.is_ruled_as_asked(&self.rules, request))
    }

    fn is_ruled_as_asked(&self, rules: &[Rule], request: &Request<'_>) -> bool {
        rules.iter().any(|rule| rule.matches(request, request.request_resource, self.exact))
    }

    fn matches_ruled(&self, request: &Request<'_>, facts: &dyn Facts, is_ruled: bool) -> Matched {
        if self.is_ruled_as_asked(&self.excluded, request) || !(self.rules.is_empty() || is_ruled) {
            return Matched::No;
        }
        if !self.objects.is_empty()
            && ![request.object, request.old_object]
                .into_iter()
                .flatten()
                .any(|object| self.objects.matches(object))
        {
            return Matched::No;
        }
        self.matches_namespace(request, facts)
    }

    fn matches_namespace(&self, request: &Request<'_>, facts: &dyn Facts) -> Matched {
        let about_namespaces = request.request_resource.name == "namespaces";
        // Without a namespace there is nothing to select by, and nobody is exempt.
        if self.namespaces.is_empty() || (request.namespace.is_empty() && !about_namespaces) {
            return Matched::Yes;
        }
        let decided = |selected| if selected { Matched::Yes } else { Matched::No };
        // A namespace that is being written is selected by what is being written.
        if about_namespaces
            && request.sub_resource.is_empty()
            && matches!(request.operation, Operation::Create | Operation::Update)
        {
            return decided(request.object.is_some_and(|object| self.namespaces.matches(object)));
        }
        match facts.namespace(request.namespace) {
            Lookup::Unknown => Matched::Ask(Question::Namespace(request.namespace.to_owned())),
            Lookup::Absent => {
                Matched::Failed(format!("namespaces {:?} not found", request.namespace))
            }
            Lookup::Found(namespace) => decided(self.namespaces.matches(namespace)),
        }
    }
}

impl Rule {
    fn new(rule: &ResourceRule) -> Self {
        Self {
            operations: rule.operations.clone(),
            groups: rule.api_groups.clone(),
            versions: rule.api_versions.clone(),
            resources: rule
                .resources
                .iter()
                .map(|resource| match resource.split_once('/') {
                    Some((resource, sub)) => (resource.to_owned(), sub.to_owned()),
                    None => (resource.clone(), String::new()),
                })
                .collect(),
            names: rule.resource_names.clone(),
            scope: rule.scope.clone().unwrap_or_else(|| "*".to_owned()),
        }
    }

    /// `is_exact`: in this version, not in any.
    fn matches(&self, request: &Request<'_>, resource: Versioned<'_>, is_exact: bool) -> bool {
        let Versioned { group, version, name } = resource;
        let operation: &'static str = request.operation.into();
        // First what most rules differ in.
        self.resources.iter().any(|(resource, sub)| {
            (resource == "*" || resource == name) && (sub == "*" || sub == request.sub_resource)
        }) && any(&self.operations, operation)
            && any(&self.groups, group)
            && (!is_exact || any(&self.versions, version))
            && self.matches_scope(request)
            && (self.names.is_empty() || self.names.iter().any(|it| it == request.name))
    }

    /// The namespace of a Namespace is itself; it is cluster-scoped all the same.
    fn matches_scope(&self, request: &Request<'_>) -> bool {
        let Versioned { group, version, name } = request.resource;
        let is_namespace = (group, version, name) == ("", "v1", "namespaces");
        let is_cluster_scoped = is_namespace || request.namespace.is_empty();
        match self.scope.as_str() {
            "*" => true,
            "Namespaced" => !is_cluster_scoped,
            "Cluster" => is_cluster_scoped,
            _ => false,
        }
    }
}

fn any(items: &[String], wanted: &str) -> bool {
    items.iter().any(|item| item == "*" || item == wanted)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::policy::{facts::KnownFacts, request::tests::create};

    fn resources(field: &str, value: Value) -> Value {
        let mut rule = json!({"operations": ["CREATE"], "apiGroups": ["metal3.io"],
            "apiVersions": ["v1alpha1"], "resources": ["baremetalhosts"], "scope": "*"});
        if rule.get(field).is_some() || field == "resourceNames" {
            rule[field] = value;
            json!({"resourceRules": [rule]})
        } else {
            json!({"resourceRules": [rule], field: value})
        }
    }

    fn matched(resources: Value, change: impl FnOnce(&mut Value)) -> Matched {
        let mut raw = create();
        change(&mut raw);
        let facts = KnownFacts {
            namespaces: [
                ("metal3".to_owned(), Some(json!({"metadata": {"labels": {"team": "a"}}}))),
                ("gone".to_owned(), None),
            ]
            .into(),
            ..KnownFacts::default()
        };
        Matcher::new(&serde_json::from_value(resources).unwrap())
            .matches(&Request::from_json(&raw).unwrap(), &facts)
    }

    #[rstest]
    #[case::plain("operations", json!(["CREATE"]), true)]
    #[case::any_operation("operations", json!(["*"]), true)]
    #[case::other_operation("operations", json!(["UPDATE"]), false)]
    #[case::any_group("apiGroups", json!(["*"]), true)]
    #[case::other_group("apiGroups", json!([""]), false)]
    #[case::other_version("apiVersions", json!(["v1"]), false)]
    #[case::any_resource("resources", json!(["*"]), true)]
    #[case::only_subresources("resources", json!(["*/status"]), false)]
    #[case::all_subresources("resources", json!(["baremetalhosts/*"]), true)]
    #[case::everything("resources", json!(["*/*"]), true)]
    #[case::namespaced("scope", json!("Namespaced"), true)]
    #[case::cluster("scope", json!("Cluster"), false)]
    #[case::name("resourceNames", json!(["worker-0"]), true)]
    #[case::other_name("resourceNames", json!(["worker-1"]), false)]
    #[case::object_selector("objectSelector", json!({"matchLabels": {"rack": "1"}}), true)]
    #[case::other_object("objectSelector", json!({"matchLabels": {"rack": "2"}}), false)]
    #[case::namespace_selector("namespaceSelector", json!({"matchLabels": {"team": "a"}}), true)]
    #[case::other_namespace("namespaceSelector", json!({"matchLabels": {"team": "b"}}), false)]
    #[case::excluded("excludeResourceRules", json!([{"operations": ["*"], "apiGroups": ["*"],
        "apiVersions": ["*"], "resources": ["*"]}]), false)]
    fn a_create_is_matched(#[case] field: &str, #[case] value: Value, #[case] want: bool) {
        let want = if want { Matched::Yes } else { Matched::No };
        assert_eq!(matched(resources(field, value), |_| {}), want);
    }

    #[test]
    fn a_subresource_needs_its_own_rule() {
        let status = |raw: &mut Value| raw["subResource"] = json!("status");
        assert_eq!(matched(resources("operations", json!(["CREATE"])), status), Matched::No);
        let rule = resources("resources", json!(["baremetalhosts/status"]));
        assert_eq!(matched(rule, status), Matched::Yes);
    }

    #[test]
    fn labels_of_either_object_select() {
        let rule = resources("objectSelector", json!({"matchLabels": {"rack": "9"}}));
        let old =
            |raw: &mut Value| raw["oldObject"] = json!({"metadata": {"labels": {"rack": "9"}}});
        assert_eq!(matched(rule, old), Matched::Yes);
    }

    #[test]
    fn an_unknown_namespace_is_asked_for_only_if_it_matters() {
        let rule = || resources("namespaceSelector", json!({"matchLabels": {"team": "a"}}));
        let elsewhere = |raw: &mut Value| raw["namespace"] = json!("new");
        assert_eq!(matched(rule(), elsewhere), Matched::Ask(Question::Namespace("new".to_owned())));
        let deleted = |raw: &mut Value| {
            raw["namespace"] = json!("new");
            raw["operation"] = json!("DELETE");
        };
        assert_eq!(matched(rule(), deleted), Matched::No);
        let gone = |raw: &mut Value| raw["namespace"] = json!("gone");
        assert_eq!(
            matched(rule(), gone),
            Matched::Failed("namespaces \"gone\" not found".to_owned())
        );
    }

    #[test]
    fn cluster_scoped_objects_are_never_exempt() {
        let rule = resources("namespaceSelector", json!({"matchLabels": {"team": "b"}}));
        let cluster = |raw: &mut Value| raw["namespace"] = json!("");
        assert_eq!(matched(rule, cluster), Matched::Yes);
    }

    #[test]
    fn a_namespace_is_selected_by_its_own_labels() {
        let rule = json!({"namespaceSelector": {"matchLabels": {"rack": "1"}}});
        let namespace = |raw: &mut Value| {
            raw["requestResource"] =
                json!({"group": "", "version": "v1", "resource": "namespaces"});
            raw["resource"] = raw["requestResource"].clone();
        };
        assert_eq!(matched(rule, namespace), Matched::Yes);
    }

    #[rstest]
    #[case::as_asked("Exact", "v1", Matched::Yes)]
    #[case::as_converted("Exact", "v1alpha1", Matched::No)]
    #[case::equivalent("Equivalent", "v1alpha1", Matched::Yes)]
    fn a_binding_is_matched_as_asked(
        #[case] policy: &str,
        #[case] version: &str,
        #[case] want: Matched,
    ) {
        let mut raw = create();
        raw["requestResource"]["version"] = json!("v1");
        let mut rule = resources("apiVersions", json!([version]));
        rule["matchPolicy"] = json!(policy);
        let matcher = Matcher::new(&serde_json::from_value(rule).unwrap());
        let request = Request::from_json(&raw).unwrap();
        assert_eq!(matcher.matches_as_asked(&request, &KnownFacts::default()), want);
    }

    #[rstest]
    #[case::equivalent("Equivalent", Matched::No)]
    #[case::exact("Exact", Matched::Yes)]
    fn what_is_excluded_is_excluded_in_any_version(#[case] policy: &str, #[case] want: Matched) {
        let mut rule = resources("matchPolicy", json!(policy));
        rule["excludeResourceRules"] = json!([{"operations": ["*"], "apiGroups": ["*"],
            "apiVersions": ["v1"], "resources": ["*"]}]);
        assert_eq!(matched(rule, |_| {}), want);
    }

    #[test]
    fn no_policy_can_lock_out_the_policies() {
        let policies = |raw: &mut Value| {
            raw["requestResource"] = json!({"group": "admissionregistration.k8s.io",
                "version": "v1", "resource": "validatingadmissionpolicies"});
            raw["resource"] = raw["requestResource"].clone();
        };
        assert_eq!(matched(json!({}), policies), Matched::No);
    }

    #[test]
    fn exact_takes_no_converted_request() {
        let rule = resources("matchPolicy", json!("Exact"));
        let converted = |raw: &mut Value| raw["requestResource"]["version"] = json!("v1");
        assert_eq!(matched(rule, converted), Matched::No);
        let rule = resources("matchPolicy", json!("Equivalent"));
        assert_eq!(matched(rule, converted), Matched::Yes);
    }
}
