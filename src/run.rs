//! The only wiring: builds the adapters, starts the tasks, waits, and stops in order.

mod admission;
mod autoscale;
mod discovery;
mod hosts;
mod ironic;
mod machines;
mod metadata;
mod page;
mod remediation;

use crate::{
    adapters::{
        kinds,
        leadership::{self, Election},
        probes::{self, Readiness},
        telemetry,
        webhook::{metrics::Metrics, policies::Policies},
    },
    cli::{self, Cli, Command, Settings, policy},
};
use anyhow::{Context, Result};
use prometheus_client::registry::Registry;
use std::{io, pin::Pin, process::ExitCode, sync::Arc};
use tokio::{
    runtime::{self, Runtime},
    sync::watch,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The Lease of the replica that reconciles.
pub(crate) const LEASE: &str = "ironward";

/// A node may have a hundred cores. More threads than this would answer nobody sooner, and each holds memory.
const MOST_THREADS: usize = 4;

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
        Command::Run(settings) => {
            runtime().context("could not start the threads to run on")?.block_on(serve(&settings))
        }
        Command::Audit(arguments) => audit(&arguments),
        Command::Verify(arguments) => verify(&arguments),
        Command::Doctor(arguments) => doctor(&arguments),
        Command::Fleet(arguments) => fleet(&arguments),
        Command::Remediate(arguments) => remediate(&arguments),
        Command::History(arguments) => history(&arguments),
        Command::Cordon(arguments) => cordon(&arguments),
        Command::Uncordon(arguments) => uncordon(&arguments),
        Command::Crds(arguments) => Ok(cli::crds::run(&arguments, io::stdout().lock())?),
        Command::Policy(command) => policy::run(&command),
        Command::Completions(arguments) => {
            cli::completions::run(&arguments, &mut io::stdout().lock());
            Ok(())
        }
    }
}

/// What runs until it is told to stop.
struct Running {
    client: kube::Client,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Running {
    /// Runs something that may end at any time.
    fn until_stopped(&self, task: impl Future<Output = ()> + Send + 'static) {
        // Boxed: a task as large as these would be copied about.
        self.tasks.spawn(self.stop.clone().run_until_cancelled_owned(boxed(task)));
    }

    /// Stands for election, so that one replica of all reconciles.
    fn stand_for_election(&self, settings: &Settings) -> Leading {
        let (elected, is_leader) = watch::channel(false);
        let election = Election {
            namespace: namespace(settings, &self.client).to_owned(),
            name: LEASE.to_owned(),
            // Two on one machine are two.
            replica: format!("{}-{}", settings.replica, std::process::id()),
        };
        let (client, stop) = (self.client.clone(), self.stop.clone());
        self.tasks.spawn(leadership::keep_electing(client, election, stop, elected));
        Leading(is_leader)
    }
}

/// Whether this replica is the one that reconciles.
struct Leading(watch::Receiver<bool>);

/// How many threads are to share a kind of work.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS)
}

/// Where there is one core, no thread has to wake another.
fn runtime() -> io::Result<Runtime> {
    let mut runtime = match threads() {
        1 => runtime::Builder::new_current_thread(),
        _ => runtime::Builder::new_multi_thread(),
    };
    runtime.worker_threads(threads()).enable_all().build()
}

