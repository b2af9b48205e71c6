//! Makes and renews the certificate: carries out what `crate::certificates` decides.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result, bail};
use jiff::SignedDuration;
use k8s_openapi::{
    ByteString,
    api::admissionregistration::v1::{
        MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
    },
};
use kube::{Api, Client};
use tokio::sync::watch;

use super::{
    maker::make,
    serving::{Serving, Usable},
    shared::Shared,
};
use crate::{
    adapters::{clock, probes::Readiness},
    certificates::{
        Authority, Content, Observed, Pair, Plan, authorities, carried_out, decide, may_serve,
        settling,
    },
};

/// How soon another replica's certificate is taken up.
const EVERY: Duration = Duration::from_secs(10);
/// How often another replica may be faster.
const ROUNDS: usize = 8;

/// What the certificates are for.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the Secret is.
    pub namespace: String,
    /// What it is called.
    pub secret: String,
    /// What the registrations are called.
    pub registration_name: String,
    /// By which names and addresses the API server reaches us.
    pub names: Vec<String>,
    /// How long a certificate lasts.
    pub lifetime: SignedDuration,
}

/// Keeps the certificates.
pub struct Keeper {
    settings: Settings,
    shared: Shared,
    mutating: Api<MutatingWebhookConfiguration>,
    validating: Api<ValidatingWebhookConfiguration>,
    /// Changes when the API server is to be told of other authorities.
    trust: watch::Sender<String>,
}

/// What others are told.
#[derive(Debug)]
pub struct Publish {
    /// Why nothing is served yet.
    pub readiness: watch::Sender<Readiness>,
    /// Whether there are webhooks already: then their authorities must be kept in step, ready or not.
    pub is_registered: watch::Sender<bool>,
}

struct Look {
    content: Content,
    is_registered: bool,
    may_serve: bool,
}

impl Keeper {
    /// One, which has not looked yet.
    #[must_use]
    pub fn new(client: Client, mut settings: Settings) -> Self {
        settings.names.sort();
        Self {
            shared: Shared::new(client.clone(), &settings.namespace, &settings.secret),
            mutating: Api::all(client.clone()),
            validating: Api::all(client),
            trust: watch::Sender::default(),
            settings,
        }
    }

    /// Tells when the API server is to be told of other authorities.
    #[must_use]
    pub fn trust(&self) -> watch::Receiver<String> {
        self.trust.subscribe()
    }

    /// The authorities that the API server is to trust, as the Secret has them now.
    pub async fn bundle(&self) -> Result<Vec<u8>> {
        let (content, _) = self.shared.read().await?;
        if content.trusted.is_empty() {
            bail!("there is no certificate yet that the API server could be told of");
        }
        Ok(content.bundle().into_bytes())
    }

    /// The first certificate that we may serve with, however long it takes; why is said to the probes.
    pub async fn first(&self, publish: &Publish) -> (Pair, Usable) {
        loop {
            let missing = match self.look().await {
                Ok(look) => {
                    publish.is_registered.send_replace(look.is_registered);
                    match look.content.current.filter(|_| look.may_serve) {
                        Some(pair) => match usable(&pair) {
                            Ok(usable) => {
                                let ready = Readiness { missing: Vec::new() };
                                publish.readiness.send_replace(ready);
                                return (pair, usable);
                            }
                            Err(error) => format!("{error:#}"),
                        },
                        None => "the API server does not trust the certificate yet".to_owned(),
                    }
                }
                Err(error) => format!("there is no certificate: {error:#}"),
            };
            let readiness = Readiness { missing: vec![missing] };
            if *publish.readiness.borrow() != readiness {
                tracing::warn!(missing = ?readiness.missing, "not ready");
                publish.readiness.send_replace(readiness);
            }
            tokio::time::sleep(self.pause().min(Duration::from_secs(1))).await;
        }
    }

    /// Keeps it current for as long as it runs.
    pub async fn keep_current(self: Arc<Self>, mut current: Pair, serving: Serving) {
        let mut failed = None;
        loop {
            tokio::time::sleep(self.pause()).await;
            match self.look().await {
                Ok(look) => {
                    failed = None;
                    let found = look.content.current.filter(|it| look.may_serve && *it != current);
                    let Some(pair) = found else { continue };
                    if let Ok(usable) = usable(&pair) {
                        serving.swap(usable);
                        current = pair;
                    }
                }
                Err(error) => {
                    let error = format!("{error:#}");
                    if failed.as_ref() != Some(&error) {
                        tracing::error!(
                            error,
                            "certificates are not looked after; the last one stays"
                        );
                    }
                    failed = Some(error);
                }
            }
        }
    }

