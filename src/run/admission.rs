//! Admission: what serves it, what the API server is told of it, and what keeps things unique.

use std::sync::Arc;

use anyhow::Result;
use axum_server::tls_rustls::RustlsConfig;
use jiff::SignedDuration;
use tokio::sync::watch;

use super::{Leading, Running, namespace};
use crate::{
    adapters::{
        certificates::{
            files::{self, Files},
            self_signed::{self, Keeper},
            serving::Serving,
        },
        leadership,
        page::Tell,
        probes::Readiness,
        uniqueness::{self, Claims, Guard, Occupants},
        webhook::{
            metrics::Metrics,
            policies::InForce,
            registrar::{self, Trust},
            server::{self, Desk},
            sources::Sources,
        },
    },
    admission::{Address, Registration},
    cli::{Admission, Settings},
    policy::Schemas,
};

/// Where the serving certificate comes from.
pub(super) enum Source {
    Files(Files),
    SelfSigned(Arc<Keeper>),
}

/// What admission listens to.
pub(super) struct Feeds {
    pub in_force: watch::Receiver<InForce>,
    pub known_schemas: watch::Receiver<Arc<Schemas>>,
    pub metrics: Metrics,
    pub are_kinds_there: watch::Receiver<Readiness>,
    pub is_ready: watch::Receiver<Readiness>,
    pub denials: Option<Tell>,
}

/// Starts all that admission is made of; returns when it serves, with what it serves.
pub(super) async fn serve(
    settings: &Settings,
    source: Source,
    running: &Running,
    feeds: Feeds,
    guard: Guard,
    readiness: watch::Sender<Readiness>,
) -> Result<RustlsConfig> {
    let Running { client, stop, tasks } = running;
    let Feeds { in_force, known_schemas, metrics, are_kinds_there, is_ready, denials } = feeds;
    let listener = server::bind(settings.admission.webhook_address)?;
    let usable = match &source {
        Source::Files(files) => Some(files::load(files)?),
        Source::SelfSigned(_) => None,
    };
    let own_name = registrar::own_name(client).await?;
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
            readiness.send_replace(Readiness { missing: Vec::new() });
            running.until_stopped(files::keep_current(files, serving.clone()));
            serving
        }
        (Source::Files(_), None) => anyhow::bail!("the certificate was not read"),
        (Source::SelfSigned(keeper), _) => {
            let publish = self_signed::Publish { readiness, is_registered };
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
    let mut desk = Desk::new(in_force, known_schemas, sources, own_name, metrics, guard);
    desk.denials = denials;
    let desk = Arc::new(desk);
    running.until_stopped(server::follow_policies(Arc::clone(&desk)));
    let tls = serving.tls.clone();
    tasks.spawn(server::serve(&listener, &serving.tls, &desk, stop, super::threads())?);
    Ok(tls)
}

/// Follows the stored objects that must be unique.
pub(super) fn follow_stored(
    running: &Running,
    in_force: watch::Receiver<InForce>,
    stored: watch::Sender<Readiness>,
) -> Arc<Occupants> {
    let occupants = Arc::new(Occupants::new(running.client.clone()));
    running.until_stopped(Arc::clone(&occupants).follow(in_force));
    let listed = Arc::clone(&occupants);
    // Once: a policy of tomorrow that cannot be followed is no reason to answer nothing at all.
    running.until_stopped(async move {
        if listed.wait_until_ready().await.is_ok() {
            stored.send_replace(Readiness { missing: Vec::new() });
        }
        stored.closed().await;
    });
    occupants
}

/// Starts what keeps things unique.
pub(super) fn uniqueness(
    settings: &Settings,
    running: &Running,
    leading: &Leading,
    occupants: Arc<Occupants>,
) -> Guard {
    let client = &running.client;
    let grace = SignedDuration::from_secs(settings.admission.claim_grace_seconds.into());
    let claims = Claims::new(client.clone(), namespace(settings, client), grace);
    let sweep = {
        let (client, replica) = (client.clone(), settings.replica.clone());
        let (claims, occupants) = (claims.clone(), Arc::clone(&occupants));
        move || {
            let (claims, occupants) = (claims.clone(), Arc::clone(&occupants));
            uniqueness::keep_swept(client.clone(), replica.clone(), claims, occupants)
        }
    };
    running.until_stopped(leadership::while_leader(leading.0.clone(), sweep));
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

pub(super) fn source(settings: &Settings, client: &kube::Client) -> Option<Source> {
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
