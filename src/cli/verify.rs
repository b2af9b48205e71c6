//! `ironward verify`: whether the API server's questions are answered.

use std::io::Write;

use anyhow::{Context, Result, bail};
use kube::Client;

use crate::adapters::webhook::asking;

/// What to look at.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "It reads the webhook registrations, connects to each address in them as the API server does, \
    and asks about a host. Nothing is stored. `helm test` runs it."
)]
pub struct Args {
    /// The name of the webhook registrations.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "ironward",
        env = "IRONWARD_REGISTRATION_NAME"
    )]
    registration_name: String,
}

/// Asks, and says what came of it. That somebody gives no answer is a failure.
pub async fn run(arguments: &Args, mut out: impl Write) -> Result<()> {
    let client = Client::try_default()
        .await
        .context("could not find out which cluster to talk to; set KUBECONFIG, or run in a pod")?;
    let name = &arguments.registration_name;
    let webhooks = asking::registered(&client, name).await?;
    if webhooks.is_empty() {
        bail!(
            "the API server was not told of any webhook by the name of {name}: is a replica ready? \
             `kubectl get validatingwebhookconfiguration,mutatingwebhookconfiguration` shows all there are"
        );
    }
    let mut failures = 0;
    for webhook in &webhooks {
        match webhook.ask().await {
            Ok(said) => writeln!(out, "{}: {said}", webhook.url)?,
            Err(error) => {
                failures += 1;
                writeln!(out, "{}: {error:#}", webhook.url)?;
            }
        }
    }
    match failures {
        0 => Ok(()),
        _ => bail!("{failures} of {} addresses gave no answer", webhooks.len()),
    }
}
