//! Kyverno, as its authors publish it: the admission controller of its chart, and the rules as a `ValidatingPolicy`.
//!
//! What is not as its chart has it, and why:
//! - It listens on loopback, and the API server is told its address (`--serverIP`), for there is no Service.
//! - Certificates are those of the control plane, as for every engine, and not its own: two Secrets that a user may bring.
//! - It writes no reports (`--admissionReports=false`), and its other controllers, which report, clean up and scan what is stored, do
//!   not run: they are none of admission's business.

use crate::{
    cluster,
    control_plane::ControlPlane,
    go::{self, KYVERNO, Program},
    manager,
    peers::engine::{self, Engine, Probe, Published, Rules},
    ports,
};
use anyhow::{Context, Result};
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use std::{ffi::OsStr, fs, path::PathBuf};

const ADMISSION: Program = Program {
    name: "kyverno",
    package: "github.com/kyverno/kyverno/cmd/kyverno",
    module: &KYVERNO,
};
const DEPLOYMENT: &str = "kyverno-admission-controller";
/// Where its definitions are.
const KINDS: [&str; 4] = ["kyverno", "policies.kyverno.io", "policyreport", "reports"];
/// What its Deployment calls the Secrets with its certificates.
const AUTHORITY: &str = "kyverno-svc.kyverno.svc.kyverno-tls-ca";
const CERTIFICATE: &str = "kyverno-svc.kyverno.svc.kyverno-tls-pair";
/// Its own label for the webhooks that it tells the API server of.
const ITS_WEBHOOKS: &str = "webhook.kyverno.io/managed-by=kyverno";

/// Builds and downloads all there is to, for whoever starts it where neither can be done.
pub fn provide() -> Result<()> {
    ADMISSION.path()?;
    sources().map(drop)
}

fn sources() -> Result<PathBuf> {
    let sum = "h1:/MkgFii3/VlQfKR1JpC9tVwNNVNQTt2S4U6qCsafsTU=";
    go::sources("github.com/kyverno/kyverno", KYVERNO.version()?, sum)
}

/// What its chart becomes with the values that it comes with, but for the definitions.
fn manifests() -> Result<Vec<Value>> {
    let path = sources()?.join("config/install-latest-testing.yaml");
    let text =
        fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
    text.split("\n---\n")
        // Megabytes that nobody reads here.
        .filter(|manifest| !manifest.contains("\nkind: CustomResourceDefinition\n"))
        .map(|manifest| {
            serde_saphyr::from_str(manifest)
                .with_context(|| format!("{} is no YAML", path.display()))
        })
        .collect()
}

/// Installs its kinds, roles and settings, once for a control plane.
pub fn install(plane: &ControlPlane) -> Result<()> {
    let (mut files, mut kinds) = (Vec::new(), Vec::new());
    for folder in KINDS {
        for file in fs::read_dir(sources()?.join("config/crds").join(folder))? {
            let path = file?.path();
            let name = path.file_stem().and_then(OsStr::to_str).and_then(|it| it.split_once('_'));
            let (group, plural) = name.with_context(|| format!("what is {}?", path.display()))?;
            kinds.push(format!("{plural}.{group}"));
            files.push(path);
        }
    }
    cluster::install_files(plane, files)?;
    // The first question about kinds as large as these takes the API server long, which is not to count as Kyverno's start.
    plane.kubectl().expect(&["get", &kinds.join(","), "--all-namespaces"])?;
    let mut manifests = manifests()?;
    let secrets = secrets(plane, Published::find(&manifests, DEPLOYMENT)?.namespace())?;
    manifests.retain(|it| it["kind"] != "Deployment" && it["kind"] != "Service");
    manifests.extend(secrets);
    manager::apply(plane, &manifests)
}

