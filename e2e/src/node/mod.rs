//! A cluster with a node on which pods really run: kubelet, containerd, runc, kube-proxy and names, in a part of this machine of
//! their own.

pub mod apart;
mod images;
mod packages;
mod settings;

pub use settings::NAME;

use crate::{
    cert_manager,
    control_plane::{self, ControlPlane, Options},
    eventually::eventually,
    go::{KUBERNETES, Program},
    helm, ironward, kubectl,
    process_group::Process,
    progress::Progress,
};
use anyhow::{Context, Result, bail};
use apart::Apart;
use packages::Packages;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

const PATIENCE: Duration = Duration::from_mins(2);

const KUBELET: Program =
    Program { name: "kubelet", package: "k8s.io/kubernetes/cmd/kubelet", module: &KUBERNETES };
const SCHEDULER: Program = Program {
    name: "kube-scheduler",
    package: "k8s.io/kubernetes/cmd/kube-scheduler",
    module: &KUBERNETES,
};
const PROXY: Program = Program {
    name: "kube-proxy",
    package: "k8s.io/kubernetes/cmd/kube-proxy",
    module: &KUBERNETES,
};

/// A cluster of one node, with the image of this checkout on it.
#[derive(Debug)]
pub struct Node<'a> {
    /// The control plane, which is on the node.
    pub plane: ControlPlane,
    processes: Vec<Process>,
    names: PathBuf,
    apart: &'a Apart,
}

