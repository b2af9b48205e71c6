//! What the API server refuses in `matchConstraints` and `matchResources`.

use std::collections::BTreeSet;

use serde_json::json;

use super::metadata::labels;
use crate::policy::{
    document::{LabelRequirement, LabelSelector, MatchResources, ResourceRule},
    names,
    path::FieldPath,
    problem::FieldError,
};

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const MUTATING_OPERATIONS: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];

pub(super) fn match_resources(resources: &MatchResources, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let supported = ["Equivalent", "Exact"];
    match resources.match_policy.as_deref() {
        Some(policy) if !supported.contains(&policy) => {
            let at = path.child("matchPolicy");
            errors.push(FieldError::not_supported(&at, policy, &supported));
        }
        _ => {}
    }
    for (field, selector) in [
        ("namespaceSelector", &resources.namespace_selector),
        ("objectSelector", &resources.object_selector),
    ] {
        if let Some(selector) = selector {
            errors.extend(label_selector(selector, &path.child(field)));
        }
    }
    for (field, rules) in [
        ("resourceRules", &resources.resource_rules),
        ("excludeResourceRules", &resources.exclude_resource_rules),
    ] {
        for (index, rule) in rules.iter().enumerate() {
            errors.extend(resource_rule(rule, &path.child(field).index(index)));
        }
    }
    errors
}

/// A mutating policy cannot match what has no object to change.
pub(super) fn mutable_operations(resources: &MatchResources, path: &FieldPath) -> Vec<FieldError> {
    let at = path.child("resourceRules").child("operations");
    resources
        .resource_rules
        .iter()
        .flat_map(|rule| &rule.operations)
        .filter(|operation| !MUTATING_OPERATIONS.contains(&operation.as_str()))
        .map(|operation| FieldError::not_supported(&at, operation, &MUTATING_OPERATIONS))
        .collect()
}

pub(super) fn label_selector(selector: &LabelSelector, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = labels(&selector.match_labels, &path.child("matchLabels"));
    for (index, requirement) in selector.match_expressions.iter().enumerate() {
        let path = path.child("matchExpressions").index(index);
        errors.extend(label_requirement(requirement, &path));
    }
    errors
}

