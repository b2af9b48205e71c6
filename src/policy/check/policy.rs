//! What the API server refuses in a policy.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    Compile,
    expression::{audit_annotation, match_conditions, mutation, validation, variables},
    matching::{match_resources, mutable_operations},
};
use crate::policy::{
    document::{
        AuditAnnotation, MatchResources, MutatingPolicySpec, ParamKind, ValidatingPolicySpec,
    },
    names,
    path::FieldPath,
    problem::FieldError,
};

const MOST_AUDIT_ANNOTATIONS: usize = 20;

pub(crate) fn validating_policy(
    name: &str,
    spec: &ValidatingPolicySpec,
    compiler: &mut dyn Compile,
) -> Vec<FieldError> {
    let path = FieldPath::new("spec");
    let mut errors = head(
        spec.failure_policy.as_deref(),
        spec.param_kind.as_ref(),
        spec.match_constraints.as_ref(),
        &path,
    );
    errors.extend(match_conditions(&spec.match_conditions, &path, compiler));
    errors.extend(variables(&spec.variables, &path, compiler));
    if spec.validations.is_empty() && spec.audit_annotations.is_empty() {
        let detail = "validations or auditAnnotations must contain at least one item";
        errors.push(FieldError::required(&path.child("validations"), detail));
        errors.push(FieldError::required(&path.child("auditAnnotations"), detail));
        return errors;
    }
    for (index, each) in spec.validations.iter().enumerate() {
        errors.extend(validation(each, &path.child("validations").index(index), compiler));
    }
    let at = path.child("auditAnnotations");
    if spec.audit_annotations.len() > MOST_AUDIT_ANNOTATIONS {
        let detail = format!("must not have more than {MOST_AUDIT_ANNOTATIONS} auditAnnotations");
        errors.push(FieldError::invalid_json(
            &at,
            &go_annotations(&spec.audit_annotations),
            &detail,
        ));
    }
    let mut keys = BTreeSet::new();
    for (index, each) in spec.audit_annotations.iter().enumerate() {
        errors.extend(audit_annotation(name, each, &at.index(index), compiler));
        if !keys.insert(&each.key) {
            errors.push(FieldError::duplicate(&at.index(index).child("key"), &each.key));
        }
    }
    errors
}

pub(crate) fn mutating_policy(
    spec: &MutatingPolicySpec,
    compiler: &mut dyn Compile,
) -> Vec<FieldError> {
    let path = FieldPath::new("spec");
    let mut errors = head(
        spec.failure_policy.as_deref(),
        spec.param_kind.as_ref(),
        spec.match_constraints.as_ref(),
        &path,
    );
    if let Some(constraints) = &spec.match_constraints {
        errors.extend(mutable_operations(constraints, &path.child("matchConstraints")));
    }
    errors.extend(match_conditions(&spec.match_conditions, &path, compiler));
    errors.extend(variables(&spec.variables, &path, compiler));
    if spec.mutations.is_empty() {
        let detail = "mutations must contain at least one item";
        errors.push(FieldError::required(&path.child("mutations"), detail));
    }
    for (index, each) in spec.mutations.iter().enumerate() {
        errors.extend(mutation(each, &path.child("mutations").index(index), compiler));
    }
    let at = path.child("reinvocationPolicy");
    match spec.reinvocation_policy.as_str() {
        "" => errors.push(FieldError::required(&at, "")),
        "Never" | "IfNeeded" => {}
        other => errors.push(FieldError::not_supported(&at, other, &["IfNeeded", "Never"])),
    }
    errors
}

/// What both kinds begin with.
pub(super) fn head(
    failure_policy: Option<&str>,
    param_kind: Option<&ParamKind>,
    constraints: Option<&MatchResources>,
    path: &FieldPath,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let supported = ["Fail", "Ignore"];
    if let Some(policy) = failure_policy.filter(|policy| !supported.contains(policy)) {
        let at = path.child("failurePolicy");
        errors.push(FieldError::not_supported(&at, policy, &supported));
    }
    if let Some(kind) = param_kind {
        errors.extend(check_param_kind(kind, &path.child("paramKind")));
    }
    let at = path.child("matchConstraints");
    match constraints {
        None => errors.push(FieldError::required(&at, "")),
        Some(constraints) => {
            errors.extend(match_resources(constraints, &at));
            if constraints.resource_rules.is_empty() {
                errors.push(FieldError::required(&at.child("resourceRules"), ""));
            }
        }
    }
    errors
}

