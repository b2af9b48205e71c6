//! What is wrong with an installation, and what to do about it: facts become findings.
//!
//! Everything is looked at, also after something was found: who mends one thing at a time learns of all of them at once.

mod certificate;
mod cluster;
pub mod permissions;
mod registrations;

use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Serialize;
use strum::Display;

use self::permissions::Need;

/// What could be found out; if it could not, why.
pub type Known<T> = Result<T, String>;

/// What there is to know of an installation.
#[derive(Debug, Clone)]
pub struct Facts {
    /// When it was looked at.
    pub now: Timestamp,
    /// Of the program that looks.
    pub version: String,
    /// Of the API server, such as `v1.36.2`.
    pub server: Known<String>,
    /// The Deployment, if there is one.
    pub deployment: Option<Deployment>,
    /// The definitions of the cluster.
    pub definitions: Known<Vec<CustomResourceDefinition>>,
    /// Whether this release keeps the objects of Metal3's kinds itself.
    pub keeps_metal3_kinds: bool,
    /// What is served with, if admission is served.
    pub certificate: Option<Known<Served>>,
    /// What the registrations are called.
    pub registration_name: String,
    /// What the API server was told.
    pub registrations: Known<Vec<Registered>>,
    /// How the API server is to reach us, as it was told to `ironward run`; none if that is not to register.
    pub address: Option<Address>,
    /// What became of a host that no policy lets in.
    pub trial: Trial,
    /// Whose permissions were looked at, and the needs that are not met.
    pub permissions: Known<Permissions>,
    /// Who reconciles.
    pub leader: Known<Option<String>>,
    /// Where that is said.
    pub lease: String,
    /// Metal3's own operators.
    pub operators: Vec<Operator>,
    /// What Ironic said, if it is spoken with.
    pub ironic: Option<Ironic>,
}

/// The Deployment.
#[derive(Debug, Clone)]
pub struct Deployment {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What its pods run.
    pub image: String,
    /// How many pods there are to be.
    pub wanted: i32,
    /// How many are ready.
    pub ready: i32,
}

/// What is served with.
#[derive(Debug, Clone)]
pub struct Served {
    /// Where it is from, in words.
    pub from: String,
    /// The certificate and those that lead to its authority, in PEM.
    pub chain: Vec<u8>,
    /// Whether the key is there, and that of the certificate; if not, why.
    pub pair: Result<(), String>,
    /// The authorities that the API server shall be told to trust, in PEM, if that is for us to say.
    pub authorities: Option<Vec<u8>>,
}

/// A server's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// In words.
    pub words: String,
    /// The name that its certificate has to have.
    pub name: String,
}

/// One of the two registrations.
#[derive(Debug, Clone)]
pub struct Registered {
    /// `MutatingWebhookConfiguration` or the other.
    pub kind: &'static str,
    /// How many webhooks it has.
    pub webhooks: usize,
    /// Where they are, each once.
    pub addresses: Vec<Address>,
    /// By what the server is known there, in PEM, each once.
    pub bundles: Vec<Vec<u8>>,
}

/// What became of a host that no policy lets in, asked of the API server as a dry run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trial {
    /// Ironward refused it.
    Refused,
    /// Nobody did.
    LetIn,
    /// The API server could not ask.
    NotAsked(String),
    /// Who looks may not create hosts.
    NotAllowed,
    /// Something else.
    Unclear(String),
}

/// Whose permissions were looked at.
#[derive(Debug, Clone)]
pub struct Permissions {
    /// In words.
    pub whose: String,
    /// How many are needed.
    pub needed: usize,
    /// Those that are not granted.
    pub missing: Vec<Need>,
}

/// One of Metal3's own operators.
#[derive(Debug, Clone)]
pub struct Operator {
    /// What it is called.
    pub name: &'static str,
    /// The controllers of ours that must not run beside it.
    pub ours: &'static str,
    /// Whether one of them is to run.
    pub is_replaced: bool,
    /// Who holds its Lease.
    pub holder: Known<Option<String>>,
}

/// What Ironic said.
#[derive(Debug, Clone)]
pub struct Ironic {
    /// Where it is.
    pub url: String,
    /// The version of its API that is spoken.
    pub version: Known<String>,
    /// How to ask from where the replicas are, if that is not here.
    pub from_pod: Option<String>,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What was looked at.
    pub check: &'static str,
    /// How it is.
    pub outcome: Outcome,
    /// In words.
    pub what: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
}

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Outcome {
    /// As it should be.
    Ok,
    /// It could not be found out from here.
    Unknown,
    /// It works, and will not for ever, or not as it was meant.
    Warning,
    /// It does not work.
    Failed,
}

impl Finding {
    fn ok(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, outcome: Outcome::Ok, what: what.into(), next_step: None }
    }

    fn but(
        outcome: Outcome,
        check: &'static str,
        what: impl Into<String>,
        next_step: impl Into<String>,
    ) -> Self {
        Self { check, outcome, what: what.into(), next_step: Some(next_step.into()) }
    }

    fn failed(check: &'static str, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::but(Outcome::Failed, check, what, next)
    }

    fn warning(check: &'static str, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::but(Outcome::Warning, check, what, next)
    }

    fn unknown(check: &'static str, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::but(Outcome::Unknown, check, what, next)
    }
}

/// All that can be said of an installation, in the order in which things depend on each other.
#[must_use]
pub fn examine(facts: &Facts) -> Vec<Finding> {
    let mut found = cluster::server(facts);
    found.extend(cluster::kinds(facts));
    found.extend(cluster::deployment(facts));
    found.extend(cluster::version(facts));
    found.extend(permissions::examine(facts));
    found.extend(certificate::examine(facts));
    found.extend(registrations::examine(facts));
    found.extend(cluster::leader(facts));
    found.extend(cluster::operators(facts));
    found.extend(cluster::ironic(facts));
    found
}

#[cfg(test)]
mod tests;
