//! Gatekeeper, as its authors publish it: the manifests of a release, and the CEL of the rules in a template.
//!
//! Its metrics are served on every address there is, so it belongs where there is only loopback: [`crate::node::apart`].
//!
//! What is not as its manifests have it, and why:
//! - Certificates are those of the control plane, as for every engine, and not its own (`--disable-cert-rotation`).
//! - There is no mutation webhook, as with `disableMutation` of its chart: nothing here is mutated, and each host would be sent to
//!   it twice.
//! - It is asked about what the rules are about, and not about every object there is (`validatingWebhookCustomRules` of its chart);
//!   and what it could not judge is refused, as the rules want it, and not accepted (`validatingWebhookFailurePolicy`).
//! - Nothing is audited: stored objects are none of admission's business.
//! - The template says `generateVAP: false`. Otherwise Gatekeeper writes the rules down as a `ValidatingAdmissionPolicy`, by which the
//!   API server judges by itself, and there is nothing of Gatekeeper left to measure.

use crate::{
    cluster,
    control_plane::ControlPlane,
    eventually::eventually,
    go::{self, GATEKEEPER, Program},
    manager,
    peers::engine::{self, Engine, Probe, Published, Rules},
    ports,
};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

const MANAGER: Program = Program {
    name: "gatekeeper",
    package: "github.com/open-policy-agent/gatekeeper/v3",
    module: &GATEKEEPER,
};
const WEBHOOK: &str = "gatekeeper-controller-manager";
const GENERATOR: &str = "gatekeeper-audit";
const CONFIGURATION: &str = "gatekeeper-validating-webhook-configuration";
const PATH: &str = "/v1/admit";
const PATIENCE: Duration = Duration::from_mins(2);

/// Builds and downloads all there is to, for whoever starts it where neither can be done.
pub fn provide() -> Result<()> {
    MANAGER.path()?;
    sources().map(drop)
}

fn sources() -> Result<PathBuf> {
    let sum = "h1:njHTm0SJ6ZEhhEgmQTpJKTGQbc99fSs4hGiEp1OIKck=";
    go::sources("github.com/open-policy-agent/gatekeeper/v3", GATEKEEPER.version()?, sum)
}

/// What a user would apply.
fn manifests() -> Result<Vec<Value>> {
    let path = sources()?.join("deploy/gatekeeper.yaml");
    let text =
        fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
    serde_saphyr::from_multiple(&text).with_context(|| format!("{} is no YAML", path.display()))
}

