//! What admission is served with, what the API server was told of it, and whether it asks.

use std::{collections::BTreeSet, path::Path, time::Duration};

use k8s_openapi::api::{
    admissionregistration::v1::{
        MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
    },
    core::v1::Secret,
};
use kube::{Api, Client, api::PostParams};
use serde_json::json;

use super::target::Target;
use crate::{
    adapters::certificates::serving::Usable,
    admission,
    api::BareMetalHost,
    doctor::{Address, Known, Registered, Served, Trial},
};

/// Longer than the API server waits for a webhook.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) async fn certificate(client: &Client, target: &Target) -> Option<Known<Served>> {
    let admission = &target.settings.admission;
    let namespace = &target.namespace;
    if let Some(secret) = &admission.self_signed_secret {
        let files = [Some("tls.crt"), Some("tls.key"), Some("ca.crt")];
        return Some(of_secret(client, namespace, secret, files).await);
    }
    let (chain, key) = (admission.tls_cert_file.as_deref()?, admission.tls_key_file.as_deref()?);
    if target.deployment.is_none() {
        return Some(of_files(chain, key, admission.ca_file.as_deref()));
    }
    let Some((secret, chain)) = target.secret_of(chain) else {
        return Some(Err(format!("--tls-cert-file {} is from no Secret", chain.display())));
    };
    let key = target.secret_of(key).map(|(_, key)| key);
    // Where cert-manager fills in the caBundle, it takes this one.
    let authorities = match &admission.ca_file {
        Some(file) => target.secret_of(file).map(|(_, key)| key),
        None => admission.inject_ca_from.as_ref().map(|_| "ca.crt"),
    };
    Some(of_secret(client, namespace, secret, [Some(chain), key, authorities]).await)
}

async fn of_secret(
    client: &Client,
    namespace: &str,
    name: &str,
    [chain, key, authorities]: [Option<&str>; 3],
) -> Known<Served> {
    let from = format!("Secret {namespace}/{name}");
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let found =
        secrets.get_opt(name).await.map_err(|error| format!("could not read {from}: {error}"))?;
    let data = found.ok_or_else(|| format!("there is no {from}"))?.data.unwrap_or_default();
    let text = |key: Option<&str>| key.and_then(|key| data.get(key)).map(|it| it.0.clone());
    Ok(served(
        from,
        text(chain).unwrap_or_default(),
        &text(key).unwrap_or_default(),
        text(authorities),
    ))
}

fn of_files(chain: &Path, key: &Path, authorities: Option<&Path>) -> Known<Served> {
    let read = |file: &Path| {
        std::fs::read(file).map_err(|error| format!("could not read {}: {error}", file.display()))
    };
    let authorities = authorities.map(read).transpose()?;
    Ok(served(chain.display().to_string(), read(chain)?, &read(key)?, authorities))
}

fn served(from: String, chain: Vec<u8>, key: &[u8], authorities: Option<Vec<u8>>) -> Served {
    let pair = Usable::read(&chain, key).map(drop).map_err(|error| error.to_string());
    Served { from, chain, pair, authorities }
}

pub(super) async fn registrations(client: &Client, name: &str) -> Known<Vec<Registered>> {
    let could_not =
        |error: kube::Error| format!("could not read the webhook configurations {name}: {error}");
    let mutating = Api::<MutatingWebhookConfiguration>::all(client.clone()).get_opt(name).await;
    let validating = Api::<ValidatingWebhookConfiguration>::all(client.clone()).get_opt(name).await;
    let mutating = mutating.map_err(could_not)?.map(|it| {
        let configs = it.webhooks.into_iter().flatten().map(|it| it.client_config);
        registered("MutatingWebhookConfiguration", configs)
    });
    let validating = validating.map_err(could_not)?.map(|it| {
        let configs = it.webhooks.into_iter().flatten().map(|it| it.client_config);
        registered("ValidatingWebhookConfiguration", configs)
    });
    Ok(mutating.into_iter().chain(validating).collect())
}

fn registered(
    kind: &'static str,
    configs: impl Iterator<Item = WebhookClientConfig>,
) -> Registered {
    let (mut bundles, mut addresses, mut webhooks) = (BTreeSet::new(), Vec::new(), 0);
    for config in configs {
        webhooks += 1;
        bundles.extend(config.ca_bundle.map(|it| it.0).filter(|it| !it.is_empty()));
        let address = match (config.service, config.url) {
            (Some(service), _) => Some(admission::Address::Service {
                namespace: service.namespace,
                name: service.name,
                port: service.port.and_then(|it| it.try_into().ok()).unwrap_or(443),
            }),
            (None, Some(url)) => Some(admission::Address::Url(without_path(&url))),
            (None, None) => None,
        };
        let address = address.as_ref().map(self::address);
        addresses.extend(address.filter(|it| !addresses.contains(it)));
    }
    Registered { kind, webhooks, addresses, bundles: bundles.into_iter().collect() }
}

fn without_path(url: &str) -> String {
    match url::Url::parse(url) {
        Ok(url) => url[..url::Position::BeforePath].to_owned(),
        Err(_) => url.to_owned(),
    }
}

pub(super) fn address(address: &admission::Address) -> Address {
    let words = match address {
        admission::Address::Service { namespace, name, port } => {
            format!("Service {namespace}/{name}:{port}")
        }
        admission::Address::Url(url) => url.trim_end_matches('/').to_owned(),
    };
    Address { words, name: address.names().into_iter().next().unwrap_or_default() }
}

/// Asks the API server to take a host that no policy lets in, as a dry run.
pub(super) async fn trial(client: &Client) -> Trial {
    let host = serde_json::from_value::<BareMetalHost>(json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"generateName": "ironward-doctor-"},
        "spec": {"online": false, "bmc": {"address": "nonsense://192.0.2.1", "credentialsName": "none"}},
    }));
    let host = match host {
        Ok(host) => host,
        Err(error) => return Trial::Unclear(error.to_string()),
    };
    let hosts: Api<BareMetalHost> = Api::namespaced(client.clone(), "default");
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    let answer = tokio::time::timeout(PATIENCE, hosts.create(&dry_run, &host)).await;
    let Ok(answer) = answer else { return Trial::Unclear("there was no answer".to_owned()) };
    match answer {
        Ok(_) => Trial::LetIn,
        Err(kube::Error::Api(status)) if status.message.contains("host-bmc-address") => {
            Trial::Refused
        }
        Err(kube::Error::Api(status)) if status.message.contains("failed calling webhook") => {
            Trial::NotAsked(status.message)
        }
        Err(kube::Error::Api(status)) if status.is_forbidden() => Trial::NotAllowed,
        Err(error) => Trial::Unclear(error.to_string()),
    }
}
