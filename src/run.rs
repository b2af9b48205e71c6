//! The only wiring: builds the adapters, starts the tasks, waits, and stops in order.

use crate::{
    adapters::{
        demo::Demo,
        hosts::Keeper,
        ironic, kinds,
        leadership::{self, Election},
        probes, telemetry,
        uniqueness::{self, Claims, Guard, Occupants},
        webhook::{
            certificate,
            metrics::Metrics,
            policies::Policies,
            registrar,
            server::{self, Desk},
            sources::Sources,
        },
    },
    admission::Registration,
    cli::{
        self, Admission, Cli, Command, Settings,
        controllers::{Controller, Provisioner as Provisioners},
        policy,
    },
    controllers::host::{observed, provisioner::Provisioner},
};
use anyhow::{Context, Result};
use jiff::SignedDuration;
use prometheus_client::registry::Registry;
use std::{io, pin::Pin, process::ExitCode, sync::Arc, time::Duration};
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The Lease of the replica that reconciles.
const LEASE: &str = "ironward";

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
        Command::Audit(arguments) => audit(&arguments),
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
    let until_stopped = |task| tasks.spawn(stop.clone().run_until_cancelled_owned(task));
    let mut metrics = Registry::default();
    let (readiness, is_ready) = watch::channel(probes::Readiness::starting());
    let (schemas, known_schemas) = watch::channel(Arc::default());
    let policies = Policies::load(settings.admission.policy_dir.clone())?;
    let in_force = policies.subscribe();
    let publish = kinds::Publish { readiness, schemas };
    until_stopped(boxed(kinds::watch(client.clone(), in_force.clone(), publish)));
    until_stopped(boxed(policies.keep_current()));

    let namespace = settings.namespace.as_deref().unwrap_or(client.default_namespace()).to_owned();
    let (elected, is_leader) = watch::channel(false);
    let is_guarded = settings.admission.tls_cert_file.is_some();
    if is_guarded || !settings.controllers.controllers.is_empty() {
        let election = Election {
            namespace: namespace.clone(),
            name: LEASE.to_owned(),
            // Two on one machine are two.
            replica: format!("{}-{}", settings.replica, std::process::id()),
        };
        tasks.spawn(leadership::keep_electing(client.clone(), election, stop.clone(), elected));
    }
    let occupants = is_guarded.then(|| Arc::new(Occupants::new(client.clone())));
    if let Some(occupants) = &occupants {
        until_stopped(boxed(Arc::clone(occupants).follow(in_force.clone())));
    }
    if let Some(Provisioning { provisioner, snapshot }) = provisioning(settings, &mut metrics)?
        && let Some(keeper) = keeper(settings, &client, occupants.as_ref(), provisioner)
    {
        // Only who reconciles reads Ironic, and only for as long.
        let keep = move || {
            let (keeper, snapshot) = (keeper.clone(), snapshot.clone());
            async move {
                tokio::select! {
                    () = keeper.keep() => {}
                    () = keep_read(snapshot) => {}
                }
            }
        };
        until_stopped(boxed(leadership::while_leader(is_leader.clone(), keep)));
    }

    if let (Some(files), Some(occupants)) = (certificate(&settings.admission), occupants) {
        let listener = server::bind(settings.admission.webhook_address)?;
        let tls = certificate::load(&files).await?;
        let own_name = registrar::own_name(&client).await?;
        let grace = SignedDuration::from_secs(settings.admission.claim_grace_seconds.into());
        let claims = Claims::new(client.clone(), &namespace, grace);
        let sweep = {
            let (client, replica) = (client.clone(), settings.replica.clone());
            let (claims, occupants) = (claims.clone(), Arc::clone(&occupants));
            move || {
                uniqueness::keep_swept(
                    client.clone(),
                    replica.clone(),
                    claims.clone(),
                    Arc::clone(&occupants),
                )
            }
        };
        until_stopped(boxed(leadership::while_leader(is_leader, sweep)));
        let desk = Desk::new(
            in_force.clone(),
            known_schemas,
            Sources::new(client.clone()),
            own_name.clone(),
            Metrics::new(&mut metrics),
            Guard { occupants, claims },
        );
        let desk = Arc::new(desk);
        until_stopped(boxed(server::follow_policies(Arc::clone(&desk))));
        tasks.spawn(server::serve(listener, tls.clone(), desk, stop.clone()));
        until_stopped(boxed(certificate::keep_current(files, tls)));
        if let Some(settings) = registration(&settings.admission, own_name) {
            let ready = is_ready.clone();
            until_stopped(boxed(registrar::keep_registered(client, settings, in_force, ready)));
        } else {
            tracing::warn!(
                "the API server is not told of us: --webhook-service or --webhook-url says where we are"
            );
        }
    } else {
        tracing::warn!("admission is not served: there is no --tls-cert-file");
    }
    let probes = probes::bind(settings.probe_address).await?;
    tasks.spawn(probes::serve(probes, is_ready, metrics, stop.clone()));

    tracing::info!(version = env!("CARGO_PKG_VERSION"), "ironward runs");
    stop_signal().await?;
    tracing::info!("stopping");
    stop.cancel();
    tasks.close();
    tasks.wait().await;
    Ok(())
}

