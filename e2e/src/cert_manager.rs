//! cert-manager's controllers, with the issuers that need nobody outside.

use crate::{
    cluster,
    control_plane::ControlPlane,
    go::{self, CERT_MANAGER, Program},
    process_group::Process,
};
use anyhow::Result;
use std::{fs, path::PathBuf, process::Command};

const CONTROLLER: Program =
    Program { name: "cert-manager-controller", package: "./controller", module: &CERT_MANAGER };
const CA_INJECTOR: Program =
    Program { name: "cert-manager-cainjector", package: "./cainjector", module: &CERT_MANAGER };

/// Builds what is not built yet and downloads its manifests, for whoever starts it where neither can be done.
pub fn provide() -> Result<()> {
    CONTROLLER.path()?;
    CA_INJECTOR.path()?;
    sources().map(drop)
}

/// A running cert-manager. It ends with its control plane.
#[derive(Debug)]
pub struct CertManager {
    /// Its processes.
    pub processes: [Process; 2],
}

impl CertManager {
    /// Installs the kinds and starts the controllers.
    pub fn start(plane: &ControlPlane) -> Result<Self> {
        let (controller, injector) = (CONTROLLER.path()?, CA_INJECTOR.path()?);
        install_kinds(plane)?;
        let processes = [
            plane.spawn("cert-manager", command(plane, &controller))?,
            plane.spawn("cainjector", command(plane, &injector))?,
        ];
        Ok(Self { processes })
    }
}

/// Installs cert-manager's kinds, as its authors published them.
pub fn install_kinds(plane: &ControlPlane) -> Result<()> {
    let files = fs::read_dir(sources()?.join("deploy/crds"))?;
    let files = files.map(|file| Ok(file?.path())).collect::<Result<Vec<_>>>()?;
    let is_manifest = |path: &PathBuf| path.extension().is_some_and(|end| end == "yaml");
    cluster::install_files(plane, files.into_iter().filter(is_manifest))
}

fn sources() -> Result<PathBuf> {
    let sum = "h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68=";
    go::sources("github.com/cert-manager/cert-manager", CERT_MANAGER.version()?, sum)
}

fn command(plane: &ControlPlane, program: &PathBuf) -> Command {
    let mut command = Command::new(program);
    command.arg("--kubeconfig").arg(plane.admin_kubeconfig());
    command
}
