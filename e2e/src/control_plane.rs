//! etcd, kube-apiserver and kube-controller-manager on loopback, with RBAC on: a cluster without nodes, unless it is told to
//! listen where pods can reach it.

use crate::{
    certificates::{Authority, Files},
    go::{ETCD, KUBERNETES, Program},
    ironward,
    kubectl::Kubectl,
    ports,
    process_group::{Process, ProcessGroup},
    progress::Progress,
};
use anyhow::{Context, Result, bail};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};
use tokio::runtime::Runtime;

const PATIENCE: Duration = Duration::from_mins(2);
/// How often a start may be lost to another process that took its port first.
const TRIES: usize = 3;
const AUDIT_LOG: &str = "audit.log";

const ETCD_SERVER: Program =
    Program { name: "etcd", package: "go.etcd.io/etcd/server/v3", module: &ETCD };
const API_SERVER: Program = Program {
    name: "kube-apiserver",
    package: "k8s.io/kubernetes/cmd/kube-apiserver",
    module: &KUBERNETES,
};
const CONTROLLER_MANAGER: Program = Program {
    name: "kube-controller-manager",
    package: "k8s.io/kubernetes/cmd/kube-controller-manager",
    module: &KUBERNETES,
};
const KUBECTL: Program =
    Program { name: "kubectl", package: "k8s.io/kubernetes/cmd/kubectl", module: &KUBERNETES };

/// The programs of a control plane, as files.
#[derive(Debug, Clone)]
struct Programs {
    etcd: PathBuf,
    api_server: PathBuf,
    controller_manager: PathBuf,
    kubectl: PathBuf,
}

impl Programs {
    fn provide() -> Result<Self> {
        Ok(Self {
            etcd: ETCD_SERVER.path()?,
            api_server: API_SERVER.path()?,
            controller_manager: CONTROLLER_MANAGER.path()?,
            kubectl: KUBECTL.path()?,
        })
    }
}

/// Builds what is not built yet, for whoever starts a control plane where nothing can be built.
pub fn provide() -> Result<()> {
    Programs::provide().map(drop)
}

/// What a control plane can be asked for beyond the usual.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Whether the API server keeps an audit log: who asked for what, and the annotations of admission.
    pub audit: bool,
    /// How much garbage the API server lets gather before it clears up, in percent of what it uses; Go's own 100 if nothing is said.
    pub garbage: Option<u16>,
}

/// A running control plane. It ends with this value, or with this process.
#[derive(Debug)]
pub struct ControlPlane {
    programs: Programs,
    authority: Authority,
    server: String,
    admin: PathBuf,
    processes: Vec<Process>,
    // Last, because a value's fields are dropped in their order and the group ends all the others.
    group: ProcessGroup,
}

impl ControlPlane {
    /// Builds what is not built yet, starts it, and returns when it answers.
    pub fn start() -> Result<Self> {
        Self::start_with(Options::default())
    }

    /// The same with something beyond the usual.
    pub fn start_with(options: Options) -> Result<Self> {
        Self::start_at(None, options)
    }

    /// The same for nodes, whose pods reach the API server at this address.
    pub fn start_at(address: Option<&str>, options: Options) -> Result<Self> {
        let programs = Programs::provide()?;
        let progress = Progress::start("starting the control plane");
        for _ in 0..TRIES {
            if let Started::Ready(plane) = Self::try_start(&programs, address, options)? {
                progress.done();
                return Ok(*plane);
            }
        }
        bail!(
            "the control plane lost a port of 127.0.0.1 to another process {TRIES} times in a row; try again"
        )
    }

    /// The kubeconfig of an administrator to whom nothing is forbidden.
    #[must_use]
    pub fn admin_kubeconfig(&self) -> &Path {
        &self.admin
    }

    /// The administrator's kubeconfig with another namespace than `default` in it.
    pub fn admin_kubeconfig_in(&self, namespace: &str) -> Result<PathBuf> {
        let text = fs::read_to_string(&self.admin).context("could not read a kubeconfig")?;
        let mut config: Value =
            serde_json::from_str(&text).context("could not read a kubeconfig")?;
        config["contexts"][0]["context"]["namespace"] = namespace.into();
        let path = self.group.dir().join(format!("{namespace}.kubeconfig"));
        fs::write(&path, format!("{config:#}\n")).context("could not write a kubeconfig")?;
        Ok(path)
    }

    /// Makes the kubeconfig of a user with these groups; what they may do is up to RBAC.
    pub fn kubeconfig_for(&self, user: &str, groups: &[&str]) -> Result<PathBuf> {
        kubeconfig(self.group.dir(), &self.server, &self.authority, user, groups)
    }

