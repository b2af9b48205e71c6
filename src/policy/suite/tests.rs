use rstest::rstest;

use super::*;
use crate::policy::{Directory, File};

const POLICY: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: small}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [metal3.io], apiVersions: ['*'], operations: ['*'], resources: [baremetalhosts]}
  validations:
  - expression: request.operation == 'DELETE' || object.spec.size < 3
    message: 'spec.size: is too big'
  - expression: request.operation != 'DELETE' || request.userInfo.username == 'root'
    message: only root deletes
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: small}
spec: {policyName: small, validationActions: [Deny]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: default}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [metal3.io], apiVersions: ['*'], operations: [CREATE], resources: [baremetalhosts]}
  reinvocationPolicy: Never
  mutations:
  - patchType: JSONPatch
    jsonPatch: {expression: '[JSONPatch{op: \"add\", path: \"/spec/online\", value: true}]'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: default}
spec: {policyName: default}
";

const GIVEN: &str = "
given:
  object:
    apiVersion: metal3.io/v1alpha1
    kind: BareMetalHost
    metadata: {name: worker-0}
    spec: {size: 1}
cases:
";

fn set() -> PolicySet {
    let user = [File { name: "a.yaml", content: POLICY }];
    PolicySet::compile(&Directory { user: &user, ..Directory::default() }, &[]).unwrap()
}

fn ran(case: &str) -> Ran {
    let suite = read("a.test.yaml", &format!("{GIVEN}{case}")).unwrap();
    suite.cases[0].run(&set(), &Schemas::default())
}

#[rstest]
#[case::allow("- {name: a, expect: Allow}")]
#[case::deny("- {name: a, object: {spec: {size: 5}}, expect: Deny}")]
#[case::message(
    "- {name: a, object: {spec: {size: 5}}, expect: {messages: ['spec.size: is too big']}}"
)]
#[case::expression("- {name: a, object: {spec: {size: 5}}, expect: {messages: [/big$/]}}")]
#[case::object("- {name: a, expect: {object: {spec: {online: true, gone: null}}}}")]
#[case::patch("- {name: a, expect: {patch: {spec: {online: true}}}}")]
#[case::no_patch("- {name: a, oldObject: {}, object: {}, expect: {patch: {}}}")]
#[case::delete("- {name: a, oldObject: {}, expect: {messages: [only root deletes]}}")]
#[case::user("- {name: a, oldObject: {}, user: {username: root}, expect: Allow}")]
#[case::operation("- {name: a, operation: DELETE, expect: Deny}")]
fn what_is_as_expected_passes(#[case] case: &str) {
    assert_eq!(ran(case).failures, Vec::<String>::new());
}

#[rstest]
#[case::verdict(
    "- {name: a, object: {spec: {size: 5}}, expect: Allow}",
    "verdict: expected Allow, got Deny\n  denied by small: spec.size: is too big"
)]
#[case::message(
    "- {name: a, object: {spec: {size: 5}}, expect: {messages: [other]}}",
    "messages (- expected, + said instead):\n  - other\n  + spec.size: is too big"
)]
#[case::object(
    "- {name: a, expect: {object: {spec: {online: false, size: null}}}}",
    "object:\n  spec.online: expected false, got true\n  spec.size: expected nothing, got 1"
)]
#[case::patch(
    "- {name: a, expect: {patch: {}}}",
    "patch:\n  spec.online: expected nothing, got true"
)]
fn what_is_not_is_shown(#[case] case: &str, #[case] want: &str) {
    assert_eq!(ran(case).failures, [want]);
}

#[test]
fn those_that_acted_are_known() {
    assert_eq!(
        ran("- {name: a, object: {spec: {size: 5}}, expect: Deny}").acted,
        ["default", "small"]
    );
    assert_eq!(ran("- {name: a, oldObject: {}, object: {}, expect: Allow}").acted, [""; 0]);
}

#[rstest]
#[case::word("- {name: a, expct: Allow}", "expct", "did you mean \"expect\"?")]
#[case::verdict("- {name: a, expect: Denny}", "expect", "did you mean \"Deny\"?")]
#[case::operation(
    "- {name: a, operation: CREAT, expect: Allow}",
    "operation",
    "did you mean \"CREATE\"?"
)]
fn a_mistake_is_placed_and_what_was_meant_said(
    #[case] case: &str,
    #[case] field: &str,
    #[case] help: &str,
) {
    let problems = read("a.test.yaml", &format!("{GIVEN}{case}")).unwrap_err();
    assert!(problems[0].field.contains(field), "{}", problems[0]);
    assert_eq!(problems[0].suggestion.as_deref(), Some(help));
    assert_eq!(problems[0].place.line, 9);
}

#[rstest]
#[case::no_cases("given: {}", "cases")]
#[case::no_name("cases: [{expect: Allow}]", "cases[0].name")]
#[case::no_expectation("cases: [{name: a}]", "cases[0].expect")]
#[case::no_expression(
    "cases: [{name: a, expect: {messages: ['/(/']}}]",
    "cases[0].expect.messages"
)]
#[case::policies("policies: some\ncases: []", "policies")]
fn what_is_missing_is_said(#[case] content: &str, #[case] field: &str) {
    let problems = read("a.test.yaml", content).unwrap_err();
    assert_eq!(problems[0].field, field);
}

#[test]
fn a_test_file_knows_its_policies() {
    assert_eq!(policy_file("host.test.yaml"), Some("host"));
    assert_eq!(policy_file("host.yaml"), None);
    assert_eq!(policy_file(".test.yaml"), None);
}
