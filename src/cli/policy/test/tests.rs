use super::*;

const POLICY: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: online}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [metal3.io], apiVersions: ['*'], operations: [CREATE], resources: [baremetalhosts]}
  validations:
  - {expression: object.spec.online == true, message: 'spec.online: must be true'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: online}
spec: {policyName: online, validationActions: [Deny]}
";
const GIVEN: &str = "
given:
  object: {apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: a}, spec: {online: true}}
cases:
- {name: online, expect: Allow}
";
const REFUSED: &str = "- {name: offline, object: {spec: {online: false}}, expect: Deny}\n";
const WRONG: &str = "- {name: \"<wrong>\", object: {spec: {online: false}}, expect: Allow}\n";

struct Ran {
    done: Result<(), Error>,
    out: String,
    junit: String,
}

fn run_on(files: &[(&str, &str)], require_coverage: bool) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        fs::write(folder.path().join(name), content).unwrap();
    }
    let junit = folder.path().join("results.xml");
    let args = Args {
        paths: vec![folder.path().to_owned()],
        junit: Some(junit.clone()),
        require_coverage,
    };
    let mut out = Vec::new();
    let done = run(&args, &mut out);
    Ran {
        done,
        out: String::from_utf8(out).unwrap(),
        junit: fs::read_to_string(junit).unwrap_or_default(),
    }
}

#[test]
fn what_passes_is_counted() {
    let tests = format!("{GIVEN}{REFUSED}");
    let ran = run_on(&[("a.yaml", POLICY), ("a.test.yaml", &tests)], true);
    assert!(ran.done.is_ok());
    assert_eq!(ran.out, "online  2 cases, acts in 1\n2 of 2 cases in 1 file as expected\n");
    assert!(ran.junit.contains("tests=\"2\" failures=\"0\""), "{}", ran.junit);
}

#[test]
fn what_fails_is_shown_with_its_line() {
    let tests = format!("{GIVEN}{WRONG}");
    let ran = run_on(&[("a.yaml", POLICY), ("a.test.yaml", &tests)], false);
    assert_eq!(ran.done.unwrap_err().to_string(), "1 case failed");
    let want = "a.test.yaml:6: <wrong>\n  verdict: expected Allow, got Deny\n    \
                denied by online: spec.online: must be true\n";
    assert!(ran.out.contains(want), "{}", ran.out);
    assert!(ran.junit.contains("name=\"&lt;wrong&gt;\""), "{}", ran.junit);
    assert!(ran.junit.contains("<failure message=\"verdict: expected Allow, got Deny\">"));
}

#[test]
fn a_policy_that_never_acts_is_reported_and_fails_if_that_is_asked_for() {
    let files = [("a.yaml", POLICY), ("a.test.yaml", GIVEN)];
    let ran = run_on(&files, false);
    assert!(ran.done.is_ok());
    assert!(ran.out.contains("online  1 case, never denies, warns or changes anything"));
    let ran = run_on(&files, true);
    assert_eq!(ran.done.unwrap_err().to_string(), "1 policy is never seen to act");
}

#[test]
fn a_policy_without_a_test_file_is_reported_too() {
    let other = POLICY
        .replace("name: online", "name: other")
        .replace("policyName: online", "policyName: other");
    let tests = format!("{GIVEN}{REFUSED}");
    let files = [("a.yaml", POLICY), ("a.test.yaml", tests.as_str()), ("b.yaml", other.as_str())];
    let ran = run_on(&files, true);
    assert!(ran.out.contains("other   0 cases, never denies"), "{}", ran.out);
    assert_eq!(ran.done.unwrap_err().to_string(), "1 policy is never seen to act");
}

#[test]
fn all_policies_take_in_the_shipped_ones() {
    let tests = format!(
        "policies: all\n{GIVEN}- name: shipped\n  object: {{spec: {{bmc: {{address: 'redfsh://a'}}}}}}\n  \
         expect: {{messages: [/is not a kind of BMC/]}}\n"
    );
    let ran = run_on(&[("a.yaml", POLICY), ("a.test.yaml", &tests)], false);
    assert!(ran.done.is_ok(), "{}", ran.out);
    // They are tested elsewhere.
    assert!(!ran.out.contains("host-bmc-address"), "{}", ran.out);
}

#[test]
fn a_test_without_its_policy_file_says_which_it_wants() {
    let ran = run_on(&[("b.test.yaml", GIVEN)], false);
    let error = ran.done.unwrap_err().to_string();
    assert!(error.contains("b.yaml, which is not there"), "{error}");
}

#[test]
fn a_shipped_policy_can_be_bound_anew() {
    let binding = "apiVersion: policies.ironward.dev/v1\nkind: ValidatingAdmissionPolicyBinding\n\
        metadata: {name: host-bmc-address}\n\
        spec: {policyName: host-bmc-address, validationActions: [Warn]}\n";
    let tests = format!(
        "{GIVEN}- name: warned\n  object: {{spec: {{bmc: {{address: 'redfsh://a'}}}}}}\n  expect: Warn\n"
    );
    let ran = run_on(&[("a.yaml", binding), ("a.test.yaml", &tests)], false);
    assert!(ran.done.is_ok(), "{}", ran.out);
}