async fn serve(settings: &Settings) -> Result<()> {
    // Both TLS stacks in the tree ask for the process-wide provider; a second caller keeps the first's.
    let _ = rustls::crypto::ring::default_provider().install_default();
    telemetry::init(settings.log_format);
    let client = kube::Client::try_default()
        .await
        .context("could not find out which cluster to talk to; set KUBECONFIG, or run in a pod")?;

    let running = Running { client, stop: CancellationToken::new(), tasks: TaskTracker::new() };
    let mut stopped = std::pin::pin!(stop_signal());
    let mut registry = Registry::default();
    let metrics = Metrics::new(&mut registry);
    let reading = ironic::reading(settings, &mut registry)?;
    let provisioning = hosts::provisioning(settings, &mut registry, reading.as_ref());
    let discovering = discovery::metrics(settings, &mut registry);
    let remediating = remediation::wanted(settings, &mut registry);
    let machines = machines::metrics(settings, &mut registry);
    let metadata = metadata::metrics(settings, &mut registry);
    let autoscaling = autoscale::metrics(settings, &mut registry);
    let (readiness, are_kinds_there) = watch::channel(Readiness::starting());
    let (schemas, known_schemas) = watch::channel(Arc::default());
    let policies = Policies::load(settings.admission.policy_dir.clone())?;
    let in_force = policies.subscribe();
    let publish = kinds::Publish { readiness, schemas };
    running.until_stopped(kinds::watch(running.client.clone(), in_force.clone(), publish));
    running.until_stopped(policies.keep_current());

    let source = admission::source(settings, &running.client);
    let mut parts = vec![are_kinds_there.clone()];
    let certificate = watch::Sender::new(Readiness::waiting("there is no certificate yet"));
    let stored = watch::Sender::new(Readiness::waiting("the stored objects were not read yet"));
    if source.is_some() {
        parts.extend([certificate.subscribe(), stored.subscribe()]);
    }
    let (readiness, is_ready) = watch::channel(Readiness::starting());
    running.until_stopped(probes::combine(parts, readiness));
    let probes = probes::bind(settings.probe_address).await?;
    let answering = probes::serve(probes, is_ready.clone(), registry, running.stop.clone());
    running.tasks.spawn(answering);

    let is_alone = source.is_none() && settings.controllers.controllers.is_empty();
    let leading = (!is_alone).then(|| running.stand_for_election(settings));
    let occupants =
        source.is_some().then(|| admission::follow_stored(&running, in_force.clone(), stored));
    if let (Some(reading), Some(leading)) = (&reading, &leading) {
        ironic::keep_read(&running, leading, reading);
        if let Some(metrics) = discovering {
            discovery::keep(settings, &running, leading, reading, metrics);
        }
    }
    if let (Some(provisioning), Some(leading)) = (provisioning, &leading) {
        hosts::keep(settings, &running, leading, occupants.as_ref(), provisioning);
    }
    if let (Some(metrics), Some(leading)) = (remediating, &leading) {
        remediation::keep(settings, &running, leading, metrics);
    }
    if let (Some(metrics), Some(leading)) = (machines, &leading) {
        machines::keep(settings, &running, leading, metrics);
    }
    if let (Some(metrics), Some(leading)) = (metadata, &leading) {
        metadata::keep(&running, leading, metrics);
    }
    if let (Some(metrics), Some(leading)) = (autoscaling, &leading) {
        autoscale::keep(settings, &running, leading, metrics);
    }
    let shown = page::prepare(settings, &running, source.is_some())?;
    let (shown, denials) = shown.unzip();
    let mut certificate_in_use = None;
    let mut has_stopped = false;
    if let (Some(source), Some(occupants), Some(leading)) = (source, occupants, leading) {
        let guard = admission::uniqueness(settings, &running, &leading, occupants);
        let feeds = admission::Feeds {
            in_force,
            known_schemas,
            metrics,
            are_kinds_there,
            is_ready,
            denials,
        };
        let serving = admission::serve(settings, source, &running, feeds, guard, certificate);
        tokio::select! {
            begun = serving => certificate_in_use = Some(begun?),
            signal = &mut stopped => has_stopped = signal.is_ok(),
        }
    } else {
        tracing::warn!(
            "admission is not served: there is neither --tls-cert-file nor --self-signed-secret"
        );
    }

    if let (Some(shown), false) = (shown, has_stopped) {
        page::show(shown, certificate_in_use, &running);
    }

    tracing::info!(version = env!("CARGO_PKG_VERSION"), "ironward runs");
    if !has_stopped {
        stopped.await?;
    }
    tracing::info!("stopping");
    running.stop.cancel();
    running.tasks.close();
    running.tasks.wait().await;
    Ok(())
}

#[tokio::main]
async fn verify(arguments: &cli::verify::Args) -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    cli::verify::run(arguments, io::stdout().lock()).await
}

#[tokio::main]
async fn doctor(arguments: &cli::doctor::Args) -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    cli::doctor::run(arguments, io::stdout().lock()).await
}

#[tokio::main]
async fn audit(arguments: &cli::audit::Args) -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    cli::audit::run(arguments, io::stdout().lock()).await
}

#[tokio::main]
async fn remediate(arguments: &cli::fleet::remediate::Args) -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    cli::fleet::remediate::run(arguments, io::stdout().lock()).await
}

#[tokio::main]
async fn fleet(arguments: &cli::fleet::overview::Args) -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    cli::fleet::overview::run(arguments, io::stdout().lock()).await
}

#[tokio::main]
async fn history(arguments: &cli::fleet::history::Args) -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    cli::fleet::history::run(arguments, io::stdout().lock()).await
}

#[tokio::main]
async fn cordon(arguments: &cli::fleet::cordon::Args) -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    cli::fleet::cordon::cordon(arguments, io::stdout().lock()).await
}

#[tokio::main]
async fn uncordon(arguments: &cli::fleet::cordon::UncordonArgs) -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    cli::fleet::cordon::uncordon(arguments, io::stdout().lock()).await
}

fn boxed(
    task: impl Future<Output = ()> + Send + 'static,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(task)
}

fn namespace<'a>(settings: &'a Settings, client: &'a kube::Client) -> &'a str {
    settings.namespace.as_deref().unwrap_or(client.default_namespace())
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
