//! Keeps the webhook registrations in step with the policies in force.
//!
//! Server-side apply, by every replica: all of them say the same. What another program wrote into
//! them (cert-manager's CA) stays; what somebody deleted comes back.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, Result};
use k8s_openapi::api::{
    admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration},
    authentication::v1::SelfSubjectReview,
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::policies::InForce;
use crate::{
    adapters::{probes::Readiness, stored},
    admission::{Registration, Registrations, needs_discovery, registrations},
};

/// How soon what was deleted comes back, and a new CA is taken up.
const EVERY: Duration = Duration::from_secs(15);
const FIELD_MANAGER: &str = "ironward";

/// What is registered, besides what the policies match.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The name of both configurations.
    pub name: String,
    /// What the registrations say.
    pub registration: Registration,
    /// Where the CA bundle is read from, each time; none if another program fills it in.
    pub ca_file: Option<PathBuf>,
    /// The Certificate whose CA cert-manager fills in, as `namespace/name`.
    pub inject_ca_from: Option<String>,
}

/// Who we are to the API server. Only a service account: a person who runs this with their own
/// credentials is not exempt from the rules.
pub async fn own_name(client: &Client) -> Result<Option<String>> {
    let api = Api::<SelfSubjectReview>::all(client.clone());
    let review = api
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await
        .context("could not ask the API server who we are")?;
    let name = review.status.and_then(|status| status.user_info?.username);
    Ok(name.filter(|name| name.starts_with("system:serviceaccount:")))
}

/// Registers once we are ready, and keeps that in step for as long as it runs.
pub async fn keep_registered(
    client: Client,
    settings: Settings,
    mut policies: watch::Receiver<InForce>,
    mut readiness: watch::Receiver<Readiness>,
) {
    let ready = readiness.wait_for(|readiness| readiness.missing.is_empty()).await.is_ok();
    if !ready {
        return;
    }
    let mut failed = None;
    let mut registered = None;
    loop {
        let in_force = policies.borrow_and_update().clone();
        match register(&client, &settings, &in_force).await {
            Ok(wanted) => {
                if registered.as_ref() != Some(&wanted) {
                    let (mutating, validating) = (wanted.mutating.len(), wanted.validating.len());
                    tracing::info!(
                        mutating,
                        validating,
                        name = settings.name,
                        "webhooks are registered"
                    );
                }
                registered = Some(wanted);
                failed = None;
            }
            Err(error) => {
                let error = format!("{error:#}");
                if failed.as_ref() != Some(&error) {
                    tracing::error!(error, "webhooks are not registered as they should be");
                }
                failed = Some(error);
            }
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            changed = policies.changed() => if changed.is_err() { return; },
        }
    }
}

async fn register(
    client: &Client,
    settings: &Settings,
    in_force: &InForce,
) -> Result<Registrations> {
    let resources = if needs_discovery(&in_force.policies) {
        stored::served(client).await?.into_iter().map(|served| served.resource).collect()
    } else {
        Vec::new()
    };
    let mut registration = settings.registration.clone();
    if let Some(file) = &settings.ca_file {
        let pem = std::fs::read(file)
            .with_context(|| format!("could not read {} (--ca-file)", file.display()))?;
        registration.ca_bundle = Some(pem);
    }
    let wanted = registrations(&in_force.policies, &resources, &registration);
    apply::<MutatingWebhookConfiguration>(client, settings, &wanted.mutating).await?;
    apply::<ValidatingWebhookConfiguration>(client, settings, &wanted.validating).await?;
    Ok(wanted)
}

async fn apply<K>(client: &Client, settings: &Settings, webhooks: &[Value]) -> Result<()>
where
    K: kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let (kind, name) = (K::kind(&()), &settings.name);
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    let object = configuration(&kind, settings, webhooks);
    Api::<K>::all(client.clone())
        .patch(name, &parameters, &Patch::Apply(object))
        .await
        .with_context(|| format!("could not apply {kind} {name}"))?;
    Ok(())
}

fn configuration(kind: &str, settings: &Settings, webhooks: &[Value]) -> Value {
    let mut object = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {
            "name": settings.name,
            "labels": {"app.kubernetes.io/name": "ironward", "app.kubernetes.io/managed-by": "ironward"},
        },
        "webhooks": webhooks,
    });
    if let Some(certificate) = &settings.inject_ca_from {
        object["metadata"]["annotations"] = json!({"cert-manager.io/inject-ca-from": certificate});
    }
    object
}
