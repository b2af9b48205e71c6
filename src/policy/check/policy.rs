//! What the API server refuses in a policy.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    Compile, CompileFault, Role,
    matching::{match_resources, mutable_operations},
};
use crate::policy::{
    document::{
        AuditAnnotation, MatchCondition, MatchResources, MutatingPolicySpec, Mutation, ParamKind,
        Patch, ValidatingPolicySpec, Validation, Variable,
    },
    names,
    path::FieldPath,
    problem::FieldError,
};

const MOST_MATCH_CONDITIONS: usize = 64;
const MOST_AUDIT_ANNOTATIONS: usize = 20;
const LONGEST_VALUE_EXPRESSION: usize = 5 * 1024;

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
fn head(
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

fn match_conditions(
    conditions: &[MatchCondition],
    path: &FieldPath,
    compiler: &mut dyn Compile,
) -> Vec<FieldError> {
    let path = path.child("matchConditions");
    let mut errors = Vec::new();
    if conditions.len() > MOST_MATCH_CONDITIONS {
        errors.push(FieldError::too_many(&path, conditions.len(), MOST_MATCH_CONDITIONS));
    }
    let mut seen = BTreeSet::new();
    for (index, condition) in conditions.iter().enumerate() {
        let path = path.index(index);
        let at = path.child("expression");
        if condition.expression.trim().is_empty() {
            errors.push(FieldError::required(&at, ""));
        } else {
            let source = Source::trimmed(&condition.expression);
            errors.extend(source.compile(Role::MatchCondition, &at, compiler));
        }
        let at = path.child("name");
        if condition.name.is_empty() {
            errors.push(FieldError::required(&at, ""));
            continue;
        }
        for message in names::qualified_name(&condition.name) {
            errors.push(FieldError::invalid(&at, &condition.name, &message));
        }
        if !seen.insert(&condition.name) {
            errors.push(FieldError::duplicate(&at, &condition.name));
        }
    }
    errors
}

fn variables(
    variables: &[Variable],
    path: &FieldPath,
    compiler: &mut dyn Compile,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, variable) in variables.iter().enumerate() {
        let path = path.child("variables").index(index);
        let at = path.child("name");
        if variable.name.trim().is_empty() {
            errors.push(FieldError::required(&at, "name is not specified"));
        } else if !names::is_cel_identifier(&variable.name) {
            let detail = "must be a valid CEL identifier";
            errors.push(FieldError::invalid(&at, &variable.name, detail));
        }
        let at = path.child("expression");
        if variable.expression.trim().is_empty() {
            errors.push(FieldError::required(&at, "expression is not specified"));
        } else {
            let source = Source::whole(&variable.expression);
            errors.extend(source.compile(Role::Variable(&variable.name), &at, compiler));
        }
    }
    errors
}

fn validation(
    validation: &Validation,
    path: &FieldPath,
    compiler: &mut dyn Compile,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = path.child("expression");
    if validation.expression.trim().is_empty() {
        errors.push(FieldError::required(&at, "expression is not specified"));
    } else {
        let source = Source::whole(&validation.expression);
        errors.extend(source.compile(Role::Validation, &at, compiler));
    }
    let at = path.child("messageExpression");
    if !validation.message_expression.trim().is_empty() {
        let source = Source::whole(&validation.message_expression);
        errors.extend(source.compile(Role::Message, &at, compiler));
    } else if !validation.message_expression.is_empty() {
        let detail = "must be non-empty if specified";
        errors.push(FieldError::invalid(&at, &validation.message_expression, detail));
    }
    let at = path.child("message");
    let message = validation.message.trim();
    if !validation.message.is_empty() && message.is_empty() {
        let detail = "must be non-empty if specified";
        errors.push(FieldError::invalid(&at, &validation.message, detail));
    } else if message.contains(['\n', '\r']) {
        errors.push(FieldError::invalid(&at, &validation.message, "must not contain line breaks"));
    }
    let supported = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
    if let Some(reason) = validation.reason.as_deref().filter(|it| !supported.contains(it)) {
        errors.push(FieldError::not_supported(&path.child("reason"), reason, &supported));
    }
    errors
}

