//! What we refuse in a UniquePolicy, beside what the API server would refuse in its own kinds: what
//! would let an object gain a key without our being asked.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    Compile, Role,
    expression::{Source, match_conditions, variables},
    policy::head,
};
use crate::policy::{
    cel::{Tok, Token, tokens},
    document::{LabelSelector, MatchResources, ResourceRule, UniquePolicySpec},
    path::FieldPath,
    problem::FieldError,
    reads::{is_selected, selected},
};

/// What is only known while somebody writes the object.
const OF_REQUESTS: [&str; 5] = ["request", "oldObject", "authorizer", "params", "namespaceObject"];

pub(crate) fn unique_policy(
    spec: &UniquePolicySpec,
    compiler: &mut dyn Compile,
) -> Vec<FieldError> {
    let path = FieldPath::new("spec");
    let failure_policy = spec.failure_policy.as_deref();
    let mut errors = head(failure_policy, None, spec.match_constraints.as_ref(), &path);
    if let Some(constraints) = &spec.match_constraints {
        errors.extend(constrained(constraints, &path.child("matchConstraints")));
    }
    errors.extend(match_conditions(&spec.match_conditions, &path, compiler));
    errors.extend(variables(&spec.variables, &path, compiler));
    errors.extend(key(spec, &path, compiler));
    errors.extend(message(spec, &path, compiler));
    errors.extend(of_requests(spec, &path));
    errors.extend(of_status(spec, &path));
    errors
}

fn key(spec: &UniquePolicySpec, path: &FieldPath, compiler: &mut dyn Compile) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if spec.key.trim().is_empty() {
        let detail = "say in CEL what no two objects may have, as in `string(object.spec.serial)`";
        errors.push(FieldError::required(&path.child("key"), detail));
    } else {
        errors.extend(Source::whole(&spec.key).compile(Role::Key, &path.child("key"), compiler));
    }
    if !spec.reported.trim().is_empty() {
        let at = path.child("reported");
        errors.extend(Source::whole(&spec.reported).compile(Role::Key, &at, compiler));
    }
    errors
}

fn message(
    spec: &UniquePolicySpec,
    path: &FieldPath,
    compiler: &mut dyn Compile,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if !spec.message_expression.trim().is_empty() {
        let at = path.child("messageExpression");
        let source = Source::whole(&spec.message_expression);
        errors.extend(source.compile(Role::HeldMessage, &at, compiler));
    }
    if spec.message.trim().contains(['\n', '\r']) {
        let detail = "must not contain line breaks";
        errors.push(FieldError::invalid(&path.child("message"), &spec.message, detail));
    }
    errors
}

fn constrained(constraints: &MatchResources, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if constraints.namespace_selector.as_ref().is_some_and(|it| *it != LabelSelector::default()) {
        let detail = "whoever labels a namespace would give its objects keys without our being \
             asked; use objectSelector or matchConditions";
        errors.push(FieldError::forbidden(&path.child("namespaceSelector"), detail));
    }
    if !constraints.exclude_resource_rules.is_empty() {
        let detail = "name in resourceRules what is subject to the policy";
        errors.push(FieldError::forbidden(&path.child("excludeResourceRules"), detail));
    }
    if constraints.match_policy.as_deref() == Some("Exact") {
        let detail = "an object that is written in another version would escape";
        errors.push(FieldError::invalid(&path.child("matchPolicy"), "Exact", detail));
    }
    for (index, rule) in constraints.resource_rules.iter().enumerate() {
        errors.extend(ruled(rule, &path.child("resourceRules").index(index)));
    }
    errors
}

