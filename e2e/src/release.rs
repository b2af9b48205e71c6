//! A release of the chart, and replicas of it that run on this machine.
//!
//! There is no node here, so what the kubelet would do is done by hand: a replica is started with the arguments of the
//! Deployment that Helm installed, as the ServiceAccount of the chart. Only addresses and mounted files are others.

use crate::{
    control_plane::ControlPlane,
    helm::{CHART, Helm},
    ironward::{self, Ironward},
    kubectl::{self, Kubectl},
    ports,
    process_group::Process,
};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Where the tests install it.
pub const NAMESPACE: &str = "ironward-system";
/// What the release is called, and with it all that it installs.
pub const NAME: &str = "ironward";

/// The kinds that Metal3's operators bring.
pub const METAL3_KINDS: [&str; 7] = ["bmh", "hd", "m3c", "m3m", "m3mt", "m3r", "m3rt"];

/// An installed release.
#[derive(Debug)]
pub struct Release<'a> {
    /// The cluster.
    pub plane: &'a ControlPlane,
    /// Helm.
    pub helm: Helm,
}

/// How a replica differs from what the Deployment says.
#[derive(Debug, Clone, Default)]
pub struct Replica {
    /// Where the API server reaches all of them, if not the one.
    pub url: Option<String>,
    /// What is mounted in place of the certificate's Secret.
    pub tls: Option<PathBuf>,
    /// What is mounted in place of the policies' ConfigMap.
    pub policies: Option<PathBuf>,
    /// Arguments in the place of the Deployment's, by their name.
    pub arguments: Vec<String>,
    /// Whether it is built to be fast and not to be built fast.
    pub optimised: bool,
}

/// The kinds that are Ironward's own.
pub const OWN_KINDS: [&str; 3] = ["m3md", "bmhd", "hh"];

/// Installs the kinds that Metal3's operators would have brought.
pub fn install_metal3_kinds(plane: &ControlPlane) -> Result<()> {
    install_kinds(plane, &METAL3_KINDS)
}

/// Installs kinds by hand, for a release that brings none.
pub fn install_kinds(plane: &ControlPlane, kinds: &[&str]) -> Result<()> {
    let mut command = Command::new(ironward::binary()?);
    let printed = kubectl::run(command.arg("crds").args(kinds), "")?;
    if !printed.success {
        bail!("ironward crds failed: {}", printed.err);
    }
    let apply = ["apply", "--server-side", "--filename", "-"];
    plane.kubectl().expect_with_input(&apply, &printed.out)?;
    crate::cluster::wait_until_established(&plane.kubectl(), &printed.out)
}

impl<'a> Release<'a> {
    /// Installs the chart with these values.
    pub fn install(plane: &'a ControlPlane, values: &[&str]) -> Result<Self> {
        let release = Self { plane, helm: Helm::new(plane)? };
        release.change(&["install", "--create-namespace"], values)?;
        Ok(release)
    }

    /// Upgrades it to these values.
    pub fn upgrade(&self, values: &[&str]) -> Result<String> {
        self.change(&["upgrade"], values)
    }

    fn change(&self, command: &[&str], values: &[&str]) -> Result<String> {
        let mut arguments = command.to_vec();
        arguments.extend([NAME, CHART, "--namespace", NAMESPACE]);
        for value in values {
            arguments.extend(["--set", value]);
        }
        self.helm.expect(&arguments)
    }

    /// Runs a command of Helm's on it.
    pub fn helm(&self, command: &str, arguments: &[&str]) -> Result<String> {
        let mut all = vec![command, NAME, "--namespace", NAMESPACE];
        all.extend(arguments);
        self.helm.expect(&all)
    }

    /// `kubectl` in its namespace, as the administrator.
    #[must_use]
    pub fn kubectl(&self) -> Kubectl {
        self.plane.kubectl().in_namespace(NAMESPACE)
    }

