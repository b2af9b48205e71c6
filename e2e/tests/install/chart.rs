//! Every profile and mode is what the API server takes.

use crate::stage::{beside_metal3, in_company};
use ironward_e2e::{
    cert_manager,
    helm::{CHART, Helm},
    prometheus_operator,
};

const PROFILES: [&str; 2] = ["companion", "standalone"];
const MODES: [&str; 3] = ["cert-manager", "self-signed", "secret"];

#[test]
fn every_profile_and_mode_is_what_the_api_server_takes() {
    let _company = in_company();
    let plane = beside_metal3();
    cert_manager::install_kinds(&plane).unwrap();
    prometheus_operator::install_kinds(&plane).unwrap();
    let helm = Helm::new(&plane).unwrap();
    helm.expect(&["lint", "--strict", CHART]).unwrap();
    helm.expect(&["lint", "--strict", CHART, "--set", &monitoring(true)]).unwrap();
    let kubectl = plane.kubectl();
    kubectl.expect(&["create", "namespace", "ironward-system"]).unwrap();
    // Pods are not let in before it is there, not even on a dry run: that of `helm test` is one.
    let account = ["create", "serviceaccount", "ironward", "--namespace", "ironward-system"];
    kubectl.expect(&account).unwrap();
    // What Pod Security Admission does not let in is only warned of where a Deployment is made.
    let label = "pod-security.kubernetes.io/warn=restricted";
    kubectl.expect(&["label", "namespace", "ironward-system", label]).unwrap();

    for profile in PROFILES {
        for (mode, is_watched) in MODES.into_iter().flat_map(|mode| [(mode, false), (mode, true)]) {
            let is_alone = profile == "standalone";
            let kept = format!(
                "hosts.enabled={is_alone},machines.enabled={is_alone},discovery.enabled=true,autoscale.enabled=true,page.enabled=true"
            );
            let profile = format!("profile={profile}");
            let mode = format!("certificate.mode={mode}");
            let rendered = helm
                .expect(&[
                    "template",
                    "ironward",
                    CHART,
                    "--namespace",
                    "ironward-system",
                    "--set",
                    &profile,
                    "--set",
                    &mode,
                    "--set",
                    "certificate.secret.name=mine",
                    "--set",
                    "policies.useAuthorizer=true",
                    "--set",
                    &monitoring(is_watched),
                    "--set",
                    &kept,
                    "--set",
                    "ironic.url=https://ironic.test:6385,ironic.authSecret=a,ironic.caSecret=b,ironic.clientCertificateSecret=c",
                    "--set",
                    "ironic.deployKernel=http://i/k,ironic.deployRamdisk=http://i/r",
                    "--set-string",
                    "policies.files.own\\.yaml=# none",
                ])
                .unwrap();
            let dry_run = [
                "apply",
                "--server-side",
                "--dry-run=server",
                "--force-conflicts",
                "--filename",
                "-",
            ];
            let answer = kubectl.run_with_input(&dry_run, &rendered).unwrap();
            assert!(answer.success, "{profile} {mode}: {}", answer.err);
            assert!(!answer.err.contains("Warning"), "{profile} {mode}: {}", answer.err);
            let kinds = answer.out.matches("customresourcedefinition").count();
            assert_eq!(
                kinds,
                if profile.ends_with("companion") { 3 } else { 10 },
                "{}",
                answer.out
            );
            for object in [
                "servicemonitor.monitoring",
                "prometheusrule.monitoring",
                "configmap/ironward-dashboard",
            ] {
                assert_eq!(answer.out.contains(object), is_watched, "{object}: {}", answer.out);
            }
        }
    }
}

/// All that is for Prometheus and Grafana.
fn monitoring(is_on: bool) -> String {
    ["serviceMonitor", "prometheusRule", "grafanaDashboard"]
        .map(|part| format!("{part}.enabled={is_on}"))
        .join(",")
}

#[test]
fn values_that_are_none_are_refused() {
    let _company = in_company();
    let plane = beside_metal3();
    let helm = Helm::new(&plane).unwrap();
    for (values, reason) in [
        ("replica=3", "additional properties 'replica' not allowed"),
        ("profile=alone", "profile"),
        ("certificate.mode=secret", "/certificate/secret/name"),
        ("policies.files.own=text", "own"),
        ("prometheusRule.guideURL=docs.example", "/prometheusRule/guideURL"),
        ("grafanaDashboard.labels.grafana_dashboard=1", "/grafanaDashboard/labels"),
        ("machines.enabled=true", "in profile companion CAPM3 keeps the machines"),
    ] {
        let answer = helm.run(&["template", "ironward", CHART, "--set", values]).unwrap();
        assert!(!answer.success, "{values} was taken");
        assert!(answer.err.contains(reason), "{values}: {}", answer.err);
    }
    let both = ["policies.existingConfigMap=mine", "policies.files.own\\.yaml=text"];
    let answer =
        helm.run(&["template", "ironward", CHART, "--set", both[0], "--set", both[1]]).unwrap();
    assert!(answer.err.contains("two places for one thing"), "{}", answer.err);
}
