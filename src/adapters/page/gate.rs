//! Who may look: whoever has a token by which the API server knows somebody who may list BareMetalHosts in all namespaces.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::http::{HeaderMap, header};
use k8s_openapi::api::{
    authentication::v1::{TokenReview, TokenReviewSpec, UserInfo},
    authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
};
use kube::{Api, Client, api::PostParams};
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;

/// How long an answer counts: a right that was taken away is gone after this.
const COUNTS: Duration = Duration::from_secs(10);
/// Answers that are remembered.
const MOST: usize = 1000;
/// Strangers with invented tokens must not keep the API server busy.
const AT_ONCE: usize = 4;
/// Kubernetes' own tokens have a tenth of this.
const LONGEST: usize = 16 << 10;

/// What somebody may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum May {
    Look,
    /// The API server knows them, and they may not.
    NotLook,
    /// There is no token, or nobody knows it.
    Nothing,
}

pub(super) struct Gate {
    client: Client,
    /// By the hash of the token: what is kept cannot be used.
    known: Mutex<HashMap<[u8; 32], (Instant, May)>>,
    asking: Semaphore,
}

impl Gate {
    pub fn new(client: Client) -> Self {
        Self { client, known: Mutex::default(), asking: Semaphore::new(AT_ONCE) }
    }

    /// What whoever sent these may do.
    pub async fn may(&self, headers: &HeaderMap) -> kube::Result<May> {
        let Some(token) = token(headers) else { return Ok(May::Nothing) };
        let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        if let Some(may) = self.remembered(&hash) {
            return Ok(may);
        }
        let _turn = self.asking.acquire().await;
        // Somebody may have asked meanwhile.
        if let Some(may) = self.remembered(&hash) {
            return Ok(may);
        }
        let may = self.ask(token).await?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.retain(|_, (since, _)| since.elapsed() < COUNTS);
        }
        if known.len() < MOST {
            known.insert(hash, (Instant::now(), may));
        }
        Ok(may)
    }

    fn remembered(&self, hash: &[u8; 32]) -> Option<May> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(hash).filter(|(since, _)| since.elapsed() < COUNTS).map(|(_, may)| *may)
    }

    async fn ask(&self, token: &str) -> kube::Result<May> {
        let spec = TokenReviewSpec { token: token.to_owned(), audiences: None };
        let review = TokenReview { spec, ..TokenReview::default() };
        let reviews = Api::<TokenReview>::all(self.client.clone());
        let status = reviews.create(&PostParams::default(), &review).await?.status;
        let known = status.filter(|it| it.authenticated == Some(true)).and_then(|it| it.user);
        let Some(user) = known else { return Ok(May::Nothing) };
        let review = SubjectAccessReview { spec: question(user), ..SubjectAccessReview::default() };
        let reviews = Api::<SubjectAccessReview>::all(self.client.clone());
        let status = reviews.create(&PostParams::default(), &review).await?.status;
        Ok(if status.is_some_and(|it| it.allowed) { May::Look } else { May::NotLook })
    }
}

fn token(headers: &HeaderMap) -> Option<&str> {
    let given = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let token = given.strip_prefix("Bearer ")?.trim();
    (!token.is_empty() && token.len() <= LONGEST).then_some(token)
}

/// Whether they may list the hosts of all namespaces.
fn question(user: UserInfo) -> SubjectAccessReviewSpec {
    SubjectAccessReviewSpec {
        user: user.username,
        groups: user.groups,
        uid: user.uid,
        extra: user.extra,
        resource_attributes: Some(ResourceAttributes {
            group: Some("metal3.io".to_owned()),
            resource: Some("baremetalhosts".to_owned()),
            verb: Some("list".to_owned()),
            ..ResourceAttributes::default()
        }),
        ..SubjectAccessReviewSpec::default()
    }
}
