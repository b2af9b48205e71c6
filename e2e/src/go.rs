//! Programs built from the Go module proxy, once per version.
//!
//! A folder of `e2e/go` pins a program and all it is made of (`go.mod`, `go.sum`), so a build needs `go` and the
//! module proxy and nothing else; what comes out is the program its authors published, to the byte of source.

use crate::{
    cache, kubectl,
    process_group::{Process, ProcessGroup},
    progress::Progress,
};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// A folder of `e2e/go`.
#[derive(Debug)]
pub struct Module {
    folder: &'static str,
    /// The required module whose version is the program's.
    main: &'static str,
    go_mod: &'static str,
    go_sum: &'static str,
}

/// Kubernetes' own programs.
pub const KUBERNETES: Module = Module {
    folder: concat!(env!("CARGO_MANIFEST_DIR"), "/go/kubernetes"),
    main: "k8s.io/kubernetes",
    go_mod: include_str!("../go/kubernetes/go.mod"),
    go_sum: include_str!("../go/kubernetes/go.sum"),
};

/// The store under the API server.
pub const ETCD: Module = Module {
    folder: concat!(env!("CARGO_MANIFEST_DIR"), "/go/etcd"),
    main: "go.etcd.io/etcd/server/v3",
    go_mod: include_str!("../go/etcd/go.mod"),
    go_sum: include_str!("../go/etcd/go.sum"),
};

/// The package manager of Kubernetes.
pub const HELM: Module = Module {
    folder: concat!(env!("CARGO_MANIFEST_DIR"), "/go/helm"),
    main: "helm.sh/helm/v4",
    go_mod: include_str!("../go/helm/go.mod"),
    go_sum: include_str!("../go/helm/go.sum"),
};

/// cert-manager's controllers under mains of our own: its authors' are in modules that the proxy does not have.
pub const CERT_MANAGER: Module = Module {
    folder: concat!(env!("CARGO_MANIFEST_DIR"), "/go/cert-manager"),
    main: "github.com/cert-manager/cert-manager",
    go_mod: include_str!("../go/cert-manager/go.mod"),
    go_sum: include_str!("../go/cert-manager/go.sum"),
};

/// Metal3's operators.
pub const METAL3: Module = Module {
    folder: concat!(env!("CARGO_MANIFEST_DIR"), "/go/metal3"),
    main: "github.com/metal3-io/baremetal-operator",
    go_mod: include_str!("../go/metal3/go.mod"),
    go_sum: include_str!("../go/metal3/go.sum"),
};

/// Cluster API's managers.
pub const CLUSTER_API: Module = Module {
    folder: concat!(env!("CARGO_MANIFEST_DIR"), "/go/cluster-api"),
    main: "sigs.k8s.io/cluster-api",
    go_mod: include_str!("../go/cluster-api/go.mod"),
    go_sum: include_str!("../go/cluster-api/go.sum"),
};

/// Cluster API's tool for administrators.
pub const CLUSTERCTL: Module = Module {
    folder: concat!(env!("CARGO_MANIFEST_DIR"), "/go/clusterctl"),
    main: "sigs.k8s.io/cluster-api",
    go_mod: include_str!("../go/clusterctl/go.mod"),
    go_sum: include_str!("../go/clusterctl/go.sum"),
};

/// A policy engine that users could take instead.
pub const KYVERNO: Module = Module {
    folder: concat!(env!("CARGO_MANIFEST_DIR"), "/go/kyverno"),
    main: "github.com/kyverno/kyverno",
    go_mod: include_str!("../go/kyverno/go.mod"),
    go_sum: include_str!("../go/kyverno/go.sum"),
};

/// Another one.
pub const GATEKEEPER: Module = Module {
    folder: concat!(env!("CARGO_MANIFEST_DIR"), "/go/gatekeeper"),
    main: "github.com/open-policy-agent/gatekeeper/v3",
    go_mod: include_str!("../go/gatekeeper/go.mod"),
    go_sum: include_str!("../go/gatekeeper/go.sum"),
};

/// A program of a module.
#[derive(Debug)]
pub struct Program {
    /// What the file is called.
    pub name: &'static str,
    /// The Go package that is its `main`.
    pub package: &'static str,
    /// What it is built from.
    pub module: &'static Module,
}

impl Program {
    /// Where the program is: in `KUBEBUILDER_ASSETS` if it is there, else in the cache, built now if need be.
    pub fn path(&self) -> Result<PathBuf> {
        if let Some(assets) = std::env::var_os("KUBEBUILDER_ASSETS") {
            let given = Path::new(&assets).join(self.name);
            if given.is_file() {
                return Ok(given);
            }
        }
        let version = self.module.version()?;
        let flags = self.module.linker_flags(version);
        let ingredients =
            [self.package, self.module.go_mod, self.module.go_sum, &flags, std::env::consts::ARCH];
        let dir = cache::provide(&format!("{}-{version}", self.name), &ingredients, |dir| {
            self.build(version, &flags, &dir.join(self.name))
        })?;
        Ok(dir.join(self.name))
    }

