//! Cluster API as its authors publish it: the core manager, the providers that bootstrap with kubeadm and keep control planes, and
//! `clusterctl`.

use crate::{
    control_plane::ControlPlane,
    go::{self, CLUSTER_API, Program},
    kubectl,
    manager::{self, Manager, Operator},
};
use anyhow::{Result, bail};
use std::{path::PathBuf, process::Command};

const CORE: Manager = Manager {
    program: Program {
        name: "cluster-api",
        package: "sigs.k8s.io/cluster-api/core",
        module: &CLUSTER_API,
    },
    sources,
    manifests: "core/config/default",
    port: 9547,
};
const BOOTSTRAP: Manager = Manager {
    program: Program {
        name: "cluster-api-kubeadm-bootstrap",
        package: "sigs.k8s.io/cluster-api/bootstrap/kubeadm",
        module: &CLUSTER_API,
    },
    sources,
    manifests: "bootstrap/kubeadm/config/default",
    port: 9548,
};
const CONTROL_PLANE: Manager = Manager {
    program: Program {
        name: "cluster-api-kubeadm-control-plane",
        package: "sigs.k8s.io/cluster-api/controlplane/kubeadm",
        module: &CLUSTER_API,
    },
    sources,
    manifests: "controlplane/kubeadm/config/default",
    port: 9549,
};
const CLUSTERCTL: Program = Program {
    name: "clusterctl",
    package: "sigs.k8s.io/cluster-api/cmd/clusterctl",
    module: &go::CLUSTERCTL,
};
const ALL: [&Manager; 3] = [&CORE, &BOOTSTRAP, &CONTROL_PLANE];

/// Builds and downloads all there is to, for whoever starts it where neither can be done.
pub fn provide() -> Result<()> {
    CLUSTERCTL.path()?;
    ALL.iter().try_for_each(|manager| manager.provide())
}

/// Moves the clusters of a namespace to another management cluster, with all that belongs to them.
pub fn move_to(from: &ControlPlane, namespace: &str, to: &ControlPlane) -> Result<()> {
    // By it, `clusterctl` knows again what it has installed.
    let label =
        ["label", "crd", "--selector=cluster.x-k8s.io/provider", "clusterctl.cluster.x-k8s.io="];
    for plane in [from, to] {
        plane.kubectl().expect(&label)?;
    }
    let mut command = Command::new(CLUSTERCTL.path()?);
    command.args(["move", "--namespace", namespace]);
    command.arg("--kubeconfig").arg(from.admin_kubeconfig());
    command.arg("--to-kubeconfig").arg(to.admin_kubeconfig());
    // It looks for settings there, and for a newer one of itself in a place that is not there.
    command.env("XDG_CONFIG_HOME", from.dir()).env("CLUSTERCTL_DISABLE_VERSIONCHECK", "true");
    let answer = kubectl::run(&mut command, "")?;
    if !answer.success {
        bail!("clusterctl move failed: {}", answer.err.trim());
    }
    Ok(())
}

/// Installs its kinds. What is stored of them before its managers run cannot be read in another version than the stored one.
pub fn install_kinds(plane: &ControlPlane) -> Result<()> {
    let mut kinds = Vec::new();
    for manager in ALL {
        kinds.extend(manager.kinds(plane)?);
    }
    manager::install_kinds(plane, &kinds)
}

/// Starts its managers. They end with the control plane.
pub fn start(plane: &ControlPlane) -> Result<Vec<Operator>> {
    ALL.iter().map(|manager| run(plane, manager)).collect()
}

fn run(plane: &ControlPlane, manager: &Manager) -> Result<Operator> {
    let certificates = plane.dir().join(manager.program.name);
    manager.certificate(plane, &certificates)?;
    manager.start(plane, |command, probes| {
        // Without its Lease, which it makes in the namespace of its pod, and it is in none.
        command.args(["--diagnostics-address=0", "--insecure-diagnostics"]);
        command.arg(format!("--webhook-port={}", manager.port));
        command.arg(format!("--webhook-cert-dir={}", certificates.display()));
        command.arg(format!("--health-addr=127.0.0.1:{probes}"));
    })
}

fn sources() -> Result<PathBuf> {
    let sum = "h1:o3GFNaeNFAOEEMpDPfhCK+2CjmV6gtQ8yLEcUwCg7bA=";
    go::sources("sigs.k8s.io/cluster-api", CLUSTER_API.version()?, sum)
}
