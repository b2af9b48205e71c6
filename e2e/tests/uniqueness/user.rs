//! A constraint that a user writes, on a kind that Ironward knows nothing of, with duplicates that were there before.

use crate::stage::{CREATE, alone, claims, guard, unguarded, until};
use ironward_e2e::{
    ironward::{Options, binary},
    kubectl::{Kubectl, run},
};
use std::{fs, process::Command};

const POLICY: &str = "\
apiVersion: policies.ironward.dev/v1
kind: UniquePolicy
metadata: {name: unique-serial}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  matchConditions:
  - {name: inventory, expression: \"object.metadata.?labels[?'inventory'].hasValue()\"}
  variables:
  - {name: serials, expression: \"object.?data.?serials.orValue('').split(',')\"}
  key: variables.serials.map(serial, serial.trim().upperAscii())
  messageExpression: \"'data.serials: ' + key + ' is in the inventory of ' + holder.namespace + '/' + holder.name\"
";

fn inventory(name: &str, serials: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, labels: {{inventory: servers}}}}, \
         data: {{serials: '{serials}'}}}}"
    )
}

fn store(kubectl: &Kubectl, name: &str, serials: &str) -> String {
    kubectl.run_with_input(&CREATE, &inventory(name, serials)).unwrap().err
}

#[test]
fn a_users_constraint_holds_on_any_kind() {
    let _alone = alone();
    let plane = unguarded();
    plane.kubectl().expect(&["create", "namespace", "lab"]).unwrap();
    let (here, there) =
        (plane.kubectl().in_namespace("default"), plane.kubectl().in_namespace("lab"));
    assert_eq!(store(&here, "rack-1", "a1, a2"), "");
    assert_eq!(store(&there, "rack-2", "A2"), "");

    let policies = plane.dir().join("unique-serial");
    fs::create_dir(&policies).unwrap();
    fs::write(policies.join("unique-serial.yaml"), POLICY).unwrap();
    let options =
        Options { policy_dir: Some(policies.clone()), claim_grace: Some(2), ..Options::default() };
    let _ironward = guard(&plane, &options);
    let serials = || -> Vec<String> {
        claims(&here, "unique-serial").into_iter().map(|(_, holder)| holder).collect()
    };
    let held = ["configmaps default/rack-1", "configmaps default/rack-1"];
    until("what is stored is claimed", serials, |them| *them == held);

    // What is there stays, and can be edited; nothing of it can be had once more.
    here.expect(&["label", "configmap", "rack-1", "room=4"]).unwrap();
    there.expect(&["label", "configmap", "rack-2", "room=4"]).unwrap();
    let refused = store(&there, "rack-3", "b1,a1,a2");
    for serial in ["A1", "A2"] {
        let text = format!("data.serials: {serial} is in the inventory of default/rack-1");
        assert!(refused.contains(&text), "{refused}");
    }
    assert_eq!(store(&there, "rack-3", "b1"), "");
    let patch = |serials: &str| {
        let patch = format!(r#"{{"data":{{"serials":"{serials}"}}}}"#);
        there.run(&["patch", "configmap", "rack-3", "--type=merge", "--patch", &patch]).unwrap().err
    };
    assert!(patch("b1,A1").contains("default/rack-1"), "{}", patch("b1,A1"));
    assert_eq!(patch("b2"), "");
    // Without the label it is no inventory.
    let other = "{apiVersion: v1, kind: ConfigMap, metadata: {name: notes}, data: {serials: A1}}";
    there.expect_with_input(&CREATE, other).unwrap();

    audited(&plane.own_kubeconfig().unwrap(), &policies);
}

fn audited(kubeconfig: &std::path::Path, policies: &std::path::Path) {
    let mut command = Command::new(binary().unwrap());
    command.arg("audit").arg("--policy-dir").arg(policies).env("KUBECONFIG", kubeconfig);
    let answer = run(&mut command, "").unwrap();
    let lines: Vec<_> = answer.out.lines().filter(|line| line.contains("unique-serial")).collect();
    assert_eq!(lines.len(), 1, "{}\n{}", answer.out, answer.err);
    assert!(lines[0].contains("rack-2") && lines[0].contains("default/rack-1"), "{}", lines[0]);
}
