//! Ironward itself: built from this checkout and run as a process of its own.

use crate::{
    certificates::Files, control_plane::ControlPlane, http, kubectl, ports, process_group::Process,
    progress::Progress,
};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    path::PathBuf,
    process::Command,
    sync::{Mutex, PoisonError},
    time::Duration,
};

const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const PATIENCE: Duration = Duration::from_mins(1);

/// Who Ironward is to the API server: not the administrator, whose own writes are to be judged.
pub const OWN_NAME: &str = "system:serviceaccount:ironward-system:ironward";

/// Policies in the place of the shipped ones that let no two hosts share an address, for whoever wants many hosts
/// with the same.
pub const NOTHING_IS_UNIQUE: &str = "\
apiVersion: policies.ironward.dev/v1
kind: UniquePolicy
metadata: {name: unique-boot-mac}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [metal3.io], apiVersions: [v1alpha1], resources: [baremetalhosts]}]
  key: \"''\"
---
apiVersion: policies.ironward.dev/v1
kind: UniquePolicy
metadata: {name: unique-bmc-endpoint}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [metal3.io], apiVersions: [v1alpha1], resources: [baremetalhosts]}]
  key: \"''\"
";

/// How it is run beyond the usual.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The user's policies.
    pub policy_dir: Option<PathBuf>,
    /// Which of cargo's profiles it is built with, if not the one for tests.
    pub profile: Option<String>,
    /// Where the API server reaches it, if not at its own address.
    pub url: Option<String>,
    /// The way to the API server, if not its own.
    pub kubeconfig: Option<PathBuf>,
    /// How long a request that relies on a claim may still be stored, in seconds.
    pub claim_grace: Option<u32>,
    /// More flags, as they are.
    pub flags: Vec<String>,
}

/// A running `ironward run`. It ends with its control plane.
#[derive(Debug)]
pub struct Ironward {
    /// The process.
    pub process: Process,
    /// Where it answers the kubelet's questions.
    pub probes: String,
    /// Where it answers the API server.
    pub webhook: String,
    /// The serving certificate.
    pub certificate: Files,
}

impl Ironward {
    /// Starts it against a control plane, as a service account to which nothing is forbidden.
    pub fn start(plane: &ControlPlane) -> Result<Self> {
        Self::start_with(plane, &Options::default())
    }

    /// The same with something beyond the usual.
    pub fn start_with(plane: &ControlPlane, options: &Options) -> Result<Self> {
        let [probes, webhook] = ports::free()?.map(|port: u16| format!("127.0.0.1:{port}"));
        let (certificate, authority) = plane.serving_certificate("ironward")?;
        let url = options.url.clone().unwrap_or_else(|| format!("https://{webhook}"));
        let program = binary_of(options.profile.as_deref().unwrap_or("dev"))?;
        let mut command = Command::new(program);
        command
            .args(["run", "--probe-address", &probes])
            .args(["--webhook-address", &webhook, "--webhook-url", &url])
            .arg("--tls-cert-file")
            .arg(&certificate.certificate)
            .arg("--tls-key-file")
            .arg(&certificate.key)
            .arg("--ca-file")
            .arg(authority)
            .env(
                "KUBECONFIG",
                options.kubeconfig.clone().map_or_else(|| plane.own_kubeconfig(), Ok)?,
            );
        if let Some(folder) = &options.policy_dir {
            command.arg("--policy-dir").arg(folder);
        }
        if let Some(seconds) = options.claim_grace {
            command.arg("--claim-grace-seconds").arg(seconds.to_string());
        }
        command.args(&options.flags);
        let process = plane.spawn("ironward", command)?;
        let webhook = format!("https://{webhook}");
        Ok(Self { process, probes: format!("http://{probes}"), webhook, certificate })
    }

    /// Waits until it says that it is ready.
    pub fn wait_until_ready(&self) -> Result<()> {
        self.process.wait_until(PATIENCE, || {
            self.probe("readyz").is_ok_and(|(status, _)| status == reqwest::StatusCode::OK)
        })
    }

    /// Waits until the API server sends it what it should, which it does a moment after it was told.
    pub fn wait_until_in_force(&self, plane: &ControlPlane) -> Result<()> {
        let host = "{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: probe}, \
                    spec: {online: true, bmc: {address: 'nonsense://192.0.2.1', credentialsName: none}}}";
        let dry_run = ["create", "--dry-run=server", "--filename", "-"];
        self.process.wait_until(PATIENCE, || {
            let answer = plane.kubectl().run_with_input(&dry_run, host);
            answer.is_ok_and(|answer| answer.err.contains("[host-bmc-address]"))
        })
    }

    /// What it answers to a probe.
    pub fn probe(&self, name: &str) -> Result<(reqwest::StatusCode, String)> {
        let answer = http::client()?.get(format!("{}/{name}", self.probes)).send()?;
        Ok((answer.status(), answer.text()?))
    }
}

/// The program, built now if this checkout has changed since.
pub fn binary() -> Result<PathBuf> {
    binary_of("dev")
}

/// The program as fast as it is in an image, for tests under load.
pub fn optimised_binary() -> Result<PathBuf> {
    binary_of("fast")
}

/// Has it built, for those who do not want to wait for that later.
pub fn build(profile: &str) -> Result<()> {
    binary_of(profile).map(|_| ())
}

/// Cargo is asked once for each of its profiles: what starts often does not ask every time.
fn binary_of(profile: &str) -> Result<PathBuf> {
    static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut known = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(program) = known.get(profile) {
        return Ok(program.clone());
    }
    let program = built(cargo("build", profile))?;
    known.insert(profile.to_owned(), program.clone());
    Ok(program)
}

/// The program that an image holds: linked to nothing. Only the last step differs from how the one above is built, so that
/// all else is compiled once.
pub fn static_binary() -> Result<PathBuf> {
    let mut command = cargo("rustc", "dev");
    command.args(["--", "-C", "target-feature=+crt-static"]);
    built(command)
}

fn cargo(command: &str, profile: &str) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = Command::new(cargo);
    cargo
        .args([command, "--quiet", "--package", "ironward", "--bin", "ironward"])
        .args(["--profile", profile])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(WORKSPACE);
    // What cargo tells a test of its own package. To the build scripts that ask for it, as ring's does, it would be news: they would be
    // run again, and all that depends on them compiled again, by this cargo and by the next one that is not started by a test.
    let of_package = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_BIN_"];
    for (name, _) in std::env::vars_os() {
        if of_package.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            cargo.env_remove(name);
        }
    }
    cargo
}

fn built(mut command: Command) -> Result<PathBuf> {
    #[derive(Deserialize)]
    struct Message {
        executable: Option<PathBuf>,
    }

    let progress = Progress::start("building ironward");
    let answer = kubectl::run(&mut command, "")?;
    if !answer.success {
        bail!("could not build ironward\n{}", answer.err);
    }
    let program = answer
        .out
        .lines()
        .filter_map(|line| serde_json::from_str::<Message>(line).ok()?.executable)
        .next_back()
        .context("cargo did not say where it put ironward")?;
    progress.done();
    Ok(program)
}
