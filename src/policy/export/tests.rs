use rstest::rstest;

use super::{rewrite::before, *};
use crate::policy::{Directory, File, PolicySet};

#[rstest]
#[case::plain("object.spec.a == 1", "oldObject.spec.a == 1")]
#[case::in_has("has(object.spec.a)", "has(oldObject.spec.a)")]
#[case::both("object.a == oldObject.a", "oldObject.a == oldObject.a")]
#[case::a_field("object.object.?object.b", "oldObject.object.?object.b")]
#[case::a_text("object.a == 'object'", "oldObject.a == 'object'")]
#[case::a_raw_text("object.a.matches(r'^object$')", "oldObject.a.matches(r'^object$')")]
#[case::a_comment("object.a // the object\n == 1", "oldObject.a // the object\n == 1")]
#[case::shadowed("object.l.all(object, object.a)", "oldObject.l.all(object, object.a)")]
#[case::after_the_shadow(
    "object.l.all(object, object.a) && object.b",
    "oldObject.l.all(object, object.a) && oldObject.b"
)]
#[case::two_names(
    "object.m.all(k, object, object.a == k)",
    "oldObject.m.all(k, object, object.a == k)"
)]
#[case::the_filter_of_map_is_no_name(
    "object.l.map(x, object.b, object.c)",
    "oldObject.l.map(x, oldObject.b, oldObject.c)"
)]
#[case::optional("object.?a.optMap(object, object.b)", "oldObject.?a.optMap(object, object.b)")]
#[case::a_variable("variables.a && variables.b", "variables.a_before && variables.b")]
#[case::a_variables_field("variables.a.a", "variables.a_before.a")]
#[case::shadowed_variables("[1].all(variables, variables.a)", "[1].all(variables, variables.a)")]
#[case::ternary("true ? object : object.a", "true ? oldObject : oldObject.a")]
#[case::beyond_ascii("'é' == object.a", "'é' == oldObject.a")]
fn an_expression_is_made_about_the_stored_object(#[case] source: &str, #[case] want: &str) {
    assert_eq!(before(source, &["a".to_owned()].into()), want);
}

const POLICIES: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: small, annotations: {ironward.dev/ratcheting: 'true', kubernetes.io/description: Small.}}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [metal3.io], apiVersions: ['*'], operations: ['*'], resources: [baremetalhosts]}
  matchConditions:
  - {name: alive, expression: '!has(object.metadata.deletionTimestamp)'}
  - {name: known, expression: request.name != ''}
  variables:
  - {name: limit, expression: '3'}
  - {name: size, expression: object.spec.size}
  - {name: fits, expression: variables.size < variables.limit}
  validations:
  - {expression: 'variables.fits // yes', message: 'spec.size: is too big'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: small}
spec: {policyName: small, validationActions: [Deny]}
---
apiVersion: policies.ironward.dev/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: ours}
spec: {policyName: ours}
---
apiVersion: policies.ironward.dev/v1
kind: MutatingAdmissionPolicy
metadata: {name: ours}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [metal3.io], apiVersions: ['*'], operations: [CREATE], resources: [baremetalhosts]}
  reinvocationPolicy: Never
  mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: \"remove\", path: \"/a\"}]'}}]
";

fn compiled(content: &str) -> PolicySet {
    let user = [File { name: "a.yaml", content }];
    PolicySet::compile(&Directory { user: &user, ..Directory::default() }, &[]).unwrap()
}

#[test]
fn ratcheting_becomes_plain_cel() {
    let exported = export(compiled(POLICIES).documents());
    let policy = &exported.documents[0];
    assert_eq!(policy["metadata"]["annotations"], json!({"kubernetes.io/description": "Small."}));
    assert_eq!(
        policy["spec"]["variables"],
        json!([
            {"name": "limit", "expression": "3"},
            {"name": "size", "expression": "object.spec.size"},
            {"name": "fits", "expression": "variables.size < variables.limit"},
            {"name": "size_before", "expression": "oldObject.spec.size"},
            {"name": "fits_before", "expression": "variables.size_before < variables.limit"},
        ])
    );
    assert_eq!(
        policy["spec"]["validations"][0]["expression"],
        "(variables.fits // yes\n) || (request.operation == 'UPDATE' && \
         (!has(oldObject.metadata.deletionTimestamp)\n) && !(variables.fits_before // yes\n))"
    );
}

#[test]
fn what_only_ironward_can_run_is_left_out_and_named() {
    let exported = export(compiled(POLICIES).documents());
    let kinds: Vec<_> = exported.documents.iter().map(|it| it["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]);
    let ours = |kind: &str| (kind.to_owned(), "ours".to_owned());
    assert_eq!(
        exported.left_out,
        [ours("MutatingAdmissionPolicy"), ours("MutatingAdmissionPolicyBinding")]
    );
}

#[test]
fn what_only_warns_is_left_as_it_is() {
    let warning = POLICIES.replace("validationActions: [Deny]", "validationActions: [Warn]");
    let exported = export(compiled(&warning).documents());
    let expression = &exported.documents[0]["spec"]["validations"][0]["expression"];
    assert_eq!(expression, "variables.fits // yes");
}

#[test]
fn an_empty_selector_stays() {
    let binding = POLICIES.replace(
        "spec: {policyName: small, validationActions: [Deny]}",
        "spec: {policyName: small, validationActions: [Deny], paramRef: {selector: {}, \
         parameterNotFoundAction: Allow}}",
    );
    let exported = export(compiled(&binding).documents());
    assert_eq!(exported.documents[1]["spec"]["paramRef"]["selector"], json!({}));
}

#[test]
fn what_is_exported_compiles() {
    let exported = export(compiled(POLICIES).documents());
    let list = json!({"apiVersion": "v1", "kind": "List", "items": exported.documents});
    assert_eq!(compiled(&list.to_string()).documents().len(), 2);
}
