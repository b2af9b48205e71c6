//! Ironward itself: built from this checkout and run as a process of its own.

use crate::{
    control_plane::ControlPlane, http, kubectl, ports, process_group::Process, progress::Progress,
};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::{path::PathBuf, process::Command, sync::OnceLock, time::Duration};

const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const PATIENCE: Duration = Duration::from_mins(1);

/// A running `ironward run`. It ends with its control plane.
#[derive(Debug)]
pub struct Ironward {
    /// The process.
    pub process: Process,
    /// Where it answers the kubelet's questions.
    pub probes: String,
}

impl Ironward {
    /// Starts it against a control plane, as its administrator.
    pub fn start(plane: &ControlPlane) -> Result<Self> {
        let [port] = ports::free()?;
        let address = format!("127.0.0.1:{port}");
        let mut command = Command::new(binary()?);
        command
            .args(["run", "--probe-address", &address])
            .env("KUBECONFIG", plane.admin_kubeconfig());
        let process = plane.spawn("ironward", command)?;
        Ok(Self { process, probes: format!("http://{address}") })
    }

    /// Waits until it says that it is ready.
    pub fn wait_until_ready(&self) -> Result<()> {
        self.process.wait_until(PATIENCE, || {
            self.probe("readyz").is_ok_and(|(status, _)| status == reqwest::StatusCode::OK)
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
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| build().map_err(|error| format!("{error:#}")));
    built.clone().map_err(anyhow::Error::msg)
}

fn build() -> Result<PathBuf> {
    #[derive(Deserialize)]
    struct Message {
        executable: Option<PathBuf>,
    }

    let progress = Progress::start("building ironward");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["build", "--quiet", "--package", "ironward", "--bin", "ironward"])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(WORKSPACE);
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
