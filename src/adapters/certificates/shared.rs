//! What the replicas share, as it is in the cluster: a Secret.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

use super::serving::Usable;
use crate::certificates::{Content, Key, Pair, authorities, certificate};

/// The Secret.
#[derive(Clone)]
pub(super) struct Shared {
    api: Api<Secret>,
    namespace: String,
    name: String,
}

impl Shared {
    pub(super) fn new(client: Client, namespace: &str, name: &str) -> Self {
        let api = Api::namespaced(client, namespace);
        Self { api, namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// What is in it, and its version. What cannot be used is as good as not there.
    pub(super) async fn read(&self) -> Result<(Content, String)> {
        let Self { namespace, name, .. } = self;
        let found = self.api.get_opt(name).await;
        let found = found.with_context(|| {
            format!("could not read Secret {namespace}/{name} (--self-signed-secret)")
        })?;
        let found = found.with_context(|| {
            format!(
                "there is no Secret {namespace}/{name} (--self-signed-secret), which certificates are kept in; \
                 make an empty one: kubectl -n {namespace} create secret generic {name}"
            )
        })?;
        let version = found.metadata.resource_version.unwrap_or_default();
        Ok((content(&found.data.unwrap_or_default()), version))
    }

    /// Whether it was written: not if another was faster.
    pub(super) async fn write(&self, content: &Content, version: &str) -> Result<bool> {
        let Self { namespace, name, .. } = self;
        let text = |text: &str| json!(ByteString(text.as_bytes().to_vec()));
        let part = |pair: &Option<Pair>, of: &dyn Fn(&Pair) -> Value| {
            pair.as_ref().map_or(Value::Null, of)
        };
        let (current, next) = (&content.current, &content.next);
        let patch = json!({
            "metadata": {"resourceVersion": version},
            "data": {
                "ca.crt": text(&content.bundle()),
                "tls.crt": part(current, &|pair| text(&pair.chain)),
                "tls.key": part(current, &|pair| text(&pair.key.0)),
                "next.crt": part(next, &|pair| text(&pair.chain)),
                "next.key": part(next, &|pair| text(&pair.key.0)),
            },
        });
        match self.api.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.is_conflict() => Ok(false),
            Err(error) => {
                Err(error).with_context(|| format!("could not write Secret {namespace}/{name}"))
            }
        }
    }
}

fn content(data: &BTreeMap<String, ByteString>) -> Content {
    let text = |key: &str| data.get(key).map(|it| it.0.as_slice()).unwrap_or_default();
    let pair = |chain: &str, key: &str| {
        let (chain, key) = (text(chain), text(key));
        Usable::read(chain, key).ok()?;
        Some(Pair {
            certificate: certificate(chain).ok()?,
            chain: String::from_utf8(chain.to_vec()).ok()?,
            key: Key(String::from_utf8(key.to_vec()).ok()?),
        })
    };
    Content {
        trusted: authorities(text("ca.crt")).unwrap_or_default(),
        current: pair("tls.crt", "tls.key"),
        next: pair("next.crt", "next.key"),
    }
}
