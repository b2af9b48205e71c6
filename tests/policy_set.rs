//! A set of policies as its callers meet it: files in, verdicts, patches, questions and rules out.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test that cannot go on fails"
)]

use std::sync::Arc;

use ironward::policy::{
    Cause, Directory, File, Kind, KnownFacts, PolicySet, Question, Request, Schemas, Tier,
    cel::{Extension, Type, Value as Cel},
};
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

fn policy(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\n\
         metadata: {{name: {name}}}\nspec:\n  matchConstraints:\n    resourceRules:\n    - \
         {{apiGroups: [metal3.io], apiVersions: ['*'], operations: ['*'], resources: \
         [baremetalhosts]}}\n{spec}\n---\napiVersion: admissionregistration.k8s.io/v1\n\
         kind: ValidatingAdmissionPolicyBinding\nmetadata: {{name: {name}}}\n\
         spec: {{policyName: {name}, validationActions: [Deny]}}\n---\n"
    )
}

fn mutating(name: &str, spec: &str) -> String {
    policy(name, spec)
        .replace("kind: Validating", "kind: Mutating")
        .replace(", validationActions: [Deny]", "")
}

fn compiled(content: &str) -> PolicySet {
    let files = [File { name: "policies.yaml", content }];
    PolicySet::compile(&Directory { user: &files, ..Directory::default() }, &[])
        .unwrap_or_else(|problems| panic!("{}", problems[0]))
}

fn review() -> Value {
    let kind = json!({"group": "metal3.io", "version": "v1alpha1", "kind": "BareMetalHost"});
    let resource =
        json!({"group": "metal3.io", "version": "v1alpha1", "resource": "baremetalhosts"});
    json!({
        "uid": "u", "kind": kind, "resource": resource, "name": "worker-0", "namespace": "metal3",
        "operation": "CREATE", "userInfo": {"username": "admin"},
        "object": {"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": "worker-0", "namespace": "metal3"}, "spec": {"online": true}},
    })
}

#[test]
fn all_violations_come_in_one_verdict() {
    let set = compiled(
        &(policy(
            "a",
            "  validations: [{expression: 'false', message: one}, {expression: 'true'}, \
         {expression: object.spec.nope == 1}, {expression: 'false', message: two, reason: Forbidden}]",
        ) + &policy("b", "  validations: [{expression: 'false', message: three}]")),
    );
    let review = review();
    let verdict =
        set.validate(&Request::from_json(&review).unwrap(), &KnownFacts::default()).unwrap();
    let found: Vec<_> = verdict
        .denials
        .iter()
        .map(|it| (it.policy.as_str(), it.validation, it.cause, it.message.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("a", Some(0), Cause::Rule, "one"),
            (
                "a",
                Some(2),
                Cause::Error,
                "expression 'object.spec.nope == 1' resulted in error: no such key: nope"
            ),
            ("a", Some(3), Cause::Rule, "two"),
            ("b", Some(0), Cause::Rule, "three"),
        ]
    );
}

#[rstest]
#[case::namespace("  validations: [{expression: \"namespaceObject.metadata.name == 'x'\"}]",
    Some(Question::Namespace("metal3".to_owned())))]
#[case::nothing("  validations: [{expression: 'true'}]", None)]
fn only_what_is_needed_is_asked(#[case] spec: &str, #[case] want: Option<Question>) {
    let set = compiled(&policy("a", spec));
    let review = review();
    let asked = set.validate(&Request::from_json(&review).unwrap(), &KnownFacts::default());
    assert_eq!(asked.err().map(|mut questions| questions.remove(0)), want);
}

#[test]
fn an_authorization_comes_back_as_a_question() {
    let rule =
        "  validations: [{expression: \"authorizer.requestResource.check('delete').allowed()\"}]";
    let set = compiled(&policy("a", rule));
    let review = review();
    let request = Request::from_json(&review).unwrap();
    let questions = set.validate(&request, &KnownFacts::default()).unwrap_err();
    let [Question::Authorization(question)] = questions.as_slice() else {
        panic!("{questions:?}");
    };
    let text = format!("{question:?}");
    assert!(text.contains("baremetalhosts") && text.contains("delete"), "{text}");
}