fn ruled(rule: &ResourceRule, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let operations: BTreeSet<&str> = rule.operations.iter().map(String::as_str).collect();
    if operations != BTreeSet::from(["CREATE", "UPDATE"]) {
        let detail = "must be CREATE and UPDATE, or left out: an object can gain its key by both, \
             and by nothing else";
        let at = path.child("operations");
        errors.push(FieldError::invalid_json(&at, &json!(rule.operations), detail));
    }
    for (field, values) in [("apiGroups", &rule.api_groups), ("resources", &rule.resources)] {
        for (index, value) in values.iter().enumerate() {
            let at = path.child(field).index(index);
            if value.contains('*') {
                let detail = "must name it: claims cannot be kept for everything there is";
                errors.push(FieldError::invalid(&at, value, detail));
            } else if value.contains('/') {
                let detail = "must not be a subresource: the key belongs to the object";
                errors.push(FieldError::invalid(&at, value, detail));
            }
        }
    }
    if !rule.resource_names.is_empty() {
        let detail = "a rule that holds for some names only says nothing of the others; use \
             matchConditions";
        errors.push(FieldError::forbidden(&path.child("resourceNames"), detail));
    }
    errors
}

/// Every expression with its place.
fn expressions<'a>(spec: &'a UniquePolicySpec, path: &FieldPath) -> Vec<(FieldPath, &'a str)> {
    let listed = |field: &str, index: usize| path.child(field).index(index).child("expression");
    let conditions = spec.match_conditions.iter().enumerate();
    let conditions =
        conditions.map(|(index, it)| (listed("matchConditions", index), it.expression.as_str()));
    let variables = spec.variables.iter().enumerate();
    let variables =
        variables.map(|(index, it)| (listed("variables", index), it.expression.as_str()));
    let own = [
        ("key", spec.key.as_str()),
        ("reported", &spec.reported),
        ("messageExpression", &spec.message_expression),
    ];
    let own = own.into_iter().map(|(field, expression)| (path.child(field), expression));
    conditions.chain(variables).chain(own).collect()
}

fn of_requests(spec: &UniquePolicySpec, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (path, expression) in expressions(spec, path) {
        let (tokens, _) = tokens(expression);
        let is_forbidden = |index: &usize| {
            tokens[*index].kind == Tok::Ident
                && OF_REQUESTS.contains(&tokens[*index].text.as_str())
                && !is_selected(&tokens, *index)
        };
        if let Some(index) = (0..tokens.len()).find(is_forbidden) {
            let name = &tokens[index].text;
            let detail = format!(
                "{name} is not known here: the keys of stored objects are computed when nobody \
                 writes them, so that only `object` and `variables` can be asked"
            );
            errors.push(FieldError {
                inside: Some(tokens[index].at),
                ..FieldError::invalid(&path, expression, &detail)
            });
        }
    }
    errors
}

/// Status is written without our being asked, so no key may depend on it; `reported` may.
fn of_status(spec: &UniquePolicySpec, path: &FieldPath) -> Vec<FieldError> {
    let mut tainted: BTreeSet<&str> = BTreeSet::new();
    for variable in &spec.variables {
        if place_of_status(&tokens(&variable.expression).0, &tainted).is_some() {
            tainted.insert(&variable.name);
        }
    }
    let is_free = [path.child("reported"), path.child("messageExpression")];
    let variables = path.child("variables").to_string();
    let asked = expressions(spec, path)
        .into_iter()
        .filter(|(path, _)| !is_free.contains(path) && !path.to_string().starts_with(&variables));
    asked
        .filter_map(|(path, expression)| {
            let at = place_of_status(&tokens(expression).0, &tainted)?;
            let detail = "must not depend on status, which is written without our being asked; \
                 what was observed belongs into reported";
            let error = FieldError::invalid(&path, expression, detail);
            Some(FieldError { inside: Some(at), ..error })
        })
        .collect()
}

