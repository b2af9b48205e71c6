//! Asks a webhook as the API server does: where the registrations say, and trusting whom they say.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use axum::http::{Request, Uri, header};
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use kube::{Api, Client, Config};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use serde_json::{Value, json};

use crate::policy::trial::Attempt;

/// A webhook that the API server knows of.
#[derive(Debug)]
pub struct Asked {
    /// Where it is.
    pub url: String,
    ca_bundle: Vec<u8>,
}

/// Those of the registrations of this name, each address once.
pub async fn registered(client: &Client, name: &str) -> Result<Vec<Asked>> {
    let could_not = || format!("could not look at the registrations {name}");
    let mutating = Api::<MutatingWebhookConfiguration>::all(client.clone()).get_opt(name).await;
    let mutating = mutating.with_context(could_not)?.and_then(|it| it.webhooks);
    let validating = Api::<ValidatingWebhookConfiguration>::all(client.clone()).get_opt(name).await;
    let validating = validating.with_context(could_not)?.and_then(|it| it.webhooks);
    let configs = mutating.into_iter().flatten().map(|webhook| webhook.client_config);
    let configs = configs.chain(validating.into_iter().flatten().map(|it| it.client_config));
    let mut found = BTreeMap::new();
    for config in configs {
        if let Some(url) = url(&config) {
            found.insert(url, config.ca_bundle.map(|bundle| bundle.0).unwrap_or_default());
        }
    }
    Ok(found.into_iter().map(|(url, ca_bundle)| Asked { url, ca_bundle }).collect())
}

impl Asked {
    /// Asks about a host, and says in words what was answered.
    pub async fn ask(&self) -> Result<&'static str> {
        let client = self.client()?;
        let uri: Uri = self.url.parse().context("the registration's address is none")?;
        let review = review()?;
        let request = Request::post(uri.path())
            .header(header::CONTENT_TYPE, "application/json")
            .body(serde_json::to_vec(&review)?)?;
        let answer: Value = client.request(request).await.context(
            "no answer that the API server would take: is the Service right, and does the caBundle of \
             the registration belong to the certificate?",
        )?;
        let response = &answer["response"];
        let is_answer = response["uid"] == review["request"]["uid"];
        match (is_answer, &response["allowed"]) {
            (true, Value::Bool(true)) => Ok("answered: let in"),
            (true, Value::Bool(false)) => Ok("answered: refused"),
            _ => bail!("what answers is no webhook"),
        }
    }

    fn client(&self) -> Result<Client> {
        let uri: Uri = self.url.parse().context("the registration's address is none")?;
        let authority = uri.authority().context("the registration's address has no host")?;
        let mut config = Config::new(format!("https://{authority}").parse()?);
        let trusted: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.ca_bundle).collect();
        let trusted = trusted.context("the registration's caBundle is no PEM")?;
        if !trusted.is_empty() {
            config.root_cert = Some(trusted.iter().map(|der| der.to_vec()).collect());
        }
        Ok(Client::try_from(config)?)
    }
}

fn url(config: &WebhookClientConfig) -> Option<String> {
    if let Some(url) = &config.url {
        return Some(url.clone());
    }
    let service = config.service.as_ref()?;
    let (name, namespace) = (&service.name, &service.namespace);
    let port = service.port.unwrap_or(443);
    let path = service.path.as_deref().unwrap_or("/");
    Some(format!("https://{name}.{namespace}.svc:{port}{path}"))
}

/// A host that nobody has, as a dry run: nothing is claimed for it.
fn review() -> Result<Value> {
    let host = json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": "ironward-verify", "namespace": "default"},
        "spec": {"online": false, "bmc": {"address": "nonsense://192.0.2.1", "credentialsName": "none"}},
    });
    let mut request = Attempt { object: Some(host), ..Attempt::default() }.review()?;
    request["dryRun"] = json!(true);
    Ok(json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}))
}