/// Runs a test on such a cluster. Where there can be none, says why and runs nothing.
pub fn with_node(test: impl FnOnce(&Node<'_>) + Send) -> Result<()> {
    if apart::is_skipped() {
        return Ok(());
    }
    // All that comes from elsewhere comes first: inside there is no elsewhere.
    let programs = Programs::provide()?;
    let apart = Apart::new(programs.packages.clone())?;
    apart.within(|| {
        let node = Node::start(&apart, &programs)?;
        test(&node);
        Ok(())
    })?
}

struct Programs {
    packages: Packages,
    kubelet: PathBuf,
    scheduler: PathBuf,
    proxy: PathBuf,
    image: PathBuf,
}

impl Programs {
    fn provide() -> Result<Self> {
        control_plane::provide()?;
        helm::provide()?;
        cert_manager::provide()?;
        // Before the other one, which takes its place in cargo's folder.
        let image = images::ironward()?;
        ironward::binary()?;
        Ok(Self {
            packages: packages::provide()?,
            kubelet: KUBELET.path()?,
            scheduler: SCHEDULER.path()?,
            proxy: PROXY.path()?,
            image,
        })
    }
}

impl<'a> Node<'a> {
    fn start(apart: &'a Apart, programs: &Programs) -> Result<Self> {
        let plane = ControlPlane::start_at(
            Some(apart::ADDRESS),
            Options { audit: true, ..Options::default() },
        )?;
        let progress = Progress::start("starting a node");
        let names = apart.dir().join("names");
        fs::create_dir_all(&names)?;
        let mut node = Self { plane, processes: Vec::new(), names, apart };
        node.start_containers(programs)?;
        node.start_kubernetes(programs)?;
        node.start_names(programs)?;
        node.wait_until_ready()?;
        progress.done();
        Ok(node)
    }

    fn dir(&self) -> &Path {
        self.apart.dir()
    }

    fn start_containers(&mut self, programs: &Programs) -> Result<()> {
        let dir = self.dir().to_owned();
        let config = dir.join("containerd.toml");
        fs::write(&config, settings::containerd(&dir, &programs.packages)?)?;
        fs::create_dir_all(dir.join("networks"))?;
        write(&dir.join("networks/pods.conflist"), &settings::network(&dir))?;
        let mut command = self.apart.command(programs.packages.program("containerd")?);
        command.arg("--config").arg(&config);
        let containerd = self.apart.spawn("containerd", command)?;
        containerd.wait_until(PATIENCE, || {
            self.containers(&["version"]).is_ok_and(|answer| answer.success)
        })?;
        self.processes.push(containerd);
        let busybox = programs.packages.program("busybox")?;
        let pause = images::pause(&busybox, settings::PAUSE, &dir)?;
        for image in [&pause, &programs.image] {
            let answer = self.containers(&["images", "import", &image.to_string_lossy()])?;
            if !answer.success {
                bail!("could not import {}: {}", image.display(), answer.err.trim());
            }
        }
        Ok(())
    }

    /// Asks containerd.
    fn containers(&self, arguments: &[&str]) -> Result<kubectl::Answer> {
        let mut command = self.apart.command("ctr");
        command.arg("--address").arg(self.dir().join("containerd.sock"));
        kubectl::run(command.args(["--namespace", "k8s.io"]).args(arguments), "")
    }

    fn start_kubernetes(&mut self, programs: &Programs) -> Result<()> {
        let dir = self.dir().to_owned();
        let user = format!("system:node:{NAME}");
        let kubeconfig = self.plane.kubeconfig_for(&user, &["system:nodes"])?;
        let config = dir.join("kubelet.json");
        write(&config, &settings::kubelet(&dir, &self.plane.authority()))?;
        let mut kubelet = self.apart.command(&programs.kubelet);
        kubelet
            .arg(flag("--config", &config))
            .arg(flag("--kubeconfig", &kubeconfig))
            .arg(flag("--root-dir", &dir.join("kubelet")))
            .arg(flag("--cert-dir", &dir.join("kubelet-certificates")))
            .args([format!("--hostname-override={NAME}")])
            .args([format!("--node-ip={}", apart::ADDRESS)]);

        let config = dir.join("kube-proxy.json");
        let kubeconfig = self.plane.kubeconfig_for("system:kube-proxy", &[])?;
        write(&config, &settings::proxy(&kubeconfig))?;
        let mut proxy = self.apart.command(&programs.proxy);
        proxy.arg(flag("--config", &config));

        let kubeconfig = self.plane.kubeconfig_for("system:kube-scheduler", &[])?;
        let mut scheduler = self.apart.command(&programs.scheduler);
        scheduler.arg(flag("--kubeconfig", &kubeconfig));
        scheduler.args(["--leader-elect=false", "--secure-port=0"]);

        for (name, command) in
            [("kubelet", kubelet), ("kube-proxy", proxy), ("kube-scheduler", scheduler)]
        {
            self.processes.push(self.apart.spawn(name, command)?);
        }
        Ok(())
    }

    /// Names of Services; no others are known.
    fn start_names(&mut self, programs: &Programs) -> Result<()> {
        let mut command = self.apart.command(programs.packages.program("dnsmasq")?);
        command
            .args(["--keep-in-foreground", "--log-facility=-", "--user=root", "--pid-file="])
            .args(["--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--local=/#/"])
            .args(["--bind-interfaces", &format!("--listen-address={}", apart::ADDRESS)])
            .arg(flag("--hostsdir", &self.names));
        self.processes.push(self.apart.spawn("dnsmasq", command)?);
        Ok(())
    }

    /// Lets pods find a Service by its name, as cluster DNS does.
    pub fn name_service(&self, namespace: &str, name: &str) -> Result<()> {
        let service = self.plane.kubectl().in_namespace(namespace).get("service", name)?;
        let address = service["spec"]["clusterIP"].as_str().context("a Service has no address")?;
        let line = format!("{address} {name}.{namespace}.svc.cluster.local\n");
        fs::write(self.names.join(format!("{namespace}-{name}")), line)?;
        Ok(())
    }

    fn wait_until_ready(&self) -> Result<()> {
        let ready = "jsonpath={.status.conditions[?(@.type==\"Ready\")].status}";
        let kubectl = self.plane.kubectl();
        eventually(PATIENCE, "the node is ready", || {
            for process in &self.processes {
                if let Some(status) = process.exit_status() {
                    bail!("{status}: {}", process.log_tail());
                }
            }
            let answer = kubectl.run(&["get", "node", NAME, "--output", ready])?;
            if answer.out == "True" { Ok(()) } else { bail!("{}{}", answer.out, answer.err) }
        })
    }

    /// The end of the log of each of its programs, for whoever wants to know why a pod does not run.
    #[must_use]
    pub fn last_words(&self) -> String {
        let words = self
            .processes
            .iter()
            .map(|process| format!("== {}\n{}\n", process.log().display(), process.log_tail()));
        words.collect()
    }
}

impl Drop for Node<'_> {
    /// Control groups are the one thing that does not end with what was in them.
    fn drop(&mut self) {
        let containers = self.dir().join("containerd-state/io.containerd.runtime.v2.task/k8s.io");
        let ids: Vec<_> = fs::read_dir(containers).into_iter().flatten().flatten().collect();
        // What cannot be ended or removed now is in nobody's way.
        let _ = self.apart.end();
        let controllers = fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten();
        for controller in controllers.map(|it| it.path().join("k8s.io")) {
            for id in &ids {
                let _ = fs::remove_dir(controller.join(id.file_name()));
            }
            let _ = fs::remove_dir(controller);
        }
    }
}

fn write(path: &Path, value: &Value) -> Result<()> {
    fs::write(path, format!("{value:#}\n"))
        .with_context(|| format!("could not write {}", path.display()))
}

fn flag(name: &str, path: &Path) -> String {
    format!("{name}={}", path.display())
}