    /// Ironward's own way to the API server, as a service account to which nothing is forbidden.
    pub fn own_kubeconfig(&self) -> Result<PathBuf> {
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "ironward-e2e"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin",
            },
            "subjects": [{
                "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": ironward::OWN_NAME,
            }],
        });
        let apply = ["apply", "--server-side", "--filename", "-"];
        self.kubectl().expect_with_input(&apply, &binding.to_string())?;
        // The group is that of service accounts, for policies know controllers by it. A certificate has room for one.
        self.kubeconfig_for(ironward::OWN_NAME, &["system:serviceaccounts"])
    }

    /// Makes the kubeconfig of whoever has this token.
    pub fn kubeconfig_with_token(
        &self,
        user: &str,
        token: &str,
        namespace: &str,
    ) -> Result<PathBuf> {
        let text = fs::read_to_string(&self.admin).context("could not read a kubeconfig")?;
        let mut config: Value =
            serde_json::from_str(&text).context("could not read a kubeconfig")?;
        config["users"] = json!([{ "name": user, "user": { "token": token } }]);
        config["contexts"][0]["context"]["user"] = user.into();
        config["contexts"][0]["context"]["namespace"] = namespace.into();
        let path = self.group.dir().join(format!("{namespace}-{user}.token.kubeconfig"));
        fs::write(&path, format!("{config:#}\n")).context("could not write a kubeconfig")?;
        Ok(path)
    }

    /// Makes a certificate for a server on this machine, and gives the one of its authority with it.
    pub fn serving_certificate(&self, name: &str) -> Result<(Files, PathBuf)> {
        let files = self.authority.for_server(name, &["127.0.0.1", "localhost"])?;
        Ok((files, self.authority.certificate()))
    }

    /// The certificate of whoever issued all others.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.authority.certificate()
    }

    /// `kubectl` as the administrator.
    #[must_use]
    pub fn kubectl(&self) -> Kubectl {
        Kubectl::new(&self.programs.kubectl, &self.admin)
    }

    /// A client of the administrator, on a runtime.
    pub fn client(&self, runtime: &Runtime) -> Result<Client> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let kubeconfig = Kubeconfig::read_from(&self.admin)?;
        runtime.block_on(async {
            let options = KubeConfigOptions::default();
            let config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
            Ok(Client::try_from(config)?)
        })
    }

    /// Where the control plane keeps its files; gone when it ends.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.group.dir()
    }

    /// Starts one more process that ends with the control plane.
    pub fn spawn(&self, name: &str, command: Command) -> Result<Process> {
        self.group.spawn(name, command)
    }

    /// The audit log, one event a line, if one was asked for.
    #[must_use]
    pub fn audit_log(&self) -> PathBuf {
        self.dir().join(AUDIT_LOG)
    }

    fn try_start(programs: &Programs, address: Option<&str>, options: Options) -> Result<Started> {
        let group = ProcessGroup::new("control-plane")?;
        let [client, peer, secure] = ports::free()?;
        let authority = Authority::new(group.dir())?;
        let server = format!("https://127.0.0.1:{secure}");
        let admin =
            kubeconfig(group.dir(), &server, &authority, "ironward-admin", &["system:masters"])?;
        let manager = "system:kube-controller-manager";
        let manager = kubeconfig(group.dir(), &server, &authority, manager, &[])?;
        let accounts = authority.for_user("service-accounts", &[])?;

        let etcd = group.spawn("etcd", etcd(&programs.etcd, group.dir(), client, peer))?;
        let mut api_server =
            api_server(&programs.api_server, &authority, &accounts, client, secure)?;
        if options.audit {
            api_server.args(audit(group.dir())?);
        }
        if let Some(percent) = options.garbage {
            api_server.env("GOGC", percent.to_string());
        }
        if let Some(address) = address {
            api_server.args(for_nodes(address, &authority)?);
        }
        let api_server = group.spawn("kube-apiserver", api_server)?;
        let kubectl = Kubectl::new(&programs.kubectl, &admin);
        let ready = api_server.wait_until(PATIENCE, || {
            etcd.exit_status().is_some() || kubectl.prints(&["get", "--raw", "/readyz"], "ok")
        });
        if etcd.lost_its_port() || api_server.lost_its_port() {
            return Ok(Started::LostAPort);
        }
        ready?;
        if let Some(status) = etcd.exit_status() {
            bail!("etcd ended: {status}\n{}", etcd.log_tail());
        }
        // Only now: it exits when the roles it runs with are not there yet.
        let manager = controller_manager(programs, &authority, &manager, &accounts.key);
        let manager = group.spawn("kube-controller-manager", manager)?;
        manager.wait_until(PATIENCE, || {
            kubectl.succeeds(&["get", "serviceaccount", "default", "--namespace", "default"])
        })?;
        let programs = programs.clone();
        let processes = vec![etcd, api_server, manager];
        let plane = Self { programs, authority, server, admin, processes, group };
        Ok(Started::Ready(Box::new(plane)))
    }

    /// The processes, in the order in which they were started.
    #[must_use]
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }
}