#[tokio::main]
async fn audit(arguments: &cli::audit::Args) -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    cli::audit::run(arguments, io::stdout().lock()).await
}

fn boxed(
    task: impl Future<Output = ()> + Send + 'static,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(task)
}

/// Who does things to machines, and what is kept up to date for it.
struct Provisioning {
    provisioner: Arc<dyn Provisioner>,
    snapshot: Option<Arc<ironic::Snapshot>>,
}

fn provisioning(settings: &Settings, metrics: &mut Registry) -> Result<Option<Provisioning>> {
    let wanted = &settings.controllers;
    Ok(match wanted.provisioner {
        None => None,
        Some(Provisioners::Demo) => {
            let demo = Demo::new(Duration::from_secs(wanted.demo_seconds.into()));
            Some(Provisioning { provisioner: Arc::new(demo), snapshot: None })
        }
        Some(Provisioners::Ironic) => {
            let metrics = ironic::Metrics::new(metrics);
            let ironic = &settings.ironic;
            let client = Arc::new(ironic::Client::new(&ironic.settings()?, metrics.clone())?);
            let snapshot = Arc::new(ironic::Snapshot::new(Arc::clone(&client), metrics));
            let provisioner = ironic::Ironic::new(client, Arc::clone(&snapshot), ironic.ramdisk());
            Some(Provisioning { provisioner: Arc::new(provisioner), snapshot: Some(snapshot) })
        }
    })
}

async fn keep_read(snapshot: Option<Arc<ironic::Snapshot>>) {
    match snapshot {
        Some(snapshot) => snapshot.keep_read().await,
        None => std::future::pending().await,
    }
}

/// Who keeps hosts, if they are to be kept here.
fn keeper(
    settings: &Settings,
    client: &kube::Client,
    occupants: Option<&Arc<Occupants>>,
    provisioner: Arc<dyn Provisioner>,
) -> Option<Keeper> {
    let wanted = &settings.controllers;
    wanted.controllers.contains(&Controller::Host).then(|| Keeper {
        client: client.clone(),
        replica: settings.replica.clone(),
        provisioner,
        occupants: occupants.cloned(),
        provisioning_limit: wanted.provisioning_limit.try_into().unwrap_or(usize::MAX),
        settings: observed::Settings { max_provisioning_retries: wanted.max_provisioning_retries },
    })
}

fn certificate(settings: &Admission) -> Option<certificate::Files> {
    let (certificate, key) = (settings.tls_cert_file.clone()?, settings.tls_key_file.clone()?);
    Some(certificate::Files { certificate, key })
}

fn registration(settings: &Admission, own_name: Option<String>) -> Option<registrar::Settings> {
    let registration = Registration {
        address: settings.address()?,
        ca_bundle: None,
        own_name,
        timeout_seconds: server::TIMEOUT_SECONDS,
    };
    Some(registrar::Settings {
        name: settings.registration_name.clone(),
        registration,
        ca_file: settings.ca_file.clone(),
        inject_ca_from: settings.inject_ca_from.clone(),
    })
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