    /// A kubeconfig with a token of the chart's ServiceAccount.
    pub fn account(&self) -> Result<PathBuf> {
        let deployment = self.kubectl().get("deployment", NAME)?;
        let account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
            .as_str()
            .context("the Deployment names no ServiceAccount")?
            .to_owned();
        let token = self.kubectl().expect(&["create", "token", &account, "--duration", "2h"])?;
        self.plane.kubeconfig_with_token(&account, token.trim(), NAMESPACE)
    }

    /// The arguments of the Deployment's container.
    pub fn arguments(&self) -> Result<Vec<String>> {
        let deployment = self.kubectl().get("deployment", NAME)?;
        let arguments = &deployment["spec"]["template"]["spec"]["containers"][0]["args"];
        serde_json::from_value(arguments.clone()).context("the container has no arguments")
    }

    /// Starts a replica, in its place of those that the kubelet would start.
    pub fn start(&self, replica: &Replica) -> Result<Ironward> {
        let [probes, webhook] = ports::free()?.map(|port: u16| format!("127.0.0.1:{port}"));
        let url = replica.url.clone().unwrap_or_else(|| format!("https://{webhook}"));
        let (certificate, _) = self.plane.serving_certificate("unused")?;
        let program =
            if replica.optimised { ironward::optimised_binary()? } else { ironward::binary()? };
        let mut command = Command::new(program);
        for argument in self.arguments()? {
            let name = argument.split('=').next().unwrap_or_default().to_owned();
            let own = replica.arguments.iter().find(|own| own.split('=').next() == Some(&name));
            command.arg(match (name.as_str(), own) {
                (_, Some(own)) => own.clone(),
                ("--webhook-address", _) => format!("{name}={webhook}"),
                ("--probe-address", _) => format!("{name}={probes}"),
                ("--webhook-service", _) => format!("--webhook-url={url}"),
                ("--log-format", _) => format!("{name}=text"),
                _ => mounted(&argument, replica)?,
            });
        }
        command.env("KUBECONFIG", self.account()?);
        let process = self.plane.spawn("ironward", command)?;
        let (probes, webhook) = (format!("http://{probes}"), format!("https://{webhook}"));
        Ok(Ironward { process, probes, webhook, certificate })
    }

    /// `ironward verify` as the chart's ServiceAccount: what `helm test` runs in a pod.
    pub fn verify(&self) -> Result<kubectl::Answer> {
        let mut command = Command::new(ironward::binary()?);
        command.args(["verify", "--registration-name", NAME]).env("KUBECONFIG", self.account()?);
        kubectl::run(&mut command, "")
    }
}

/// An argument with the file that stands in for a mounted one.
fn mounted(argument: &str, replica: &Replica) -> Result<String> {
    for (folder, ours) in
        [("/etc/ironward/tls", &replica.tls), ("/etc/ironward/policies", &replica.policies)]
    {
        if argument.contains(folder) {
            let Some(ours) = ours else { bail!("nothing is mounted for {argument}") };
            return Ok(argument.replace(folder, &ours.to_string_lossy()));
        }
    }
    Ok(argument.to_owned())
}

/// Writes the data of a Secret or ConfigMap as files, as the kubelet does.
pub fn mount(kubectl: &Kubectl, kind: &str, name: &str, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let object = kubectl.get(kind, name)?;
    for (file, value) in object["data"].as_object().into_iter().flatten() {
        let text = value.as_str().unwrap_or_default();
        let bytes = match kind {
            "secret" => decoded(text)?,
            _ => text.as_bytes().to_vec(),
        };
        fs::write(folder.join(file), bytes)?;
    }
    Ok(())
}

/// The bytes of a Secret's value.
pub fn decoded(text: &str) -> Result<Vec<u8>> {
    let bytes: k8s_openapi::ByteString = serde_json::from_value(Value::from(text))?;
    Ok(bytes.0)
}

/// How the process of a replica is told to stop, and has.
pub fn stopped(process: &Process) -> Result<()> {
    process.signal(rustix::process::Signal::TERM)?;
    process.wait_for_exit(std::time::Duration::from_mins(1))?;
    Ok(())
}
