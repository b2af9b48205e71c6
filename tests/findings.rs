//! What the extended tier adds to Kubernetes' verdicts: several messages of one rule, and ratcheting.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use ironward::policy::{
    Cause, Directory, File, KnownFacts, PolicySet, Problem, Request, Verdict, extensions,
};
use rstest::rstest;
use serde_json::{Value, json};

const PORTABLE: &str = "admissionregistration.k8s.io/v1";
const EXTENDED: &str = "policies.ironward.dev/v1";

/// A policy on hosts with one rule, and its binding.
struct Policy<'a> {
    group: &'a str,
    annotation: &'a str,
    condition: &'a str,
    rule: &'a str,
    on_error: &'a str,
    action: &'a str,
}

const RATCHETING: Policy<'_> = Policy {
    group: PORTABLE,
    annotation: "ironward.dev/ratcheting: 'true'",
    condition: "'true'",
    rule: "{expression: 'object.spec.n < 3', message: 'spec.n: is too big'}",
    on_error: "Fail",
    action: "Deny",
};

impl Policy<'_> {
    fn text(&self) -> String {
        let Self { group, annotation, condition, rule, on_error, action } = self;
        format!(
            "apiVersion: {group}\nkind: ValidatingAdmissionPolicy\n\
             metadata: {{name: p, annotations: {{{annotation}}}}}\nspec:\n  \
             failurePolicy: {on_error}\n  matchConstraints: {{resourceRules: [{{apiGroups: \
             ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*']}}]}}\n  \
             matchConditions: [{{name: c, expression: {condition}}}]\n  \
             validations: [{rule}]\n---\napiVersion: {group}\n\
             kind: ValidatingAdmissionPolicyBinding\nmetadata: {{name: b}}\n\
             spec: {{policyName: p, validationActions: [{action}]}}\n"
        )
    }

    fn compiled(&self) -> Result<PolicySet, Vec<Problem>> {
        let content = self.text();
        let user = [File { name: "p.yaml", content: &content }];
        PolicySet::compile(&Directory { user: &user, ..Directory::default() }, &extensions())
    }

    /// Of an update from one `spec` to another.
    fn on_update(&self, from: &Value, to: &Value) -> Verdict {
        let set = self.compiled().unwrap_or_else(|problems| panic!("{}", problems[0]));
        let host = |spec: &Value| json!({"metadata": {"name": "worker-0"}, "spec": spec});
        let raw = json!({
            "kind": {"group": "metal3.io", "version": "v1alpha1", "kind": "BareMetalHost"},
            "resource": {"group": "metal3.io", "version": "v1alpha1", "resource": "baremetalhosts"},
            "name": "worker-0", "namespace": "metal3", "operation": "UPDATE",
            "object": host(to), "oldObject": host(from),
        });
        let request = Request::from_json(&raw).unwrap();
        set.validate(&request, &KnownFacts::default()).unwrap()
    }
}

fn denials(verdict: &Verdict) -> Vec<&str> {
    verdict.denials.iter().map(|denial| denial.message.as_str()).collect()
}

fn warnings(verdict: &Verdict) -> Vec<&str> {
    verdict.warnings.iter().map(|warning| warning.message.as_str()).collect()
}

const STORED: &str = "(the stored object already has this, so the update is not refused)";

#[test]
fn what_was_stored_already_only_warns() {
    let verdict = RATCHETING.on_update(&json!({"n": 5}), &json!({"n": 7}));
    assert_eq!(denials(&verdict), Vec::<&str>::new());
    assert_eq!(warnings(&verdict), [format!("spec.n: is too big {STORED}")]);
}

#[test]
fn what_the_update_brings_is_denied() {
    let verdict = RATCHETING.on_update(&json!({"n": 1}), &json!({"n": 7}));
    assert_eq!(denials(&verdict), ["spec.n: is too big"]);
    assert_eq!(warnings(&verdict), Vec::<&str>::new());
}

