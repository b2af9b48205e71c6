use serde_json::json;

use super::*;
use crate::policy::{Directory, File};

const RULES: &str = "
  matchConstraints:
    resourceRules:
    - {apiGroups: [metal3.io], apiVersions: ['*'], operations: ['*'], resources: [baremetalhosts]}
";

fn set(policies: &[(&str, &str, &str, &str)]) -> PolicySet {
    let contents: Vec<String> = policies
        .iter()
        .map(|(kind, name, spec, binding)| {
            format!(
                "apiVersion: admissionregistration.k8s.io/v1\nkind: {kind}AdmissionPolicy\n\
                 metadata: {{name: {name}}}\nspec:{RULES}{spec}\n---\n\
                 apiVersion: admissionregistration.k8s.io/v1\nkind: {kind}AdmissionPolicyBinding\n\
                 metadata: {{name: {name}}}\nspec: {{policyName: {name}{binding}}}\n---\n"
            )
        })
        .collect();
    let content = contents.concat();
    let user = [File { name: "a.yaml", content: &content }];
    PolicySet::compile(&Directory { user: &user, ..Directory::default() }, &[]).unwrap()
}

fn review() -> Value {
    let host = json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": "worker-0", "namespace": "metal3"}, "spec": {"online": true},
    });
    Attempt { object: Some(host), ..Attempt::default() }.review().unwrap()
}

const DEFAULT: (&str, &str, &str, &str) = (
    "Mutating",
    "default",
    "  reinvocationPolicy: Never\n  mutations: [{patchType: JSONPatch, jsonPatch: {expression: \
     '[JSONPatch{op: \"add\", path: \"/spec/mode\", value: \"metadata\"}]'}}]",
    "",
);
const MODE: (&str, &str, &str, &str) = (
    "Validating",
    "mode",
    "  validations: [{expression: 'object.spec.mode == \"disabled\"', message: 'spec.mode: no'}]",
    ", validationActions: [Deny]",
);
const NAMESPACE: (&str, &str, &str, &str) = (
    "Validating",
    "namespace",
    "  validations: [{expression: 'has(namespaceObject.metadata.labels)', message: 'no labels'}]",
    ", validationActions: [Deny]",
);
const ALLOWED: (&str, &str, &str, &str) = (
    "Validating",
    "allowed",
    "  validations: [{expression: 'authorizer.group(\"\").resource(\"nodes\").check(\"get\")\
     .allowed()', message: 'may not'}]",
    ", validationActions: [Deny]",
);

fn tried(set: &PolicySet, surroundings: &Surroundings) -> Tried {
    let review = review();
    let request = Request::from_json(&review).unwrap();
    try_out(set, &Schemas::default(), &request, surroundings)
}

#[test]
fn what_is_validated_is_the_changed_object() {
    let tried = tried(&set(&[DEFAULT, MODE]), &Surroundings::default());
    assert_eq!(tried.changed_by, ["default"]);
    assert_eq!(tried.object.as_ref().unwrap()["spec"]["mode"], "metadata");
    assert_eq!(tried.denials().collect::<Vec<_>>(), [("mode", "spec.mode: no")]);
}

#[test]
fn a_policy_that_cannot_be_decided_leaves_the_others_alone() {
    let tried = tried(&set(&[MODE, NAMESPACE, ALLOWED]), &Surroundings::default());
    let unknown: Vec<&str> = tried.unknown.iter().map(|it| it.policy.as_str()).collect();
    assert_eq!(unknown, ["allowed", "namespace"]);
    // What is not there is an error of the rule, and said.
    assert_eq!(tried.denials().map(|(policy, _)| policy).collect::<Vec<_>>(), ["mode"]);
}

#[test]
fn what_is_known_around_it_decides() {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "metal3", "labels": {"a": "b"}}});
    let surroundings = Surroundings {
        objects: vec![namespace],
        authorized: Authorized::To(vec![Permission {
            verb: "get".to_owned(),
            resource: "nodes".to_owned(),
            ..Permission::default()
        }]),
        stored: Vec::new(),
        is_complete: false,
    };
    let tried = tried(&set(&[NAMESPACE, ALLOWED]), &surroundings);
    assert!(tried.unknown.is_empty() && tried.allows(), "{tried:?}");
}

#[test]
fn what_nobody_permits_is_forbidden() {
    let surroundings =
        Surroundings { authorized: Authorized::To(Vec::new()), ..Surroundings::default() };
    let tried = tried(&set(&[ALLOWED]), &surroundings);
    assert_eq!(tried.denials().collect::<Vec<_>>(), [("allowed", "may not")]);
}
