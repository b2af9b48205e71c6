use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::policy::{Directory, File};

/// A policy with a binding; `change` gets the policy.
fn policy(name: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [{
                "apiGroups": ["metal3.io"], "apiVersions": ["v1alpha1"],
                "resources": ["baremetalhosts"], "operations": ["CREATE", "UPDATE"],
            }]},
            "validations": [{"expression": "true"}],
        },
    });
    change(&mut policy);
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    });
    format!("{policy}\n---\n{binding}\n---\n")
}

fn registered(policies: &[String]) -> Vec<Value> {
    let content = policies.concat();
    let user = [File { name: "all.yaml", content: &content }];
    let set = PolicySet::compile(&Directory { user: &user, ..Directory::default() }, &[]).unwrap();
    let resource = |group: &str, version: &str, name: &str| Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        name: name.to_owned(),
    };
    let resources = [
        resource("", "v1", "pods"),
        resource("", "v1", "pods/log"),
        resource("", "v1", "events"),
        resource("metal3.io", "v1alpha1", "baremetalhosts"),
        resource("metal3.io", "v1alpha1", "baremetalhosts/status"),
        resource("coordination.k8s.io", "v1", "leases"),
        resource("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations"),
    ];
    let registration = Registration {
        address: Address::Service {
            namespace: "ironward-system".into(),
            name: "ironward".into(),
            port: 443,
        },
        ca_bundle: Some(b"pem".to_vec()),
        own_name: None,
        timeout_seconds: 5,
    };
    registrations(&set, &resources, &registration).validating
}

#[test]
fn a_webhook_says_all_that_the_api_server_needs() {
    assert_eq!(
        registered(&[policy("a", |_| {})]),
        [json!({
            "name": "baremetalhosts.metal3.io.ironward.dev",
            "clientConfig": {
                "caBundle": "cGVt",
                "service": {"namespace": "ironward-system", "name": "ironward", "port": 443,
                    "path": "/validate/fail"},
            },
            "rules": [{"apiGroups": ["metal3.io"], "apiVersions": ["v1alpha1"],
                "operations": ["CREATE", "UPDATE"], "resources": ["baremetalhosts"], "scope": "*"}],
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "namespaceSelector": {"matchExpressions": [{
                "key": "kubernetes.io/metadata.name", "operator": "NotIn",
                "values": ["ironward-system"]}]},
            "objectSelector": {},
            "sideEffects": "None",
            "timeoutSeconds": 5,
            "admissionReviewVersions": ["v1"],
        })]
    );
}

#[test]
fn policies_on_one_resource_share_a_webhook_and_failing_ones_have_their_own() {
    let delete = |it: &mut Value| {
        it["spec"]["matchConstraints"]["resourceRules"][0]["operations"] = json!(["DELETE"]);
    };
    let ignored = |it: &mut Value| it["spec"]["failurePolicy"] = json!("Ignore");
    let webhooks = registered(&[policy("a", |_| {}), policy("b", delete), policy("c", ignored)]);
    let names: Vec<_> = webhooks.iter().map(|it| (&it["name"], &it["failurePolicy"])).collect();
    assert_eq!(
        names,
        [
            (&json!("baremetalhosts.metal3.io.ignore.ironward.dev"), &json!("Ignore")),
            (&json!("baremetalhosts.metal3.io.ironward.dev"), &json!("Fail")),
        ]
    );
    assert_eq!(webhooks[1]["rules"][0]["operations"], json!(["CREATE", "DELETE", "UPDATE"]));
    assert_eq!(webhooks[0]["clientConfig"]["service"]["path"], "/validate/ignore");
}

