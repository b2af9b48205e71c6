//! The only wiring: builds the adapters, starts the tasks, waits, and stops in order.

use crate::{
    adapters::{
        certificates::{
            files::{self, Files},
            self_signed::{self, Keeper},
            serving::Serving,
        },
        kinds,
        leadership::{self, Election},
        probes::{self, Readiness},
        telemetry,
        uniqueness::{self, Claims, Guard, Occupants},
        webhook::{
            metrics::Metrics,
            policies::{InForce, Policies},
            registrar::{self, Trust},
            server::{self, Desk},
            sources::Sources,
        },
    },
    admission::{Address, Registration},
    cli::{self, Admission, Cli, Command, Settings, policy},
    policy::Schemas,
};
use anyhow::{Context, Result};
use jiff::SignedDuration;
use prometheus_client::registry::Registry;
use std::{io, pin::Pin, process::ExitCode, sync::Arc};
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
        Command::Verify(arguments) => verify(&arguments),
        Command::Crds(arguments) => Ok(cli::crds::run(&arguments, io::stdout().lock())?),
        Command::Policy(command) => policy::run(&command),
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
}

#[tokio::main]
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
    let (readiness, are_kinds_there) = watch::channel(Readiness::starting());
    let (schemas, known_schemas) = watch::channel(Arc::default());
    let policies = Policies::load(settings.admission.policy_dir.clone())?;
    let in_force = policies.subscribe();
    let publish = kinds::Publish { readiness, schemas };
    running.until_stopped(kinds::watch(running.client.clone(), in_force.clone(), publish));
    running.until_stopped(policies.keep_current());

    let source = source(settings, &running.client);
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

    let mut has_stopped = false;
    if let Some(source) = source {
        let feeds = Feeds { in_force, known_schemas, metrics, are_kinds_there, is_ready };
        let ready = Ready { certificate, stored };
        tokio::select! {
            begun = admission(settings, source, &running, feeds, ready) => begun?,
            signal = &mut stopped => has_stopped = signal.is_ok(),
        }
    } else {
        tracing::warn!(
            "admission is not served: there is neither --tls-cert-file nor --self-signed-secret"
        );
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

/// What admission listens to.
struct Feeds {
    in_force: watch::Receiver<InForce>,
    known_schemas: watch::Receiver<Arc<Schemas>>,
    metrics: Metrics,
    are_kinds_there: watch::Receiver<Readiness>,
    is_ready: watch::Receiver<Readiness>,
}

/// What admission says to the probes.
struct Ready {
    certificate: watch::Sender<Readiness>,
    stored: watch::Sender<Readiness>,
}

/// Starts all that admission is made of; returns when it serves.
async fn admission(
    settings: &Settings,
    source: Source,
    running: &Running,
    feeds: Feeds,
    ready: Ready,
) -> Result<()> {
    let Running { client, stop, tasks } = running;
    let Feeds { in_force, known_schemas, metrics, are_kinds_there, is_ready } = feeds;
    let listener = server::bind(settings.admission.webhook_address)?;
    let usable = match &source {
        Source::Files(files) => Some(files::load(files)?),
        Source::SelfSigned(_) => None,
    };
    let own_name = registrar::own_name(client).await?;
    let guard = uniqueness(settings, running, in_force.clone(), ready.stored);
    let (is_registered, seen_registered) = watch::channel(false);
    if let Some(settings) = registration(&settings.admission, &source, own_name.clone()) {
        let may_register = may_register(is_ready, are_kinds_there, seen_registered);
        let (client, policies) = (client.clone(), in_force.clone());
        running.until_stopped(registrar::keep_registered(client, settings, policies, may_register));
    } else {
        tracing::warn!(
            "the API server is not told of us: --webhook-service or --webhook-url says where we are"
        );
    }

    let expiry = metrics.certificate_expiry.clone();
    let serving = match (source, usable) {
        (Source::Files(files), Some(usable)) => {
            let serving = Serving::start(&usable, expiry);
            ready.certificate.send_replace(Readiness { missing: Vec::new() });
            running.until_stopped(files::keep_current(files, serving.clone()));
            serving
        }
        (Source::Files(_), None) => anyhow::bail!("the certificate was not read"),
        (Source::SelfSigned(keeper), _) => {
            let publish = self_signed::Publish { readiness: ready.certificate, is_registered };
            let (pair, usable) = keeper.first(&publish).await;
            let serving = Serving::start(&usable, expiry);
            let keeping = keeper.keep_current(pair, serving.clone());
            running.until_stopped(async move {
                keeping.await;
                drop(publish);
            });
            serving
        }
    };
    let sources = Sources::new(client.clone());
    let desk = Desk::new(in_force, known_schemas, sources, own_name, metrics, guard);
    let desk = Arc::new(desk);
    running.until_stopped(server::follow_policies(Arc::clone(&desk)));
    tasks.spawn(server::serve(listener, serving.tls, desk, stop.clone()));
    Ok(())
}

/// Starts what keeps things unique.
fn uniqueness(
    settings: &Settings,
    running: &Running,
    in_force: watch::Receiver<InForce>,
    stored: watch::Sender<Readiness>,
) -> Guard {
    let Running { client, stop, tasks } = running;
    let namespace = namespace(settings, client);
    let grace = SignedDuration::from_secs(settings.admission.claim_grace_seconds.into());
    let claims = Claims::new(client.clone(), namespace, grace);
    let occupants = Arc::new(Occupants::new(client.clone()));
    running.until_stopped(Arc::clone(&occupants).follow(in_force));
    let listed = Arc::clone(&occupants);
    // Once: a policy of tomorrow that cannot be followed is no reason to answer nothing at all.
    running.until_stopped(async move {
        if listed.wait_until_ready().await.is_ok() {
            stored.send_replace(Readiness { missing: Vec::new() });
        }
        stored.closed().await;
    });
    let (elected, is_leader) = watch::channel(false);
    let election = Election {
        namespace: namespace.to_owned(),
        name: LEASE.to_owned(),
        // Two on one machine are two.
        replica: format!("{}-{}", settings.replica, std::process::id()),
    };
    tasks.spawn(leadership::keep_electing(client.clone(), election, stop.clone(), elected));
    let sweep = {
        let (client, replica) = (client.clone(), settings.replica.clone());
        let (claims, occupants) = (claims.clone(), Arc::clone(&occupants));
        move || {
            let (claims, occupants) = (claims.clone(), Arc::clone(&occupants));
            uniqueness::keep_swept(client.clone(), replica.clone(), claims, occupants)
        }
    };
    running.until_stopped(leadership::while_leader(is_leader, sweep));
    Guard { occupants, claims }
}

/// Resolves when the API server may be told of us: when we are ready, or if it was told before. Then what it
/// was told must be kept in step, or nobody would ever become ready whose certificate it does not trust.
async fn may_register(
    mut is_ready: watch::Receiver<Readiness>,
    mut are_kinds_there: watch::Receiver<Readiness>,
    mut is_registered: watch::Receiver<bool>,
) {
    let ready = async {
        if is_ready.wait_for(Readiness::is_ready).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let registered = async {
        if is_registered.wait_for(|it| *it).await.is_err()
            || are_kinds_there.wait_for(Readiness::is_ready).await.is_err()
        {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = ready => {}
        () = registered => {}
    }
}

#[tokio::main]
async fn verify(arguments: &cli::verify::Args) -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    cli::verify::run(arguments, io::stdout().lock()).await
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

/// Where the serving certificate comes from.
enum Source {
    Files(Files),
    SelfSigned(Arc<Keeper>),
}

fn namespace<'a>(settings: &'a Settings, client: &'a kube::Client) -> &'a str {
    settings.namespace.as_deref().unwrap_or(client.default_namespace())
}

fn source(settings: &Settings, client: &kube::Client) -> Option<Source> {
    let admission = &settings.admission;
    if let Some(secret) = &admission.self_signed_secret {
        let settings = self_signed::Settings {
            namespace: namespace(settings, client).to_owned(),
            secret: secret.clone(),
            registration_name: admission.registration_name.clone(),
            names: admission.address().iter().flat_map(Address::names).collect(),
            lifetime: SignedDuration::from_secs(admission.self_signed_lifetime_seconds.into()),
        };
        return Some(Source::SelfSigned(Arc::new(Keeper::new(client.clone(), settings))));
    }
    let (certificate, key) = (admission.tls_cert_file.clone()?, admission.tls_key_file.clone()?);
    Some(Source::Files(Files { certificate, key }))
}

fn registration(
    settings: &Admission,
    source: &Source,
    own_name: Option<String>,
) -> Option<registrar::Settings> {
    let registration = Registration {
        address: settings.address()?,
        ca_bundle: None,
        own_name,
        timeout_seconds: server::TIMEOUT_SECONDS,
    };
    let trust = match (source, &settings.ca_file, &settings.inject_ca_from) {
        (Source::SelfSigned(keeper), ..) => Trust::SelfSigned(Arc::clone(keeper)),
        (Source::Files(_), Some(file), _) => Trust::File(file.clone()),
        (Source::Files(_), None, Some(certificate)) => Trust::Injected(certificate.clone()),
        (Source::Files(_), None, None) => Trust::Known,
    };
    Some(registrar::Settings {
        name: settings.registration_name.clone(),
        registration,
        trust,
        owner: settings.registration_owner.clone(),
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