enum Started {
    Ready(Box<ControlPlane>),
    LostAPort,
}

fn etcd(program: &Path, dir: &Path, client: u16, peer: u16) -> Command {
    let (client, peer) = (format!("http://127.0.0.1:{client}"), format!("http://127.0.0.1:{peer}"));
    let mut command = Command::new(program);
    command
        .arg("--data-dir")
        .arg(dir.join("etcd"))
        .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
        .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
        .args(["--initial-cluster", &format!("default={peer}"), "--log-level", "error"])
        // The data is thrown away; only a benchmark would care.
        .arg("--unsafe-no-fsync");
    command
}

fn api_server(
    program: &Path,
    authority: &Authority,
    accounts: &Files,
    etcd: u16,
    secure: u16,
) -> Result<Command> {
    let names = [
        "127.0.0.1",
        "localhost",
        "kubernetes",
        "kubernetes.default.svc",
        // What pods call it: the first address of Services.
        "10.0.0.1",
    ];
    let Files { certificate, key } = authority.for_server("kube-apiserver", &names)?;
    let mut command = Command::new(program);
    command
        .arg(format!("--etcd-servers=http://127.0.0.1:{etcd}"))
        .args(["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"])
        .arg(format!("--secure-port={secure}"))
        .arg(flag("--tls-cert-file", &certificate))
        .arg(flag("--tls-private-key-file", &key))
        .arg(flag("--client-ca-file", &authority.certificate()))
        .arg("--service-account-issuer=https://kubernetes.default.svc")
        .arg(flag("--service-account-key-file", &accounts.certificate))
        .arg(flag("--service-account-signing-key-file", &accounts.key))
        .args(["--authorization-mode=Node,RBAC", "--service-cluster-ip-range=10.0.0.0/24"])
        .args(["--endpoint-reconciler-type=none", "--profiling=false"]);
    Ok(command)
}

/// The flags that have pods reach the API server, and the API server kubelets. The last of a flag counts.
fn for_nodes(address: &str, authority: &Authority) -> Result<[String; 6]> {
    let Files { certificate, key } =
        authority.for_user("kube-apiserver-kubelet-client", &["system:masters"])?;
    Ok([
        "--bind-address=0.0.0.0".to_owned(),
        format!("--advertise-address={address}"),
        // The Service `kubernetes` gets this address.
        "--endpoint-reconciler-type=lease".to_owned(),
        flag("--kubelet-client-certificate", &certificate),
        flag("--kubelet-client-key", &key),
        // Nobody knows nodes by name.
        "--kubelet-preferred-address-types=InternalIP".to_owned(),
    ])
}

/// The flags that make the API server write down every request that has been answered.
fn audit(dir: &Path) -> Result<[String; 3]> {
    let policy = json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived", "ResponseStarted"],
        "rules": [{ "level": "Metadata" }],
    });
    let path = dir.join("audit-policy.json");
    fs::write(&path, policy.to_string()).context("could not write the audit policy")?;
    Ok([
        flag("--audit-policy-file", &path),
        flag("--audit-log-path", &dir.join(AUDIT_LOG)),
        // In MiB: whoever counts in it wants all of it in one file.
        "--audit-log-maxsize=100000".to_owned(),
    ])
}

fn controller_manager(
    programs: &Programs,
    authority: &Authority,
    kubeconfig: &Path,
    account_key: &Path,
) -> Command {
    let mut command = Command::new(&programs.controller_manager);
    command
        .arg(flag("--kubeconfig", kubeconfig))
        .arg(flag("--root-ca-file", &authority.certificate()))
        .arg(flag("--service-account-private-key-file", account_key))
        // It serves nothing that anyone here asks for, and so it needs no port.
        .args(["--use-service-account-credentials", "--leader-elect=false", "--secure-port=0"])
        // By itself it allows each of its controllers 20 requests a second, and tests make namespaces by the hundred.
        .args(["--kube-api-qps=500", "--kube-api-burst=1000"]);
    command
}

fn flag(name: &str, path: &Path) -> String {
    format!("{name}={}", path.display())
}

fn kubeconfig(
    dir: &Path,
    server: &str,
    authority: &Authority,
    user: &str,
    groups: &[&str],
) -> Result<PathBuf> {
    let Files { certificate, key } = authority.for_user(user, groups)?;
    let content = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "ironward",
        "clusters": [{ "name": "ironward", "cluster": {
            "server": server, "certificate-authority": authority.certificate() } }],
        "users": [{ "name": user, "user": {
            "client-certificate": certificate, "client-key": key } }],
        "contexts": [{ "name": "ironward", "context": {
            "cluster": "ironward", "user": user, "namespace": "default" } }],
    });
    let path = dir.join(format!("{}.kubeconfig", user.replace([':', '/'], "-")));
    fs::write(&path, format!("{content:#}\n"))
        .with_context(|| format!("could not write {}", path.display()))?;
    Ok(path)
}