fn check_param_kind(kind: &ParamKind, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = path.child("apiVersion");
    let version = kind.api_version.as_str();
    match version.split('/').collect::<Vec<_>>().as_slice() {
        [""] => errors.push(FieldError::required(&at, "")),
        // A lone slash parses as nothing at all, upstream too.
        ["", ""] => errors.push(FieldError::invalid(&at, version, "version must be specified")),
        [plain] => errors.extend(check_version(plain, version, &at)),
        [group, plain] => {
            let messages = names::subdomain(group);
            if !group.is_empty() && !messages.is_empty() {
                errors.push(FieldError::invalid(&at, group, &messages.join(",")));
            }
            errors.extend(check_version(plain, version, &at));
        }
        _ => {
            let detail = format!("unexpected GroupVersion string: {version}");
            errors.push(FieldError::invalid(&at, version, &detail));
        }
    }
    let at = path.child("kind");
    let messages = names::dns1035_label(&kind.kind.to_lowercase());
    if kind.kind.is_empty() {
        errors.push(FieldError::required(&at, ""));
    } else if !messages.is_empty() {
        let detail =
            format!("may have mixed case, but should otherwise match: {}", messages.join(","));
        errors.push(FieldError::invalid(&at, &kind.kind, &detail));
    }
    errors
}

fn check_version(version: &str, whole: &str, path: &FieldPath) -> Option<FieldError> {
    if version.is_empty() {
        return Some(FieldError::invalid(path, whole, "version must be specified"));
    }
    let messages = names::dns1035_label(version);
    (!messages.is_empty()).then(|| FieldError::invalid(path, version, &messages.join(",")))
}

