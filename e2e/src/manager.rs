//! A controller manager as its authors publish it: a program, and a folder of manifests that is built with kustomize.
//!
//! It runs as a process, as the account of its manifests. Its webhooks listen on every address there is, so it belongs where there
//! is only loopback: [`crate::node::apart`].

use crate::{
    cluster, control_plane::ControlPlane, go::Program, kubectl, ports, process_group::Process,
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

/// What there is to know of a manager before it runs.
#[derive(Debug)]
pub struct Manager {
    /// The program.
    pub program: Program,
    /// Where its sources are, downloaded now if need be.
    pub sources: fn() -> Result<PathBuf>,
    /// The folder of its sources that kustomize builds.
    pub manifests: &'static str,
    /// Where its webhooks listen. The same for every start, for definitions name it that are there before the process is.
    pub port: u16,
}

/// A running manager. It ends with its control plane.
#[derive(Debug)]
pub struct Operator {
    /// The process.
    pub process: Process,
    /// Who it is to the API server.
    pub user: String,
}

impl Manager {
    /// Builds and downloads all there is to, for whoever starts it where neither can be done.
    pub fn provide(&self) -> Result<()> {
        self.program.path()?;
        (self.sources)().map(drop)
    }

    /// The definitions of its kinds.
    pub fn kinds(&self, plane: &ControlPlane) -> Result<Vec<Value>> {
        let mut kinds = self.manifests(plane)?;
        kinds.retain(|it| it["kind"] == "CustomResourceDefinition");
        Ok(kinds)
    }

    /// What a user would apply, with webhooks at this machine's addresses.
    fn manifests(&self, plane: &ControlPlane) -> Result<Vec<Value>> {
        let mut command = Command::new(plane.kubectl().folder().join("kubectl"));
        // In the folder: what is in a path of sources would be taken for the address of a repository.
        command.args(["kustomize", "."]).current_dir((self.sources)()?.join(self.manifests));
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

    /// Puts the certificate of its webhooks where they look for it.
    pub fn certificate(&self, plane: &ControlPlane, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        let (files, _) = plane.serving_certificate(self.program.name)?;
        fs::copy(files.certificate, folder.join("tls.crt"))?;
        fs::copy(files.key, folder.join("tls.key"))?;
        Ok(())
    }

    /// Installs its roles, starts it as its account, and its webhooks once it answers. `settings` is given the port of its probes.
    pub fn start(
        &self,
        plane: &ControlPlane,
        settings: impl FnOnce(&mut Command, u16),
    ) -> Result<Operator> {
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

        let [probes] = ports::free()?;
        let mut command = Command::new(self.program.path()?);
        command.env("KUBECONFIG", kubeconfig).env("POD_NAMESPACE", &namespace);
        settings(&mut command, probes);
        let process = plane.spawn(self.program.name, command)?;
        let ready = format!("http://127.0.0.1:{probes}/readyz");
        process.wait_until(PATIENCE, || {
            crate::http::client()
                .and_then(|client| Ok(client.get(&ready).send()?))
                .is_ok_and(|answer| answer.status().is_success())
        })?;
        apply(plane, &webhooks)?;
        Ok(Operator { process, user: format!("system:serviceaccount:{namespace}:{account}") })
    }
}

/// Installs definitions, and waits until the kinds are served.
pub fn install_kinds(plane: &ControlPlane, kinds: &[Value]) -> Result<()> {
    apply(plane, kinds)?;
    cluster::wait_until_established(&plane.kubectl(), &list(kinds))
}

fn list(objects: &[Value]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string()
}

/// Applies objects in their order.
pub fn apply(plane: &ControlPlane, objects: &[Value]) -> Result<()> {
    if objects.is_empty() {
        return Ok(());
    }
    let apply = ["apply", "--server-side", "--force-conflicts", "--filename", "-"];
    plane.kubectl().expect_with_input(&apply, &list(objects)).map(drop)
}
