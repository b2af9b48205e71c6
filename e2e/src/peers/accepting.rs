//! A webhook that looks at nothing and accepts everything: what the call costs the API server, whoever answers.

use crate::{
    control_plane::ControlPlane,
    manager,
    peers::engine::{self, Rules},
};
use anyhow::{Context, Result};
use axum::{Router, body::Bytes, http::StatusCode, routing::post};
use axum_server::{
    Handle,
    accept::NoDelayAcceptor,
    tls_rustls::{RustlsAcceptor, RustlsConfig},
};
use serde::Deserialize;
use serde_json::json;
use std::{fs, net::SocketAddr, thread};

const NAME: &str = "accepting.ironward.dev";

/// A webhook that answers for as long as this value is there. It has a thread of this process.
#[derive(Debug)]
pub struct Accepting(Handle<SocketAddr>);

impl Drop for Accepting {
    fn drop(&mut self) {
        self.0.shutdown();
    }
}

#[derive(Deserialize)]
struct Review {
    request: Request,
}

/// All else in it is passed over.
#[derive(Deserialize)]
struct Request {
    uid: String,
}

async fn accept(body: Bytes) -> Result<String, StatusCode> {
    let review: Review = serde_json::from_slice(&body).map_err(|_| StatusCode::BAD_REQUEST)?;
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": {"uid": review.request.uid, "allowed": true},
    });
    Ok(answer.to_string())
}

/// Starts it, and tells the API server of it.
pub fn start(plane: &ControlPlane, rules: &Rules) -> Result<Accepting> {
    let (files, _) = plane.serving_certificate("accepting")?;
    let (certificate, key) = (fs::read(files.certificate)?, fs::read(files.key)?);
    let handle = Handle::new();
    let own = handle.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    thread::spawn(move || {
        let served = runtime.block_on(async {
            let tls = RustlsConfig::from_pem(certificate, key).await?;
            axum_server::bind(SocketAddr::from(([127, 0, 0, 1], 0)))
                .acceptor(RustlsAcceptor::new(tls).acceptor(NoDelayAcceptor::new()))
                .handle(own)
                .serve(Router::new().route("/", post(accept)).into_make_service())
                .await
        });
        if let Err(error) = served {
            eprintln!("nobody accepts everything any more: {error:#}");
        }
    });
    let waiting = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let address = waiting.block_on(handle.listening()).context("it does not listen")?;
    let url = format!("https://{address}/");
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": NAME},
        "webhooks": [{
            "name": NAME, "clientConfig": engine::client_config(plane, &url)?,
            "rules": rules.spec()["matchConstraints"]["resourceRules"],
            "objectSelector": rules.selector(), "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }],
    });
    manager::apply(plane, &[configuration])?;
    Ok(Accepting(handle))
}