#[test]
fn without_the_annotation_kubernetes_rule_stands() {
    for annotation in ["", "ironward.dev/ratcheting: 'false'"] {
        let policy = Policy { annotation, ..RATCHETING };
        let verdict = policy.on_update(&json!({"n": 5}), &json!({"n": 7}));
        assert_eq!(denials(&verdict), ["spec.n: is too big"], "{annotation}");
    }
}

#[test]
fn a_rule_about_the_change_is_not_let_through() {
    let rule = "{expression: 'object.spec.n == oldObject.spec.n', message: 'spec.n: is fixed'}";
    let verdict = Policy { rule, ..RATCHETING }.on_update(&json!({"n": 5}), &json!({"n": 7}));
    assert_eq!(denials(&verdict), ["spec.n: is fixed"]);
}

#[test]
fn an_object_that_the_policy_did_not_look_at_had_no_violation() {
    let condition = "object.spec.on == true";
    let (from, to) = (json!({"n": 5, "on": false}), json!({"n": 5, "on": true}));
    let verdict = Policy { condition, ..RATCHETING }.on_update(&from, &to);
    assert_eq!(denials(&verdict), ["spec.n: is too big"]);
}

#[rstest]
#[case::that_denies("Fail")]
#[case::that_is_ignored("Ignore")]
fn a_stored_object_that_cannot_be_judged_counts_as_violating(#[case] on_error: &str) {
    let verdict = Policy { on_error, ..RATCHETING }.on_update(&json!({"n": "a"}), &json!({"n": 7}));
    assert_eq!(denials(&verdict), Vec::<&str>::new());
    assert_eq!(warnings(&verdict), [format!("spec.n: is too big {STORED}")]);
}

#[test]
fn a_rule_that_warns_anyway_says_it_once_and_as_it_is() {
    let policy = Policy { action: "Warn", ..RATCHETING };
    let verdict = policy.on_update(&json!({"n": 5}), &json!({"n": 7}));
    assert_eq!(warnings(&verdict), ["spec.n: is too big"]);
}

const LISTING: Policy<'_> = Policy {
    group: EXTENDED,
    annotation: "",
    rule: "{expression: 'object.spec.names.all(n, n.size() < 3)', messageExpression: \
           \"object.spec.names.filter(n, n.size() >= 3).map(n, 'spec.names: ' + n + ' is too \
           long')\"}",
    ..RATCHETING
};

#[test]
fn each_message_of_a_list_is_a_denial() {
    let to = json!({"names": ["abc", "a", "defg"]});
    let verdict = LISTING.on_update(&json!({"names": []}), &to);
    assert_eq!(denials(&verdict), ["spec.names: abc is too long", "spec.names: defg is too long"]);
    assert!(verdict.denials.iter().all(|denial| denial.validation == Some(0)));
}

#[test]
fn an_empty_list_falls_back_to_the_rule() {
    let rule = "{expression: 'false', messageExpression: '[].map(n, string(n))'}";
    let verdict = Policy { rule, ..LISTING }.on_update(&json!({}), &json!({}));
    assert_eq!(denials(&verdict), ["failed expression: false"]);
    assert_eq!(verdict.denials[0].cause, Cause::Rule);
}

#[test]
fn of_a_list_only_what_was_stored_warns() {
    let policy = Policy { annotation: RATCHETING.annotation, ..LISTING };
    let (from, to) = (json!({"names": ["abc"]}), json!({"names": ["abc", "defg"]}));
    let verdict = policy.on_update(&from, &to);
    assert_eq!(denials(&verdict), ["spec.names: defg is too long"]);
    assert_eq!(warnings(&verdict), [format!("spec.names: abc is too long {STORED}")]);
}

#[test]
fn in_the_portable_tier_a_message_is_one_text() {
    let problems = Policy { group: PORTABLE, ..LISTING }.compiled().unwrap_err();
    assert!(problems[0].message.contains("must evaluate to string"), "{}", problems[0]);
}
