//! What is the same for every policy engine: the rules, how it is started, and how one knows that it judges.

use crate::{control_plane::ControlPlane, process_group::Process};
use anyhow::{Context, Result};
use k8s_openapi::ByteString;
use kube::{
    Api, Client, Config,
    api::{ApiResource, DynamicObject, GroupVersionKind, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    fmt, fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};
use tokio::runtime::Runtime;

const PATIENCE: Duration = Duration::from_mins(3);

/// A policy engine that judges hosts. It ends with its control plane.
#[derive(Debug)]
pub struct Engine {
    /// The process that answers the API server.
    pub process: Process,
    /// Where its webhook for the rules is asked directly. It looks up the namespace of what it is asked about, which has to be there.
    pub url: String,
    /// From the start of the process, with the rules stored already, until it refused the bad host.
    pub ready_after: Duration,
}

impl Engine {
    /// Ends it. What it told the API server stays.
    pub fn end(self) -> Result<()> {
        end(&self.process)
    }
}

/// The label of a host that says who is to judge it: so all can be there at one time, and have no more to do with each other's hosts
/// than the API server has to see that.
const JUDGE: &str = "judged-by";

/// What hosts are judged by, and by whom.
#[derive(Debug)]
pub struct Rules {
    judge: String,
    policy: Value,
    binding: Value,
}

impl Rules {
    /// Those that every engine is given, for the hosts that one of them is to judge.
    pub fn of(judge: &str) -> Result<Self> {
        let objects: Vec<Value> =
            serde_saphyr::from_multiple(include_str!("../../peers/rules.yaml"))
                .context("the rules are no YAML")?;
        let object = |kind: &str| {
            let mut of_kind = objects.iter().filter(|it| it["kind"] == kind);
            of_kind.next().cloned().with_context(|| format!("the rules have no {kind}"))
        };
        let mut policy = object("ValidatingAdmissionPolicy")?;
        narrow(&mut policy, judge);
        let binding = object("ValidatingAdmissionPolicyBinding")?;
        Ok(Self { judge: judge.to_owned(), policy, binding })
    }

    /// In Kubernetes' own form: the policy, and its binding.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}\n---\n{}\n", self.policy, self.binding)
    }

    /// What they are called.
    #[must_use]
    pub fn name(&self) -> &str {
        self.policy["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// The `spec` of the ValidatingAdmissionPolicy.
    #[must_use]
    pub fn spec(&self) -> &Value {
        &self.policy["spec"]
    }

    /// Which hosts they are about.
    #[must_use]
    pub fn selector(&self) -> &Value {
        &self.spec()["matchConstraints"]["objectSelector"]
    }

    /// What whoever creates [`Self::bad_host`] is told.
    #[must_use]
    pub fn message(&self) -> &str {
        self.spec()["validations"][0]["message"].as_str().unwrap_or_default()
    }

    /// A host that breaks the first of them, and no other.
    #[must_use]
    pub fn bad_host(&self) -> Value {
        self.host("nonsense://192.0.2.1")
    }

    /// A host that breaks none.
    #[must_use]
    pub fn good_host(&self) -> Value {
        self.host("redfish+https://192.0.2.1/redfish/v1/Systems/1")
    }

    fn host(&self, address: &str) -> Value {
        let mut host = json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": {"name": "probe"},
            "spec": {
                "online": true, "bootMACAddress": "02:00:00:00:00:01",
                "bmc": {"address": address, "credentialsName": "probe-bmc"},
            },
        });
        submit(&mut host, &self.judge);
        host
    }
}

/// Has a host judged by somebody.
pub fn submit(host: &mut Value, judge: &str) {
    host["metadata"]["labels"][JUDGE] = judge.into();
}

/// Has a policy be about the hosts alone that one is to judge.
pub fn narrow(policy: &mut Value, judge: &str) {
    policy["spec"]["matchConstraints"]["objectSelector"] = selector(judge);
}

/// Those hosts.
#[must_use]
pub fn selector(judge: &str) -> Value {
    json!({"matchLabels": {JUDGE: judge}})
}

/// Somebody who tries to create hosts, of which none is stored.
pub struct Probe {
    runtime: Runtime,
    hosts: Api<DynamicObject>,
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probe").finish_non_exhaustive()
    }
}

