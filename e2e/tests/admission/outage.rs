//! Ironward dead: its own kinds wait for it, and nothing else does.

use crate::stage::{HOST, PATIENCE, Stage, write};
use rustix::process::Signal;

const CREATE: [&str; 3] = ["create", "--filename", "-"];

const ON_CONFIG_MAPS: &str = "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: any-config-map}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [configmaps]}
  validations: [{expression: \"true\"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: any-config-map}
spec: {policyName: any-config-map, validationActions: [Deny]}
";

#[test]
fn a_dead_webhook_stops_our_kinds_and_no_others() {
    let stage = Stage::start();
    write(&stage.policies, "own.yaml", ON_CONFIG_MAPS);
    let kubectl = stage.namespace();
    let is_registered = || {
        let all = kubectl.get("validatingwebhookconfiguration", "ironward").unwrap();
        all.to_string().contains("configmaps.core.ironward.dev")
    };
    stage.ironward.process.wait_until(PATIENCE, is_registered).unwrap();

    stage.ironward.process.signal(Signal::KILL).unwrap();
    stage.ironward.process.wait_for_exit(PATIENCE).unwrap();

    let host = kubectl.run_with_input(&CREATE, HOST).unwrap();
    assert!(!host.success);
    assert!(
        host.err.contains("failed calling webhook \"baremetalhosts.metal3.io.ironward.dev\""),
        "{}",
        host.err
    );
    for command in [
        ["create", "configmap", "a"],
        ["create", "serviceaccount", "a"],
        ["delete", "configmap", "a"],
        ["create", "namespace", "made-without-us"],
        // The way out, for the day it is needed.
        ["delete", "validatingwebhookconfiguration", "ironward"],
        ["delete", "mutatingwebhookconfiguration", "ironward"],
    ] {
        kubectl.expect(&command).unwrap();
    }
    kubectl.expect_with_input(&CREATE, HOST).unwrap();
}
