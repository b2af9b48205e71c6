//! The command line: flags and their environment become settings, and nothing else happens here.

pub mod audit;
pub mod completions;
pub mod controllers;
pub mod crds;
pub mod doctor;
pub mod fleet;
pub mod ironic;
pub mod policy;
pub mod verify;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use std::{
    ffi::OsString,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use crate::admission::Address;

/// Guards and runs a fleet of bare-metal hosts on Kubernetes.
#[derive(Debug, Parser)]
#[command(version, about, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What kubectl looks for on the PATH when it is asked for `kubectl ironward`.
const PLUGIN: &str = "kubectl-ironward";

impl Cli {
    /// Reads the command line, the program's own name first: by the name of a plugin of kubectl, usage says how that is typed.
    pub fn of(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let arguments: Vec<_> = arguments.into_iter().collect();
        let called = arguments.first().and_then(|it| Path::new(it).file_stem());
        let mut command = Self::command();
        if called.is_some_and(|it| it == PLUGIN) {
            command = command.bin_name("kubectl ironward");
        }
        let matches = command.try_get_matches_from_mut(arguments)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run against the cluster that KUBECONFIG names, or that this pod is in.
    Run(Box<Settings>),
    /// Judge all objects of a cluster by the policies, as if each were created now.
    Audit(audit::Args),
    /// Ask a running Ironward something as the API server does, by what it registered.
    Verify(verify::Args),
    /// Look for what is wrong with an installation, and say what to do about it.
    Doctor(doctor::Args),
    /// Show all hosts by state, and those that need somebody, with the reason and the next step.
    Fleet(fleet::overview::Args),
    /// Have one machine remediated now: its host is switched off and on, and if that does not help, the machine is replaced.
    Remediate(fleet::remediate::Args),
    /// Print what happened to hosts: remediations with cause and outcome, and when they were taken out of use.
    History(fleet::history::Args),
    /// Take a host out of use: no machine takes it any more.
    Cordon(fleet::cordon::Args),
    /// Take a host back into use.
    Uncordon(fleet::cordon::UncordonArgs),
    /// Print the kinds that Ironward works with, as CustomResourceDefinitions.
    Crds(crds::Args),
    /// Work with policies: list, check, test, evaluate and export them. No cluster is asked.
    #[command(subcommand)]
    Policy(policy::Command),
    /// Print what makes a shell complete the commands.
    Completions(completions::Args),
}

/// How to run.
#[derive(Debug, Args)]
pub struct Settings {
    /// Where to answer the kubelet and Prometheus: /livez, /readyz and /metrics, over plain HTTP.
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "0.0.0.0:8081",
        env = "IRONWARD_PROBE_ADDRESS"
    )]
    pub probe_address: SocketAddr,

    /// Where to show the fleet to people with a browser and a token that may list BareMetalHosts. Over TLS, with the certificate that admission is
    /// served with; where there is none, only at an address of this machine alone, such as 127.0.0.1:8082. Default: nowhere.
    #[arg(long, value_name = "ADDRESS", env = "IRONWARD_PAGE_ADDRESS")]
    pub page_address: Option<SocketAddr>,

    /// Where Ironward keeps what it remembers: the claims on what must be unique, and which replica
    /// reconciles. All replicas need the same. Default: the pod's own namespace, or that of the
    /// kubeconfig's context.
    #[arg(long, value_name = "NAMESPACE", env = "IRONWARD_NAMESPACE")]
    pub namespace: Option<String>,

    /// What this replica is called in events and in the election of the one that reconciles; unlike any
    /// other. In a pod that is its name.
    #[arg(long, value_name = "NAME", default_value = "ironward", env = "HOSTNAME")]
    pub replica: String,

    /// Serve admission.
    #[command(flatten)]
    pub admission: Admission,

    /// Keep hosts as they should be.
    #[command(flatten)]
    pub controllers: controllers::Args,

    /// Where Ironic is.
    #[command(flatten)]
    pub ironic: ironic::Ironic,

    /// How log lines look: `text` for people, `json` for machines.
    #[arg(long, value_name = "FORMAT", default_value = "text", env = "IRONWARD_LOG_FORMAT")]
    pub log_format: LogFormat,
}

