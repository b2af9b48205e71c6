//! The kinds of the Prometheus operator, as its authors publish them: what the chart's objects for it are judged by.

use crate::{cluster, control_plane::ControlPlane, go};
use anyhow::Result;

/// Those that the chart has objects of.
const KINDS: [&str; 2] = ["prometheusrules", "servicemonitors"];

/// Installs them.
pub fn install_kinds(plane: &ControlPlane) -> Result<()> {
    let sum = "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=";
    let module = "github.com/prometheus-operator/prometheus-operator";
    let folder = go::sources(module, "v0.85.0", sum)?.join("example/prometheus-operator-crd");
    let file = |kind| folder.join(format!("monitoring.coreos.com_{kind}.yaml"));
    cluster::install_files(plane, KINDS.map(file))
}
