//! What the API server refuses in a binding.

use std::collections::BTreeSet;

use serde_json::json;

use super::matching::{label_selector, match_resources, mutable_operations};
use crate::policy::{
    document::{BindingSpec, ParamRef},
    names,
    path::FieldPath,
    problem::FieldError,
};

pub(crate) fn validating_binding(spec: &BindingSpec) -> Vec<FieldError> {
    let path = FieldPath::new("spec");
    let mut errors = binding(spec, &path);
    errors.extend(validation_actions(&spec.validation_actions, &path.child("validationActions")));
    errors
}

pub(crate) fn mutating_binding(spec: &BindingSpec) -> Vec<FieldError> {
    let path = FieldPath::new("spec");
    let mut errors = binding(spec, &path);
    if let Some(resources) = &spec.match_resources {
        errors.extend(mutable_operations(resources, &path.child("matchResources")));
    }
    errors
}

fn binding(spec: &BindingSpec, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = path.child("policyName");
    if spec.policy_name.is_empty() {
        errors.push(FieldError::required(&at, ""));
    } else {
        for message in names::subdomain(&spec.policy_name) {
            errors.push(FieldError::invalid(&at, &spec.policy_name, &message));
        }
    }
    if let Some(reference) = &spec.param_ref {
        errors.extend(param_ref(reference, &path.child("paramRef")));
    }
    if let Some(resources) = &spec.match_resources {
        errors.extend(match_resources(resources, &path.child("matchResources")));
    }
    errors
}

fn param_ref(reference: &ParamRef, path: &FieldPath) -> Vec<FieldError> {
    const EXCLUSIVE: &str = "name and selector are mutually exclusive";
    let mut errors = Vec::new();
    let named = !reference.name.is_empty();
    if named {
        for message in names::path_segment(&reference.name) {
            errors.push(FieldError::invalid(&path.child("name"), &reference.name, &message));
        }
        if reference.selector.is_some() {
            errors.push(FieldError::forbidden(&path.child("name"), EXCLUSIVE));
        }
    }
    if let Some(selector) = &reference.selector {
        errors.extend(label_selector(selector, &path.child("selector")));
        if named {
            errors.push(FieldError::forbidden(&path.child("selector"), EXCLUSIVE));
        }
    } else if !named {
        errors.push(FieldError::required(path, "one of name or selector must be specified"));
    }
    let at = path.child("parameterNotFoundAction");
    match reference.parameter_not_found_action.as_deref() {
        None | Some("") => errors.push(FieldError::required(&at, "")),
        Some("Deny" | "Allow") => {}
        Some(other) => errors.push(FieldError::not_supported(&at, other, &["Deny", "Allow"])),
    }
    errors
}

fn validation_actions(actions: &[String], path: &FieldPath) -> Vec<FieldError> {
    const SUPPORTED: [&str; 3] = ["Audit", "Deny", "Warn"];
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, action) in actions.iter().enumerate() {
        if !SUPPORTED.contains(&action.as_str()) {
            errors.push(FieldError::not_supported(&path.index(index), action, &SUPPORTED));
        }
        if !seen.insert(action.as_str()) {
            errors.push(FieldError::duplicate(&path.index(index), action));
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure \
             information in the API response and headers serves no purpose)";
        errors.push(FieldError::invalid_json(path, &json!(actions), detail));
    }
    if seen.is_empty() {
        errors.push(FieldError::required(path, "at least one validation action is required"));
    }
    errors
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::Value;

    use super::*;

    fn found(value: Value) -> Vec<String> {
        validating_binding(&serde_json::from_value(value).unwrap())
            .into_iter()
            .map(|error| format!("{}: {}", error.path, error.message))
            .collect()
    }

    fn with(field: &str, value: Value) -> Value {
        let mut spec = json!({"policyName": "p", "validationActions": ["Deny"]});
        spec[field] = value;
        spec
    }

    #[rstest]
    #[case::no_policy(with("policyName", json!("")), "spec.policyName: Required value")]
    #[case::no_action(with("validationActions", json!([])),
        "spec.validationActions: Required value: at least one validation action is required")]
    #[case::action(with("validationActions", json!(["deny"])),
        "spec.validationActions[0]: Unsupported value: \"deny\": supported values: \"Audit\", \
         \"Deny\", \"Warn\"")]
    #[case::twice(with("validationActions", json!(["Deny", "Deny"])),
        "spec.validationActions[1]: Duplicate value: \"Deny\"")]
    #[case::deny_and_warn(with("validationActions", json!(["Deny", "Warn"])),
        "spec.validationActions: Invalid value: [\"Deny\",\"Warn\"]: must not contain both Deny and \
         Warn (repeating the same validation failure information in the API response and headers \
         serves no purpose)")]
    #[case::neither(with("paramRef", json!({"parameterNotFoundAction": "Deny"})),
        "spec.paramRef: Required value: one of name or selector must be specified")]
    #[case::no_not_found_action(with("paramRef", json!({"name": "a"})),
        "spec.paramRef.parameterNotFoundAction: Required value")]
    #[case::not_found_action(with("paramRef", json!({"name": "a", "parameterNotFoundAction": "No"})),
        "spec.paramRef.parameterNotFoundAction: Unsupported value: \"No\": supported values: \
         \"Deny\", \"Allow\"")]
    fn what_the_api_server_refuses(#[case] value: Value, #[case] want: &str) {
        assert_eq!(found(value), [want]);
    }

    #[test]
    fn name_and_selector_exclude_each_other() {
        let reference = json!({"name": "a", "selector": {}, "parameterNotFoundAction": "Deny"});
        assert_eq!(
            found(with("paramRef", reference)),
            [
                "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
                "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
            ]
        );
    }

    #[test]
    fn a_mutating_binding_cannot_match_deletes() {
        let spec = json!({"policyName": "p", "matchResources": {"resourceRules": [{
            "operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]}});
        let errors = mutating_binding(&serde_json::from_value(spec).unwrap());
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].path.to_string(), "spec.matchResources.resourceRules.operations");
    }
}