/// How admission is served. Without a certificate (--tls-cert-file, --self-signed-secret) it is not.
#[derive(Debug, Args)]
#[command(next_help_heading = "Admission")]
pub struct Admission {
    /// Where to answer the API server, over TLS.
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "0.0.0.0:9443",
        env = "IRONWARD_WEBHOOK_ADDRESS"
    )]
    pub webhook_address: SocketAddr,

    /// The serving certificate, in PEM. It is read again when it changes.
    #[arg(long, value_name = "FILE", requires = "tls_key_file", env = "IRONWARD_TLS_CERT_FILE")]
    pub tls_cert_file: Option<PathBuf>,

    /// The certificate's key, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert_file", env = "IRONWARD_TLS_KEY_FILE")]
    pub tls_key_file: Option<PathBuf>,

    /// The certificates by which the API server shall know us, in PEM, for the webhook registrations.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "self_signed_secret",
        env = "IRONWARD_CA_FILE"
    )]
    pub ca_file: Option<PathBuf>,

    /// Let cert-manager fill in the certificates by which the API server shall know us: those of this Certificate.
    #[arg(
        long,
        value_name = "NAMESPACE/NAME",
        conflicts_with_all = ["ca_file", "self_signed_secret"],
        env = "IRONWARD_INJECT_CA_FROM"
    )]
    pub inject_ca_from: Option<String>,

    /// Make and renew the serving certificate ourselves, in this Secret of our namespace, which all replicas
    /// share and which must be there. The API server is told by which certificates to know us.
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "tls_cert_file",
        env = "IRONWARD_SELF_SIGNED_SECRET"
    )]
    pub self_signed_secret: Option<String>,

    /// How long such a certificate lasts. The next one is made when two thirds of that are over.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 90 * 24 * 60 * 60,
        value_parser = clap::value_parser!(u32).range(30..),
        env = "IRONWARD_SELF_SIGNED_LIFETIME_SECONDS"
    )]
    pub self_signed_lifetime_seconds: u32,

    /// The Service through which the API server shall reach us. Its namespace is left alone by all webhooks.
    #[arg(
        long,
        value_name = "NAMESPACE/NAME:PORT",
        value_parser = service,
        env = "IRONWARD_WEBHOOK_SERVICE"
    )]
    pub webhook_service: Option<Address>,

    /// The URL by which the API server shall reach us, if we are not in its cluster.
    #[arg(
        long,
        value_name = "URL",
        conflicts_with = "webhook_service",
        env = "IRONWARD_WEBHOOK_URL"
    )]
    pub webhook_url: Option<String>,

    /// The name of the webhook registrations. Each release in a cluster needs its own.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "ironward",
        env = "IRONWARD_REGISTRATION_NAME"
    )]
    pub registration_name: String,

    /// The ClusterRole that the webhook registrations belong to: when it is deleted, Kubernetes deletes
    /// them too. The chart's uninstall rests on it.
    #[arg(long, value_name = "CLUSTERROLE", env = "IRONWARD_REGISTRATION_OWNER")]
    pub registration_owner: Option<String>,

    /// How long after a claim was written a request that relies on it may still be stored: the API
    /// server's --request-timeout, and what etcd and clocks may be late. What a refused or abandoned
    /// request had claimed is free for others after that.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 90,
        env = "IRONWARD_CLAIM_GRACE_SECONDS"
    )]
    pub claim_grace_seconds: u32,

    /// Your policies. One that has the name of a shipped one takes its place. The folder is read
    /// again when it changes.
    #[arg(long, value_name = "DIR", env = "IRONWARD_POLICY_DIR")]
    pub policy_dir: Option<PathBuf>,
}

impl Admission {
    /// How the API server reaches us, if it is to be told.
    #[must_use]
    pub fn address(&self) -> Option<Address> {
        let url = || self.webhook_url.clone().map(Address::Url);
        self.webhook_service.clone().or_else(url)
    }
}

fn service(text: &str) -> Result<Address, String> {
    let parts = || {
        let (namespace, rest) = text.split_once('/')?;
        let (name, port) = rest.split_once(':').unwrap_or((rest, "443"));
        let port = port.parse().ok()?;
        let is_named = !namespace.is_empty() && !name.is_empty() && !name.contains('/');
        is_named.then(|| Address::Service {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            port,
        })
    };
    parts().ok_or_else(|| "it is to be `namespace/name` or `namespace/name:port`".to_owned())
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines: one JSON object a line.
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn usage_is_as_it_is_typed() {
        let usage = |called: &str, rest: &[&str]| {
            let all = [called].into_iter().chain(rest.iter().copied()).map(OsString::from);
            Cli::of(all).unwrap_err().to_string()
        };
        let said = usage("/usr/local/bin/kubectl-ironward", &["fleet", "--help"]);
        assert!(said.contains("Usage: kubectl ironward fleet [OPTIONS]"), "{said}");
        let said = usage("/usr/local/bin/kubectl-ironward", &["cordon"]);
        assert!(said.contains("Usage: kubectl ironward cordon --reason"), "{said}");
        let said = usage("target/debug/ironward", &["fleet", "--help"]);
        assert!(said.contains("Usage: ironward fleet [OPTIONS]"), "{said}");
    }
}