#[test]
fn what_is_matched_can_be_registered() {
    let inert = policy("c", "  validations: [{expression: 'true'}]");
    let inert = inert.split("---").next().unwrap();
    let content = policy(
        "a",
        "  failurePolicy: Ignore\n  validations: [{expression: 'true'}]\n  \
         matchConditions: [{name: online, expression: object.spec.online == true}]",
    ) + &mutating(
        "b",
        "  reinvocationPolicy: Never\n  mutations: [{patchType: JSONPatch, \
             jsonPatch: {expression: '[]'}}]",
    )
    .replace("operations: ['*']", "operations: [CREATE]")
        + inert;
    let content = content.replace(
        "expression: '[]'",
        "expression: 'object.spec.online == true ? [JSONPatch{}] : []'",
    );
    let set = compiled(&content);
    let rules: Vec<_> = set
        .rules()
        .map(|rule| {
            (rule.kind, rule.policy, rule.binding, rule.fails, rule.conditions.len(), rule.tier)
        })
        .collect();
    assert_eq!(
        rules,
        [
            (Kind::ValidatingAdmissionPolicy, "a", "a", false, 1, Tier::Portable),
            (Kind::MutatingAdmissionPolicy, "b", "b", true, 0, Tier::Portable),
        ]
    );
}

#[test]
fn what_is_unique_is_a_rule_without_a_binding() {
    let content = "apiVersion: policies.ironward.dev/v1\nkind: UniquePolicy\nmetadata: {name: a}\nspec:\n  \
        matchConstraints: {resourceRules: [{apiGroups: [a], apiVersions: [v1], resources: [b]}]}\n  \
        matchConditions: [{name: c, expression: object.spec.c == 1}]\n  key: object.spec.a\n";
    let set = compiled(content);
    let rules: Vec<_> = set.rules().collect();
    assert_eq!(rules.len(), 1);
    assert!(rules[0].fails && rules[0].denies && rules[0].kind == Kind::UniquePolicy);
    assert_eq!(rules[0].constraints.resource_rules[0].operations, ["CREATE", "UPDATE"]);
    assert_eq!((rules[0].conditions.len(), set.unique()[0].name()), (1, "a"));
}

#[test]
fn every_problem_of_every_file_is_reported_with_its_place() {
    let first = policy(
        "a",
        "  validations:\n  - expression: |\n      object.spec.online &&\n        objct.x",
    );
    let second = policy("b", "  validatons: []");
    let files =
        [File { name: "1.yaml", content: &first }, File { name: "2.yaml", content: &second }];
    let directory = Directory { user: &files, ..Directory::default() };
    let problems = PolicySet::compile(&directory, &[]).unwrap_err();
    let places: Vec<_> = problems
        .iter()
        .map(|problem| (problem.file.as_str(), problem.place.line, problem.place.column))
        .collect();
    assert_eq!(places[0], ("1.yaml", 11, 9));
    assert!(problems[0].message.contains("undeclared reference to 'objct'"), "{}", problems[0]);
    assert_eq!(problems[0].suggestion.as_deref().map(|it| it.contains("object")), Some(true));
    assert_eq!(places[1].0, "2.yaml");
    assert_eq!(problems[1].suggestion.as_deref(), Some("did you mean \"validations\"?"));
}

#[test]
fn functions_of_ours_are_known_in_the_extended_tier_only() {
    let extension = Arc::new(Extension {
        name: "mac.canonical",
        args: vec![Type::String],
        result: Type::String,
        call: |args| match args {
            [Cel::String(text)] => Ok(Cel::text(text.to_lowercase())),
            _ => Err("no such overload".to_owned()),
        },
        cost: |_| 1,
    });
    let portable = policy(
        "a",
        "  validations: [{expression: \"mac.canonical('A') == 'b'\", message: refused}]",
    );
    let compile = |content: &str| {
        let files = [File { name: "a.yaml", content }];
        let directory = Directory { user: &files, ..Directory::default() };
        PolicySet::compile(&directory, &[Arc::clone(&extension)])
    };
    let problems = compile(&portable).unwrap_err();
    assert!(problems[0].message.contains("undeclared reference"), "{}", problems[0]);
    let extended = portable.replace("admissionregistration.k8s.io/v1", "policies.ironward.dev/v1");
    let set = compile(&extended).unwrap();
    let review = review();
    let verdict =
        set.validate(&Request::from_json(&review).unwrap(), &KnownFacts::default()).unwrap();
    assert_eq!(verdict.denials[0].message, "refused");
}