/// The certificates where it looks for them.
fn secrets(plane: &ControlPlane, namespace: &str) -> Result<[Value; 2]> {
    let (files, authority) = plane.serving_certificate(ADMISSION.name)?;
    let read =
        |path: PathBuf| fs::read(path).map(ByteString).context("could not read a certificate");
    let secret = |name: &str, data: Value| {
        json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": name, "namespace": namespace}, "data": data,
        })
    };
    let pair = json!({"tls.crt": read(files.certificate)?, "tls.key": read(files.key)?});
    Ok([secret(AUTHORITY, json!({"tls.crt": read(authority)?})), secret(CERTIFICATE, pair)])
}

/// Starts it, and waits until the rules are in force.
pub fn start(plane: &ControlPlane, rules: &Rules) -> Result<Engine> {
    let manifests = manifests()?;
    manager::apply(plane, &[policy(rules), settings(rules, &manifests)?])?;
    let published = Published::find(&manifests, DEPLOYMENT)?;
    let account = engine::kubeconfig(plane, published.namespace(), published.account())?;
    let [webhook, metrics, own_metrics] = ports::free()?;
    let mut command = published.command(&ADMISSION.path()?, &[]);
    command
        .arg(format!("--kubeconfig={}", account.display()))
        // The last of a flag counts.
        .arg(format!("--serverIP=127.0.0.1:{webhook}"))
        .args(["--webhookServerHost=127.0.0.1", &format!("--webhookServerPort={webhook}")])
        .args(["--metricsHost=127.0.0.1", &format!("--metricsPort={metrics}")])
        .arg(format!("--controllerRuntimeMetricsAddress=127.0.0.1:{own_metrics}"))
        .arg("--admissionReports=false")
        // In the image there is a folder for it.
        .env("TUF_ROOT", plane.dir().join("sigstore"));
    let url = format!("https://127.0.0.1:{webhook}/vpol/{}", rules.name());
    Probe::new(plane)?.start(plane, rules, (ADMISSION.name, command, url))
}

/// It tells the API server of what its settings select, and not of what its policies do.
fn settings(rules: &Rules, manifests: &[Value]) -> Result<Value> {
    let mut all = manifests.iter().filter(|it| it["data"]["webhooks"].is_string());
    let mut settings = all.next().context("the manifests have no settings of webhooks")?.clone();
    let webhooks = settings["data"]["webhooks"].as_str().unwrap_or_default();
    let mut webhooks: Value = serde_json::from_str(webhooks)?;
    webhooks["objectSelector"] = rules.selector().clone();
    settings["data"]["webhooks"] = webhooks.to_string().into();
    Ok(settings)
}

/// It takes the `spec` as it is, and the binding's actions in it.
fn policy(rules: &Rules) -> Value {
    let mut spec = rules.spec().clone();
    spec["validationActions"] = json!(["Deny"]);
    spec["evaluation"] = json!({"background": {"enabled": false}});
    json!({
        "apiVersion": "policies.kyverno.io/v1", "kind": "ValidatingPolicy",
        "metadata": {"name": rules.name()}, "spec": spec,
    })
}

/// Ends it and takes its webhooks and rules away, so that whoever comes next is alone.
pub fn remove(plane: &ControlPlane, rules: &Rules, engine: Engine) -> Result<()> {
    // First: it would tell the API server of them again.
    engine.end()?;
    let kubectl = plane.kubectl();
    let webhooks = "validatingwebhookconfigurations,mutatingwebhookconfigurations";
    kubectl.expect(&["delete", webhooks, "--selector", ITS_WEBHOOKS])?;
    kubectl.expect(&["delete", "validatingpolicies.policies.kyverno.io", "--all"])?;
    // What it remembers of itself, so that every start is a first one.
    let manifests = manifests()?;
    let namespace = Published::find(&manifests, DEPLOYMENT)?.namespace();
    kubectl.in_namespace(namespace).expect(&["delete", "leases", "--all"])?;
    Probe::new(plane)?.wait_until_accepted(rules)
}
