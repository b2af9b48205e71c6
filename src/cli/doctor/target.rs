//! What is looked at: how Ironward is run, from its Deployment or from flags.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Parser;
use k8s_openapi::api::{apps::v1::Deployment as Stored, core::v1::PodSpec};
use kube::{Api, Client, ResourceExt, api::ListParams};

use crate::{
    cli::{
        Cli, Command, Settings,
        controllers::{Controller, Provisioner},
    },
    doctor::{Deployment, permissions::Duty},
};

/// What the chart calls its pods, whatever the release is called.
const COMPONENT: (&str, &str) = ("app.kubernetes.io/component", "webhook");
/// Pods of the chart have no namespace of their own to fall back on, and say it.
const ACCOUNT: &str = "default";

/// How Ironward is run.
pub(super) struct Target {
    pub settings: Box<Settings>,
    /// Where Leases and Secrets are.
    pub namespace: String,
    pub deployment: Option<Deployment>,
    /// Who it is, if not who asks.
    pub account: Option<String>,
    /// Which Secret is mounted where.
    mounted: Vec<(PathBuf, String)>,
    arguments: Vec<String>,
}

impl Target {
    pub fn of_flags(client: &Client, flags: &[String]) -> Result<Self> {
        let settings =
            settings(flags).context("what comes after `--` are not flags of `ironward run`")?;
        let namespace = settings.namespace.clone();
        Ok(Self {
            namespace: namespace.unwrap_or_else(|| client.default_namespace().to_owned()),
            settings,
            deployment: None,
            account: None,
            mounted: Vec::new(),
            arguments: Vec::new(),
        })
    }

    pub async fn of_deployment(client: &Client, namespace: &str) -> Result<Self> {
        let deployments: Api<Stored> = Api::namespaced(client.clone(), namespace);
        let found = deployments.list(&ListParams::default()).await;
        let found = found.with_context(|| {
            format!("could not look for the Deployment in namespace {namespace}; give the flags of `ironward run` after `--`")
        })?;
        let [stored] = <[Stored; 1]>::try_from(found.items.into_iter().filter(is_ours).collect::<Vec<_>>()).map_err(|all| {
            let names: Vec<_> = all.iter().map(ResourceExt::name_any).collect();
            anyhow::anyhow!(
                "there is not one Deployment of Ironward in namespace {namespace}, but {} ({}); name another with --namespace, or give the flags of `ironward run` after `--`",
                names.len(),
                if names.is_empty() { "none".to_owned() } else { names.join(", ") }
            )
        })?;
        let name = stored.name_any();
        let pod = stored.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
        let pod = pod.with_context(|| format!("Deployment {namespace}/{name} has no pods"))?;
        let container = pod.containers.first();
        let container =
            container.with_context(|| format!("Deployment {namespace}/{name} has no container"))?;
        let arguments = container.args.clone().unwrap_or_default();
        let Some(("run", flags)) = arguments.split_first().map(|(one, rest)| (one.as_str(), rest))
        else {
            bail!("Deployment {namespace}/{name} does not run `ironward run`");
        };
        let settings = settings(flags).with_context(|| {
            format!(
                "Deployment {namespace}/{name} has flags that this version ({}) does not know",
                env!("CARGO_PKG_VERSION")
            )
        })?;
        let account = pod.service_account_name.as_deref().unwrap_or(ACCOUNT);
        Ok(Self {
            namespace: settings.namespace.clone().unwrap_or_else(|| namespace.to_owned()),
            settings,
            account: Some(format!("system:serviceaccount:{namespace}:{account}")),
            mounted: mounted(pod),
            arguments: flags.to_vec(),
            deployment: Some(Deployment {
                namespace: namespace.to_owned(),
                name,
                image: container.image.clone().unwrap_or_default(),
                wanted: stored.spec.as_ref().and_then(|it| it.replicas).unwrap_or(1),
                ready: stored.status.and_then(|it| it.ready_replicas).unwrap_or_default(),
            }),
        })
    }