fn label_requirement(requirement: &LabelRequirement, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let values = path.child("values");
    match requirement.operator.as_str() {
        "In" | "NotIn" if requirement.values.is_empty() => errors.push(FieldError::required(
            &values,
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "Exists" | "DoesNotExist" if !requirement.values.is_empty() => {
            errors.push(FieldError::forbidden(
                &values,
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            ));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => errors.push(FieldError::invalid(
            &path.child("operator"),
            other,
            "not a valid selector operator",
        )),
    }
    for message in names::qualified_name(&requirement.key) {
        errors.push(FieldError::invalid(&path.child("key"), &requirement.key, &message));
    }
    for (index, value) in requirement.values.iter().enumerate() {
        for message in names::label_value(value) {
            errors.push(FieldError::invalid(&values.index(index), value, &message));
        }
    }
    errors
}

fn resource_rule(rule: &ResourceRule, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = path.child("resourceNames");
    let mut seen = BTreeSet::new();
    for (index, name) in rule.resource_names.iter().enumerate() {
        for message in names::path_segment(name) {
            errors.push(FieldError::invalid(&at.index(index), name, &message));
        }
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(&at.index(index), name));
        }
    }

    let at = path.child("operations");
    errors.extend(list(&rule.operations, &at, "operations"));
    for (index, operation) in rule.operations.iter().enumerate() {
        if !OPERATIONS.contains(&operation.as_str()) {
            errors.push(FieldError::not_supported(&at.index(index), operation, &OPERATIONS));
        }
    }

    errors.extend(list(&rule.api_groups, &path.child("apiGroups"), "API groups"));
    let at = path.child("apiVersions");
    errors.extend(list(&rule.api_versions, &at, "API versions"));
    for (index, _) in rule.api_versions.iter().enumerate().filter(|(_, version)| version.is_empty())
    {
        errors.push(FieldError::required(&at.index(index), ""));
    }
    errors.extend(resources(&rule.resources, &path.child("resources")));

    let scopes = ["*", "Cluster", "Namespaced"];
    if let Some(scope) = rule.scope.as_deref().filter(|scope| !scopes.contains(scope)) {
        errors.push(FieldError::not_supported(&path.child("scope"), scope, &scopes));
    }
    errors
}

/// Not empty, and `*` stands alone.
fn list(values: &[String], path: &FieldPath, what: &str) -> Option<FieldError> {
    if values.is_empty() {
        return Some(FieldError::required(path, ""));
    }
    (values.len() > 1 && values.iter().any(|value| value == "*")).then(|| {
        let detail = format!("if '*' is present, must not specify other {what}");
        FieldError::invalid_json(path, &json!(values), &detail)
    })
}

fn resources(resources: &[String], path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if resources.is_empty() {
        errors.push(FieldError::required(path, ""));
    }
    let mut all_of_resource = BTreeSet::new();
    let mut subresource_of_all = BTreeSet::new();
    let mut names_a_resource = false;
    for (index, resource) in resources.iter().enumerate() {
        let at = path.index(index);
        if resource.is_empty() {
            errors.push(FieldError::required(&at, ""));
            continue;
        }
        let Some((resource_part, subresource)) = resource.split_once('/') else {
            // The last one decides, as upstream.
            names_a_resource = resource != "*";
            continue;
        };
        if all_of_resource.contains(resource_part) {
            let detail = format!("if '{resource_part}/*' is present, must not specify {resource}");
            errors.push(FieldError::invalid(&at, resource, &detail));
        }
        if subresource_of_all.contains(subresource) {
            let detail = format!("if '*/{subresource}' is present, must not specify {resource}");
            errors.push(FieldError::invalid(&at, resource, &detail));
        }
        if subresource == "*" {
            all_of_resource.insert(resource_part);
        }
        if resource_part == "*" {
            subresource_of_all.insert(subresource);
        }
    }
    if resources.len() > 1 && resources.iter().any(|resource| resource == "*/*") {
        let detail = "if '*/*' is present, must not specify other resources";
        errors.push(FieldError::invalid_json(path, &json!(resources), detail));
    }
    if resources.iter().any(|resource| resource == "*") && names_a_resource {
        let detail = "if '*' is present, must not specify other resources without subresources";
        errors.push(FieldError::invalid_json(path, &json!(resources), detail));
    }
    errors
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::Value;

    use super::*;

    fn found(value: Value) -> Vec<String> {
        let resources: MatchResources = serde_json::from_value(value).unwrap();
        match_resources(&resources, &FieldPath::new("m"))
            .into_iter()
            .map(|error| format!("{}: {}", error.path, error.message))
            .collect()
    }

    fn rule(field: &str, value: Value) -> Value {
        let mut rule = json!({"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"],
            "resources": ["pods"]});
        rule[field] = value;
        json!({"resourceRules": [rule]})
    }

    #[rstest]
    #[case::match_policy(json!({"matchPolicy": "exact"}),
        "m.matchPolicy: Unsupported value: \"exact\": supported values: \"Equivalent\", \"Exact\"")]
    #[case::no_values(json!({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}),
        "m.objectSelector.matchExpressions[0].values: Required value: must be specified when \
         `operator` is 'In' or 'NotIn'")]
    #[case::needless_values(
        json!({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]}}),
        "m.objectSelector.matchExpressions[0].values: Forbidden: may not be specified when \
         `operator` is 'Exists' or 'DoesNotExist'")]
    #[case::operator(json!({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "Has"}]}}),
        "m.objectSelector.matchExpressions[0].operator: Invalid value: \"Has\": not a valid selector operator")]
    #[case::no_operations(rule("operations", json!([])), "m.resourceRules[0].operations: Required value")]
    #[case::star_and_more(rule("operations", json!(["*", "CREATE"])),
        "m.resourceRules[0].operations: Invalid value: [\"*\",\"CREATE\"]: if '*' is present, must \
         not specify other operations")]
    #[case::operation(rule("operations", json!(["create"])),
        "m.resourceRules[0].operations[0]: Unsupported value: \"create\": supported values: \"*\", \
         \"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\"")]
    #[case::groups(rule("apiGroups", json!(["*", "a"])),
        "m.resourceRules[0].apiGroups: Invalid value: [\"*\",\"a\"]: if '*' is present, must not \
         specify other API groups")]
    #[case::empty_version(rule("apiVersions", json!([""])), "m.resourceRules[0].apiVersions[0]: Required value")]
    #[case::empty_resource(rule("resources", json!([""])), "m.resourceRules[0].resources[0]: Required value")]
    #[case::covered_subresource(rule("resources", json!(["pods/*", "pods/status"])),
        "m.resourceRules[0].resources[1]: Invalid value: \"pods/status\": if 'pods/*' is present, \
         must not specify pods/status")]
    #[case::covered_resource(rule("resources", json!(["*/status", "pods/status"])),
        "m.resourceRules[0].resources[1]: Invalid value: \"pods/status\": if '*/status' is present, \
         must not specify pods/status")]
    #[case::everything(rule("resources", json!(["*/*", "pods"])),
        "m.resourceRules[0].resources: Invalid value: [\"*/*\",\"pods\"]: if '*/*' is present, must \
         not specify other resources")]
    #[case::star(rule("resources", json!(["*", "pods"])),
        "m.resourceRules[0].resources: Invalid value: [\"*\",\"pods\"]: if '*' is present, must not \
         specify other resources without subresources")]
    #[case::scope(rule("scope", json!("Global")),
        "m.resourceRules[0].scope: Unsupported value: \"Global\": supported values: \"*\", \
         \"Cluster\", \"Namespaced\"")]
    #[case::resource_name(rule("resourceNames", json!(["a/b"])),
        "m.resourceRules[0].resourceNames[0]: Invalid value: \"a/b\": may not contain '/'")]
    #[case::twice(rule("resourceNames", json!(["a", "a"])),
        "m.resourceRules[0].resourceNames[1]: Duplicate value: \"a\"")]
    fn what_the_api_server_refuses(#[case] value: Value, #[case] want: &str) {
        assert_eq!(found(value), [want]);
    }

    #[test]
    fn a_good_rule_is_taken() {
        assert!(found(rule("resources", json!(["pods", "*/status"]))).is_empty());
    }
}
