//! A user's own policies: on any resource, taken up while Ironward runs, refused as a whole if one is wrong.

use crate::stage::{PATIENCE, shared, write};
use ironward_e2e::eventually::eventually;

const POLICY: &str = "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: owned-config-maps}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  matchConditions:
  - {name: only-tests, expression: \"object.metadata.name.startsWith('judged-')\"}
  validations:
  - expression: has(object.metadata.labels) && 'owner' in object.metadata.labels
    message: 'metadata.labels: say whose it is with the label owner'
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: owned-config-maps}
spec: {policyName: owned-config-maps, validationActions: [Deny]}
";

const CONFIG_MAP: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: judged-1}}";

#[test]
fn a_policy_on_another_resource_needs_no_further_set_up() {
    let stage = shared();
    let kubectl = stage.namespace();
    let create = || {
        let dry_run = ["create", "--dry-run=server", "--filename", "-"];
        kubectl.run_with_input(&dry_run, CONFIG_MAP).unwrap()
    };
    assert!(create().success, "nothing is said of ConfigMaps yet");

    write(&stage.policies, "own.yaml", POLICY);
    let refusal = eventually(PATIENCE, "the policy is in force", || {
        let answer = create();
        if answer.success { Err("it was let in") } else { Ok(answer.err) }
    })
    .unwrap();
    assert_eq!(
        refusal.trim(),
        "The ConfigMap \"judged-1\" is invalid: metadata.labels: say whose it is with the label owner \
         [owned-config-maps]"
    );

    // It is the API server that does not ask about what the conditions leave out.
    let webhooks = kubectl.get("validatingwebhookconfiguration", "ironward").unwrap();
    let webhook = webhooks["webhooks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["name"] == "configmaps.core.ironward.dev")
        .unwrap_or_else(|| panic!("{webhooks:#}"));
    assert_eq!(webhook["failurePolicy"], "Ignore", "a dead webhook must not stop ConfigMaps");
    assert_eq!(webhook["matchConditions"][0]["name"], "only-tests");

    // One that is wrong changes nothing, and is said.
    write(&stage.policies, "own.yaml", &POLICY.replace("has(object", "hass(object"));
    eventually(PATIENCE, "the mistake is said", || {
        let log = stage.ironward.process.log_tail();
        if log.contains("the last good ones stay") { Ok(()) } else { Err(log) }
    })
    .unwrap();
    assert!(!create().success, "the last good policies stay");
    let (_, metrics) = stage.ironward.probe("metrics").unwrap();
    assert!(metrics.contains("ironward_admission_policies_refused 1"), "{metrics}");
    let denials = "ironward_admission_denials_total{policy=\"owned-config-maps\"}";
    assert!(metrics.contains(denials), "{metrics}");
    let one_by_one = "ironward_admission_policy_duration_seconds_count{policy=";
    assert!(metrics.contains(one_by_one), "{metrics}");

    std::fs::remove_file(stage.policies.join("own.yaml")).unwrap();
    eventually(PATIENCE, "the policy is gone", || {
        if create().success { Ok(()) } else { Err("it is still refused") }
    })
    .unwrap();
}