#[rstest]
#[case::all("*", "*", "*", &["pods.core.ironward.dev", "baremetalhosts.metal3.io.ironward.dev"], &["pods", "baremetalhosts"])]
#[case::subresources("", "v1", "pods/*", &["pods.core.ironward.dev"], &["pods", "pods/log"])]
#[case::only_subresources("metal3.io", "*", "*/status", &["baremetalhosts.metal3.io.ironward.dev"], &["baremetalhosts/status"])]
#[case::named("apps", "v1", "deployments", &["deployments.apps.ironward.dev"], &["deployments"])]
fn wildcards_are_spelt_out(
    #[case] group: &str,
    #[case] version: &str,
    #[case] resource: &str,
    #[case] names: &[&str],
    #[case] resources: &[&str],
) {
    let wild = |it: &mut Value| {
        let rule = &mut it["spec"]["matchConstraints"]["resourceRules"][0];
        rule["apiGroups"] = json!([group]);
        rule["apiVersions"] = json!([version]);
        rule["resources"] = json!([resource]);
    };
    let webhooks = registered(&[policy("a", wild)]);
    let found: Vec<_> = webhooks.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(found, names);
    let found: Vec<_> = webhooks
        .iter()
        .flat_map(|it| it["rules"].as_array().unwrap())
        .flat_map(|rule| rule["resources"].as_array().unwrap())
        .map(|name| name.as_str().unwrap())
        .collect();
    assert_eq!(found, resources);
}

#[test]
fn when_we_are_down_only_our_own_kinds_wait() {
    let deployments = |it: &mut Value| {
        let rule = &mut it["spec"]["matchConstraints"]["resourceRules"][0];
        rule["apiGroups"] = json!(["apps"]);
        rule["resources"] = json!(["deployments"]);
    };
    let webhooks = registered(&[policy("a", deployments)]);
    assert_eq!(webhooks[0]["failurePolicy"], "Ignore");
    assert_eq!(webhooks[0]["clientConfig"]["service"]["path"], "/validate/fail");
}

fn when(name: &'static str, expression: &'static str) -> impl FnOnce(&mut Value) {
    move |it| {
        it["spec"]["matchConditions"] = json!([{"name": name, "expression": expression}]);
    }
}

#[test]
fn conditions_keep_away_what_no_policy_cares_about() {
    let conditions = |policies: &[String]| registered(policies)[0]["matchConditions"].clone();
    assert_eq!(
        conditions(&[policy("a", when("rack", "true // all"))]),
        json!([{"name": "rack", "expression": "true // all"}])
    );
    assert_eq!(
        conditions(&[policy("a", when("x", "true // all")), policy("b", when("y", "false"))]),
        json!([{"name": "for-a-policy", "expression": "((true // all\n)) || ((false\n))"}])
    );
    // One that wants all requests gets them.
    let all = [policy("a", when("x", "true")), policy("b", |_| {})];
    assert_eq!(conditions(&all), Value::Null);
    // What a webhook's conditions do not know cannot be asked there.
    let namespaced = [policy("a", when("x", "namespaceObject.metadata.name == 'a'"))];
    assert_eq!(conditions(&namespaced), Value::Null);
}

#[test]
fn selectors_are_carried_if_all_policies_have_them() {
    let selected = |it: &mut Value| {
        it["spec"]["matchConstraints"]["objectSelector"] = json!({"matchLabels": {"rack": "1"}});
    };
    let of = |policies: &[String]| registered(policies)[0]["objectSelector"].clone();
    let rack = json!({"matchLabels": {"rack": "1"}});
    assert_eq!(of(&[policy("a", selected), policy("b", selected)]), rack);
    assert_eq!(of(&[policy("a", selected), policy("b", |_| {})]), json!({}));
}

#[test]
fn what_is_excluded_is_not_sent() {
    let excluded = |it: &mut Value| {
        it["spec"]["matchConstraints"]["excludeResourceRules"] = json!([{
            "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["UPDATE"],
        }]);
    };
    let webhooks = registered(&[policy("a", excluded)]);
    assert_eq!(webhooks[0]["rules"][0]["operations"], json!(["CREATE"]));
}

#[test]
fn a_certificate_is_for_the_name_that_the_api_server_asks_for() {
    let service =
        Address::Service { namespace: "metal".to_owned(), name: "ironward".to_owned(), port: 443 };
    assert_eq!(service.names(), ["ironward.metal.svc"]);
    let url = |text: &str| Address::Url(text.to_owned()).names();
    assert_eq!(url("https://127.0.0.1:9443"), ["127.0.0.1"]);
    assert_eq!(url("https://[::1]:9443"), ["::1"]);
    assert_eq!(url("https://ironward.example/x"), ["ironward.example"]);
}
