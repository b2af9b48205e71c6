//! `ironward doctor` on a release: nothing is wrong when nothing is, and each thing that breaks is found and said.

use crate::{
    permissions::patch_role,
    stage::{SELF_SIGNED, beside_metal3, in_company, until, wait_until_in_force},
};
use ironward::doctor::permissions::{Duty, needed};
use ironward_e2e::{
    helm::{CHART, Helm},
    ironward::{self as program, Ironward},
    kubectl::{self, Answer},
    release::{NAME, NAMESPACE, Release, Replica, stopped},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, process::Command};

/// What it said: the worst outcome of each check, and all the words.
struct Said {
    answer: Answer,
    findings: Vec<Value>,
}

impl Said {
    fn outcome(&self, check: &str) -> &str {
        let of_check = self.findings.iter().filter(|it| it["check"] == check);
        let outcomes: BTreeSet<_> = of_check.filter_map(|it| it["outcome"].as_str()).collect();
        let worst = ["failed", "warning", "unknown", "ok"].into_iter();
        worst.into_iter().find(|it| outcomes.contains(it)).unwrap_or("nothing")
    }

    fn has_failed(&self, check: &str, words: &str) -> bool {
        self.findings.iter().any(|it| {
            let is_said = it["what"].as_str().is_some_and(|what| what.contains(words));
            it["check"] == check
                && it["outcome"] == "failed"
                && is_said
                && it["nextStep"].is_string()
        })
    }
}

impl std::fmt::Debug for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.answer.out, self.answer.err)
    }
}

fn doctor(release: &Release<'_>, arguments: &[&str]) -> Said {
    let mut command = Command::new(program::binary().unwrap());
    command.args(["doctor", "--namespace", NAMESPACE, "--output", "json"]).args(arguments);
    command.env("KUBECONFIG", release.plane.admin_kubeconfig());
    let answer = kubectl::run(&mut command, "").unwrap();
    let all: Value = serde_json::from_str(&answer.out).unwrap_or_default();
    Said { answer, findings: all["findings"].as_array().cloned().unwrap_or_default() }
}

/// A replica, and a Deployment that says of it where it is.
fn running(release: &Release<'_>) -> Ironward {
    let replica = release.start(&Replica::default()).unwrap();
    wait_until_in_force(release, &replica);
    let arguments: Vec<_> = release
        .arguments()
        .unwrap()
        .into_iter()
        .map(|it| match it.split_once('=') {
            Some(("--webhook-service", _)) => format!("--webhook-url={}", replica.webhook),
            _ => it,
        })
        .collect();
    let kubectl = release.kubectl();
    let path = "/spec/template/spec/containers/0/args";
    let args = json!([{"op": "replace", "path": path, "value": arguments}]).to_string();
    kubectl.expect(&["patch", "deployment", NAME, "--type", "json", "--patch", &args]).unwrap();
    replica
}

#[test]
fn nothing_is_wrong_when_nothing_is_and_what_breaks_is_found() {
    let _company = in_company();
    let plane = beside_metal3();
    let release = Release::install(&plane, &[SELF_SIGNED]).unwrap();
    let before = doctor(&release, &[]);
    assert!(!before.answer.success);
    assert!(before.has_failed("replicas", "0 of 2 replicas"), "{before:?}");
    assert!(
        before.has_failed("registrations", "there is no MutatingWebhookConfiguration"),
        "{before:?}"
    );
    assert!(
        before.has_failed("leader", "nobody holds Lease ironward-system/ironward"),
        "{before:?}"
    );

    let replica = running(&release);
    let well = doctor(&release, &[]);
    // There is no node here: the replica is none of the Deployment's.
    assert!(well.has_failed("replicas", "0 of 2 replicas"), "{well:?}");
    let others = || well.findings.iter().filter(|it| it["check"] != "replicas");
    assert!(others().all(|it| it["outcome"] == "ok"), "{well:?}");
    assert!(others().count() >= 10, "{well:?}");
    assert_eq!(well.outcome("admission"), "ok");

    let kubectl = release.kubectl();
    // A permission less.
    let role = kubectl.get("clusterrole", NAME).unwrap();
    let change = |patch: &Value| patch_role(&kubectl, "clusterrole", patch);
    change(&json!([{"op": "remove", "path": "/rules/0"}]));
    let less = || doctor(&release, &[]);
    let words = "list customresourcedefinitions.apiextensions.k8s.io, watch";
    until("the missing permission is found", less, |said| said.has_failed("permissions", words));
    change(&json!([{"op": "replace", "path": "/rules", "value": role["rules"]}]));
    until("it is there again", less, |said| said.outcome("permissions") == "ok");

    // Another key in the place of the certificate's.
    let secret = format!("{NAME}-self-signed");
    stopped(&replica.process).unwrap();
    let (other, _) = plane.serving_certificate("other").unwrap();
    let key = k8s_openapi::ByteString(fs::read(&other.key).unwrap());
    let patch = json!({"data": {"tls.key": key}}).to_string();
    kubectl.expect(&["patch", "secret", &secret, "--type", "merge", "--patch", &patch]).unwrap();
    let said = doctor(&release, &[]);
    assert!(said.has_failed("certificate", "the key is not that of the certificate"), "{said:?}");
    assert!(said.has_failed("admission", "failed calling webhook"), "{said:?}");
    assert!(said.has_failed("leader", "no replica reconciles"), "{said:?}");
    let secret_words = String::from_utf8(fs::read(&other.key).unwrap()).unwrap();
    let inside = secret_words.lines().nth(1).unwrap();
    assert!(!format!("{said:?}").contains(inside), "a key is in what it says");

    // Somebody else's authority in a registration.
    let bundle = k8s_openapi::ByteString(fs::read(&other.certificate).unwrap());
    let field = "/webhooks/0/clientConfig/caBundle";
    let patch = json!([{"op": "replace", "path": field, "value": bundle}]).to_string();
    let configuration = "validatingwebhookconfiguration";
    kubectl.expect(&["patch", configuration, NAME, "--type", "json", "--patch", &patch]).unwrap();
    let said = doctor(&release, &[]);
    assert!(
        said.has_failed("trust", "ValidatingWebhookConfiguration: the API server does not believe"),
        "{said:?}"
    );

    // A kind that is not there.
    kubectl.expect(&["delete", "crd", "hosthistories.ironward.dev"]).unwrap();
    let said = doctor(&release, &[]);
    assert!(said.has_failed("kinds", "kind HostHistory is not installed"), "{said:?}");

    // Who works on the same hosts; and an Ironic that is not there.
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "baremetal-operator", "namespace": "default"},
        "spec": {"holderIdentity": "bmo-0", "leaseDurationSeconds": 3600, "renewTime": now()},
    });
    plane.kubectl().expect_with_input(&["create", "--filename", "-"], &lease.to_string()).unwrap();
    let flags =
        ["--", "--controllers=host", "--provisioner=ironic", "--ironic-url=http://127.0.0.1:1"];
    let said = doctor(&release, &flags);
    assert!(
        said.has_failed(
            "operators",
            "baremetal-operator is at work, so `host` of ours wait: bmo-0"
        ),
        "{said:?}"
    );
    assert!(said.has_failed("ironic", "http://127.0.0.1:1: Ironic cannot be reached"), "{said:?}");
    assert_eq!(said.outcome("permissions"), "ok", "{said:?}");
}

