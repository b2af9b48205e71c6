//! Metal3's own operators, as their authors publish them: baremetal-operator and CAPM3, with their kinds, roles and webhooks.
//!
//! They run as processes, as the accounts of their manifests. They listen on every address there is, so they belong where there
//! is only loopback: [`crate::node::apart`].

use crate::{
    cluster,
    control_plane::ControlPlane,
    go::{self, METAL3, Program},
    kubectl, metal3,
    process_group::Process,
};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

const PATIENCE: Duration = Duration::from_mins(2);

const BAREMETAL_OPERATOR: Program = Program {
    name: "baremetal-operator",
    package: "github.com/metal3-io/baremetal-operator",
    module: &METAL3,
};
const CAPM3: Program = Program {
    name: "cluster-api-provider-metal3",
    package: "github.com/metal3-io/cluster-api-provider-metal3",
    module: &METAL3,
};

/// A running operator. It ends with its control plane.
#[derive(Debug)]
pub struct Operator {
    /// The process.
    pub process: Process,
    /// Who it is to the API server.
    pub user: String,
}

/// What differs between them.
struct Kind {
    program: Program,
    sources: fn() -> Result<PathBuf>,
    port: u16,
    probes: u16,
}

const HOSTS: Kind = Kind {
    program: BAREMETAL_OPERATOR,
    sources: metal3::baremetal_operator,
    port: 9543,
    probes: 9544,
};
const MACHINES: Kind =
    Kind { program: CAPM3, sources: metal3::cluster_api_provider_metal3, port: 9545, probes: 9546 };

/// Builds and downloads all there is to, for whoever starts them where neither can be done.
pub fn provide() -> Result<()> {
    for kind in [&HOSTS, &MACHINES] {
        kind.program.path()?;
        (kind.sources)()?;
    }
    cluster_api()?;
    metal3::ip_address_manager().map(drop)
}

/// Installs the kinds of both, and those that CAPM3 works with: Cluster API's and the addresses'.
pub fn install_kinds(plane: &ControlPlane) -> Result<()> {
    let mut kinds = Vec::new();
    for folder in [
        cluster_api()?.join("config/crd/bases"),
        metal3::ip_address_manager()?.join("config/crd/bases"),
    ] {
        for entry in fs::read_dir(&folder)? {
            let text = fs::read_to_string(entry?.path())?;
            kinds.extend(serde_saphyr::from_multiple::<Value>(&text)?);
        }
    }
    for kind in [&HOSTS, &MACHINES] {
        let is_kind = |it: &Value| it["kind"] == "CustomResourceDefinition";
        kinds.extend(kind.manifests(plane)?.into_iter().filter(is_kind));
    }
    apply(plane, &kinds)?;
    cluster::wait_until_established(&plane.kubectl(), &list(&kinds))
}

/// Starts the operator of hosts, for machines that need not be there.
pub fn baremetal_operator(plane: &ControlPlane) -> Result<Operator> {
    let certificates = plane.dir().join("baremetal-operator");
    // It has no flag for them.
    HOSTS.certificate(plane, &certificates.join("k8s-webhook-server/serving-certs"))?;
    HOSTS.start(plane, |command| {
        command.env("TMPDIR", &certificates).args(["-demo-mode", "-enable-leader-election"]);
        command.arg("-metrics-addr=0").arg(format!("-webhook-port={}", HOSTS.port));
        command.arg(format!("-health-addr=127.0.0.1:{}", HOSTS.probes));
    })
}

/// Starts the infrastructure provider of Cluster API.
pub fn cluster_api_provider(plane: &ControlPlane) -> Result<Operator> {
    let certificates = plane.dir().join("capm3");
    MACHINES.certificate(plane, &certificates)?;
    // Without its Lease, which it makes in the namespace of its pod, and it is in none.
    MACHINES.start(plane, |command| {
        command.args(["--diagnostics-address=127.0.0.1:9547", "--insecure-diagnostics"]);
        command.arg(format!("--webhook-port={}", MACHINES.port));
        command.arg(format!("--webhook-cert-dir={}", certificates.display()));
        command.arg(format!("--health-addr=127.0.0.1:{}", MACHINES.probes));
    })
}