/// Where `object.status` is read, or a variable that reads it.
fn place_of_status(tokens: &[Token], tainted: &BTreeSet<&str>) -> Option<usize> {
    (0..tokens.len()).find_map(|index| {
        let token = &tokens[index];
        if token.kind != Tok::Ident || is_selected(tokens, index) {
            return None;
        }
        let (field, _) = selected(tokens, index)?;
        let is_status = token.text == "object" && field == "status"
            || token.text == "variables" && tainted.contains(field);
        is_status.then_some(token.at)
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::Value;

    use super::*;
    use crate::policy::check::tests::Recorder;

    fn found(field: &str, value: Value) -> Vec<String> {
        let rule = json!({"apiGroups": ["metal3.io"], "apiVersions": ["v1alpha1"],
            "resources": ["baremetalhosts"]});
        let mut spec = json!({"key": "object.spec.serial",
            "matchConstraints": {"resourceRules": [rule]}});
        match field.split_once('.') {
            Some(("rule", field)) => {
                spec["matchConstraints"]["resourceRules"][0][field] = value;
            }
            Some((outer, inner)) => spec[outer][inner] = value,
            None => spec[field] = value,
        }
        let mut spec: UniquePolicySpec = serde_json::from_value(spec).unwrap();
        spec.fill_defaults();
        unique_policy(&spec, &mut Recorder::default())
            .into_iter()
            .map(|error| format!("{}: {}", error.path, error.message))
            .collect()
    }

    #[rstest]
    #[case::as_it_is("message", json!("spec.serial: is taken"))]
    #[case::both_operations("rule.operations", json!(["UPDATE", "CREATE"]))]
    #[case::all_operations("rule.operations", json!(["*"]))]
    #[case::observed("reported", json!("object.status.hardware.nics.map(nic, nic.mac)"))]
    #[case::a_field_of_that_name("key", json!("object.spec.request"))]
    fn what_can_be_kept_is_taken(#[case] field: &str, #[case] value: Value) {
        assert_eq!(found(field, value), [""; 0]);
    }

    #[rstest]
    #[case::no_key("key", json!(" "), "spec.key: Required value: say in CEL")]
    #[case::of_the_request("key", json!("request.name"), "request is not known here: the keys")]
    #[case::of_the_change("matchConditions", json!([{"name": "a", "expression": "oldObject == null"}]),
        "oldObject is not known here")]
    #[case::of_the_user("variables", json!([{"name": "a", "expression": "authorizer"}]),
        "spec.variables[0].expression: Invalid value: \"authorizer\": authorizer is not known")]
    #[case::of_status("key", json!("object.status.hardware.serial"), "must not depend on status")]
    #[case::only_creates("rule.operations", json!(["CREATE"]), "must be CREATE and UPDATE")]
    #[case::deletes("rule.operations", json!(["CREATE", "UPDATE", "DELETE"]), "must be CREATE and")]
    #[case::everything("rule.resources", json!(["*"]), "claims cannot be kept for everything")]
    #[case::every_group("rule.apiGroups", json!(["*"]), "claims cannot be kept for everything")]
    #[case::a_part("rule.resources", json!(["baremetalhosts/status"]), "must not be a subresource")]
    #[case::some_names("rule.resourceNames", json!(["a"]), "says nothing of the others")]
    #[case::some_namespaces("matchConstraints.namespaceSelector", json!({"matchLabels": {"a": "b"}}),
        "whoever labels a namespace")]
    #[case::one_version("matchConstraints.matchPolicy", json!("Exact"), "would escape")]
    #[case::line_break("message", json!("a\nb"), "must not contain line breaks")]
    fn what_would_escape_is_refused(
        #[case] field: &str,
        #[case] value: Value,
        #[case] expected: &str,
    ) {
        let found = found(field, value);
        assert!(found.iter().any(|it| it.contains(expected)), "{found:?}");
    }

    #[test]
    fn a_variable_does_not_hide_status() {
        let variables = json!([{"name": "a", "expression": "object.status.a"},
            {"name": "b", "expression": "variables.a"}]);
        let spec = json!({"key": "variables.b", "reported": "variables.a", "variables": variables});
        let spec: UniquePolicySpec = serde_json::from_value(spec).unwrap();
        let errors = of_status(&spec, &FieldPath::new("spec"));
        assert_eq!(errors.len(), 1);
        assert_eq!((errors[0].path.to_string().as_str(), errors[0].inside), ("spec.key", Some(0)));
    }
}
