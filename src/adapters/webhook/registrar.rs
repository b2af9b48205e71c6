//! Keeps the webhook registrations in step with the policies in force.
//!
//! Server-side apply, by every replica: all of them say the same. What another program wrote into
//! them (cert-manager's CA) stays; what somebody deleted comes back.

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context, Result, anyhow};
use k8s_openapi::api::{
    admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration},
    authentication::v1::SelfSubjectReview,
    rbac::v1::ClusterRole,
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::policies::InForce;
use crate::{
    adapters::{certificates::self_signed::Keeper, stored},
    admission::{Registration, Registrations, needs_discovery, registrations},
};

/// How soon what was deleted comes back, and a new CA is taken up.
const EVERY: Duration = Duration::from_secs(15);
/// What was read of the certificates must not be written long after: `certificates::settling`.
const GIVE_UP: Duration = Duration::from_secs(30);
const FIELD_MANAGER: &str = "ironward";

/// What is registered, besides what the policies match.
#[derive(Clone)]
pub struct Settings {
    /// The name of both configurations.
    pub name: String,
    /// What the registrations say.
    pub registration: Registration,
    /// By which certificates the API server shall know us.
    pub trust: Trust,
    /// The ClusterRole that the configurations belong to.
    pub owner: Option<String>,
}

/// By which certificates the API server shall know us.
#[derive(Clone)]
pub enum Trust {
    /// By those of any authority that it knows anyway.
    Known,
    /// Those in a file, read each time.
    File(PathBuf),
    /// Those that cert-manager fills in from a Certificate, `namespace/name`.
    Injected(String),
    /// Those that we make ourselves.
    SelfSigned(Arc<Keeper>),
}

impl Trust {
    async fn bundle(&self) -> Result<Option<Vec<u8>>> {
        match self {
            Self::Known | Self::Injected(_) => Ok(None),
            Self::File(file) => {
                let pem = std::fs::read(file)
                    .with_context(|| format!("could not read {} (--ca-file)", file.display()))?;
                Ok(Some(pem))
            }
            Self::SelfSigned(keeper) => Ok(Some(keeper.bundle().await?)),
        }
    }

    /// Resolves when the API server is to be told of others.
    async fn changed(known: &mut Option<watch::Receiver<String>>) {
        let is_followed = match known {
            Some(known) => known.changed().await.is_ok(),
            None => false,
        };
        if !is_followed {
            std::future::pending::<()>().await;
        }
    }
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

/// Registers once it may, and keeps that in step for as long as it runs.
pub async fn keep_registered(
    client: Client,
    settings: Settings,
    mut policies: watch::Receiver<InForce>,
    may_register: impl Future<Output = ()>,
) {
    may_register.await;
    let mut trust = match &settings.trust {
        Trust::SelfSigned(keeper) => Some(keeper.trust()),
        Trust::Known | Trust::File(_) | Trust::Injected(_) => None,
    };
    let mut failed = None;
    let mut registered = None;
    loop {
        let in_force = policies.borrow_and_update().clone();
        let registering = tokio::time::timeout(GIVE_UP, register(&client, &settings, &in_force));
        let outcome = registering.await.unwrap_or_else(|_| Err(anyhow!("it took too long")));
        match outcome {
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
            () = Trust::changed(&mut trust) => {}
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
    registration.ca_bundle = settings.trust.bundle().await?;
    let wanted = registrations(&in_force.policies, &resources, &registration);
    let owner = match &settings.owner {
        Some(name) => Some(owner(client, name).await?),
        None => None,
    };
    let of = |kind, webhooks| configuration(kind, settings, owner.as_ref(), webhooks);
    let mutating = of("MutatingWebhookConfiguration", &wanted.mutating);
    apply::<MutatingWebhookConfiguration>(client, &settings.name, mutating).await?;
    let validating = of("ValidatingWebhookConfiguration", &wanted.validating);
    apply::<ValidatingWebhookConfiguration>(client, &settings.name, validating).await?;
    Ok(wanted)
}

/// A reference to the ClusterRole by which we may do this. Without it nothing is registered: it is being uninstalled.
async fn owner(client: &Client, name: &str) -> Result<Value> {
    let role = Api::<ClusterRole>::all(client.clone()).get(name).await.with_context(|| {
        format!("could not find ClusterRole {name}, which the registrations belong to (--registration-owner)")
    })?;
    Ok(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "name": name, "uid": role.metadata.uid,
    }))
}

async fn apply<K>(client: &Client, name: &str, object: Value) -> Result<()>
where
    K: kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    Api::<K>::all(client.clone())
        .patch(name, &parameters, &Patch::Apply(object))
        .await
        .with_context(|| format!("could not apply {} {name}", K::kind(&())))?;
    Ok(())
}

fn configuration(
    kind: &str,
    settings: &Settings,
    owner: Option<&Value>,
    webhooks: &[Value],
) -> Value {
    let mut object = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {
            "name": settings.name,
            "labels": {"app.kubernetes.io/name": "ironward", "app.kubernetes.io/managed-by": "ironward"},
        },
        "webhooks": webhooks,
    });
    if let Trust::Injected(certificate) = &settings.trust {
        object["metadata"]["annotations"] = json!({"cert-manager.io/inject-ca-from": certificate});
    }
    if let Some(owner) = owner {
        object["metadata"]["ownerReferences"] = json!([owner]);
    }
    object
}