    fn build(&self, version: &str, linker_flags: &str, to: &Path) -> Result<()> {
        let progress = Progress::start(&format!("building {} {version}", self.name));
        let group = ProcessGroup::new("build")?;
        let packages = self.go(&group, "sources", &["list", "-mod=readonly", "-deps"], |log| {
            let downloads = log.lines().filter(|line| line.contains("downloading")).count();
            progress.note(&format!("{downloads} modules downloaded"));
        })?;
        let total = packages.lines().filter(|line| !line.contains(' ')).count();
        let to = to.to_string_lossy();
        let build =
            ["build", "-v", "-mod=readonly", "-trimpath", "-ldflags", linker_flags, "-o", &to];
        self.go(&group, "build", &build, |log| {
            let compiled = log.lines().filter(|line| !line.contains(' ')).count();
            progress.note(&format!("{compiled} of {total} packages"));
        })?;
        progress.done();
        Ok(())
    }

    /// Runs `go` on the package and returns what it printed.
    fn go(
        &self,
        group: &ProcessGroup,
        step: &str,
        arguments: &[&str],
        watch: impl Fn(&str),
    ) -> Result<String> {
        let mut command = Command::new("go");
        command.args(arguments).arg(self.package).current_dir(self.module.folder);
        // No C compiler is needed, and a workspace of the user's must not join in.
        command.env("CGO_ENABLED", "0").env("GOWORK", "off");
        let process = group.spawn(step, command).map_err(|error| {
            if is_not_found(&error) { error.context(self.without_go()) } else { error }
        })?;
        let log = watch_log(&process, watch);
        if process.wait_for_exit(Duration::from_secs(5))?.success() {
            return Ok(log);
        }
        bail!(
            "could not build {} from its sources; the Go module proxy must be reachable (`go env GOPROXY`)\n{}",
            self.name,
            process.log_tail()
        )
    }

    fn without_go(&self) -> String {
        format!(
            "{} is built from its sources, and `go` was not found\n  \
             install Go 1.26 or newer, or set KUBEBUILDER_ASSETS to a folder that has {} in it",
            self.name, self.name
        )
    }
}

impl Module {
    /// The version that `go.mod` requires.
    pub fn version(&self) -> Result<&'static str> {
        let required = self.go_mod.lines().find_map(|line| {
            line.trim_start_matches("require").trim().strip_prefix(self.main)?.split(' ').nth(1)
        });
        required.with_context(|| format!("{}/go.mod does not require {}", self.folder, self.main))
    }

    /// Kubernetes' programs say v0.0.0 to their clients unless the linker tells them their version.
    fn linker_flags(&self, version: &str) -> String {
        let mut numbers = version.trim_start_matches('v').split('.');
        let (major, minor) = (numbers.next().unwrap_or("0"), numbers.next().unwrap_or("0"));
        match self.main {
            "k8s.io/kubernetes" => format!(
                "-s -w -X k8s.io/component-base/version.gitVersion={version} \
                 -X k8s.io/component-base/version.gitMajor={major} \
                 -X k8s.io/component-base/version.gitMinor={minor}"
            ),
            _ => "-s -w".to_owned(),
        }
    }
}

/// The sources of a module as its authors published them: for their manifests and samples.
///
/// `sum` is the hash that Go prints for them, so that no other sources can be taken for these.
pub fn sources(module: &str, version: &str, sum: &str) -> Result<PathBuf> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Download {
        dir: Option<PathBuf>,
        sum: Option<String>,
        error: Option<String>,
    }

    let mut command = Command::new("go");
    command
        .args(["mod", "download", "-json", &format!("{module}@{version}")])
        // Outside any module: this one is pinned by the hash above, and not by a go.sum.
        .current_dir(std::env::temp_dir())
        .env("GOWORK", "off")
        .env("GOFLAGS", "-mod=mod")
        .env("GONOSUMDB", module);
    let answer = kubectl::run(&mut command, "")?;
    let download: Download = serde_json::from_str(&answer.out)
        .with_context(|| format!("could not download {module}: {}", answer.err))?;
    match download {
        Download { error: Some(error), .. } => bail!("could not download {module}: {error}"),
        Download { dir: Some(dir), sum: Some(found), .. } if found == sum => Ok(dir),
        Download { sum: found, .. } => {
            bail!("the sources of {module} {version} are not the ones that were pinned: {found:?}")
        }
    }
}

/// Reads the log until the process ends, showing it to `watch` as it grows.
fn watch_log(process: &Process, watch: impl Fn(&str)) -> String {
    loop {
        let ended = process.exit_status().is_some();
        let log = fs::read_to_string(process.log()).unwrap_or_default();
        watch(&log);
        if ended {
            return log;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn is_not_found(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .or_else(|| error.root_cause().downcast_ref())
        .is_some_and(|source| source.kind() == ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_go_mod() {
        assert!(KUBERNETES.version().unwrap().starts_with("v1.36."));
        assert!(ETCD.version().unwrap().starts_with("v3."));
        assert!(HELM.version().unwrap().starts_with("v4."));
        assert!(CERT_MANAGER.version().unwrap().starts_with("v1."));
        assert!(METAL3.version().unwrap().starts_with("v0."));
        assert!(CLUSTER_API.version().unwrap().starts_with("v1."));
    }

    #[test]
    fn kubernetes_programs_are_told_their_version() {
        let flags = KUBERNETES.linker_flags("v1.36.3");
        assert!(flags.contains("gitVersion=v1.36.3") && flags.contains("gitMinor=36"), "{flags}");
        assert_eq!(ETCD.linker_flags("v3.6.16"), "-s -w");
    }
}
