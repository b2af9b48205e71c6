//! The only wiring: builds the adapters, starts the tasks, waits, and stops in order.

use crate::{
    adapters::{kinds, probes, telemetry},
    cli::{self, Cli, Command, Settings, policy},
};
use anyhow::{Context, Result};
use std::{io, process::ExitCode};
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Runs the command that was asked for.
#[must_use]
pub fn main(cli: Cli) -> ExitCode {
    match perform(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ironward: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(command: Command) -> Result<()> {
    match command {
        Command::Run(settings) => serve(&settings),
        Command::Crds(arguments) => Ok(cli::crds::run(&arguments, io::stdout().lock())?),
        Command::Policy(command) => policy::run(&command),
    }
}

#[tokio::main]
async fn serve(settings: &Settings) -> Result<()> {
    // Both TLS stacks in the tree ask for the process-wide provider; a second caller keeps the first's.
    let _ = rustls::crypto::ring::default_provider().install_default();
    telemetry::init(settings.log_format);
    let client = kube::Client::try_default()
        .await
        .context("could not find out which cluster to talk to; set KUBECONFIG, or run in a pod")?;

    let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
    let (publish, readiness) = watch::channel(probes::Readiness::starting());
    let probes = probes::bind(settings.probe_address).await?;
    tasks.spawn(probes::serve(probes, readiness, stop.clone()));
    tasks.spawn(stop.clone().run_until_cancelled_owned(kinds::watch(client, publish)));

    tracing::info!(version = env!("CARGO_PKG_VERSION"), "ironward runs");
    stop_signal().await?;
    tracing::info!("stopping");
    stop.cancel();
    tasks.close();
    tasks.wait().await;
    Ok(())
}

/// Resolves when a person or the kubelet asks us to stop.
async fn stop_signal() -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).context("could not listen for SIGTERM")?;
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        interrupted = tokio::signal::ctrl_c() => interrupted.context("could not listen for Ctrl-C"),
    }
}
