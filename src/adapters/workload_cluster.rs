//! The way to a workload cluster: by the kubeconfig that Cluster API keeps in a Secret.

use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

/// The key of a kubeconfig in its Secret.
const KUBECONFIG: &str = "value";

/// A client of a Cluster's own API server. Nothing is asked of that yet; a connection that is not made in time fails.
///
/// What is wrong with a kubeconfig is not repeated in errors: it has keys in it.
pub async fn connect(
    client: &Client,
    namespace: &str,
    cluster: &str,
    timeout: Duration,
) -> Result<Client> {
    let name = format!("{cluster}-kubeconfig");
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let found = secrets.get_opt(&name).await;
    let found = found.with_context(|| format!("could not read Secret {name}"))?;
    let data = found.and_then(|it| it.data?.remove(KUBECONFIG));
    let data = data.with_context(|| format!("there is no Secret {name} with {KUBECONFIG} yet"))?;
    let text = String::from_utf8(data.0).ok();
    let kubeconfig = text.and_then(|text| Kubeconfig::from_yaml(&text).ok());
    let kubeconfig = kubeconfig.with_context(|| format!("Secret {name} holds no kubeconfig"))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config =
        config.ok().with_context(|| format!("the kubeconfig of Secret {name} cannot be used"))?;
    config.connect_timeout = Some(timeout);
    Client::try_from(config)
        .ok()
        .with_context(|| format!("the kubeconfig of Secret {name} cannot be used"))
}
