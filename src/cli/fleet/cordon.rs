//! `ironward cordon` and `ironward uncordon`: hosts that no machine shall take.

use std::io::Write;

use anyhow::{Context, Result, bail};
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

use super::{Namespace, client};
use crate::{
    api::BareMetalHost,
    domain::remediation::{UNHEALTHY_ANNOTATION, UNHEALTHY_ANNOTATIONS},
};

/// Which host, and why.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The host gets the annotation capm3.metal3.io/unhealthy with the reason as its value. `kubectl get bmh` shows it, and so \
    do machines that find no host. A machine that uses the host keeps it; when it gives it back, nobody takes it. Power, image and \
    everything else of the host stay as they are."
)]
pub struct Args {
    /// The BareMetalHost.
    #[arg(value_name = "HOST")]
    host: String,

    #[command(flatten)]
    namespace: Namespace,

    /// Why it shall not be used, for whoever wonders.
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Which host.
#[derive(Debug, clap::Args)]
pub struct UncordonArgs {
    /// The BareMetalHost.
    #[arg(value_name = "HOST")]
    host: String,

    #[command(flatten)]
    namespace: Namespace,

    /// Switch it on again, too: remediation that gave a machine up has left its host off, and what is off is not provisioned.
    #[arg(long)]
    online: bool,
}

/// Takes a host out of use.
pub async fn cordon(arguments: &Args, mut out: impl Write) -> Result<()> {
    let Args { host: name, namespace, reason } = arguments;
    if reason.trim().is_empty() {
        bail!("--reason is empty: say in a few words why nobody shall use the host");
    }
    let client = client().await?;
    let namespace = namespace.or_default(&client);
    let host = find(&client, namespace, name).await?;
    let annotations = json!({UNHEALTHY_ANNOTATION: reason});
    patch(&client, namespace, name, &json!({"metadata": {"annotations": annotations}})).await?;
    let user = host.spec.consumer_ref.and_then(|consumer| consumer.name);
    match user {
        Some(user) => writeln!(
            out,
            "{name} is cordoned. {user} uses it and keeps it; nobody takes it after that."
        )?,
        None => writeln!(out, "{name} is cordoned: no machine takes it.")?,
    }
    Ok(())
}

/// Takes it back into use.
pub async fn uncordon(arguments: &UncordonArgs, mut out: impl Write) -> Result<()> {
    let UncordonArgs { host: name, namespace, online } = arguments;
    let client = client().await?;
    let namespace = namespace.or_default(&client);
    let host = find(&client, namespace, name).await?;
    let marks: Vec<_> =
        UNHEALTHY_ANNOTATIONS.iter().filter(|key| host.annotations().contains_key(**key)).collect();
    let removed: serde_json::Map<_, _> =
        marks.iter().map(|key| ((**key).to_owned(), Value::Null)).collect();
    let mut change = json!({"metadata": {"annotations": removed}});
    let is_switched_on = *online && !host.spec.online;
    if is_switched_on {
        change["spec"] = json!({"online": true});
    }
    if marks.is_empty() && !is_switched_on {
        writeln!(out, "{name} is not cordoned.")?;
        return Ok(());
    }
    patch(&client, namespace, name, &change).await?;
    let is_off = !host.spec.online && !is_switched_on;
    let hint = if is_off {
        " It has online: false, so that nothing is written to it; add --online to switch it on."
    } else {
        ""
    };
    writeln!(out, "{name} can be used again.{hint}")?;
    Ok(())
}

async fn find(client: &Client, namespace: &str, name: &str) -> Result<BareMetalHost> {
    let hosts: Api<BareMetalHost> = Api::namespaced(client.clone(), namespace);
    let found = hosts.get_opt(name).await.context("could not read the host")?;
    found.with_context(|| {
        format!("there is no BareMetalHost {name} in namespace {namespace}; `kubectl get bmh --all-namespaces` lists all")
    })
}

async fn patch(client: &Client, namespace: &str, name: &str, change: &Value) -> Result<()> {
    let hosts: Api<BareMetalHost> = Api::namespaced(client.clone(), namespace);
    let parameters =
        PatchParams { field_manager: Some("ironward-cli".to_owned()), ..PatchParams::default() };
    let written = hosts.patch(name, &parameters, &Patch::Merge(change)).await;
    written.with_context(|| format!("could not write BareMetalHost {namespace}/{name}"))?;
    Ok(())
}
