//! Metal3's own operators, as their authors publish them: baremetal-operator and CAPM3, with their kinds, roles and webhooks.

use crate::{
    control_plane::ControlPlane,
    go::{self, METAL3, Program},
    manager::{self, Manager},
    metal3,
};
use anyhow::Result;
use serde_json::Value;
use std::{fs, path::PathBuf, process::Command};

pub use crate::manager::Operator;

const HOSTS: Manager = Manager {
    program: Program {
        name: "baremetal-operator",
        package: "github.com/metal3-io/baremetal-operator",
        module: &METAL3,
    },
    sources: metal3::baremetal_operator,
    manifests: "config/default",
    port: 9543,
};
const MACHINES: Manager = Manager {
    program: Program {
        name: "cluster-api-provider-metal3",
        package: "github.com/metal3-io/cluster-api-provider-metal3",
        module: &METAL3,
    },
    sources: metal3::cluster_api_provider_metal3,
    manifests: "config/default",
    port: 9545,
};

/// Builds and downloads all there is to, for whoever starts them where neither can be done.
pub fn provide() -> Result<()> {
    HOSTS.provide()?;
    MACHINES.provide()?;
    cluster_api()?;
    metal3::ip_address_manager().map(drop)
}

/// The same for the operator of hosts alone.
pub fn provide_hosts() -> Result<()> {
    HOSTS.provide()
}

/// Installs the kinds of the operator of hosts, and no others.
pub fn install_host_kinds(plane: &ControlPlane) -> Result<()> {
    manager::install_kinds(plane, &HOSTS.kinds(plane)?)
}

/// Installs the kinds of both, and those that CAPM3 works with: Cluster API's and the addresses'.
pub fn install_kinds(plane: &ControlPlane) -> Result<()> {
    install_own_kinds(plane)?;
    manager::install_kinds(plane, &definitions(&cluster_api()?.join("config/crd/bases"))?)
}

/// The same without Cluster API's, for whoever has it.
pub fn install_own_kinds(plane: &ControlPlane) -> Result<()> {
    let addresses = metal3::ip_address_manager()?.join("config/crd/bases");
    let mut kinds = definitions(&addresses)?;
    for manager in [&HOSTS, &MACHINES] {
        kinds.extend(manager.kinds(plane)?);
    }
    manager::install_kinds(plane, &kinds)
}

fn definitions(folder: &PathBuf) -> Result<Vec<Value>> {
    let mut kinds = Vec::new();
    for entry in fs::read_dir(folder)? {
        let text = fs::read_to_string(entry?.path())?;
        kinds.extend(serde_saphyr::from_multiple::<Value>(&text)?);
    }
    Ok(kinds)
}

/// Starts the operator of hosts, for machines that need not be there.
pub fn baremetal_operator(plane: &ControlPlane) -> Result<Operator> {
    baremetal_operator_with(plane, |command| {
        command.arg("-demo-mode");
    })
}

/// The same for an Ironic, whose address is among the settings.
pub fn baremetal_operator_with(
    plane: &ControlPlane,
    settings: impl FnOnce(&mut Command),
) -> Result<Operator> {
    let certificates = plane.dir().join("baremetal-operator");
    // It has no flag for them.
    HOSTS.certificate(plane, &certificates.join("k8s-webhook-server/serving-certs"))?;
    HOSTS.start(plane, |command, probes| {
        command.env("TMPDIR", &certificates).arg("-enable-leader-election");
        command.arg("-metrics-addr=0").arg(format!("-webhook-port={}", HOSTS.port));
        command.arg(format!("-health-addr=127.0.0.1:{probes}"));
        settings(command);
    })
}

/// Where its webhook of hosts is asked directly.
#[must_use]
pub fn host_webhook() -> String {
    format!("https://127.0.0.1:{}/validate-metal3-io-v1alpha1-baremetalhost", HOSTS.port)
}

/// Starts the infrastructure provider of Cluster API.
pub fn cluster_api_provider(plane: &ControlPlane) -> Result<Operator> {
    cluster_api_provider_with(plane, |_| {})
}

/// The same with more flags.
pub fn cluster_api_provider_with(
    plane: &ControlPlane,
    settings: impl FnOnce(&mut Command),
) -> Result<Operator> {
    let certificates = plane.dir().join("capm3");
    MACHINES.certificate(plane, &certificates)?;
    // Without its Lease, which it makes in the namespace of its pod, and it is in none.
    MACHINES.start(plane, |command, probes| {
        command.args(["--diagnostics-address=0", "--insecure-diagnostics"]);
        command.arg(format!("--webhook-port={}", MACHINES.port));
        command.arg(format!("--webhook-cert-dir={}", certificates.display()));
        command.arg(format!("--health-addr=127.0.0.1:{probes}"));
        settings(command);
    })
}

/// The sources of Cluster API, of the version that CAPM3 is made for.
fn cluster_api() -> Result<PathBuf> {
    let sum = "h1:27PPEKSqESKeUIf475Ga6hSW1+gKxd5V5sCmMDgeBDo=";
    go::sources("sigs.k8s.io/cluster-api", "v1.13.4", sum)
}