fn now() -> String {
    let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let time: k8s_openapi::jiff::Timestamp =
        k8s_openapi::jiff::Timestamp::from_second(seconds.as_secs().try_into().unwrap()).unwrap();
    time.strftime("%Y-%m-%dT%H:%M:%S.000000Z").to_string()
}

/// A permission: group, resource, verb, whether in the own namespace, and the one object.
type Permission = (String, String, String, bool, Option<String>);

/// What the chart's roles permit.
fn permitted(helm: &Helm, values: &str) -> BTreeSet<Permission> {
    let arguments = ["template", NAME, CHART, "--namespace", NAMESPACE, "--set", values];
    let rendered =
        helm.expect(&[&arguments[..], &["--show-only", "templates/rbac.yaml"]].concat()).unwrap();
    let mut found = BTreeSet::new();
    for role in serde_saphyr::from_multiple::<Value>(&rendered).unwrap() {
        let texts = |value: &Value| {
            serde_json::from_value::<Vec<String>>(value.clone()).unwrap_or_default()
        };
        for rule in role["rules"].as_array().into_iter().flatten() {
            let names = texts(&rule["resourceNames"]);
            for group in texts(&rule["apiGroups"]) {
                for resource in texts(&rule["resources"]) {
                    for verb in texts(&rule["verbs"]) {
                        let of = |name: Option<String>| {
                            (
                                group.clone(),
                                resource.clone(),
                                verb.clone(),
                                role["kind"] == "Role",
                                name,
                            )
                        };
                        found.extend(names.iter().cloned().map(Some).map(of));
                        found.extend(names.is_empty().then(|| of(None)));
                    }
                }
            }
        }
    }
    found
}

#[test]
fn what_it_asks_for_is_what_the_chart_permits() {
    let _company = in_company();
    let plane = beside_metal3();
    let helm = Helm::new(&plane).unwrap();
    let always =
        vec![Duty::Always, Duty::Registering(NAME.to_owned()), Duty::Owned(NAME.to_owned())];
    let cases: [(&str, Vec<Duty>); 8] = [
        ("page.enabled=true", vec![Duty::Page]),
        ("certificate.mode=cert-manager", vec![]),
        ("certificate.mode=self-signed", vec![Duty::SelfSigned(format!("{NAME}-self-signed"))]),
        (
            "profile=standalone,hosts.enabled=true,ironic.url=http://i",
            vec![Duty::Controlling, Duty::Hosts, Duty::Ironic],
        ),
        ("profile=standalone,machines.enabled=true", vec![Duty::Controlling, Duty::Machines]),
        ("profile=standalone,remediation.enabled=true", vec![Duty::Controlling, Duty::Remediation]),
        (
            "discovery.enabled=true,ironic.url=http://i",
            vec![Duty::Controlling, Duty::Discovery, Duty::Ironic],
        ),
        (
            "autoscale.enabled=true,metadata.enabled=true",
            vec![Duty::Controlling, Duty::Autoscale, Duty::Metadata],
        ),
    ];
    for (values, duties) in cases {
        let asked: BTreeSet<Permission> = needed(&[always.clone(), duties].concat())
            .into_iter()
            .map(|it| {
                (it.group.into(), it.resource.into(), it.verb.into(), it.is_own_namespace, it.name)
            })
            .collect();
        let permitted = permitted(&helm, values);
        let missing: Vec<_> = asked.difference(&permitted).collect();
        let more: Vec<_> = permitted.difference(&asked).collect();
        assert!(
            missing.is_empty() && more.is_empty(),
            "{values}: the chart lacks {missing:?} and has {more:?} beyond"
        );
    }
}
