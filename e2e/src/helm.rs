//! Helm, as its authors publish it, and our chart.

use crate::{
    control_plane::ControlPlane,
    go::{HELM, Program},
    kubectl::{self, Answer},
};
use anyhow::{Result, bail};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// The chart of this checkout.
pub const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../charts/ironward");

const PROGRAM: Program =
    Program { name: "helm", package: "helm.sh/helm/v4/cmd/helm", module: &HELM };

/// Builds it if it is not built yet, for whoever uses it where nothing can be built.
pub fn provide() -> Result<()> {
    PROGRAM.path().map(drop)
}

/// The program and whom it speaks for.
#[derive(Debug, Clone)]
pub struct Helm {
    program: PathBuf,
    kubeconfig: PathBuf,
    home: PathBuf,
}

impl Helm {
    /// Helm as the administrator of a control plane.
    pub fn new(plane: &ControlPlane) -> Result<Self> {
        let home = plane.dir().join("helm");
        let kubeconfig = plane.admin_kubeconfig().to_owned();
        Ok(Self { program: PROGRAM.path()?, kubeconfig, home })
    }

    /// Helm where no cluster is asked, with what it writes in a folder.
    pub fn without_cluster(home: &Path) -> Result<Self> {
        let (kubeconfig, home) = (home.join("none"), home.to_owned());
        Ok(Self { program: PROGRAM.path()?, kubeconfig, home })
    }

    /// The folder that the program is in.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.program.parent().unwrap_or(Path::new("."))
    }

    /// Runs it, whatever comes out.
    pub fn run(&self, arguments: &[&str]) -> Result<Answer> {
        let mut command = Command::new(&self.program);
        // Nothing of the user's own Helm joins in.
        for variable in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(variable, &self.home);
        }
        command.env("KUBECONFIG", &self.kubeconfig).args(arguments);
        kubectl::run(&mut command, "")
    }

    /// Runs it and returns what it printed; fails with its own message when it does.
    pub fn expect(&self, arguments: &[&str]) -> Result<String> {
        let answer = self.run(arguments)?;
        if !answer.success {
            bail!("helm {} failed: {}", arguments.join(" "), answer.err.trim());
        }
        Ok(answer.out)
    }
}