    fn pause(&self) -> Duration {
        let settling = settling(self.settings.lifetime).unsigned_abs();
        EVERY.min(settling / 2)
    }

    async fn look(&self) -> Result<Look> {
        for _ in 0..ROUNDS {
            let (content, version) = self.shared.read().await?;
            let registered = self.registered().await?;
            let seen = Observed {
                now: clock::now(),
                lifetime: self.settings.lifetime,
                names: &self.settings.names,
                content: &content,
                registered: registered.as_deref(),
            };
            let plan = decide(&seen);
            let made = match plan {
                Plan::Keep => {
                    self.tell(&content);
                    let (is_registered, may_serve) = (registered.is_some(), may_serve(&seen));
                    return Ok(Look { content, is_registered, may_serve });
                }
                Plan::MakeFirst | Plan::MakeNext => {
                    Some(make(seen.names, seen.now, seen.lifetime)?)
                }
                Plan::Promote => None,
            };
            let content = carried_out(&seen, plan, made);
            if self.shared.write(&content, &version).await? {
                tracing::info!(?plan, trusted = content.trusted.len(), "certificates");
            }
        }
        bail!("other replicas write the certificates at the same time again and again")
    }

    fn tell(&self, content: &Content) {
        let bundle = content.bundle();
        self.trust.send_if_modified(|known| {
            let is_new = *known != bundle;
            *known = bundle;
            is_new
        });
    }

    /// The authorities that every webhook trusts; none if there are no webhooks.
    async fn registered(&self) -> Result<Option<Vec<Authority>>> {
        let name = &self.settings.registration_name;
        let could_not = || format!("could not look at the registrations {name}");
        let mutating = self.mutating.get_opt(name).await.with_context(could_not)?;
        let validating = self.validating.get_opt(name).await.with_context(could_not)?;
        let mutating = mutating.and_then(|it| it.webhooks).unwrap_or_default();
        let validating = validating.and_then(|it| it.webhooks).unwrap_or_default();
        let configs = mutating.into_iter().map(|it| it.client_config);
        let configs = configs.chain(validating.into_iter().map(|it| it.client_config));
        Ok(common(configs.map(|config| config.ca_bundle.unwrap_or_default())))
    }
}

fn usable(pair: &Pair) -> Result<Usable> {
    Ok(Usable::read(pair.chain.as_bytes(), pair.key.0.as_bytes())?)
}

fn common(bundles: impl Iterator<Item = ByteString>) -> Option<Vec<Authority>> {
    // Most often they are all the same.
    let mut last = None;
    let mut common: Option<Vec<Authority>> = None;
    for bundle in bundles {
        if last.as_ref() == Some(&bundle) {
            continue;
        }
        let found = authorities(&bundle.0).unwrap_or_default();
        common = Some(match common {
            None => found,
            Some(mut common) => {
                common.retain(|it| found.iter().any(|other| other.id == it.id));
                common
            }
        });
        last = Some(bundle);
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    #[test]
    fn trusted_is_what_every_webhook_trusts() {
        let now = Timestamp::constant(1_800_000_000, 0);
        let made = |seconds| {
            let lifetime = SignedDuration::from_secs(seconds);
            make(&["localhost".to_owned()], now, lifetime).unwrap().1
        };
        let (one, two) = (made(60), made(61));
        let bytes = |text: String| ByteString(text.into_bytes());
        let both = bytes(one.pem.clone() + &two.pem);
        let ids = |bundles: Vec<ByteString>| {
            let found = common(bundles.into_iter())?;
            Some(found.into_iter().map(|it| it.id).collect::<Vec<_>>())
        };
        assert_eq!(ids(Vec::new()), None);
        assert_eq!(
            ids(vec![both.clone(), both.clone()]),
            Some(vec![one.id.clone(), two.id.clone()])
        );
        assert_eq!(ids(vec![both.clone(), bytes(two.pem)]), Some(vec![two.id]));
        assert_eq!(ids(vec![both, bytes(String::new())]), Some(Vec::new()));
    }
}