impl Probe {
    /// The administrator.
    pub fn new(plane: &ControlPlane) -> Result<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let kubeconfig = Kubeconfig::read_from(plane.admin_kubeconfig())?;
        // On this very thread, which may be in a network of its own.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let client = runtime.block_on(async {
            let options = KubeConfigOptions::default();
            let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
            // What the API server answers is the result, whatever it is.
            config.default_retry = false;
            anyhow::Ok(Client::try_from(config)?)
        })?;
        let kind = GroupVersionKind::gvk("metal3.io", "v1alpha1", "BareMetalHost");
        let hosts = Api::default_namespaced_with(client, &ApiResource::from_gvk(&kind));
        Ok(Self { runtime, hosts })
    }

    /// Why the API server refuses to create a host, if it does.
    pub fn refusal(&self, host: Value) -> Result<Option<String>> {
        let host: DynamicObject = serde_json::from_value(host)?;
        let dry_run = PostParams { dry_run: true, ..PostParams::default() };
        match self.runtime.block_on(self.hosts.create(&dry_run, &host)) {
            Ok(_) => Ok(None),
            Err(kube::Error::Api(status)) => Ok(Some(status.message)),
            Err(error) => Err(error).context("the API server was not reached"),
        }
    }

    /// Starts an engine whose rules are stored, and waits until they are in force.
    pub fn start(
        &self,
        plane: &ControlPlane,
        rules: &Rules,
        (name, command, url): (&str, Command, String),
    ) -> Result<Engine> {
        let started = Instant::now();
        let process = plane.spawn(name, command)?;
        process.wait_until(PATIENCE, || {
            // An engine that cannot be reached refuses too, but not for that.
            let refusal = self.refusal(rules.bad_host()).ok().flatten();
            refusal.is_some_and(|reason| reason.contains(rules.message()))
        })?;
        Ok(Engine { process, url, ready_after: started.elapsed() })
    }

    /// Waits until nobody minds a bad host any more.
    pub fn wait_until_accepted(&self, rules: &Rules) -> Result<()> {
        crate::eventually::eventually(PATIENCE, "a bad host is accepted", || {
            match self.refusal(rules.bad_host()) {
                Ok(None) => Ok(()),
                Ok(Some(reason)) => Err(reason),
                Err(error) => Err(format!("{error:#}")),
            }
        })
    }
}

/// Ends a process. None of them keeps anything worth an orderly stop.
pub fn end(process: &Process) -> Result<()> {
    process.signal(Signal::KILL)?;
    process.wait_for_exit(Duration::from_secs(30)).map(drop)
}

/// The way to the API server of an account that is allowed what its authors ask for, and nothing else.
pub fn kubeconfig(plane: &ControlPlane, namespace: &str, account: &str) -> Result<PathBuf> {
    // For longer than anything here is measured.
    let create = ["create", "token", account, "--duration", "12h"];
    let token = plane.kubectl().in_namespace(namespace).expect(&create)?;
    plane.kubeconfig_with_token(account, token.trim(), namespace)
}

/// Where the API server is told to find a webhook, and by whose word it trusts it.
pub fn client_config(plane: &ControlPlane, url: &str) -> Result<Value> {
    let authority = fs::read(plane.authority()).context("could not read a certificate")?;
    Ok(json!({"url": url, "caBundle": ByteString(authority)}))
}

/// What a Deployment has its first container run, for whoever runs it as a process.
#[derive(Debug)]
pub struct Published<'a> {
    deployment: &'a Value,
}

impl<'a> Published<'a> {
    /// The Deployment of this name.
    pub fn find(manifests: &'a [Value], name: &str) -> Result<Self> {
        let mut all = manifests
            .iter()
            .filter(|it| it["kind"] == "Deployment" && it["metadata"]["name"] == name);
        let deployment =
            all.next().with_context(|| format!("the manifests have no Deployment {name}"))?;
        Ok(Self { deployment })
    }

    /// Its namespace.
    #[must_use]
    pub fn namespace(&self) -> &'a str {
        self.deployment["metadata"]["namespace"].as_str().unwrap_or_default()
    }

    /// The account that its pods run as.
    #[must_use]
    pub fn account(&self) -> &'a str {
        self.pod_spec()["serviceAccountName"].as_str().unwrap_or_default()
    }

    /// A pod of it that no node runs. The process goes by its name.
    #[must_use]
    pub fn pod(&self) -> Value {
        let mut metadata = self.deployment["spec"]["template"]["metadata"].clone();
        metadata["name"] = self.pod_name().into();
        metadata["namespace"] = self.namespace().into();
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": self.pod_spec()})
    }

    fn pod_name(&self) -> String {
        format!("{}-0", self.deployment["metadata"]["name"].as_str().unwrap_or_default())
    }

    fn pod_spec(&self) -> &'a Value {
        &self.deployment["spec"]["template"]["spec"]
    }

    /// The program with its flags, but for those that are not wanted, and its environment.
    #[must_use]
    pub fn command(&self, program: &Path, unwanted: &[&str]) -> Command {
        let container = &self.pod_spec()["containers"][0];
        let list = |name: &str| container[name].as_array().map(Vec::as_slice).unwrap_or_default();
        let flags = list("args").iter().filter_map(Value::as_str);
        let mut command = Command::new(program);
        command.args(flags.filter(|flag| !unwanted.contains(flag)));
        for variable in list("env") {
            let value = match variable["valueFrom"]["fieldRef"]["fieldPath"].as_str() {
                Some("metadata.name") => Some(self.pod_name()),
                Some("metadata.namespace") => Some(self.namespace().to_owned()),
                // Those that are put together from others are labels of traces and metrics.
                _ => variable["value"].as_str().filter(|it| !it.contains("$(")).map(str::to_owned),
            };
            if let (Some(name), Some(value)) = (variable["name"].as_str(), value) {
                command.env(name, value);
            }
        }
        command
    }
}