/// Go prints the internal type here, whose fields have no JSON names.
fn go_annotations(annotations: &[AuditAnnotation]) -> serde_json::Value {
    annotations
        .iter()
        .map(|it| json!({"Key": it.key, "ValueExpression": it.value_expression}))
        .collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::Value;

    use super::*;
    use crate::policy::{
        check::tests::Recorder,
        document::{Mutation, Patch},
    };

    const CONSTRAINTS: &str = r#"{"resourceRules": [{"operations": ["CREATE"], "apiGroups": [""],
        "apiVersions": ["v1"], "resources": ["pods"]}]}"#;

    fn validating(field: &str, value: Value) -> Vec<String> {
        let mut spec = json!({"matchConstraints": serde_json::from_str::<Value>(CONSTRAINTS).unwrap(),
            "validations": [{"expression": "true"}]});
        spec[field] = value;
        let spec = serde_json::from_value(spec).unwrap();
        validating_policy("p", &spec, &mut Recorder::default()).iter().map(text).collect()
    }

    fn mutating(field: &str, value: Value) -> Vec<String> {
        let mut spec = json!({"matchConstraints": serde_json::from_str::<Value>(CONSTRAINTS).unwrap(),
            "reinvocationPolicy": "Never",
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}}]});
        spec[field] = value;
        let spec = serde_json::from_value(spec).unwrap();
        mutating_policy(&spec, &mut Recorder::default()).iter().map(text).collect()
    }

    fn text(error: &FieldError) -> String {
        format!("{}: {}", error.path, error.message)
    }

    #[rstest]
    #[case::failure_policy("failurePolicy", json!("Open"),
        "spec.failurePolicy: Unsupported value: \"Open\": supported values: \"Fail\", \"Ignore\"")]
    #[case::no_constraints("matchConstraints", json!(null), "spec.matchConstraints: Required value")]
    #[case::no_rules("matchConstraints", json!({}), "spec.matchConstraints.resourceRules: Required value")]
    #[case::no_version("paramKind", json!({"kind": "A"}), "spec.paramKind.apiVersion: Required value")]
    #[case::slashes("paramKind", json!({"apiVersion": "a/b/c", "kind": "A"}),
        "spec.paramKind.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c")]
    #[case::empty_version("paramKind", json!({"apiVersion": "a/", "kind": "A"}),
        "spec.paramKind.apiVersion: Invalid value: \"a/\": version must be specified")]
    #[case::no_kind("paramKind", json!({"apiVersion": "v1"}), "spec.paramKind.kind: Required value")]
    #[case::condition("matchConditions", json!([{"name": "a", "expression": " "}]),
        "spec.matchConditions[0].expression: Required value")]
    #[case::nameless_condition("matchConditions", json!([{"expression": "true"}]),
        "spec.matchConditions[0].name: Required value")]
    #[case::condition_twice("matchConditions",
        json!([{"name": "a", "expression": "true"}, {"name": "a", "expression": "true"}]),
        "spec.matchConditions[1].name: Duplicate value: \"a\"")]
    #[case::variable_name("variables", json!([{"name": "a-b", "expression": "true"}]),
        "spec.variables[0].name: Invalid value: \"a-b\": must be a valid CEL identifier")]
    #[case::nameless_variable("variables", json!([{"expression": "true"}]),
        "spec.variables[0].name: Required value: name is not specified")]
    #[case::variable("variables", json!([{"name": "a"}]),
        "spec.variables[0].expression: Required value: expression is not specified")]
    #[case::expression("validations", json!([{"message": "x"}]),
        "spec.validations[0].expression: Required value: expression is not specified")]
    #[case::does_not_compile("validations", json!([{"expression": "a bad"}]),
        "spec.validations[0].expression: Invalid value: \"a bad\": compilation failed: bad")]
    #[case::message_lines("validations", json!([{"expression": "true", "message": "a\nb"}]),
        "spec.validations[0].message: Invalid value: \"a\\nb\": must not contain line breaks")]
    #[case::blank_message("validations", json!([{"expression": "true", "message": " "}]),
        "spec.validations[0].message: Invalid value: \" \": must be non-empty if specified")]
    #[case::blank_message_expression("validations",
        json!([{"expression": "true", "messageExpression": " "}]),
        "spec.validations[0].messageExpression: Invalid value: \" \": must be non-empty if specified")]
    #[case::reason("validations", json!([{"expression": "true", "reason": "Unauthorized"}]),
        "spec.validations[0].reason: Unsupported value: \"Unauthorized\": supported values: \
         \"Forbidden\", \"Invalid\", \"RequestEntityTooLarge\"")]
    #[case::audit_twice("auditAnnotations",
        json!([{"key": "a", "valueExpression": "'x'"}, {"key": "a", "valueExpression": "'x'"}]),
        "spec.auditAnnotations[1].key: Duplicate value: \"a\"")]
    #[case::audit_value("auditAnnotations", json!([{"key": "a"}]),
        "spec.auditAnnotations[0].valueExpression: Required value: valueExpression is not specified")]
    fn what_the_api_server_refuses(#[case] field: &str, #[case] value: Value, #[case] want: &str) {
        assert_eq!(validating(field, value), [want]);
    }

    #[rstest]
    #[case::none("mutations", json!([]),
        "spec.mutations: Required value: mutations must contain at least one item")]
    #[case::no_reinvocation("reinvocationPolicy", json!(""), "spec.reinvocationPolicy: Required value")]
    #[case::reinvocation("reinvocationPolicy", json!("Always"),
        "spec.reinvocationPolicy: Unsupported value: \"Always\": supported values: \"IfNeeded\", \
         \"Never\"")]
    #[case::no_type("mutations", json!([{}]), "spec.mutations[0].patchType: Required value")]
    #[case::patch_type("mutations", json!([{"patchType": "Merge"}]),
        "spec.mutations[0].patchType: Unsupported value: \"Merge\": supported values: \
         \"ApplyConfiguration\", \"JSONPatch\"")]
    #[case::no_patch("mutations", json!([{"patchType": "JSONPatch"}]),
        "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch")]
    #[case::both("mutations", json!([{"patchType": "ApplyConfiguration",
        "applyConfiguration": {"expression": "x"}, "jsonPatch": {"expression": "x"}}]),
        "spec.mutations[0].jsonPatch: Invalid value: \"{jsonPatch}\": must not be specified when \
         patchType is ApplyConfiguration")]
    #[case::empty("mutations", json!([{"patchType": "JSONPatch", "jsonPatch": {}}]),
        "spec.mutations[0].jsonPatch.expression: Required value")]
    fn what_the_api_server_refuses_of_mutations(
        #[case] field: &str,
        #[case] value: Value,
        #[case] want: &str,
    ) {
        assert_eq!(mutating(field, value), [want]);
    }

    #[test]
    fn nothing_to_do_is_two_findings() {
        assert_eq!(validating("validations", json!([])).len(), 2);
    }

    #[test]
    fn a_fault_is_found_behind_leading_blanks() {
        let spec = MutatingPolicySpec {
            mutations: vec![Mutation {
                patch_type: "JSONPatch".to_owned(),
                json_patch: Some(Patch { expression: "\n  a bad ".to_owned() }),
                ..Mutation::default()
            }],
            reinvocation_policy: "Never".to_owned(),
            match_constraints: serde_json::from_str(CONSTRAINTS).unwrap(),
            ..MutatingPolicySpec::default()
        };
        let errors = mutating_policy(&spec, &mut Recorder::default());
        assert_eq!(errors[0].inside, Some(5));
        assert!(errors[0].message.starts_with("Invalid value: \"a bad\""), "{errors:?}");
    }
}