/// Installs its kinds and roles, once for a control plane.
pub fn install(plane: &ControlPlane) -> Result<()> {
    let manifests = manifests()?;
    let kinds =
        ["Namespace", "ServiceAccount", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"];
    let of = |kinds: &[&str]| -> Vec<Value> {
        let is_of = |it: &&Value| kinds.iter().any(|kind| it["kind"] == **kind);
        manifests.iter().filter(is_of).cloned().collect()
    };
    manager::install_kinds(plane, &of(&["CustomResourceDefinition"]))?;
    manager::apply(plane, &of(&kinds))?;
    // What it writes about itself belongs to its pod.
    for name in [WEBHOOK, GENERATOR] {
        manager::apply(plane, &[Published::find(&manifests, name)?.pod()])?;
    }
    Ok(())
}

/// Starts it, and waits until the rules are in force.
pub fn start(plane: &ControlPlane, rules: &Rules) -> Result<Engine> {
    let manifests = manifests()?;
    let (certificate, _) = plane.serving_certificate(MANAGER.name)?;
    let certificates = plane.dir().join(MANAGER.name);
    fs::create_dir_all(&certificates)?;
    fs::copy(certificate.certificate, certificates.join("tls.crt"))?;
    fs::copy(certificate.key, certificates.join("tls.key"))?;

    store(plane, rules, &manifests, &certificates)?;
    let [port] = ports::free()?;
    let url = format!("https://127.0.0.1:{port}{PATH}");
    manager::apply(plane, &[configuration(plane, rules, &manifests, port)?])?;
    let published = Published::find(&manifests, WEBHOOK)?;
    let mut command = command(plane, &published, &["--operation=mutation-webhook"], &certificates)?;
    // The last of a flag counts.
    command.arg("--host=127.0.0.1").arg(format!("--port={port}")).arg("--disable-cert-rotation");
    Probe::new(plane)?.start(plane, rules, (MANAGER.name, command, url))
}

/// The program as a Deployment runs it, with ports that are free.
fn command(
    plane: &ControlPlane,
    published: &Published<'_>,
    unwanted: &[&str],
    certificates: &Path,
) -> Result<Command> {
    let [probes, metrics] = ports::free()?;
    let account = engine::kubeconfig(plane, published.namespace(), published.account())?;
    let mut command = published.command(&MANAGER.path()?, unwanted);
    command.env("KUBECONFIG", account);
    command.arg(format!("--cert-dir={}", certificates.display()));
    command.arg(format!("--health-addr=127.0.0.1:{probes}"));
    command.arg(format!("--prometheus-port={metrics}"));
    Ok(command)
}

/// Stores the rules. The kind of the constraint is made by the process that its manifests have for all but the API server's questions,
/// audits among it; it ends before it comes to its first one.
fn store(
    plane: &ControlPlane,
    rules: &Rules,
    manifests: &[Value],
    certificates: &Path,
) -> Result<()> {
    manager::apply(plane, &[template(rules)])?;
    let published = Published::find(manifests, GENERATOR)?;
    let mut command = command(plane, &published, &[], certificates)?;
    // In the image there is a folder for it.
    command.arg(format!("--api-cache-dir={}", plane.dir().join(GENERATOR).display()));
    let generator = plane.spawn(GENERATOR, command)?;
    let kubectl = plane.kubectl();
    let definition = definition(rules);
    generator.wait_until(PATIENCE, || {
        kubectl.succeeds(&["get", "customresourcedefinition", &definition])
    })?;
    let definition = kubectl.get("customresourcedefinition", &definition)?;
    cluster::wait_until_established(&kubectl, &definition.to_string())?;
    // kubectl may know the kind a moment before the API server does.
    eventually(PATIENCE, "the constraint is stored", || {
        manager::apply(plane, &[constraint(rules)])
    })?;
    engine::end(&generator)
}

/// The webhook as published, at this machine's address, for what the rules are about.
fn configuration(
    plane: &ControlPlane,
    rules: &Rules,
    manifests: &[Value],
    port: u16,
) -> Result<Value> {
    let mut all = manifests.iter().filter(|it| it["metadata"]["name"] == CONFIGURATION);
    let mut configuration = all.next().context("the manifests have no webhooks")?.clone();
    let webhooks = configuration["webhooks"].as_array_mut().context("there are no webhooks")?;
    for webhook in webhooks {
        let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap_or_default();
        let is_of_rules = path == PATH;
        let url = format!("https://127.0.0.1:{port}{path}");
        webhook["clientConfig"] = engine::client_config(plane, &url)?;
        if is_of_rules {
            webhook["rules"] = rules.spec()["matchConstraints"]["resourceRules"].clone();
            webhook["failurePolicy"] = rules.spec()["failurePolicy"].clone();
            webhook["objectSelector"] = rules.selector().clone();
        }
    }
    Ok(configuration)
}

/// The kind that the template defines: the name of the rules as one word.
fn kind(rules: &Rules) -> String {
    let capitalised = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_uppercase() + rest
    };
    rules.name().split('-').map(capitalised).collect()
}

/// Its name has to be that of the kind in small letters.
fn template(rules: &Rules) -> Value {
    let spec = rules.spec();
    let source = json!({
        "failurePolicy": spec["failurePolicy"],
        "variables": spec["variables"],
        "validations": spec["validations"],
        "generateVAP": false,
    });
    json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
        "metadata": {"name": kind(rules).to_lowercase()},
        "spec": {
            "crd": {"spec": {"names": {"kind": kind(rules)}}},
            "targets": [{
                "target": "admission.k8s.gatekeeper.sh",
                "code": [{"engine": "K8sNativeValidation", "source": source}],
            }],
        },
    })
}

fn definition(rules: &Rules) -> String {
    format!("{}.constraints.gatekeeper.sh", kind(rules).to_lowercase())
}

/// It goes by kinds where the rules go by resources.
fn constraint(rules: &Rules) -> Value {
    let groups = &rules.spec()["matchConstraints"]["resourceRules"][0]["apiGroups"];
    json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind(rules),
        "metadata": {"name": rules.name()},
        "spec": {
            "enforcementAction": "deny",
            "match": {
                "kinds": [{"apiGroups": groups, "kinds": ["BareMetalHost"]}],
                "labelSelector": rules.selector(),
            },
        },
    })
}

/// Ends it and takes its webhooks and rules away, so that whoever comes next is alone.
pub fn remove(plane: &ControlPlane, rules: &Rules, engine: Engine) -> Result<()> {
    let kubectl = plane.kubectl();
    kubectl.expect(&["delete", "validatingwebhookconfiguration", CONFIGURATION])?;
    engine.end()?;
    let kinds = kubectl.expect(&["get", "constrainttemplates", "--output", "name"])?;
    for template in kinds.lines() {
        kubectl.expect(&["delete", template])?;
        let name = template.rsplit('/').next().unwrap_or_default();
        let definition = format!("{name}.constraints.gatekeeper.sh");
        // Its constraints go with it. It belongs to the template, and so somebody else may be faster.
        let delete = ["delete", "customresourcedefinition", &definition, "--ignore-not-found"];
        kubectl.expect(&delete)?;
    }
    Probe::new(plane)?.wait_until_accepted(rules)
}