    /// The Secret that a file of a replica is from, and the key in it.
    pub fn secret_of<'a>(&self, file: &'a Path) -> Option<(&str, &'a str)> {
        let key = file.file_name()?.to_str()?;
        let folder = file.parent()?;
        let (_, secret) = self.mounted.iter().find(|(path, _)| path == folder)?;
        Some((secret, key))
    }

    /// The command that looks from where a replica is.
    pub fn command_in_pod(&self) -> Option<String> {
        let Deployment { namespace, name, .. } = self.deployment.as_ref()?;
        let flags = self.arguments.join(" ");
        Some(format!(
            "kubectl -n {namespace} exec deployment/{name} -- /ironward doctor -- {flags}"
        ))
    }

    fn has(&self, controllers: &[Controller]) -> bool {
        controllers.iter().any(|it| self.settings.controllers.has(*it))
    }

    pub fn keeps_metal3_kinds(&self) -> bool {
        self.has(&[Controller::Host, Controller::Machine])
    }

    pub fn uses_ironic(&self) -> bool {
        let is_ironic = self.settings.controllers.provisioner == Some(Provisioner::Ironic);
        self.has(&[Controller::Discovery]) || is_ironic && self.has(&[Controller::Host])
    }

    /// What it is to do.
    pub fn duties(&self) -> Vec<Duty> {
        use Controller::{
            Autoscale, Cluster, Discovery, Host, Machine, MachineTemplate, Metadata, Remediation,
        };
        let admission = &self.settings.admission;
        let mut duties = vec![Duty::Always];
        if admission.address().is_some() {
            duties.push(Duty::Registering(admission.registration_name.clone()));
        }
        duties.extend(admission.registration_owner.clone().map(Duty::Owned));
        duties.extend(admission.self_signed_secret.clone().map(Duty::SelfSigned));
        let machines = [Cluster, Machine, MachineTemplate];
        let by_controller: [(&[Controller], Duty); 6] = [
            (&[Host], Duty::Hosts),
            (&machines, Duty::Machines),
            (&[Remediation], Duty::Remediation),
            (&[Discovery], Duty::Discovery),
            (&[Autoscale], Duty::Autoscale),
            (&[Metadata], Duty::Metadata),
        ];
        if !self.settings.controllers.controllers.is_empty() {
            duties.push(Duty::Controlling);
        }
        let wanted = by_controller.into_iter().filter(|(controllers, _)| self.has(controllers));
        duties.extend(wanted.map(|(_, duty)| duty));
        if self.settings.page_address.is_some() {
            duties.push(Duty::Page);
        }
        if self.uses_ironic() {
            duties.push(Duty::Ironic);
        }
        duties
    }
}

fn is_ours(deployment: &Stored) -> bool {
    let template = deployment.spec.as_ref().map(|spec| &spec.template);
    let labels = template.and_then(|it| it.metadata.as_ref()?.labels.as_ref());
    let (key, component) = COMPONENT;
    let is_named = labels.and_then(|it| it.get(key)).is_some_and(|it| it == component);
    let pod = template.and_then(|it| it.spec.as_ref());
    let first = pod.and_then(|it| it.containers.first()?.args.as_ref()?.first());
    is_named && first.is_some_and(|it| it == "run")
}

fn settings(flags: &[String]) -> Result<Box<Settings>> {
    let given = ["ironward", "run"].into_iter().chain(flags.iter().map(String::as_str));
    let Command::Run(settings) = Cli::try_parse_from(given)?.command else {
        bail!("`ironward run` was meant");
    };
    Ok(settings)
}

fn mounted(pod: &PodSpec) -> Vec<(PathBuf, String)> {
    let mounts = pod.containers.first().and_then(|it| it.volume_mounts.as_ref());
    let volumes = pod.volumes.as_deref().unwrap_or_default();
    let secret = |volume: &str| {
        let volume = volumes.iter().find(|it| it.name == volume)?;
        volume.secret.as_ref()?.secret_name.clone()
    };
    let mounts = mounts.into_iter().flatten();
    mounts
        .filter_map(|mount| Some((PathBuf::from(&mount.mount_path), secret(&mount.name)?)))
        .collect()
}
