//! Commands about the hosts and machines of a cluster, for the person who looks after them.

pub mod cordon;
pub mod history;
pub mod overview;
pub mod remediate;
pub(super) mod table;

use anyhow::{Context, Result};
use kube::Client;

/// Where the objects are.
#[derive(Debug, clap::Args)]
pub struct Namespace {
    /// The namespace. Default: that of the kubeconfig's context.
    #[arg(long, short, value_name = "NAMESPACE")]
    namespace: Option<String>,
}

impl Namespace {
    pub(super) fn or_default<'a>(&'a self, client: &'a Client) -> &'a str {
        self.namespace.as_deref().unwrap_or(client.default_namespace())
    }
}

pub(super) async fn client() -> Result<Client> {
    Client::try_default()
        .await
        .context("could not find out which cluster to talk to; set KUBECONFIG, or run in a pod")
}
