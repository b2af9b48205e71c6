//! What tests share: one control plane with the kinds installed, and a namespace each.

use crate::{
    control_plane::ControlPlane,
    eventually::eventually,
    ironward,
    kubectl::{self, Kubectl},
    progress::Progress,
};
use anyhow::{Context, Result, bail};
use std::{
    fs,
    path::PathBuf,
    process::Command,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

/// Installs the kinds as a user does: what `ironward crds` prints goes to `kubectl apply`.
pub fn install_kinds(plane: &ControlPlane) -> Result<()> {
    let progress = Progress::start("installing the kinds");
    let printed = kubectl::run(Command::new(ironward::binary()?).arg("crds"), "")?;
    if !printed.success {
        bail!("ironward crds failed: {}", printed.err);
    }
    let kubectl = plane.kubectl();
    kubectl.expect_with_input(&["apply", "--server-side", "--filename", "-"], &printed.out)?;
    wait_until_established(&kubectl, &printed.out)?;
    progress.done();
    Ok(())
}

/// Installs kinds from the files of their authors, and waits until they are served.
pub fn install_files(plane: &ControlPlane, files: impl IntoIterator<Item = PathBuf>) -> Result<()> {
    let mut definitions = String::new();
    for path in files {
        let text = fs::read_to_string(&path)
            .with_context(|| format!("could not read {}", path.display()))?;
        definitions.push_str("---\n");
        definitions.push_str(&text);
    }
    let kubectl = plane.kubectl();
    kubectl.expect_with_input(&["apply", "--server-side", "--filename", "-"], &definitions)?;
    wait_until_established(&kubectl, &definitions)
}

/// Waits until the API server serves what the definitions define.
pub fn wait_until_established(kubectl: &Kubectl, definitions: &str) -> Result<()> {
    let wait = ["wait", "--for", "condition=Established", "--timeout", "60s", "--filename", "-"];
    // kubectl gives up at once on a definition that has no conditions at all yet.
    eventually(Duration::from_mins(1), "all kinds are served", || {
        kubectl.expect_with_input(&wait, definitions).map(drop)
    })
}

/// The control plane that all tests of this process share, with the kinds installed. It ends with the process.
pub fn shared() -> Result<&'static ControlPlane> {
    static SHARED: OnceLock<Result<ControlPlane, String>> = OnceLock::new();
    let start = || {
        let plane = ControlPlane::start()?;
        install_kinds(&plane)?;
        Ok(plane)
    };
    let shared =
        SHARED.get_or_init(|| start().map_err(|error: anyhow::Error| format!("{error:#}")));
    shared.as_ref().map_err(|error| anyhow::Error::msg(error.clone()))
}

/// A namespace of the shared control plane that nobody else uses, and `kubectl` in it.
pub fn namespace() -> Result<Kubectl> {
    static NUMBER: AtomicUsize = AtomicUsize::new(1);
    let name = format!("test-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let kubectl = shared()?.kubectl();
    kubectl.expect(&["create", "namespace", &name])?;
    Ok(kubectl.in_namespace(&name))
}