fn audit_annotation(
    policy: &str,
    annotation: &AuditAnnotation,
    path: &FieldPath,
    compiler: &mut dyn Compile,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = path.child("key");
    if policy.is_empty() {
        let detail = "requires metadata.name be non-empty";
        errors.push(FieldError::invalid(&at, &annotation.key, detail));
    } else {
        let whole = format!("{policy}/{}", annotation.key);
        for message in names::qualified_name(&whole) {
            errors.push(FieldError::invalid(&at, &whole, &message));
        }
    }
    let at = path.child("valueExpression");
    let trimmed = annotation.value_expression.trim();
    if trimmed.is_empty() {
        errors.push(FieldError::required(&at, "valueExpression is not specified"));
    } else if trimmed.len() > LONGEST_VALUE_EXPRESSION {
        let detail = format!("must not exceed {LONGEST_VALUE_EXPRESSION} bytes in length");
        errors.push(FieldError::required(&at, &detail));
    } else {
        let source = Source {
            shown: &annotation.value_expression,
            ..Source::trimmed(&annotation.value_expression)
        };
        errors.extend(source.compile(Role::AuditAnnotation, &at, compiler));
    }
    errors
}

fn mutation(mutation: &Mutation, path: &FieldPath, compiler: &mut dyn Compile) -> Vec<FieldError> {
    let (apply, patch) = (path.child("applyConfiguration"), path.child("jsonPatch"));
    let mut errors = Vec::new();
    match mutation.patch_type.as_str() {
        "" => errors.push(FieldError::required(&path.child("patchType"), "")),
        "JSONPatch" => {
            match &mutation.json_patch {
                None => errors.push(FieldError::required(
                    &patch,
                    "must be specified when patchType is JSONPatch",
                )),
                Some(it) => errors.extend(expression(it, Role::JsonPatch, &patch, compiler)),
            }
            if mutation.apply_configuration.is_some() {
                let detail = "must not be specified when patchType is JSONPatch";
                errors.push(FieldError::invalid(&apply, "{applyConfiguration}", detail));
            }
        }
        "ApplyConfiguration" => {
            match &mutation.apply_configuration {
                None => errors.push(FieldError::required(
                    &apply,
                    "must be specified when patchType is ApplyConfiguration",
                )),
                Some(it) => {
                    errors.extend(expression(it, Role::ApplyConfiguration, &apply, compiler));
                }
            }
            if mutation.json_patch.is_some() {
                let detail = "must not be specified when patchType is ApplyConfiguration";
                errors.push(FieldError::invalid(&patch, "{jsonPatch}", detail));
            }
        }
        other => errors.push(FieldError::not_supported(
            &path.child("patchType"),
            other,
            &["ApplyConfiguration", "JSONPatch"],
        )),
    }
    errors
}

fn expression(
    patch: &Patch,
    role: Role<'_>,
    path: &FieldPath,
    compiler: &mut dyn Compile,
) -> Option<FieldError> {
    let at = path.child("expression");
    if patch.expression.trim().is_empty() {
        return Some(FieldError::required(&at, ""));
    }
    Source::trimmed(&patch.expression).compile(role, &at, compiler)
}

/// An expression as it is compiled, as it is shown, and how far into the field it begins.
struct Source<'a> {
    compiled: &'a str,
    shown: &'a str,
    offset: usize,
}

impl<'a> Source<'a> {
    fn whole(text: &'a str) -> Self {
        Self { compiled: text, shown: text, offset: 0 }
    }

    fn trimmed(text: &'a str) -> Self {
        let trimmed = text.trim();
        let offset = text.chars().take_while(|character| character.is_whitespace()).count();
        Self { compiled: trimmed, shown: trimmed, offset }
    }

    fn compile(
        &self,
        role: Role<'_>,
        path: &FieldPath,
        compiler: &mut dyn Compile,
    ) -> Option<FieldError> {
        let CompileFault { detail, at, suggestion } =
            compiler.compile(role, self.compiled).err()?;
        Some(FieldError {
            inside: at.map(|at| at + self.offset),
            suggestion,
            ..FieldError::invalid(path, self.shown, &detail)
        })
    }
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
    use crate::policy::check::tests::Recorder;

    const CONSTRAINTS: &str = r#"{"resourceRules": [{"operations": ["CREATE"], "apiGroups": [""],
        "apiVersions": ["v1"], "resources": ["pods"]}]}"#;

    fn validating(field: &str, value: Value) -> Vec<String> {
        let mut spec = json!({"matchConstraints": serde_json::from_str::<Value>(CONSTRAINTS).unwrap(),
            "validations": [{"expression": "true"}]});
        spec[field] = value;
        let spec = serde_json::from_value(spec).unwrap();
        validating_policy("p", &spec, &mut Recorder::default()).into_iter().map(text).collect()
    }

    fn mutating(field: &str, value: Value) -> Vec<String> {
        let mut spec = json!({"matchConstraints": serde_json::from_str::<Value>(CONSTRAINTS).unwrap(),
            "reinvocationPolicy": "Never",
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}}]});
        spec[field] = value;
        let spec = serde_json::from_value(spec).unwrap();
        mutating_policy(&spec, &mut Recorder::default()).into_iter().map(text).collect()
    }

    fn text(error: FieldError) -> String {
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
