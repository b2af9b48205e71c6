use super::*;
use std::fs;

const HOSTS: &str = "
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {name: good}
spec: {online: true, bmc: {address: 'ipmi://192.0.2.1', credentialsName: a}}
---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {name: bad}
spec: {online: true, bootMacAddress: 'a', bmc: {address: 'redfsh://192.0.2.1', credentialsName: a}}
";
const RULE: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: labelled}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {guarded: 'true'}}
    resourceRules:
    - {apiGroups: [metal3.io], apiVersions: ['*'], operations: ['*'], resources: [baremetalhosts]}
  validations:
  - {expression: request.userInfo.username == 'root', message: only root}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: labelled}
spec: {policyName: labelled, validationActions: [Deny]}
";

const TWINS: &str = "
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {name: one}
spec: {online: true, bootMACAddress: '52:54:00:ab:cd:ef'}
---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {name: other}
spec: {online: true, bootMACAddress: '52-54-00-AB-CD-EF'}
";

#[test]
fn the_second_of_two_with_one_key_is_denied() {
    let (result, text) = Setup { files: &[("hosts.yaml", TWINS)], ..SETUP }.run();
    assert!(matches!(result, Err(Error::Denied(_))), "{text}");
    assert!(text.contains("BareMetalHost metal3/one: fine"), "{text}");
    assert!(text.contains("'52:54:00:ab:cd:ef' belongs to BareMetalHost metal3/one"), "{text}");
}

#[test]
fn what_is_stored_has_its_keys() {
    let (first, second) = TWINS.split_once("---").unwrap();
    let files = [("hosts.yaml", second), ("stored.yaml", first)];
    let setup = Setup { files: &files, old: &["stored.yaml"], ..SETUP };
    let (result, text) = setup.run();
    assert!(matches!(result, Err(Error::Denied(_))), "{text}");
}

struct Setup<'a> {
    /// Paths below a folder, and what is there.
    files: &'a [(&'a str, &'a str)],
    filename: &'a [&'a str],
    old: &'a [&'a str],
    policy_dir: &'a [&'a str],
    stdin: &'a str,
    output: Output,
    username: &'a str,
}

const SETUP: Setup<'_> = Setup {
    files: &[("hosts.yaml", HOSTS)],
    filename: &["hosts.yaml"],
    old: &[],
    policy_dir: &[],
    stdin: "",
    output: Output::Text,
    username: "bob",
};

impl Setup<'_> {
    fn run(&self) -> (Result<(), Error>, String) {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in self.files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let paths = |names: &[&str]| {
            names
                .iter()
                .map(|name| if *name == "-" { "-".into() } else { folder.path().join(name) })
                .collect::<Vec<PathBuf>>()
        };
        let args = Args {
            filename: paths(self.filename),
            old: paths(self.old),
            namespace: "metal3".to_owned(),
            username: self.username.to_owned(),
            groups: Vec::new(),
            policies: PolicyDir { policy_dir: paths(self.policy_dir) },
            output: self.output,
        };
        let mut out = Vec::new();
        let done = run(&args, self.stdin.as_bytes(), &mut out);
        let out = String::from_utf8(out).unwrap();
        (done, out.replace(&format!("{}/", folder.path().display()), ""))
    }
}

#[test]
fn what_would_be_denied_is_said_with_its_place() {
    let (done, out) = SETUP.run();
    assert_eq!(done.unwrap_err().to_string(), "1 of 2 objects would be denied");
    assert!(out.contains("hosts.yaml:2: BareMetalHost metal3/good: fine\n"), "{out}");
    assert!(out.contains("hosts.yaml:7: BareMetalHost metal3/bad: denied\n"), "{out}");
    assert!(out.contains("  denied: spec.bmc.address: `redfsh` is not"), "{out}");
}

#[test]
fn a_misspelt_field_is_a_warning() {
    let (_, out) = SETUP.run();
    let want =
        "  warning: spec.bootMacAddress: there is no such field, did you mean `bootMACAddress`?";
    assert!(out.contains(want), "{out}");
}

#[test]
fn programs_get_fields_and_messages_apart() {
    let (_, out) = Setup { output: Output::Json, ..SETUP }.run();
    let list: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(list[0]["allowed"], true);
    assert_eq!(list[1]["denials"][0]["field"], "spec.bmc.address");
    assert_eq!(list[1]["denials"][0]["policy"], "host-bmc-address");
    assert_eq!(list[1]["line"], 7);
}

#[test]
fn what_is_stored_makes_an_update_of_it() {
    let (done, out) = Setup { old: &["hosts.yaml"], ..SETUP }.run();
    assert!(done.is_ok(), "{out}");
    assert!(out.contains("already has this"), "{out}");
}

#[test]
fn folders_are_read_to_the_bottom_and_standard_input_too() {
    let files =
        [("a/b/hosts.yml", HOSTS), ("a/values.yaml", "replicas: 1\n"), ("a/notes.txt", "[")];
    let (_, out) = Setup { files: &files, filename: &["a", "-"], stdin: HOSTS, ..SETUP }.run();
    assert!(out.contains("a/values.yaml:1: not an object of Kubernetes, skipped\n"), "{out}");
    assert!(out.contains("-:2: BareMetalHost metal3/good"), "{out}");
    assert!(out.contains("4 objects: 2 denied"), "{out}");
}

#[test]
fn what_only_a_cluster_knows_is_said_and_not_guessed() {
    let files = [("hosts.yaml", HOSTS), ("policies/rule.yaml", RULE)];
    let setup = Setup { files: &files, policy_dir: &["policies"], ..SETUP };
    let (_, out) = setup.run();
    let want = "  not known without a cluster: the labels of namespace metal3 (labelled)\n";
    assert!(out.contains(want), "{out}");

    let namespace =
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: metal3, labels: {guarded: 'true'}}\n";
    let files = [("hosts.yaml", HOSTS), ("policies/rule.yaml", RULE), ("ns.yaml", namespace)];
    let setup = Setup { files: &files, filename: &["hosts.yaml", "ns.yaml"], ..setup };
    let (_, out) = setup.run();
    assert!(out.contains("  denied: only root (labelled)\n"), "{out}");
    let (_, out) = Setup { username: "root", ..setup }.run();
    assert!(!out.contains("only root"), "{out}");
}

#[test]
fn a_text_that_is_no_yaml_is_an_error_with_its_place() {
    let (done, _) = Setup { files: &[("hosts.yaml", "a: [\n")], ..SETUP }.run();
    let error = done.unwrap_err().to_string();
    assert!(error.contains("hosts.yaml:1:4"), "{error}");
}

#[test]
fn nothing_to_evaluate_is_an_error() {
    let (done, _) = Setup { files: &[("hosts.yaml", "a: 1\n")], ..SETUP }.run();
    assert!(done.unwrap_err().to_string().starts_with("no objects in "));
}