#[test]
fn an_apply_configuration_needs_the_schema_and_a_json_patch_does_not() {
    let apply = mutating(
        "a",
        "  reinvocationPolicy: Never\n  failurePolicy: Ignore\n  mutations: \
         [{patchType: ApplyConfiguration, applyConfiguration: {expression: \
         'Object{spec: Object.spec{online: false}}'}}]",
    )
    .replace("['*'], resources", "[CREATE], resources");
    let review = review();
    let request = Request::from_json(&review).unwrap();
    let mutated =
        compiled(&apply).mutate(&request, &KnownFacts::default(), &Schemas::default()).unwrap();
    let refusal = mutated.as_api_server().unwrap();
    assert_eq!(refusal.code, 503);
    assert_eq!(
        refusal.message,
        "Resource kind metal3.io/v1alpha1, Kind=BareMetalHost not found. There can be a delay \
         between when CustomResourceDefinitions are created and when they are available."
    );
    let patch =
        apply.replace("ApplyConfiguration, applyConfiguration", "JSONPatch, jsonPatch").replace(
            "Object{spec: Object.spec{online: false}}",
            "[JSONPatch{op: \"replace\", path: \"/spec/online\", value: false}]",
        );
    let mutated =
        compiled(&patch).mutate(&request, &KnownFacts::default(), &Schemas::default()).unwrap();
    assert_eq!(
        json!(mutated.patch(&request)),
        json!([{"op": "replace", "path": "/spec/online", "value": false}])
    );
}

#[rstest]
#[case::objects_in_a_list(
    "[JSONPatch{op: \"add\", path: \"/spec/a\", value: [Object.spec.a{b: 1}]}]"
)]
#[case::objects_in_a_map(
    "[JSONPatch{op: \"add\", path: \"/spec/a\", value: {\"x\": Object.spec.a.x{b: 1}}}]"
)]
fn what_makes_the_api_server_panic_is_an_error(#[case] expression: &str) {
    let spec = format!(
        "  reinvocationPolicy: Never\n  mutations: [{{patchType: JSONPatch, jsonPatch: \
         {{expression: '{expression}'}}}}]"
    );
    let set = compiled(&mutating("a", &spec).replace("['*'], resources", "[CREATE], resources"));
    let review = review();
    let request = Request::from_json(&review).unwrap();
    let mutated = set.mutate(&request, &KnownFacts::default(), &Schemas::default()).unwrap();
    assert!(mutated.denials[0].message.contains("is not assignable"), "{mutated:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Nothing that can be written in a file makes the reader panic.
    #[test]
    fn any_text_is_read_or_refused(content in "[-a-zA-Z0-9:{}\\[\\]'\"|>&*#,.%\n \t]{0,200}") {
        let files = [File { name: "a.yaml", content: &content }];
        let _ = PolicySet::compile(&Directory { user: &files, ..Directory::default() }, &[]);
    }

    /// Nor does anything in place of an expression.
    #[test]
    fn any_expression_is_compiled_or_refused(expression in "[a-z0-9.()'\"+*/<>=!&|?:\\[\\]{} ]{0,60}") {
        let content = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": "a"},
            "spec": {"matchConstraints": {"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"],
                "operations": ["*"], "resources": ["*"]}]}, "validations": [{"expression": expression}]}
        }).to_string();
        let files = [File { name: "a.json", content: &content }];
        let directory = Directory { user: &files, ..Directory::default() };
        if let Err(problems) = PolicySet::compile(&directory, &[]) {
            prop_assert!(!problems[0].to_string().is_empty());
        }
    }

    /// A request is whatever someone sends.
    #[test]
    fn any_request_is_answered(operation in "CREATE|UPDATE|DELETE|CONNECT|x", object in ".{0,20}") {
        let mut review = review();
        review["operation"] = json!(operation);
        review["object"] = json!({"metadata": object, "spec": [object]});
        let set = compiled(&policy("a", "  validations: [{expression: object.metadata.name == 'x'}]"));
        if let Ok(request) = Request::from_json(&review) {
            prop_assert!(set.validate(&request, &KnownFacts::default()).is_ok());
        }
    }
}