impl Kind {
    /// What a user would apply, with webhooks at this machine's addresses.
    fn manifests(&self, plane: &ControlPlane) -> Result<Vec<Value>> {
        let mut command = Command::new(plane.kubectl().folder().join("kubectl"));
        // In the folder: what is in a path of sources would be taken for the address of a repository.
        command.args(["kustomize", "."]).current_dir((self.sources)()?.join("config/default"));
        let printed = kubectl::run(&mut command, "")?;
        if !printed.success {
            bail!("kubectl kustomize failed: {}", printed.err.trim());
        }
        let mut manifests: Vec<Value> = serde_saphyr::from_multiple(&printed.out)?;
        let authority = fs::read(plane.authority())?;
        for manifest in &mut manifests {
            let webhooks = manifest.get_mut("webhooks").and_then(Value::as_array_mut);
            for webhook in webhooks.into_iter().flatten() {
                self.redirect(&mut webhook["clientConfig"], &authority);
            }
            if let Some(config) = manifest.pointer_mut("/spec/conversion/webhook/clientConfig") {
                self.redirect(config, &authority);
            }
        }
        Ok(manifests)
    }

    fn redirect(&self, config: &mut Value, authority: &[u8]) {
        let path = config["service"]["path"].as_str().unwrap_or_default();
        let url = format!("https://127.0.0.1:{}{path}", self.port);
        *config = json!({ "url": url, "caBundle": k8s_openapi::ByteString(authority.to_vec()) });
    }

    fn certificate(&self, plane: &ControlPlane, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        let (files, _) = plane.serving_certificate(self.program.name)?;
        fs::copy(files.certificate, folder.join("tls.crt"))?;
        fs::copy(files.key, folder.join("tls.key"))?;
        Ok(())
    }

    /// Installs its roles, starts it as its account, and its webhooks once it answers.
    fn start(&self, plane: &ControlPlane, settings: impl FnOnce(&mut Command)) -> Result<Operator> {
        let kubectl = plane.kubectl();
        let manifests = self.manifests(plane)?;
        let deployment = manifests.iter().find(|it| it["kind"] == "Deployment");
        let deployment = deployment.context("the manifests have no Deployment")?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let namespace = text(&deployment["metadata"]["namespace"]);
        let account = text(&deployment["spec"]["template"]["spec"]["serviceAccountName"]);
        if !kubectl.succeeds(&["get", "namespace", &namespace]) {
            kubectl.expect(&["create", "namespace", &namespace])?;
        }
        let (roles, webhooks): (Vec<Value>, Vec<Value>) = manifests
            .iter()
            .filter(|it| {
                let kind = it["kind"].as_str().unwrap_or_default();
                kind.contains("Role") || kind == "ServiceAccount" || kind.contains("Webhook")
            })
            .cloned()
            .partition(|it| !it["kind"].as_str().unwrap_or_default().contains("Webhook"));
        apply(plane, &roles)?;
        let token = ["create", "token", &account, "--duration", "2h"];
        let token = kubectl.in_namespace(&namespace).expect(&token)?;
        let kubeconfig = plane.kubeconfig_with_token(&account, token.trim(), &namespace)?;

        let mut command = Command::new(self.program.path()?);
        command.env("KUBECONFIG", kubeconfig).env("POD_NAMESPACE", &namespace);
        settings(&mut command);
        let process = plane.spawn(self.program.name, command)?;
        let ready = format!("http://127.0.0.1:{}/readyz", self.probes);
        process.wait_until(PATIENCE, || {
            crate::http::client()
                .and_then(|client| Ok(client.get(&ready).send()?))
                .is_ok_and(|answer| answer.status().is_success())
        })?;
        apply(plane, &webhooks)?;
        Ok(Operator { process, user: format!("system:serviceaccount:{namespace}:{account}") })
    }
}

/// The sources of Cluster API, of the version that CAPM3 is made for.
fn cluster_api() -> Result<PathBuf> {
    let sum = "h1:27PPEKSqESKeUIf475Ga6hSW1+gKxd5V5sCmMDgeBDo=";
    go::sources("sigs.k8s.io/cluster-api", "v1.13.4", sum)
}

fn list(objects: &[Value]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string()
}

fn apply(plane: &ControlPlane, objects: &[Value]) -> Result<()> {
    let apply = ["apply", "--server-side", "--force-conflicts", "--filename", "-"];
    plane.kubectl().expect_with_input(&apply, &list(objects)).map(drop)
}
